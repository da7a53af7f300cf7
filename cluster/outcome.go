package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A change of the membership may be asked for just when its leader dies: the answer is lost, and
// nobody here can tell whether the change was made. It can be looked up: the next leader is asked
// for the same change of the same incarnation. It makes the change, or says that it is made
// already, or why it cannot be.

// outcomePause is how often the next leader is asked.
const outcomePause = 100 * time.Millisecond

// alreadyMade is how a leader refuses a change that is made already.
var alreadyMade = map[string]Code{"remove": CodeNoSuchReplica, "promote": CodeAlreadyVoter, "demote": CodeNotAVoter}

// resolveOutcome asks for a change until its outcome is known, within ctx.
func (c *Cluster) resolveOutcome(ctx context.Context, q adminRequest) error {
	if s, ok := find(union(c.configuration(), c.fsm.membership()), q.ID); ok {
		q.Server = string(s.ID)
	}
	first := q
	first.Server = "" // the leader knows best whom the id names
	err := c.adminHere(ctx, first)
	made, ok := alreadyMade[q.Op]
	if !ok || q.Server == "" || q.Dry {
		return err
	}
	var ref *Refusal
	if err == nil || errors.As(err, &ref) {
		return err
	}
	c.log.Warn("lost the reply to a membership change: asking the next leader", "op", q.Op, "replica", q.Server, "error", err)
	for c.pause(outcomePause) && ctx.Err() == nil {
		now := c.adminHere(ctx, q)
		switch {
		case now == nil:
			return nil
		case !errors.As(now, &ref): // lost again
		case ref.Code == made:
			return c.confirmMade(q)
		case ref.Code != CodeNoLeader:
			return now
		}
	}
	return fmt.Errorf("%w: no leader has answered within %s: %w", ErrUnknownOutcome, adminTimeout, err)
}

// confirmMade says that a change was made, unless another incarnation bears the id now, which may
// be the one that was meant.
func (c *Cluster) confirmMade(q adminRequest) error {
	if s, ok := find(c.configuration(), q.ID); ok && string(s.ID) != q.Server {
		return refuse(CodeNoSuchReplica, "see \"rmd cluster members\"", "%s is no longer a member; %s has its id now", q.Server, s.ID)
	}
	return nil
}
