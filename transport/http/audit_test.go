package httpserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/job"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/yarn"
)

// TestAuditIsFiltered checks the filters of the audit by caller, action, time and number.
func TestAuditIsFiltered(t *testing.T) {
	b := newBench(t, nil)
	b.h.apply(t, &event.Audited{Who: "token ci", Action: "app kill", Target: "a", Result: event.AuditDone},
		&event.TimeAdvanced{NowMillis: clusterTime + 500_000},
		&event.Audited{Who: "alice", Action: "app kill", Target: "b", Result: event.AuditDone},
		&event.Audited{Who: "token ci", Action: "conf set", Target: "c", Result: "INVALID_QUEUES"})
	for query, want := range map[string]string{"": "a b c", "?who=CI": "a c", "?action=kill": "a b",
		"?who=ci&action=kill": "a", "?since=1780000500000": "b c", "?after=2": "c", "?limit=1": "c", "?who=nobody": ""} {
		var d api.Audit
		b.into(200, &d, "GET", "/v1/audit"+query, "")
		var got []string
		for _, e := range d.Entries {
			got = append(got, e.Target)
			if e.AtMillis == 0 || e.Number == 0 {
				t.Errorf("%+v has no time or number", e)
			}
		}
		if strings.Join(got, " ") != want || d.Newest != 3 {
			t.Errorf("%s: %v, newest %d", query, got, d.Newest)
		}
	}
}

// TestAuditWithoutLeader checks that a record that no leader takes is no problem of the replica, as another one is.
func TestAuditWithoutLeader(t *testing.T) {
	jobs := job.New(time.Now)
	b := newBench(t, func(c *Config) { c.Jobs = jobs })
	for _, err := range []error{problem.ErrNoLeader, errors.New("the disk is full")} {
		b.d.answering(func(context.Context, input.Request) (input.Reply, uint64, error) { return nil, 0, err })
		b.ask("POST", "/v1/cluster/members/rm2:remove", `{}`)
		if failing := jobs.Job(job.Audit).Failing(); failing != (err != problem.ErrNoLeader) {
			t.Errorf("after %v: failing %v", err, failing)
		}
	}
}

// TestKillDiagnosticsNameCaller checks that the diagnostics of a killed application name the caller
// in YARN's words, with and without a message of the caller.
func TestKillDiagnosticsNameCaller(t *testing.T) {
	b := newBench(t, nil)
	for body, want := range map[string]string{
		`{}`: "Application " + app1 + " was killed by user ann at 127.0.0.1",
		`{"diagnostics":"too large"}`: "Application " + app1 +
			" was killed by user ann at 127.0.0.1 with diagnostic message: too large",
	} {
		b.into(200, nil, "POST", "/v1/apps/"+app1+":kill", body, api.HeaderUser, "ann")
		if got := b.d.last(t).Input.(*input.KillApplication).Diagnostics; got != want {
			t.Errorf("diagnostics of a kill with body %s = %q, want %q", body, got, want)
		}
	}
}

// TestAuditFollowsSecrecy checks that a download of the state, which holds the keys that sign
// tokens, and calls that cost much leave an entry in the audit.
func TestAuditFollowsSecrecy(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Planner.Rerun = func(context.Context, *state.State) (*api.Rerun, error) { return &api.Rerun{}, nil }
		c.Planner.Preview = func(context.Context, int64, int64, bool) (*api.PreemptionPreview, error) {
			return &api.PreemptionPreview{Runs: []api.PreviewRun{}}, nil
		}
	})
	for _, tc := range []struct{ method, path, body, action string }{
		{"GET", "/v1/snapshot", "", "snapshot save"},
		{"POST", "/v1/replay:rerun", "", "replay rerun"},
		{"POST", "/v1/preemption:preview", `{"from_ms":1}`, "preemption preview"},
	} {
		recorded := func(a *input.Audit) bool { return a.Action == tc.action && a.Result == event.AuditDone }
		if w := b.ask(tc.method, tc.path, tc.body); w.Code != 200 {
			t.Errorf("%s %s = %d %s", tc.method, tc.path, w.Code, w.Body)
		}
		end := time.Now().Add(30 * time.Second) // the record is written after the answer
		for !slices.ContainsFunc(b.d.audits(), recorded) && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
		if !slices.ContainsFunc(b.d.audits(), recorded) {
			t.Errorf("%s %s leaves no record of %q", tc.method, tc.path, tc.action)
		}
	}
}

// TestEveryChangeHasName checks that a change by an operator has a name in the audit before there is an
// input, so that a refused call has the name of an accepted one.
func TestEveryChangeHasName(t *testing.T) {
	for _, r := range newBench(t, nil).s.mux.Routes() {
		if r.Class == auth.ClassWrite && r.Access().Least >= yarn.RoleOperator && r.Pattern != "/v1/inputs" &&
			strings.Contains(r.Action(), "/") {
			t.Errorf("%s has no name: give the route As or Makes", r.Action())
		}
	}
}

// TestNamesOfCallers checks that no request is served in the name of a user that there cannot be.
func TestNamesOfCallers(t *testing.T) {
	b := newBench(t, nil)
	b.fails(400, api.CodeInvalidRequest, "POST", "/v1/apps/"+app1+":kill", "{}", api.HeaderUser, "an\xffn")
	b.fails(400, api.CodeInvalidRequest, "POST", "/v1/apps/"+app1+":kill", "{}", api.HeaderUser, "../root")
	b.fails(400, api.CodeInvalidRequest, "GET", "/v1/apps?user.name=an%00n", "")
	b.fails(400, api.CodeInvalidRequest, "GET", "/v1/apps?user%2Ename=..%2Froot", "")
}
