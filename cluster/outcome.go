package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// If the leader dies while it makes a membership change, its answer is lost, and the caller does
// not know whether the change was made. So the caller asks the next leader for the same change of
// the same incarnation. That leader makes the change, or answers that it was made, or why it cannot
// be made.

// outcomePause is the time between two requests to the next leader.
const outcomePause = 100 * time.Millisecond

// alreadyMade has the refusal with which a leader answers a change that was already made.
var alreadyMade = map[string]refusal.Code{"remove": refusal.NoSuchReplica, "promote": refusal.AlreadyVoter,
	"demote": refusal.NotAVoter}

// resolveOutcome repeats a change until its outcome is known or ctx ends.
func (c *changes) resolveOutcome(ctx context.Context, q adminRequest) error {
	if s, ok := servers.Find(servers.Union(c.Configuration(), c.FSM.Membership()), q.ID); ok {
		q.Server = string(s.ID)
	}
	first := q
	first.Server = "" // the leader resolves the id itself
	err := c.adminHere(ctx, first)
	made, ok := alreadyMade[q.Op]
	if !ok || q.Server == "" || q.Dry {
		return err
	}
	var ref *refusal.Refusal
	if err == nil || errors.As(err, &ref) {
		return err
	}
	c.Log.Warn("lost the reply to a membership change: asking the next leader", "op", q.Op, "replica",
		q.Server, "error", err)
	for c.Pause(outcomePause) && ctx.Err() == nil {
		now := c.adminHere(ctx, q)
		switch {
		case now == nil:
			return nil
		case !errors.As(now, &ref): // the answer was lost again
		case ref.Code == made:
			return c.confirmMade(q)
		case ref.Code != refusal.NoLeader:
			return now
		}
	}
	return fmt.Errorf("%w: no leader has answered within %s: %w", ErrUnknownOutcome, protocol.AdminTimeout, err)
}

// confirmMade returns nil if the change was made. It returns a refusal if another incarnation now
// has the id, since the operator may have meant that one.
func (c *changes) confirmMade(q adminRequest) error {
	if s, ok := servers.Find(c.Configuration(), q.ID); ok && string(s.ID) != q.Server {
		return refusal.New(refusal.NoSuchReplica, "see \"rmd cluster members\"",
			"%s is no longer a member; %s has its id now", q.Server, s.ID)
	}
	return nil
}
