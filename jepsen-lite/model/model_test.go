package model

import (
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/history"
)

type value = history.Value

// ok, refused and unknown return calls by their outcome.
func ok(f history.F, call, ret int64, in, out value) history.Call {
	return history.Call{Op: history.Op{F: f, Type: history.OK, In: &in, Out: &out, NS: call}, Return: ret}
}

func refused(f history.F, call, ret int64, in value, code string) history.Call {
	return history.Call{Op: history.Op{F: f, Type: history.Fail, In: &in, Out: &value{Code: code}, NS: call}, Return: ret}
}

func unknown(f history.F, call int64, in value) history.Call {
	return history.Call{Op: history.Op{F: f, Type: history.Info, In: &in, Out: &value{}, NS: call},
		Return: history.Endless}
}

func app(id string) value { return value{App: id} }

func submit(call, ret int64) history.Call {
	return ok(history.Submit, call, ret, value{Name: "job", Queue: "root.a"}, value{App: "x"})
}

func read(call, ret int64, state string) history.Call {
	return ok(history.ReadApp, call, ret, app("x"), value{State: state})
}

func kill(call, ret int64) history.Call { return ok(history.Kill, call, ret, app("x"), value{}) }

var none value

// histories are histories of clients. bad is a part of the result for an illegal one, or "".
var histories = []struct {
	name  string
	calls []history.Call
	bad   string
}{
	{"an application's life", []history.Call{
		refused(history.ReadApp, 1, 2, app("x"), history.NotFound), submit(3, 4), read(5, 6, "ACCEPTED"),
		read(7, 8, "RUNNING"), read(9, 10, "ACCEPTED"),
		kill(11, 12), read(13, 14, "KILLED"), refused(history.ReadApp, 15, 16, app("x"), history.NotFound)}, ""},
	{"a read beside a kill may see either", []history.Call{submit(1, 2), kill(5, 20), read(6, 9, "KILLED"),
		read(10, 12, "KILLED")}, ""},
	{"a read after a kill", []history.Call{submit(1, 2), kill(3, 4), read(5, 6, "RUNNING")}, "read-app x → ok RUNNING"},
	{"two reads of a kill in the wrong order",
		[]history.Call{submit(1, 2), kill(5, 20), read(6, 9, "KILLED"), read(10, 12, "RUNNING")}, "read-app x → ok RUNNING"},
	{"a submission that is not there", []history.Call{submit(1, 2),
		refused(history.ReadApp, 3, 4, app("x"), history.NotFound)}, "not-found"},
	{"a terminal state that changes", []history.Call{submit(1, 2), read(3, 4, "FAILED"), read(5, 6, "FINISHED")},
		"FINISHED"},
	{"killed by nobody", []history.Call{submit(1, 2), read(3, 4, "KILLED")}, "KILLED"},
	{"an unknown kill may come late", []history.Call{submit(1, 2), unknown(history.Kill, 3, app("x")),
		read(5, 6, "RUNNING"), read(7, 8, "KILLED")}, ""},
	{"an unknown kill may never come", []history.Call{submit(1, 2), unknown(history.Kill, 3, app("x")),
		read(5, 6, "RUNNING"), read(7, 8, "FINISHED")}, ""},
	{"an unknown kill comes once", []history.Call{submit(1, 2), unknown(history.Kill, 3, app("x")), read(5, 6, "KILLED"),
		read(7, 8, "RUNNING")}, "RUNNING"},
	{"a kill cannot come before its call", []history.Call{submit(1, 2), read(3, 4, "KILLED"),
		unknown(history.Kill, 5, app("x"))}, "KILLED"},
	{"an unknown submission, repeated", []history.Call{unknown(history.Submit, 1, value{Name: "job"}), submit(3, 4),
		submit(5, 6), read(7, 8, "RUNNING")}, ""},
	{"an unknown submission seen and gone", []history.Call{unknown(history.Submit, 1, app("x")), read(3, 4, "ACCEPTED"),
		refused(history.ReadApp, 5, 6, app("x"), history.NotFound)}, "not-found"},
	{"finished before its AM said so", []history.Call{submit(1, 2), read(3, 4, "FINISHED"),
		ok(history.Finish, 5, 6, value{Attempt: "appattempt_1_0001_000001", App: "x"}, none)}, "FINISHED"},
	{"a move", []history.Call{submit(1, 2), ok(history.Move, 3, 4, value{App: "x", Queue: "root.b"}, none),
		ok(history.ReadApp, 5, 6, app("x"), value{State: "RUNNING", Queue: "root.b"})}, ""},
	{"a move that is undone", []history.Call{submit(1, 2), ok(history.Move, 3, 4, value{App: "x", Queue: "root.b"}, none),
		ok(history.ReadApp, 5, 6, app("x"), value{State: "RUNNING", Queue: "root.a"})}, "read-app"},
	{"a stale read is no part of it", []history.Call{submit(1, 2), kill(3, 4),
		ok(history.ReadApp, 5, 6, value{App: "x", Stale: true}, value{State: "RUNNING"})}, ""},
	{"another application has its own life",
		[]history.Call{submit(1, 2), kill(3, 4), ok(history.Submit, 5, 6, value{Name: "b"}, app("y")),
			ok(history.ReadApp, 7, 8, app("y"), value{State: "RUNNING"})}, ""},

	{"a queue drains", []history.Call{ok(history.ReadQueue, 1, 2, value{Queue: "root.a"}, value{State: "RUNNING"}),
		ok(history.QueueStop, 3, 4, value{Queue: "root.a"}, none),
		ok(history.ReadQueue, 5, 6, value{Queue: "root.a"}, value{State: "DRAINING"}),
		ok(history.ReadQueue, 7, 8, value{Queue: "root.a"}, value{State: "STOPPED"}),
		ok(history.QueueDelete, 9, 10, value{Queue: "root.a"}, none),
		refused(history.ReadQueue, 11, 12, value{Queue: "root.a"}, history.NotFound)}, ""},
	{"a stopped queue drains again", []history.Call{ok(history.QueueStop, 3, 4, value{Queue: "root.a"}, none),
		ok(history.ReadQueue, 5, 6, value{Queue: "root.a"}, value{State: "STOPPED"}),
		ok(history.ReadQueue, 7, 8, value{Queue: "root.a"}, value{State: "DRAINING"})}, "DRAINING"},
	{"a queue above is stopped", []history.Call{
		ok(history.ReadQueue, 1, 2, value{Queue: "root.a.x"}, value{State: "RUNNING"}),
		ok(history.QueueStop, 3, 4, value{Queue: "root.a"}, none),
		ok(history.ReadQueue, 5, 6, value{Queue: "root.a.x"}, value{State: "RUNNING"})}, "root.a.x"},
	{"a setting that is lost", []history.Call{ok(history.QueueSet, 1, 2, value{Queue: "root.a", Text: "40"}, none),
		ok(history.QueueSet, 3, 4, value{Queue: "root.a", Text: "50"}, none),
		ok(history.ReadQueue, 5, 6, value{Queue: "root.a"}, value{Text: "40"})}, "40"},
	{"an unknown setting", []history.Call{ok(history.QueueSet, 1, 2, value{Queue: "root.a", Text: "40"}, none),
		unknown(history.QueueSet, 3, value{Queue: "root.a", Text: "50"}),
		ok(history.ReadQueue, 5, 6, value{Queue: "root.a"}, value{Text: "40"}),
		ok(history.ReadQueue, 7, 8, value{Queue: "root.a"}, value{Text: "50"})}, ""},

	{"a node drains and is lost", []history.Call{ok(history.NodeDrain, 1, 2, value{Node: "n1"}, none),
		ok(history.ReadNode, 3, 4, value{Node: "n1"}, value{State: "LOST"}),
		ok(history.ReadNode, 5, 6, value{Node: "n1"}, value{State: "DECOMMISSIONED"})}, ""},
	{"a node taken out runs", []history.Call{ok(history.NodeRemove, 1, 2, value{Node: "n1"}, none),
		ok(history.ReadNode, 3, 4, value{Node: "n1"}, value{State: "RUNNING"})}, "RUNNING"},
	{"a node in service is decommissioned by nobody", []history.Call{ok(history.NodeAdd, 1, 2, value{Node: "n1"}, none),
		ok(history.ReadNode, 3, 4, value{Node: "n1"}, value{State: "DECOMMISSIONED"})}, "DECOMMISSIONED"},

	{"members come and go", []history.Call{members3(1), ok(history.Join, 3, 4, value{Replica: "r4", Voter: true}, none),
		list(5, "r1", "r2", "r3", "r4?"),
		list(7, "r1", "r2", "r3", "r4"), ok(history.Remove, 9, 10, value{Replica: "r1"}, none), list(11, "r2", "r3", "r4")},
		""},
	{"a removed member is back", []history.Call{members3(1), ok(history.Remove, 3, 4, value{Replica: "r1"}, none),
		members3(5)}, "r1"},
	{"a voter becomes none", []history.Call{members3(1), list(3, "r1", "r2", "r3?")}, "r3(nonvoter)"},
	{"an unknown removal", []history.Call{members3(1), unknown(history.Remove, 3, value{Replica: "r1"}), members3(5),
		list(7, "r2", "r3")}, ""},
	{"two are gone and one was removed", []history.Call{members3(1), ok(history.Remove, 3, 4, value{Replica: "r1"}, none),
		list(5, "r2")}, "read-members"},
}

func members3(at int64) history.Call { return list(at, "r1", "r2", "r3") }

// list returns a read of the members. Those with a question mark do not vote.
func list(at int64, ids ...string) history.Call {
	var out value
	for _, id := range ids {
		name, nonvoter := strings.CutSuffix(id, "?")
		out.Members = append(out.Members, history.Member{ID: name, Voter: !nonvoter})
	}
	return ok(history.ReadMembers, at, at+1, none, out)
}

func TestHistories(t *testing.T) {
	for _, tt := range histories {
		t.Run(tt.name, func(t *testing.T) {
			var found []string
			for _, p := range Parts(tt.calls, Options{}) {
				switch res := p.Check(time.Minute); {
				case res.Undecided:
					t.Fatalf("undecided: %s", res.Text)
				case !res.Legal:
					found = append(found, res.Text)
					if n := len(res.Calls); n == 0 || !strings.HasSuffix(res.Text, Describe(res.Calls[n-1])) {
						t.Errorf("%s: the last call is not the one at fault", res.Text)
					}
				}
			}
			switch {
			case tt.bad == "" && len(found) > 0:
				t.Errorf("legal, and found: %v", found)
			case tt.bad != "" && (len(found) != 1 || !strings.Contains(found[0], tt.bad)):
				t.Errorf("found %q, want one with %q", found, tt.bad)
			}
		})
	}
}

// TestUndecided checks that an interrupted search is undecided and not legal.
func TestUndecided(t *testing.T) {
	calls := []history.Call{submit(1, 2)}
	for i := int64(0); i < 2000; i++ {
		calls = append(calls, unknown(history.Move, 3+i, value{App: "x", Queue: "root." + string(rune('a'+i%26))}))
	}
	calls = append(calls, ok(history.ReadApp, 5000, 5001, app("x"), value{State: "RUNNING", Queue: "root.zz"}))
	p := Parts(calls, Options{})[0]
	if res := p.Check(time.Millisecond); !res.Undecided || res.Legal {
		t.Errorf("Check that is interrupted = %+v, want it undecided and not legal", res)
	}
}

// TestAutopilot checks that only with the autopilot members may be promoted and removed without an
// operation.
func TestAutopilot(t *testing.T) {
	calls := []history.Call{list(1, "r1", "r2", "r3?"), list(3, "r1", "r2", "r3"), list(5, "r2", "r3")}
	for auto, want := range map[bool]bool{true: true, false: false} {
		p := Parts(calls, Options{Autopilot: auto})[0]
		if res := p.Check(time.Minute); res.Legal != want {
			t.Errorf("autopilot %v: %+v", auto, res)
		}
	}
}
