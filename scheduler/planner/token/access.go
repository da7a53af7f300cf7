package token

import (
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// Limits of access tokens. Times are in milliseconds.
const (
	accessNameMax = 64
	accessLifeMax = 10 * 365 * 24 * 60 * 60 * 1000
)

// setAccess creates or replaces a token. A call that is repeated after a lost reply finds the
// token by its hash, and changes nothing.
func (p Plan) setAccess(in *input.SetAccessToken) input.Reply {
	have, known := p.State.Access.Find(in.Name)
	other, used := p.State.Access.ByHash(in.Hash)
	refuse := func(code input.Code, do, format string, args ...any) input.Reply {
		return input.Refuse(in, input.Refusef(code, do, format, args...))
	}
	switch {
	case used && other.Name == in.Name && other.Role == in.Role && other.ExpiresMillis == in.ExpiresMillis:
		return in.NewReply()
	case len(in.Hash) != 32 || used:
		return refuse(input.InvalidRequest, "draw another one", "the token's hash is not a new SHA-256")
	case !accessName(in.Name):
		return refuse(input.InvalidRequest, "use letters, digits, '.', '_', '-' and '@', beginning with a letter or a digit",
			"a token's name has 1 to %d characters", accessNameMax)
	case !in.Role.Valid():
		return refuse(input.InvalidRequest, "use read, submit, operator or admin", "the token has no role")
	case in.ExpiresMillis <= p.NowMillis || in.ExpiresMillis > p.NowMillis+accessLifeMax:
		return refuse(input.InvalidRequest, "use a ttl of a second to ten years", "the token's end is out of range")
	case known && !in.Replace:
		return refuse(input.TokenExists, "take another name, or replace it with --replace",
			"there is an access token %s, of role %s", have.Name, have.Role)
	case in.Role != yarn.RoleAdmin && !in.Force && !p.adminBeside(in.Name):
		return refuse(input.NoAdminLeft, adminFirst, "no token would be left that may change access")
	}
	if !known && len(p.State.Access) >= state.MaxAccessTokens {
		old, ok := p.oldestExpired()
		if !ok {
			return refuse(input.TooLarge, "revoke some", "there are %d access tokens", state.MaxAccessTokens)
		}
		p.Emit(&event.AccessTokenRevoked{Name: old})
	}
	p.Emit(&event.AccessTokenSet{Name: in.Name, Hash: in.Hash, Role: in.Role, ExpiresMillis: in.ExpiresMillis, By: in.Who})
	return in.NewReply()
}

// adminFirst says what to do if no token of role admin would be left.
const adminFirst = "make one of role admin first, with \"(umask 077; rmd access token create --name admin --role admin -q > admin.token)\", and add --token-file admin.token to later commands; or use --force where administrators have certificates"

// revokeAccess removes a token. It may remove the only token; the cluster is then as it was
// before the first one.
func (p Plan) revokeAccess(in *input.RevokeAccessToken) input.Reply {
	if _, ok := p.State.Access.Find(in.Name); !ok {
		return input.Refuse(in, input.Refusef(input.NoSuchToken, "see \"rmd access token list\"",
			"there is no access token %q", in.Name))
	}
	if !in.Force && len(p.State.Access) > 1 && !p.adminBeside(in.Name) {
		return input.Refuse(in, input.Refusef(input.NoAdminLeft, adminFirst,
			"%s is the last token that may change access", in.Name))
	}
	p.Emit(&event.AccessTokenRevoked{Name: in.Name})
	return in.NewReply()
}

// adminBeside reports whether a token other than name may change access.
func (p Plan) adminBeside(name string) bool {
	for _, t := range p.State.Access {
		if t.Name != name && t.Role == yarn.RoleAdmin && !t.Expired(p.NowMillis) {
			return true
		}
	}
	return false
}

func (p Plan) oldestExpired() (name string, ok bool) {
	var end int64
	for _, t := range p.State.Access {
		if t.Expired(p.NowMillis) && (!ok || t.ExpiresMillis < end) {
			name, end, ok = t.Name, t.ExpiresMillis, true
		}
	}
	return name, ok
}

// accessName reports whether a token may have a name.
func accessName(name string) bool {
	if name == "" || len(name) > accessNameMax {
		return false
	}
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-' && c != '@') {
			return false
		}
	}
	return true
}
