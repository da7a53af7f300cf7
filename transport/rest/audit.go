package rest

import (
	"context"
	"strconv"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/rest/api"
)

// administration names what an administrator's input does and to what, for the
// audit; ok is false for everybody's daily inputs.
func administration(in input.Input) (action, target string, ok bool) {
	switch in := in.(type) {
	case *input.SetQueues:
		return "conf apply", in.Comment, !in.DryRun
	case *input.RollbackQueues:
		return "conf rollback", strconv.FormatUint(in.To, 10), true
	case *input.SetQueueState:
		return "queue " + in.State.String(), in.Queue, true
	case *input.DrainNode:
		if in.Back {
			return "node drain --undo", in.ID.String(), true
		}
		return "node drain", in.ID.String(), true
	case *input.SetNodeResource:
		return "node resource", in.ID.String(), true
	case *input.CancelReservation:
		return "reservation cancel", "r" + strconv.FormatUint(in.Number, 10) + " " + in.Reason, true
	case *input.CreateJoinToken:
		return "cluster token create", "", true
	case *input.SetAccessToken:
		return "access token create", in.Name + " " + in.Role.String(), true
	case *input.RevokeAccessToken:
		return "access token revoke", in.Name, true
	case *input.RaiseLevel:
		return "upgrade finalize", strconv.FormatUint(uint64(in.Level), 10), true
	}
	return "", "", false
}

// auditInput records an administrator's input with how it ended, refusals too.
func (c *call) auditInput(in input.Input, err error) {
	if action, target, ok := administration(in); ok {
		c.audit(action, target, err)
	}
}

// audit records an administrator's action in the replicated log. A failure to
// record is logged; the action stands.
func (c *call) audit(action, target string, result error) {
	if target, ok := c.auditable(target, result); ok {
		c.record(action, target, result)
	}
}

// auditable says whether an action is to be recorded: every success, and
// failures while they are few. The target tells of those that were not.
func (c *call) auditable(target string, result error) (string, bool) {
	c.audited = true
	if result == nil {
		return target, true
	}
	missed, ok := c.s.refusals.take()
	return withMissed(target, missed), ok
}

// record writes what is auditable.
func (c *call) record(action, target string, result error) {
	text := "done"
	if result != nil {
		text = c.s.errorOf(result, true).Code
	}
	if text == api.CodeNoLeader { // nobody can record it
		c.s.log.Warn("action not recorded in the audit: no leader", "action", action, "target", target)
		return
	}
	in := &input.Audit{Who: c.who(), From: c.r.RemoteAddr, Action: action, Target: target, Result: text}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), 5*time.Second)
	defer cancel()
	if _, _, err := c.s.cfg.Door.Do(ctx, input.Request{Input: in}); err != nil {
		c.s.log.Warn("action not recorded in the audit", "action", action, "target", target, "error", err)
	}
}
