package view

import (
	"fmt"
	"strings"
	"testing"

	"rmd/api"
)

// replicas returns n healthy voters with the ids rm1, rm2 and so on.
func replicas(n int) []api.Member {
	var out []api.Member
	for i := range n {
		out = append(out, api.Member{ID: fmt.Sprint("rm", i+1), Voter: true, State: "alive", Leader: i == 0})
	}
	return out
}

// TestVerdictCanLose checks how many replicas a cluster can lose: so many that the others can still
// elect a leader, whichever are lost.
func TestVerdictCanLose(t *testing.T) {
	const why = "tls: expired certificate"
	cut := func(list []api.Member, from int, to ...int) {
		m := &list[from-1]
		if m.Unreached == nil {
			m.Unreached = map[string]string{}
		}
		for _, id := range to {
			m.Unreached[fmt.Sprint("rm", id)] = why
		}
	}
	for _, c := range []struct {
		name            string
		voters          int
		change          func(list []api.Member)
		inStep, canLose int
		status          string
		says            []string
	}{
		{"all is well", 3, func([]api.Member) {}, 3, 1, "healthy", nil},
		{"one", 1, func([]api.Member) {}, 1, 0, "healthy", []string{"add voters"}},
		{"five", 5, func([]api.Member) {}, 5, 2, "healthy", nil},
		{"seven", 7, func([]api.Member) {}, 7, 3, "healthy", nil},
		{"nobody leads", 3, func([]api.Member) {}, 3, 0, "no-leader", []string{"3 of 3 voters healthy"}},
		{"a majority is down", 3, func(l []api.Member) { l[1].State, l[2].State = "unreachable", "unreachable" }, 1, 0,
			"no-leader", []string{"a majority of 3 is 2: start rm2 or rm3; rm2 and rm3 do not answer"}},
		{"four of five are down", 5, func(l []api.Member) {
			for i := range 4 {
				l[i+1].State = "unreachable"
			}
		}, 1, 0, "no-leader", []string{"a majority of 5 is 3: start 2 of rm2, rm3, rm4, rm5"}},
		{"one of two is down", 2, func(l []api.Member) { l[1].State = "unreachable" }, 1, 0, "no-leader",
			[]string{"a majority of 2 is 2: start rm2"}},
		{"one runs without data", 3, func(l []api.Member) { l[2].State, l[2].Problem = "empty", "it runs without data" }, 2, 0,
			"degraded", []string{"can lose 0; rm3: it runs without data"}},
		{"one is down", 3, func(l []api.Member) { l[2].State = "unreachable" }, 2, 0, "degraded",
			[]string{"can lose 0; rm3 does not answer"}},
		{"nobody can connect", 3, func(l []api.Member) {
			cut(l, 1, 2, 3)
			cut(l, 2, 1, 3)
			cut(l, 3, 1, 2)
		}, 3, 0, "degraded",
			[]string{"rm1: it cannot open a new connection to rm2 and rm3, which an election needs: " + why, "rm3: it cannot"}},
		{"two cannot reach each other", 3, func(l []api.Member) {
			cut(l, 2, 3)
			cut(l, 3, 2)
		}, 3, 0, "degraded", []string{"rm2: it cannot"}},
		{"in one direction", 3, func(l []api.Member) { cut(l, 2, 3) }, 3, 0, "degraded", []string{"rm2: it cannot"}},
		{"one of five is alone", 5, func(l []api.Member) { cut(l, 5, 1, 2, 3, 4) }, 5, 1, "degraded",
			[]string{"rm5: it cannot"}},
		{"a dead one is not reached", 5, func(l []api.Member) {
			l[4].State = "unreachable"
			cut(l, 1, 5)
			cut(l, 2, 5)
		}, 4, 1, "degraded", nil},
		{"the leader stalls", 3, func(l []api.Member) { l[0].Stalled = "no progress for 9s: entry 4 is not committed" }, 2, 0,
			"degraded", []string{"rm1: no progress for 9s"}},
		{"a follower refuses", 3, func(l []api.Member) { l[1].Stalled = "it refuses the leader's entries: event 999" }, 2, 0,
			"degraded", []string{"rm2: it refuses"}},
		{"a job fails", 3,
			func(l []api.Member) {
				l[1].Problem = "snapshot: cannot write snapshots: no space left on device"
			}, 3, 1, "degraded", []string{"rm2: snapshot: cannot"}},
		{"a certificate ends soon", 3, func(l []api.Member) { l[1].Warning = "its certificate expires on 2026-12-01" }, 3, 1,
			"healthy", []string{"rm2: its certificate expires"}},
		{"fewer ports", 3, func(l []api.Member) {
			l[0].Ports, l[1].Ports, l[2].Ports = []string{"REST", "client"}, []string{"REST", "client"}, []string{"REST"}
		}, 3, 1, "healthy", []string{`rm3: it does not open the port "client", which rm1 opens`}},
		{"a witness has none of YARN's", 3, func(l []api.Member) {
			l[0].Ports, l[1].Ports, l[2].Ports, l[2].Witness = []string{"REST", "client"}, []string{"REST", "client"},
				[]string{"REST"}, true
		}, 3, 1, "healthy", nil},
		{"a witness has no pages", 3, func(l []api.Member) {
			l[0].Ports, l[1].Ports, l[2].Ports, l[2].Witness = []string{"REST", "client"}, []string{"REST", "client"},
				[]string{}, true
		}, 3, 1, "healthy", []string{`rm3: it does not open the port "REST", which rm1 opens`}},
		{"an older version does not say its ports", 3, func(l []api.Member) { l[0].Ports = []string{"REST"} }, 3, 1,
			"healthy", nil},
		{"other files", 3, func(l []api.Member) {
			for i := range l {
				l[i].Ports, l[i].Files = []string{"REST"}, map[string]string{"yarn-site.xml": "1", "core-site.xml": "2"}
			}
			l[0].Files = map[string]string{"yarn-site.xml": "1", "core-site.xml": "3"}
		}, 3, 1, "healthy", []string{"rm1: it has read another core-site.xml than rm2 and rm3: make them equal, then reload all"}},
	} {
		list := replicas(c.voters)
		c.change(list)
		leader := "rm1"
		if c.status == "no-leader" {
			leader = ""
		}
		v := Verdict(true, leader, list)
		if v.InStep != c.inStep || v.CanLose != c.canLose || v.Status != c.status {
			t.Errorf("%s: %d in step, can lose %d, %s; want %d, %d, %s", c.name, v.InStep, v.CanLose, v.Status, c.inStep,
				c.canLose, c.status)
		}
		for _, s := range c.says {
			if !strings.Contains(v.Text, s) {
				t.Errorf("%s: %q does not say %q", c.name, v.Text, s)
			}
		}
		if dead := strings.Contains(v.Text, "new connection to rm5"); dead {
			t.Errorf("%s: %q complains that a dead replica cannot be reached", c.name, v.Text)
		}
	}
}
