package server

import (
	"context"
	"crypto/sha256"
	"time"

	"rmd/cluster"
	"rmd/cluster/refusal"
	"rmd/scheduler/input"
)

// tokenUnknown is the text for a wrong token. An expired token may also get it, since the state
// drops expired tokens.
const tokenUnknown = "the join token is not known, or has expired"

// checkToken consumes a join token, or with dry only checks it. It runs on the leader. The token
// records which replica used it. So that replica may repeat its request if the answer was lost, and
// no other replica may use the token.
func (r *Replica) checkToken(token, by string, dry bool) (string, error) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	hash := sha256.Sum256([]byte(token))
	if dry {
		return r.lookAtToken(hash[:], by)
	}
	reply, _, err := r.seq.Do(ctx, input.Request{Input: &input.UseJoinToken{Hash: hash[:], By: by}})
	if err != nil {
		return "", err
	}
	if f := reply.Refused(); f != nil {
		if f.Reason == input.TokenInvalid {
			f.What = tokenUnknown
		}
		return "", &refusal.Refusal{Code: refusal.Code(f.Reason), What: f.What, Do: f.Do}
	}
	if reply.(*input.UseJoinTokenReply).Voter {
		return cluster.RoleVoter, nil
	}
	return cluster.RoleNonvoter, nil
}

// lookAtToken checks a token against the committed state.
func (r *Replica) lookAtToken(hash []byte, by string) (string, error) {
	const again = "create one with \"rmd cluster token create\""
	st, _ := r.machine.Fork()
	t, ok := st.JoinTokens.Find(hash)
	switch {
	case !ok:
		return "", &refusal.Refusal{Code: refusal.TokenInvalid, What: tokenUnknown, Do: again}
	case t.UsedBy != "" && t.UsedBy != by:
		return "", &refusal.Refusal{Code: refusal.TokenUsed, What: "the join token was used by " + t.UsedBy, Do: again}
	case t.UsedBy == "" && t.ExpiresMillis <= st.Meta.NowMillis:
		return "", &refusal.Refusal{Code: refusal.TokenExpired, What: "the join token has expired", Do: again}
	case t.Voter:
		return cluster.RoleVoter, nil
	}
	return cluster.RoleNonvoter, nil
}
