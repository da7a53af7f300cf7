package route

import (
	"cmp"
	"context"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/audit"
	"rmd/transport/http/auth"
)

// AuditInput records an operation that was refused or failed. The planner records
// successes, in the log entry with their changes.
func (c *Call) AuditInput(in input.Input, err error) {
	action := input.Operation(in)
	if action == "" || err == nil {
		return
	}
	st, _ := c.mux.cfg.Views.Fork(c.R)
	c.recordFew(action, cmp.Or(audit.Wanted(st, in), c.target()), err)
}

// target returns what the path of the call names, such as a node or a queue.
func (c *Call) target() string {
	var names []string
	for _, s := range c.Route.segs {
		if strings.HasPrefix(s, "{") {
			names = append(names, c.Args[s[1:strings.IndexByte(s, '}')]])
		}
	}
	return auth.Clip(strings.Join(names, " "))
}

// Audit records the action of an administrator's call in the replicated log. If that fails, it logs the
// failure; the action stands.
func (c *Call) Audit(target string, result error) {
	c.audited = true
	c.recordFew(c.Route.Action(), target, result)
}

// recordFew records an action, unless it is one of many equal failures.
func (c *Call) recordFew(action, target string, result error) {
	if target, ok := c.auditable(action, target, result); ok {
		c.record(action, target, result)
	}
}

// auditable reports whether to record an action: every success, and failures unless they are
// frequent. The returned target says how many equal failures were not recorded.
func (c *Call) auditable(action, target string, result error) (string, bool) {
	if result == nil {
		return target, true
	}
	missed, ok := c.mux.refusals.take(refusedCall{who: auth.Of(c.R).String(), action: action,
		code: c.mux.cfg.Problems.Of(result, true).Code})
	return withMissed(target, missed), ok
}

// record writes an audit record.
func (c *Call) record(action, target string, result error) {
	text := event.AuditDone
	if result != nil {
		text = c.mux.cfg.Problems.Of(result, true).Code
	}
	noLeader := func() { // it cannot be recorded, and once there is a leader nothing is wrong
		c.mux.log.Warn("action not recorded in the audit: no leader", "action", action, "target", target)
	}
	if text == api.CodeNoLeader {
		noLeader()
		return
	}
	in := &input.Audit{Who: c.Who(), From: c.R.RemoteAddr, Action: action, Target: target, Result: text}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.R.Context()), 5*time.Second)
	defer cancel()
	_, _, err := c.mux.cfg.Submitter.Do(ctx, input.Request{Input: in})
	if err != nil && c.mux.cfg.Problems.Of(err, true).Code == api.CodeNoLeader {
		noLeader()
		return
	}
	if c.mux.cfg.Audit.Done(err) != nil {
		c.mux.log.Warn("action not recorded in the audit", "action", action, "target", target, "error", err)
	}
}

// auditRefused records that an administrator's call was refused or failed, unless its handler has
// done so. It does not delay the answer.
func (c *Call) auditRefused(err error) {
	if err == nil || c.audited || !c.Route.administrative() {
		return
	}
	c.recordLater(c.target(), err)
}

// AuditRead records a read that reveals secrets or costs much. It does not delay the answer.
func (c *Call) AuditRead(target string, result error) {
	c.audited = true
	c.recordLater(target, result)
}

// recordLater is Audit in the background. It decides at once whether to record, in the order of
// the failures.
func (c *Call) recordLater(target string, err error) {
	action := c.Route.Action()
	target, ok := c.auditable(action, target, err)
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
