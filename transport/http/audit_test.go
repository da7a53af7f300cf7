package httpserver

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// TestAuditIsFiltered checks the filters of the audit by caller, action, time and number.
func TestAuditIsFiltered(t *testing.T) {
	b := newBench(t, nil)
	b.fails(501, api.CodeNotAvailable, "GET", "/v1/audit", "")
	b.h.apply(t, &event.LevelRaised{Level: event.LevelAudit},
		&event.Audited{Who: "token ci", Action: "app kill", Target: "a", Result: event.AuditDone},
		&event.TimeAdvanced{NowMillis: clusterTime + 500_000},
		&event.Audited{Who: "alice", Action: "app kill", Target: "b", Result: event.AuditDone},
		&event.Audited{Who: "token ci", Action: "conf set", Target: "c", Result: "INVALID_QUEUES"})
	for query, want := range map[string]string{"": "a b c", "?who=CI": "a c", "?action=kill": "a b", "?who=ci&action=kill": "a", "?since=1780000500000": "b c", "?after=2": "c", "?limit=1": "c", "?who=nobody": ""} {
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

// TestKillDiagnosticsNameCaller checks that the diagnostics of a killed application name the caller
// in YARN's words, with and without a message of the caller.
func TestKillDiagnosticsNameCaller(t *testing.T) {
	b := newBench(t, nil)
	for body, want := range map[string]string{
		`{}`:                          "Application " + app1 + " was killed by user ann at 127.0.0.1",
		`{"diagnostics":"too large"}`: "Application " + app1 + " was killed by user ann at 127.0.0.1 with diagnostic message: too large",
	} {
		b.into(200, nil, "POST", "/v1/apps/"+app1+":kill", body, api.HeaderUser, "ann")
		if got := b.d.last(t).Input.(*input.KillApplication).Diagnostics; got != want {
			t.Errorf("diagnostics of a kill with body %s = %q, want %q", body, got, want)
		}
	}
}
