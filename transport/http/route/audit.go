package route

import (
	"context"
	"time"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/v1/api"
)

// plannerAudits says whether operations are recorded where they are planned, in one
// entry of the log with what they change.
func (m *Mux) plannerAudits() bool {
	st, _ := m.cfg.Reader.Fork()
	return st.Meta.Level >= event.LevelAudit
}

// AuditInput records an operation that was refused or failed. One that was done is
// recorded by the planner, once all replicas know who asks.
func (c *Call) AuditInput(in input.Input, err error) {
	action := input.Operation(in)
	if action == "" {
		return
	}
	if err == nil && c.mux.plannerAudits() {
		return
	}
	c.recordFew(action, auth.Clip(c.R.URL.Path), err)
}

// Audit records an administrator's action in the replicated log. A failure to
// record is logged; the action stands.
func (c *Call) Audit(action, target string, result error) {
	c.audited = true
	c.recordFew(action, target, result)
}

// recordFew records an action, unless it failed as others just before.
func (c *Call) recordFew(action, target string, result error) {
	if target, ok := c.auditable(action, target, result); ok {
		c.record(action, target, result)
	}
}

// auditable says whether an action is to be recorded: every success, and
// failures while they are few. The target tells of those that were not.
func (c *Call) auditable(action, target string, result error) (string, bool) {
	if result == nil {
		return target, true
	}
	missed, ok := c.mux.refusals.take(refusedCall{who: auth.Of(c.R).String(), action: action, code: c.mux.cfg.Problems.Of(result, true).Code})
	return withMissed(target, missed), ok
}

// record writes what is auditable.
func (c *Call) record(action, target string, result error) {
	text := event.AuditDone
	if result != nil {
		text = c.mux.cfg.Problems.Of(result, true).Code
	}
	if text == api.CodeNoLeader { // nobody can record it
		c.mux.log.Warn("action not recorded in the audit: no leader", "action", action, "target", target)
		return
	}
	in := &input.Audit{Who: c.Who(), From: c.R.RemoteAddr, Action: action, Target: target, Result: text}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.R.Context()), 5*time.Second)
	defer cancel()
	if _, _, err := c.mux.cfg.Submitter.Do(ctx, input.Request{Input: in}); err != nil {
		c.mux.log.Warn("action not recorded in the audit", "action", action, "target", target, "error", err)
	}
}

// auditRefused records that an administrator's call was not admitted or failed,
// when its handler has not done so. It does not keep the caller waiting.
func (c *Call) auditRefused(err error) {
	if err == nil || c.audited || !c.Route.administrative() {
		return
	}
	action := c.Route.Method + " " + c.Route.Pattern
	target, ok := c.auditable(action, auth.Clip(c.R.URL.Path), err) // in the order of the failures
	if !ok {
		return
	}
	c.mux.mu.Lock()
	defer c.mux.mu.Unlock()
	if c.mux.closed {
		return
	}
	c.mux.audits.Go(func() { c.record(action, target, err) })
}
