package state

import (
	"bytes"
	"errors"
	"flag"
	"testing"

	"rmd/fsm/event"
	"rmd/internal/codec"
	"rmd/yarn"
)

// longRuns sets the number of steps of rapid's state machines for this test, unless the command
// line sets it.
func longRuns(t *testing.T, steps string) {
	f := flag.Lookup("rapid.steps")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := flag.Set(f.Name, steps); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(f.Name, f.DefValue) })
}

// encode encodes every section and every record separately, as a snapshot does.
func encode(s *State) []byte {
	c := codec.NewEncoder(nil)
	for _, sec := range Sections() {
		c.U8(&sec.ID)
		n := uint64(sec.Len(s))
		c.U64(&n)
		sec.Each(s, func(slot uint32) bool {
			c.U32(&slot)
			record := codec.NewEncoder(nil)
			sec.Code(s, slot, record)
			b := record.Bytes()
			c.Raw(&b)
			return true
		})
	}
	return c.Bytes()
}

// decode decodes the result of encode into a new state and calls Reindex.
func decode(data []byte) (*State, error) {
	s, c := New(), codec.NewDecoder(data)
	for _, sec := range Sections() {
		var id uint8
		var n uint64
		c.U8(&id)
		c.U64(&n)
		for i := uint64(0); i < n && c.Err() == nil; i++ {
			var slot uint32
			var b []byte
			c.U32(&slot)
			c.Raw(&b)
			record := codec.NewDecoder(b)
			sec.Code(s, slot, record)
			if err := record.Finish(); err != nil {
				return nil, err
			}
		}
	}
	if err := c.Finish(); err != nil {
		return nil, err
	}
	return s, s.Reindex()
}

// failer has the methods that *testing.T and *rapid.T share.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func apply(t failer, s *State, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			t.Fatalf("Apply %T: %v", e, err)
		}
	}
	if err := s.Check(); err != nil {
		t.Fatalf("after %s %+v: %v", events[len(events)-1].Kind(), events[len(events)-1], err)
	}
}

// refuse checks that Apply rejects an event and that the state's encoding is the same afterwards.
func refuse(t failer, s *State, e event.Event) {
	t.Helper()
	before := encode(s)
	err := s.Apply(e)
	var b *BrokenError
	if !errors.As(err, &b) {
		t.Fatalf("%s %+v was applied: %v", e.Kind(), e, err)
	}
	if b.Event != e || b.Why == "" {
		t.Errorf("the error tells neither event nor reason: %+v", b)
	}
	if !bytes.Equal(before, encode(s)) {
		t.Errorf("refusing %s %+v changed the state", e.Kind(), e)
	}
	if err := s.Check(); err != nil {
		t.Errorf("after refusing %s %+v: %v", e.Kind(), e, err)
	}
}

func leaf(path string) event.QueueDefinition {
	return event.QueueDefinition{Path: path, Leaf: true, State: yarn.QueueRunning}
}

func parent(path string) event.QueueDefinition {
	return event.QueueDefinition{Path: path, State: yarn.QueueRunning}
}

func tree(version uint64, queues ...event.QueueDefinition) *event.QueuesConfigured {
	return &event.QueuesConfigured{Version: version, Queues: append([]event.QueueDefinition{parent("root")}, queues...),
		Properties: []event.Property{{Name: "a", Value: "b"}}, Kinds: yarn.DefaultKinds(), Dominant: true}
}

var (
	k1 = yarn.SchedulerKey{Priority: 1}
	k2 = yarn.SchedulerKey{Priority: 2}
)

func gb(n int64) yarn.Resource { return yarn.NewResource(n*1024, n) }

func nodeUp(n NodeSlot, host string, total yarn.Resource) *event.NodeRegistered {
	return &event.NodeRegistered{Node: n, ID: yarn.NodeID{Host: host, Port: 1},
		Rack: "/r" + host[len(host)-1:], Total: total}
}

func submit(app uint32, user, queue string) *event.ApplicationSubmitted {
	return &event.ApplicationSubmitted{App: app, Name: "n", User: user, Queue: queue, AM: gb(1), MaxAttempts: 2}
}

func ask(app uint32, key yarn.SchedulerKey, n, size int64) *event.AskChanged {
	return &event.AskChanged{App: app, Key: key, Name: yarn.Any, Count: n, Size: gb(size), Relax: true}
}

func allocated(app uint32, number uint64, key yarn.SchedulerKey, node NodeSlot) *event.ContainerAllocated {
	return &event.ContainerAllocated{App: app, Number: number, Key: key, Node: node, Locality: yarn.OffSwitch}
}

func ref(app uint32, number uint64) event.ContainerRef {
	return event.ContainerRef{App: app, Attempt: 1, Number: number}
}

// world returns a small cluster: a queue tree of three levels, two nodes of 8 GB, and two
// registered applications: 1 of ann in root.a, 2 of bob in root.b.x.
func world(t failer) *State {
	t.Helper()
	s := New()
	apply(t, s,
		&event.TimeAdvanced{NowMillis: 1000},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 77, Level: event.Level},
		tree(1, leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y")),
		nodeUp(1, "h1", gb(8)), nodeUp(2, "h2", gb(8)))
	for i, at := range [][2]string{{"ann", "root.a"}, {"bob", "root.b.x"}} {
		app := uint32(i + 1)
		apply(t, s, submit(app, at[0], at[1]),
			&event.AttemptStarted{App: app, Attempt: 1},
			&event.AttemptActivated{App: app},
			&event.AttemptRegistered{App: app, Host: "am", RPCPort: 1})
	}
	return s
}

func appAt(t testing.TB, s *State, seq uint32) *App {
	t.Helper()
	slot := s.Apps.Find(seq)
	if slot == 0 {
		t.Fatalf("no application %d", seq)
	}
	return s.Apps.Get(slot)
}

func queueAt(t testing.TB, s *State, path string) *Queue {
	t.Helper()
	slot := s.Queues.Find(path)
	if slot == 0 {
		t.Fatalf("no queue %s", path)
	}
	return s.Queues.Get(slot)
}
