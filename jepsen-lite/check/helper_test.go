package check

import (
	"strings"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/jepsen-lite/history"
	"rmd/yarn"
)

// run builds a history. Its times are whole seconds.
type run struct {
	h     *history.History
	now   int64
	index uint64
	term  uint64
	p     int
}

const second = int64(1e9)

// timeout is the election timeout of the replicas in these tests.
const timeout = 500 * time.Millisecond

func newRun() *run { return &run{h: history.New(), term: 1} }

func (r *run) at(seconds int64) *run { r.now = seconds * second; return r }

func (r *run) add(l history.Line) *run {
	switch l := l.(type) {
	case *history.Replica:
		l.NS = r.now
	case *history.Order:
		l.NS = r.now
	case *history.Fault:
		l.NS = r.now
	case *history.Mark:
		l.NS = r.now
	case *history.Dump:
		l.NS = r.now
	}
	r.h.Add(l)
	return r
}

// call adds an operation of half a second by a process of its own.
func (r *run) call(t history.Type, f history.F, in, out history.Value) *run {
	r.p++
	client := "client" + string(rune('0'+r.p%10))
	r.h.Add(&history.Op{Process: r.p, Type: history.Invoke, F: f, In: &in, Client: client, NS: r.now - second/2})
	r.h.Add(&history.Op{Process: r.p, Type: t, F: f, Out: &out, In: &in, Client: client, NS: r.now})
	return r
}

func (r *run) ok(f history.F, in, out history.Value) *run { return r.call(history.OK, f, in, out) }

// apply adds that a replica applied an index with a digest.
func (r *run) apply(id string, index, term, digest uint64) *run {
	return r.add(&history.Replica{ID: id, Kind: history.Apply, Index: index, Term: term, Digest: digest})
}

// event adds another event of a replica.
func (r *run) event(id string, kind history.ReplicaKind, term uint64) *run {
	return r.add(&history.Replica{ID: id, Kind: kind, Term: term})
}

// members adds a committed membership as a replica reports it.
func (r *run) members(id string, index uint64, voters ...string) *run {
	return r.add(&history.Replica{ID: id, Kind: history.Config, Index: index, Voters: voters})
}

// entry adds an entry with events to the log.
func (r *run) entry(events ...event.Event) *run {
	r.index++
	b := event.Batch{Level: 1, Events: events}
	r.h.Add(&history.Entry{Kind: history.Command, Index: r.index, Term: r.term, Data: b.Encode(), NS: r.now})
	return r
}

var (
	key   = yarn.SchedulerKey{Priority: 1}
	small = yarn.NewResource(1024, 1)
)

const (
	app1  = "application_1780000000000_0001"
	am1   = "appattempt_1780000000000_0001_000001"
	con1  = "container_1780000000000_0001_01_000001"
	con2  = "container_1780000000000_0001_01_000002"
	node1 = "n1:45454"
	node2 = "n2:45454"
)

// cluster begins a log with two nodes, the leaf root.a, and application 1 (named job). The
// application asks for three small containers and has got con1 on n1.
func cluster() *run {
	r := newRun().at(1)
	r.entry(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1780000000000, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Queues: []event.QueueDefinition{{Path: "root", State: yarn.QueueRunning},
			{Path: "root.a", Leaf: true, State: yarn.QueueRunning}}})
	for n := yarn.NodeSlot(1); n <= 2; n++ {
		r.entry(&event.NodeRegistered{Node: n, ID: yarn.NodeID{Host: "n" + string(rune('0'+n)), Port: 45454},
			Total: yarn.NewResource(8192, 8)})
	}
	r.entry(&event.ApplicationSubmitted{App: 1, Name: "job", User: "u", Queue: "root.a"},
		&event.RequestRecorded{Key: "c1/1"},
		&event.AttemptStarted{App: 1, Attempt: 1}, &event.AttemptActivated{App: 1}, &event.AttemptRegistered{App: 1})
	r.entry(&event.AskChanged{App: 1, Key: key, Name: yarn.Any, Count: 3, Size: small, Relax: true})
	return r.entry(allocated(1, 1))
}

// allocated allocates a container of application 1.
func allocated(number uint64, node yarn.NodeSlot) *event.ContainerAllocated {
	return &event.ContainerAllocated{App: 1, Number: number, Key: key, Node: node, Locality: yarn.OffSwitch}
}

func containerDone(number uint64) *event.ContainerCompleted {
	return &event.ContainerCompleted{Container: event.ContainerRef{App: 1, Attempt: 1, Number: number}}
}

// exact returns the options of a run in virtual time.
func exact() Options {
	o := DefaultOptions(timeout)
	o.Exact = true
	return o
}

func (r *run) judge(t *testing.T, opt Options) *Verdict {
	t.Helper()
	v, err := Judge(r.h, opt)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// checkHolds requires that nothing failed and that the invariant was checked.
func checkHolds(t *testing.T, v *Verdict, id string) {
	t.Helper()
	for _, f := range v.Failed() {
		t.Errorf("%s failed: %s %v", f.ID, f.Text, f.Chain)
	}
	if f := v.Find(id); f.Status != OK {
		t.Errorf("%s is %s (%s)", id, f.Status, f.Why)
	}
}

// breaks requires that only this invariant failed, with the text.
func breaks(t *testing.T, v *Verdict, id, text string) {
	t.Helper()
	failed := v.Failed()
	if len(failed) != 1 || failed[0].ID != id {
		var all []string
		for _, f := range failed {
			all = append(all, f.ID+": "+f.Text)
		}
		t.Fatalf("failed: %q, want %s alone with %q", all, id, text)
	}
	f := failed[0]
	if !strings.Contains(f.Text, text) || f.Violations == 0 {
		t.Errorf("%s: %q, want %q", id, f.Text, text)
	}
	if v.Holds() || len(v.Missing()) == 0 {
		t.Error("and the verdict holds")
	}
}
