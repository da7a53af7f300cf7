package httpserver

import (
	"context"
	"time"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// plannerAudits says whether operations are recorded where they are planned, in one
// entry of the log with what they change.
func (s *Server) plannerAudits() bool {
	st, _ := s.cfg.Reader.Fork()
	return st.Meta.Level >= event.LevelAudit
}

// auditInput records an operation that was refused or failed. One that was done is
// recorded by the planner, once all replicas know who asks.
func (c *call) auditInput(in input.Input, err error) {
	action := input.Operation(in)
	if action == "" {
		return
	}
	if err == nil && c.s.plannerAudits() {
		return
	}
	c.note(action, clip(c.r.URL.Path), err)
}

// audit records an administrator's action in the replicated log. A failure to
// record is logged; the action stands.
func (c *call) audit(action, target string, result error) {
	c.audited = true
	c.note(action, target, result)
}

func (c *call) note(action, target string, result error) {
	if target, ok := c.auditable(action, target, result); ok {
		c.record(action, target, result)
	}
}

// auditable says whether an action is to be recorded: every success, and
// failures while they are few. The target tells of those that were not.
func (c *call) auditable(action, target string, result error) (string, bool) {
	if result == nil {
		return target, true
	}
	missed, ok := c.s.refusals.take(refusedCall{who: principalOf(c.r).String(), action: action, code: c.s.errorOf(result, true).Code})
	return withMissed(target, missed), ok
}

// record writes what is auditable.
func (c *call) record(action, target string, result error) {
	text := event.AuditDone
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
