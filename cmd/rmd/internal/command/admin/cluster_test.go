package admin

import (
	"strings"
	"testing"

	"rmd/api"
)

// TestVerdictElection checks how the last election is described, also if the leader stayed the same.
func TestVerdictElection(t *testing.T) {
	for want, f := range map[string]api.Failover{
		": rm2 leads again; rm3 knew no leader for 4.9 s":            {OldLeader: "rm2", NewLeader: "rm2", Millis: 4874.2},
		": rm1 leads in place of rm2; rm3 knew no leader for 214 ms": {OldLeader: "rm2", NewLeader: "rm1", Millis: 214},
		": rm1 leads; rm3 knew no leader for 9 ms":                   {NewLeader: "rm1", Millis: 9},
		": rm1 leads again after 2 elections; rm3 knew no leader for 25.2 s": {OldLeader: "rm1", NewLeader: "rm1",
			Millis: 25224, Elections: 2},
		": rm1 leads; rm3 knew no leader for 1m30s": {NewLeader: "rm1", Millis: 90_000},
	} {
		f.AtMillis = 1780000000000
		line := verdictLine(api.Cluster{ID: "rm3", Leader: f.NewLeader, LastFailover: &f})
		if !strings.Contains(line, "\nlast election ") || !strings.HasSuffix(line, want) {
			t.Errorf("%+v: %q, want %q at its end", f, line, want)
		}
	}
}

// TestVerdictTellsMore checks that the status says more than that the replicas are healthy if there is a
// warning, or if no node takes containers.
func TestVerdictTellsMore(t *testing.T) {
	for want, d := range map[string]api.Cluster{
		"\nwarning: rm1: it has read another file": {Verdict: api.Verdict{Status: "healthy",
			Warnings: []string{"rm1: it has read another file"}}},
		"healthy   no leader": {Verdict: api.Verdict{Status: "healthy"},
			Totals: api.Totals{Nodes: 2, UsableNodes: 2, DrainingNodes: 1}},
		"healthy, but no node takes containers   ": {Leader: "rm1", Verdict: api.Verdict{Status: "healthy"},
			Totals: api.Totals{Nodes: 2, UsableNodes: 1, DrainingNodes: 1}},
		"degraded, and no node takes containers   ": {Leader: "rm1", Verdict: api.Verdict{Status: "degraded"},
			Totals: api.Totals{Nodes: 2}},
		"no-leader   ": {Verdict: api.Verdict{Status: "no-leader"}, Totals: api.Totals{Nodes: 2}},
	} {
		if line := verdictLine(d); !strings.Contains(line, want) {
			t.Errorf("%+v: %q does not say %q", d, line, want)
		}
	}
}

// TestStatusWithoutLeader checks that the status shows no room of nodes and no leader that nobody knows any more.
func TestStatusWithoutLeader(t *testing.T) {
	d := api.Cluster{Leader: "rm1", LastFailover: &api.Failover{NewLeader: "rm1", Millis: 9}, Totals: api.Totals{Nodes: 4},
		Rooms: []api.LabelRoom{{Room: api.Room{ServingNodes: 4, EmptyNodes: 1}}}}
	for _, leader := range []string{"rm1", ""} {
		d.Leader = leader
		head := statusHead(d)
		for _, text := range []string{"last election", "of 4 nodes empty"} {
			if strings.Contains(head, text) != (leader != "") {
				t.Errorf("with leader %q: %q", leader, head)
			}
		}
	}
}

// TestStatusWhileStarting checks that a replica that knows no members yet counts none.
func TestStatusWhileStarting(t *testing.T) {
	d := api.Cluster{Name: "prod", Verdict: api.Verdict{Status: "starting", Text: "ask again"}}
	if head := statusHead(d); head != "prod: starting   no leader (term 0)\nask again" {
		t.Errorf("head %q", head)
	}
}

func TestMemberDisk(t *testing.T) {
	for want, m := range map[string]api.Member{
		"-":     {State: "unreachable", DiskFull: true},
		"FULL":  {State: "alive", DiskFull: true},
		"1 GiB": {State: "alive", DiskFree: 1 << 30},
	} {
		if got := memberDisk(m); got != want {
			t.Errorf("memberDisk(%+v) = %q, want %q", m, got, want)
		}
	}
}
