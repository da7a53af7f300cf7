package ledger

import (
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// logbook builds a committed log entry by entry.
type logbook struct {
	t     *testing.T
	m     *Ledger
	index uint64
	term  uint64
}

var (
	key   = yarn.SchedulerKey{Priority: 1}
	small = yarn.NewResource(1024, 1)
	large = yarn.NewResource(6144, 1)
)

// begin starts a log with two nodes of 8 GiB and the leaves a (at most half) and b. Application 1
// of a is registered and asks for four small containers.
func begin(t *testing.T) *logbook {
	l := &logbook{t: t, m: New(), term: 1}
	l.entry(&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 1780000000000, Level: event.Level}, configuration(1, "50"))
	for n := yarn.NodeSlot(1); n <= 2; n++ {
		l.entry(&event.NodeRegistered{Node: n, ID: nodeID(n), Rack: "/r", Total: yarn.NewResource(8192, 8)})
	}
	l.app(1, "root.a")
	l.entry(want(1, small, 4))
	return l
}

func nodeID(n yarn.NodeSlot) yarn.NodeID {
	return yarn.NodeID{Host: "n" + string(rune('0'+n)), Port: 45454}
}

func configuration(version uint64, most string) *event.QueuesConfigured {
	return &event.QueuesConfigured{Version: version, Kinds: yarn.DefaultKinds(),
		Properties: []event.Property{{Name: "yarn.scheduler.capacity.root.a.maximum-capacity", Value: most}},
		Queues: []event.QueueDefinition{{Path: "root", State: yarn.QueueRunning},
			{Path: "root.a", Leaf: true, State: yarn.QueueRunning},
			{Path: "root.b", Leaf: true, State: yarn.QueueRunning}}}
}

func want(app uint32, size yarn.Resource, count int64) *event.AskChanged {
	return &event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: count, Size: size, Relax: true}
}

func give(app uint32, number uint64, node yarn.NodeSlot) *event.ContainerAllocated {
	return &event.ContainerAllocated{App: app, Number: number, Key: key, Node: node, Locality: yarn.OffSwitch}
}

func ref(app uint32, number uint64) event.ContainerRef {
	return event.ContainerRef{App: app, Attempt: 1, Number: number}
}

func hold(number uint64, app uint32, container uint64, node yarn.NodeSlot) *event.ReservationMade {
	return &event.ReservationMade{Reservation: number, App: app, Number: container, Key: key, Node: node}
}

func (l *logbook) app(app uint32, queue string) {
	l.entry(&event.ApplicationSubmitted{App: app, Name: "job", User: "u", Queue: queue, AM: small},
		&event.AttemptStarted{App: app, Attempt: 1},
		&event.AttemptActivated{App: app}, &event.AttemptRegistered{App: app})
}

// entry appends an encoded batch.
func (l *logbook) entry(events ...event.Event) {
	l.t.Helper()
	l.index++
	b := event.Batch{Level: 1, Events: events}
	if err := l.m.Entry(l.index, l.term, b.Encode()); err != nil {
		l.t.Fatal(err)
	}
}

// legal checks that there is no violation so far.
func (l *logbook) legal() {
	l.t.Helper()
	for _, v := range l.m.Violations() {
		l.t.Fatalf("%v\n%v", v, v.Chain)
	}
	if d := l.m.Recount(); len(d) > 0 {
		l.t.Fatalf("Recount: %q, want no differences", d)
	}
}

// broken checks that the first violation is of the invariant id, contains text, and is at the last
// entry.
func (l *logbook) broken(id, text string) {
	l.t.Helper()
	all := l.m.Violations()
	if len(all) == 0 {
		l.t.Fatalf("nothing is found, want %s", id)
	}
	if v := all[0]; v.ID != id || !strings.Contains(v.Text, text) || v.Index != l.index || len(v.Chain) == 0 {
		l.t.Fatalf("%v %v, want %s with %q at index %d", v, v.Chain, id, text, l.index)
	}
}
