package planner

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/audit"
	"rmd/yarn"
)

// TestAuditRecordedWithChange checks that the log entry of an operator's change also records who
// asked for it and what it replaced. Refused inputs, inputs that change nothing and routine calls
// of programs are not recorded.
func TestAuditRecordedWithChange(t *testing.T) {
	h := newHouse(t, 1, false)
	one, two := h.run(), h.run()
	by := input.Caller{Who: "token ci", From: "10.0.0.9:4"}
	conf := func(extra ...string) *input.SetQueues {
		in := &input.SetQueues{Comment: "why", Properties: []input.Property{
			{Name: confPrefix + "root.queues", Value: "a,secret"}, {Name: confPrefix + "root.a.capacity", Value: "60"},
			{Name: confPrefix + "root.secret.capacity", Value: "40"},
			{Name: confPrefix + "root.a.user-limit-factor", Value: "100"},
			{Name: confPrefix + "maximum-am-resource-percent", Value: "1"},
			{Name: "yarn.resourcemanager.max-completed-applications", Value: "0"}}}
		for i := 0; i < len(extra); i += 2 {
			in.Properties = append(in.Properties, input.Property{Name: extra[i], Value: extra[i+1]})
		}
		return in
	}
	for i, step := range []struct {
		in             input.Input
		action, target string // empty if nothing is recorded
	}{
		{&input.SetPriority{ID: one.App, Priority: 0}, "", ""},
		{conf("yarn.cluster.max-application-priority", "9", confPrefix+"root.a.password", "hunter2"), "conf set",
			`version 2; yarn.cluster.max-application-priority: unset → "9"; root.a.capacity: "100" → "60"; root.a.password: unset → (hidden); root.queues: "a" → "a,secret"; root.secret.capacity: unset → "40" (why)`},
		{&input.SetQueues{DryRun: true, Properties: conf().Properties}, "", ""},
		{&input.SetQueues{IfVersion: 77, Properties: conf().Properties}, "", ""},
		{&input.SetPriority{ID: one.App, Priority: 3}, "app priority", one.App.String() + " priority 0 → 3"},
		{&input.MoveApplication{ID: one.App, Queue: "secret"}, "app move", one.App.String() + " queue root.a → secret"},
		{&input.SetLifetime{ID: one.App, LifetimeMillis: 7000}, "app lifetime",
			one.App.String() + " lifetime unlimited → 7s"},
		{&input.KillApplication{ID: one.App, User: "ann"}, "app kill", one.App.String()},
		{&input.KillApplication{ID: one.App, User: "ann"}, "", ""}, // The application has already ended.
		{&input.FailAttempt{Attempt: two}, "attempt fail", two.String()},
		{&input.SetQueueState{Queue: "root.secret", State: yarn.QueueStopped}, "queue stop", "root.secret"},
		{&input.SetQueueState{Queue: "root.secret", State: yarn.QueueRunning}, "queue start", "root.secret"},
		{&input.SetQueueState{Queue: "root.secret", State: yarn.QueueStopped}, "queue stop", "root.secret"},
		{&input.SetQueueState{Queue: "root.secret", State: yarn.QueueStopped}, "", ""},
		{&input.SetNodeResource{ID: h.nodes[0], Total: yarn.NewResource(4096, 4)}, "node resource", h.nodes[0].String()},
		{&input.DrainNode{ID: h.nodes[0]}, "node drain", h.nodes[0].String()},
		{&input.DrainNodes{IDs: h.nodes[:1], DeadlineMillis: 1 << 40}, "node drain", "1 nodes: " + h.nodes[0].String()},
		{&input.DrainNodes{IDs: h.nodes[:1], DeadlineMillis: 1 << 40}, "", ""},
		{&input.DrainNode{ID: h.nodes[0], Back: true}, "node undrain", h.nodes[0].String()},
		{&input.SetHosts{Exclude: []string{"n9"}}, "node lists", "include 0 → 0, exclude 0 → 1 hosts"},
		{&input.CreateJoinToken{Hash: make([]byte, 32), Voter: true, TTLMillis: 3_600_000}, "cluster token create", "voter"},
		{access("boss", 2, yarn.RoleAdmin), "access token create", "boss admin"},
		{access("boss", 2, yarn.RoleAdmin), "", ""}, // a retry, because the first answer was lost
		{&input.RevokeAccessToken{Name: "boss"}, "access token revoke", "boss, the last one"},
		{&input.RollbackQueues{To: 1}, "conf rollback", `version 3; `},
		{&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}, "", ""},
		{&input.Tick{Entropy: make([]byte, 32)}, "", ""},
	} {
		h.now += 1000
		_, events := h.p.Plan(h.now, input.Request{Caller: by, Input: step.in})
		var got *event.Audited
		for _, e := range events {
			if a, ok := e.(*event.Audited); ok {
				got = a
			}
		}
		switch {
		case (got != nil) != (step.action != ""):
			t.Errorf("step %d, %T: recorded as %+v", i, step.in, got)
		case got != nil && (got.Who != by.Who || got.From != by.From || got.Action != step.action ||
			!strings.HasPrefix(got.Target, step.target) || got.Result != event.AuditDone):
			t.Errorf("step %d: recorded as %+v, want %s %s", i, got, step.action, step.target)
		}
		if got != nil {
			kept := h.p.st.Audit.After(h.p.st.Audit.Newest() - 1)
			if len(kept) != 1 || kept[0].AtMillis != h.now || kept[0].Action != got.Action || kept[0].Who != got.Who {
				t.Errorf("step %d: the state keeps %+v", i, kept)
			}
		}
	}
	if _,
		events := h.p.Plan(h.now, input.Request{Input: &input.SetQueueState{Queue: "root.a", State: yarn.QueueStopped}}); len(
		events) == 0 {
		t.Error("an operation without a caller is not planned")
	} else if a, ok := events[len(events)-1].(*event.Audited); ok {
		t.Errorf("an operation without a caller is recorded as %+v", a)
	}
}

// TestAuditOfRefusedConf checks what is told of a configuration that is refused.
func TestAuditOfRefusedConf(t *testing.T) {
	h := newHouse(t, 0, false)
	in := &input.SetQueues{Comment: "why", Properties: []input.Property{{Name: confPrefix + "root.z.capacity", Value: "1"}}}
	for _, p := range h.p.st.Versions.Current().Properties {
		in.Properties = append(in.Properties, input.Property{Name: p.Name, Value: p.Value})
	}
	if got, want := audit.Wanted(h.p.st, in), `root.z.capacity: unset → "1" (why)`; got != want {
		t.Errorf("Wanted = %s, want %s", got, want)
	}
	in.Properties = slices.Repeat(in.Properties[:1], 1000)
	for i := range in.Properties {
		in.Properties[i].Name += strings.Repeat("y", i)
	}
	if got := audit.Wanted(state.New(), in); len(got) > audit.TargetMax || !strings.Contains(got, "more (why)") {
		t.Errorf("Wanted = %d bytes, %s", len(got), got)
	}
}

// TestAuditTextsAreBounded checks that texts of callers are cut, because entries are kept for a
// long time.
func TestAuditTextsAreBounded(t *testing.T) {
	h := newHouse(t, 0, false)
	long := strings.Repeat("ü", 100_000)
	in := &input.SetQueues{Comment: long, Properties: []input.Property{{Name: confPrefix + "root.queues", Value: "a"},
		{Name: confPrefix + "root.a.capacity", Value: "100"}}}
	for i := range 200 {
		in.Properties = append(in.Properties, input.Property{Name: confPrefix + "root.a.x" + strings.Repeat("y", i),
			Value: long})
	}
	h.p.Plan(h.now, input.Request{Caller: input.Caller{Who: long, From: long}, Input: in})
	h.p.Plan(h.now, input.Request{Input: &input.Audit{Who: long, From: long, Action: long, Target: long, Result: long}})
	kept := h.p.st.Audit.After(0)
	if len(kept) != 2 || !strings.Contains(kept[0].Target, "more: ") {
		t.Fatalf("%d entries, %+v", len(kept), kept)
	}
	for _, a := range kept {
		for _, text := range []string{a.Who, a.From, a.Action, a.Target, a.Result} {
			if len(text) > audit.TargetMax || !utf8.ValidString(text) {
				t.Errorf("a text of %d bytes is kept, valid %v", len(text), utf8.ValidString(text))
			}
		}
	}
	if len(kept[0].Who) > audit.NameMax {
		t.Errorf("a name of %d bytes", len(kept[0].Who))
	}
}

// TestEveryOperationHasATarget checks that every recorded operation names what it changed.
func TestEveryOperationHasATarget(t *testing.T) {
	p := must(New(state.New(), Options{}))
	for k := range input.KindsEnd {
		in := input.New(k)
		if in == nil || input.Operation(in) == "" {
			continue
		}
		switch in.(type) {
		case *input.SetQueues, *input.SetQueueState, *input.AdoptQueue, *input.SetAccessToken, *input.RevokeAccessToken:
			continue // named by their own texts, which are empty here
		}
		if audit.Target(p.st, in) == "" {
			t.Errorf("%T has no target", in)
		}
	}
}
