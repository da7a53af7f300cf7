package record

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// MaxAccessTokens bounds the number of access tokens. AccessTokens.ByHash compares the token of each
// request with all of them.
const MaxAccessTokens = 1000

// accessHashBytes is the size of a SHA-256 hash.
const accessHashBytes = 32

// AccessToken authenticates a person or a program. An expired token stays in the table until an
// operator revokes or replaces it: while the table has a token, the ports refuse callers without
// one, and the passing of time must not open the ports.
type AccessToken struct {
	Name          string
	Hash          []byte // SHA-256 of the token
	Role          yarn.Role
	ExpiresMillis int64
	By            string // who created or last replaced it
	CreatedMillis int64
	ChangedMillis int64
}

// Expired reports whether the token has expired.
func (t *AccessToken) Expired(nowMillis int64) bool { return t.ExpiresMillis <= nowMillis }

// AccessTokens are the access tokens by name. A changed list is a new list.
type AccessTokens []AccessToken

// Autopilot has the settings of the automatic care of replicas. While Set is false, each replica
// uses the settings of its own configuration file.
type Autopilot struct {
	Set                 bool
	CleanupDeadServers  bool
	DeadServerMillis    int64
	MinQuorum           uint32
	LastContactMillis   int64
	MaxTrailingLogs     uint64
	StabilizationMillis int64
}

// ByHash returns the token with the given hash. It compares the hash with every token in
// constant time, so that its duration does not reveal where hashes differ.
func (k *AccessTokens) ByHash(hash []byte) (AccessToken, bool) {
	var found AccessToken
	ok := false
	for _, t := range *k {
		if subtle.ConstantTimeCompare(t.Hash, hash) == 1 {
			found, ok = t, true
		}
	}
	return found, ok
}

// Find returns the token with the given name.
func (k *AccessTokens) Find(name string) (AccessToken, bool) {
	at, ok := k.at(name)
	if !ok {
		return AccessToken{}, false
	}
	return (*k)[at], true
}

func (k *AccessTokens) at(name string) (int, bool) {
	return slices.BinarySearchFunc(*k, name, func(t AccessToken, name string) int { return strings.Compare(t.Name, name) })
}

// Set applies the creation or the replacement of a token.
func (k *AccessTokens) Set(m *Meta, e *event.AccessTokenSet) error {
	other, used := k.ByHash(e.Hash)
	at, known := k.at(e.Name)
	switch {
	case e.Name == "":
		return Broken(e, "the token has no name")
	case !e.Role.Valid():
		return Broken(e, "%d is not a role", e.Role)
	case len(e.Hash) != accessHashBytes:
		return Broken(e, "the hash has %d bytes", len(e.Hash))
	case used:
		return Broken(e, "%s has this hash", other.Name)
	case !known && len(*k) >= MaxAccessTokens:
		return Broken(e, "there are %d tokens", len(*k))
	}
	t := AccessToken{Name: e.Name, Hash: e.Hash, Role: e.Role, ExpiresMillis: e.ExpiresMillis, By: e.By,
		CreatedMillis: m.NowMillis, ChangedMillis: m.NowMillis}
	next := slices.Clone(*k)
	if known {
		t.CreatedMillis = next[at].CreatedMillis
		next[at] = t
	} else {
		next = slices.Insert(next, at, t)
	}
	*k = next
	for _, text := range []string{e.Name, string(e.Hash), e.By} {
		m.Fold(table.Hash(text))
	}
	m.Fold(uint64(e.Role))
	m.Fold(uint64(e.ExpiresMillis))
	return nil
}

// Revoked applies the end of a token.
func (k *AccessTokens) Revoked(m *Meta, e *event.AccessTokenRevoked) error {
	at, ok := k.at(e.Name)
	if !ok {
		return Broken(e, "there is no such token")
	}
	*k = slices.Delete(slices.Clone(*k), at, at+1)
	if len(*k) == 0 {
		*k = nil
	}
	m.Fold(table.Hash(e.Name))
	return nil
}

// Change applies new settings.
func (a *Autopilot) Change(m *Meta, e *event.AutopilotSet) error {
	if e.DeadServerMillis <= 0 || e.LastContactMillis <= 0 || e.StabilizationMillis < 0 {
		return Broken(e, "a threshold is not positive")
	}
	*a = Autopilot{Set: true, CleanupDeadServers: e.CleanupDeadServers, DeadServerMillis: e.DeadServerMillis,
		MinQuorum:         e.MinQuorum,
		LastContactMillis: e.LastContactMillis, MaxTrailingLogs: e.MaxTrailingLogs,
		StabilizationMillis: e.StabilizationMillis}
	if e.CleanupDeadServers {
		m.Fold(1)
	}
	for _, v := range []uint64{uint64(e.DeadServerMillis), uint64(e.MinQuorum), uint64(e.LastContactMillis),
		e.MaxTrailingLogs, uint64(e.StabilizationMillis)} {
		m.Fold(v)
	}
	return nil
}

// Keep copies the access tokens of the running state to those of a restored state if it has none. A
// restored state that replaces a running one is then protected at least as well. Keep returns the
// number of tokens that it copied.
func (k *AccessTokens) Keep(running AccessTokens) int {
	if len(*k) > 0 {
		return 0
	}
	*k = running
	return len(*k)
}

// Check checks the order, the roles and the hashes of the tokens.
func (k *AccessTokens) Check() error {
	if len(*k) > MaxAccessTokens {
		return fmt.Errorf("%d access tokens", len(*k))
	}
	for i, t := range *k {
		switch {
		case t.Name == "" || (i > 0 && (*k)[i-1].Name >= t.Name):
			return fmt.Errorf("access token %q is out of order", t.Name)
		case !t.Role.Valid() || len(t.Hash) != accessHashBytes:
			return fmt.Errorf("access token %q has role %d and a hash of %d bytes", t.Name, t.Role, len(t.Hash))
		}
	}
	return nil
}

// Check checks that the settings fit together.
func (a *Autopilot) Check() error {
	if a.Set && (a.DeadServerMillis <= 0 || a.LastContactMillis <= 0 || a.StabilizationMillis < 0) ||
		!a.Set && *a != (Autopilot{}) {
		return errors.New("autopilot's settings do not fit together")
	}
	return nil
}

// Code encodes the record, or decodes into it.
func (k *AccessTokens) Code(c *codec.Coder) {
	codec.List(c, (*[]AccessToken)(k), func(c *codec.Coder, t *AccessToken) {
		c.String(&t.Name)
		c.Raw(&t.Hash)
		codec.Enum(c, &t.Role)
		c.I64(&t.ExpiresMillis)
		c.String(&t.By)
		c.I64(&t.CreatedMillis)
		c.I64(&t.ChangedMillis)
	})
}

// Code encodes the record, or decodes into it.
func (a *Autopilot) Code(c *codec.Coder) {
	c.Bool(&a.Set)
	c.Bool(&a.CleanupDeadServers)
	c.I64(&a.DeadServerMillis)
	c.U32(&a.MinQuorum)
	c.I64(&a.LastContactMillis)
	c.U64(&a.MaxTrailingLogs)
	c.I64(&a.StabilizationMillis)
}
