package ledger

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// story is a log that the real planner has written under random load.
type story struct {
	t       *testing.T
	rng     *rand.Rand
	p       *planner.Planner
	now     int64
	batches [][]event.Event
	nodes   []yarn.NodeID
	apps    map[yarn.ApplicationID]int32 // live applications, with their last response
	running map[yarn.NodeID][]yarn.ContainerID
	labels  bool
}

// newStory returns the story of n random inputs.
func newStory(t *testing.T, seed int64, n int) *story {
	p, err := planner.New(state.New(), planner.Options{Eager: seed%2 == 0})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, rng: rand.New(rand.NewSource(seed)), p: p, now: 1000, apps: map[yarn.ApplicationID]int32{},
		running: map[yarn.NodeID][]yarn.ContainerID{}}
	props := []input.Property{
		{Name: "yarn.scheduler.capacity.root.queues", Value: "a,b"},
		{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "40"},
		{Name: "yarn.scheduler.capacity.root.b.capacity", Value: "60"},
		{Name: "yarn.scheduler.capacity.root.a.maximum-capacity", Value: "62.5"},
		{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "10"},
		{Name: "yarn.scheduler.capacity.root.b.user-limit-factor", Value: "10"},
		{Name: "yarn.scheduler.capacity.maximum-am-resource-percent", Value: "0.6"},
		{Name: "yarn.scheduler.maximum-allocation-mb", Value: "8192"},
	}
	if s.labels = seed%3 == 0; s.labels {
		for _, kv := range [][2]string{{"yarn.node-labels.enabled", "true"}, {"root.a.accessible-node-labels", "x,y"},
			{"root.a.accessible-node-labels.x.capacity", "100"},
			{"root.a.accessible-node-labels.y.capacity", "40"}, {"root.a.accessible-node-labels.y.maximum-capacity", "60"},
			{"root.b.accessible-node-labels", "y"},
			{"root.b.accessible-node-labels.y.capacity", "60"}} {
			name := kv[0]
			if strings.HasPrefix(name, "root.") {
				name = "yarn.scheduler.capacity." + name
			}
			props = append(props, input.Property{Name: name, Value: kv[1]})
		}
	}
	s.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: props, Entropy: make([]byte, 256)})
	if s.labels {
		s.plan(&input.SetLabels{Labels: []input.Label{{Name: "x", Exclusive: true}, {Name: "y"}}})
	}
	for i := range 4 {
		id := yarn.NodeID{Host: fmt.Sprintf("h%d", i), Port: 1}
		s.nodes = append(s.nodes, id)
		s.register(id)
	}
	for range n {
		s.step()
	}
	return s
}

func (s *story) plan(in input.Input) input.Reply {
	s.now += 50
	reply, events := s.p.Plan(s.now, input.Request{Input: in})
	if len(events) > 0 {
		s.batches = append(s.batches, append([]event.Event(nil), events...))
	}
	return reply
}

func (s *story) register(id yarn.NodeID) {
	s.plan(&input.RegisterNode{ID: id, Rack: "/r" + id.Host[1:][:1], Total: yarn.NewResource(8192, 8)})
	s.running[id] = nil
}

func (s *story) some() (yarn.ApplicationID, bool) {
	var ids []yarn.ApplicationID
	for seq := uint32(1); seq < 1000; seq++ {
		id := yarn.ApplicationID{ClusterTimestamp: 1000, Seq: seq}
		if _, ok := s.apps[id]; ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return yarn.ApplicationID{}, false
	}
	return ids[s.rng.Intn(len(ids))], true
}

func (s *story) step() {
	id, ok := s.some()
	switch d := s.rng.Intn(40); {
	case !ok || d < 2:
		r, _ := s.plan(&input.SubmitApplication{Name: "j", User: fmt.Sprint("u", s.rng.Intn(3)),
			Queue: [2]string{"a", "b"}[s.rng.Intn(2)], Unmanaged: true, MaxAttempts: 1}).(*input.SubmitApplicationReply)
		if r != nil && r.Refused() == nil {
			s.apps[r.ID] = 0
			s.plan(&input.RegisterAttempt{Attempt: yarn.AttemptID{App: r.ID, Attempt: 1}})
		}
	case d < 3:
		s.plan(&input.KillApplication{ID: id, User: "u"})
		delete(s.apps, id)
	case d < 4:
		s.plan(&input.MoveApplication{ID: id, Queue: [2]string{"a", "b"}[s.rng.Intn(2)]})
	case d < 5:
		node := s.nodes[s.rng.Intn(len(s.nodes))]
		s.plan(&input.ExpireNode{ID: node})
		s.register(node)
	case d < 6 && s.labels:
		s.plan(&input.LabelNodes{Nodes: []input.LabelledNode{
			{ID: s.nodes[s.rng.Intn(len(s.nodes))], Labels: []string{s.label()}}}})
	case d < 14:
		s.allocate(id)
	default:
		s.heartbeat(s.nodes[s.rng.Intn(len(s.nodes))])
	}
}

// label returns a random label, or none.
func (s *story) label() string {
	if !s.labels {
		return ""
	}
	return []string{"", "x", "y"}[s.rng.Intn(3)]
}

func (s *story) allocate(id yarn.ApplicationID) {
	in := &input.Allocate{Attempt: yarn.AttemptID{App: id, Attempt: 1}, Response: s.apps[id]}
	if s.rng.Intn(2) == 0 {
		key := yarn.SchedulerKey{Priority: int32(1 + s.rng.Intn(3))}
		in.Asks = append(in.Asks, input.Ask{Key: key, Name: yarn.Any, Count: int64(s.rng.Intn(4)),
			Size: yarn.NewResource(int64(1+s.rng.Intn(7))*1024, 1), Relax: true, Label: s.label()})
	}
	s.updates(in)
	r, _ := s.plan(in).(*input.AllocateReply)
	if r == nil || r.Refused() != nil {
		return
	}
	s.apps[id] = r.Response
	for _, g := range r.Granted {
		s.running[g.Node] = append(s.running[g.Node], g.Container)
	}
}

// updates sometimes asks to resize containers, with their current size version or a wrong one.
func (s *story) updates(in *input.Allocate) {
	st := s.p.State()
	slot := st.Apps.ByID(in.Attempt.App)
	if slot == 0 || s.rng.Intn(2) > 0 {
		return
	}
	for _, k := range st.Containers.Of(st.Apps.Get(slot)) {
		if s.rng.Intn(2) == 0 {
			in.Updates = append(in.Updates, input.Update{Container: st.Apps.ContainerID(k),
				Version: st.Resizes.Version(k) + int32(s.rng.Intn(5)/4),
				Type:    input.UpdateType(s.rng.Intn(7) / 5), Size: yarn.NewResource(int64(3+s.rng.Intn(6))*1024, 1)})
		}
	}
}

func (s *story) heartbeat(id yarn.NodeID) {
	in := &input.NodeHeartbeat{ID: id}
	var keep []yarn.ContainerID
	for _, c := range s.running[id] {
		st := input.ContainerStatus{Container: c, State: yarn.ContainerRunning}
		if s.rng.Intn(4) == 0 {
			st.State = yarn.ContainerCompleted
		} else {
			keep = append(keep, c)
		}
		in.Statuses = append(in.Statuses, st)
	}
	s.running[id] = keep
	if r, _ := s.plan(in).(*input.NodeHeartbeatReply); r != nil {
		for _, c := range r.Kill {
			s.plan(&input.NodeHeartbeat{ID: id, Statuses: []input.ContainerStatus{
				{Container: c, State: yarn.ContainerCompleted}}})
		}
	}
}

// follow adds batches to a new ledger. It encodes them, because the planner keeps its events.
func follow(t *testing.T, batches [][]event.Event) *Ledger {
	t.Helper()
	m := New()
	for i, events := range batches {
		if err := m.Entry(uint64(i+1), 1, (&event.Batch{Level: 1, Events: events}).Encode()); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// TestPlanned checks that the real planner makes no illegal decision, and that its sums are those
// of the ledger.
func TestPlanned(t *testing.T) {
	made, allocated := uint64(0), uint64(0)
	resized := map[event.Kind]int{}
	for seed := int64(1); seed <= 16; seed++ {
		s := newStory(t, seed, 800)
		m := follow(t, s.batches)
		if v := m.Violations(); len(v) > 0 {
			t.Fatalf("seed %d: %v\n%v", seed, v[0], v[0].Chain)
		}
		if d := m.Recount(); len(d) > 0 {
			t.Fatalf("seed %d: %v", seed, d)
		}
		if d := m.Differ(fieldsOf(s.p.State())); len(d) > 0 {
			t.Fatalf("seed %d: %v", seed, d)
		}
		for _, events := range s.batches {
			for _, e := range events {
				resized[e.Kind()]++
			}
		}
		made, allocated = made+m.Counts.Reservations, allocated+m.Counts.Containers
	}
	for _, k := range []event.Kind{event.KindContainerResizeAsked, event.KindContainerIncreased,
		event.KindContainerDecreased, event.KindResizeReserved, event.KindNodesLabelled, event.KindAskLabelled,
		event.KindAskMissesUpdated} {
		if resized[k] < 3 {
			t.Errorf("%d %s: the stories tell too little", resized[k], k)
		}
	}
	if made < 50 || allocated < 1000 {
		t.Errorf("%d reservations, %d containers: the stories tell too little", made, allocated)
	}
}

// fieldsOf returns a dump of a state.
func fieldsOf(st *state.State) []Field {
	var out []Field
	add := func(value any, format string, args ...any) {
		out = append(out, Field{fmt.Sprintf(format, args...), fmt.Sprint(value)})
	}
	st.Queues.Each(func(_ state.QueueSlot, q *state.Queue) bool {
		add(q.Used, "queue/%s/used", q.Path)
		add(q.Reserved, "queue/%s/reserved", q.Path)
		return true
	})
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		add(n.Allocated, "node/%s/allocated", n.ID)
		add(n.Total, "node/%s/total", n.ID)
		add(n.State, "node/%s/state", n.ID)
		return true
	})
	st.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		add(a.State, "app/%d/state", a.ID.Seq)
		add(a.Live, "app/%d/live", a.ID.Seq)
		return true
	})
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		add(st.Nodes.Get(r.Node).ID, "reservation/r%d/node", r.Number)
		add(r.Size, "reservation/r%d/size", r.Number)
		return true
	})
	return out
}

// TestTampered changes one event of a good log at a time, and counts how often the ledger finds it.
// It must find every repeated event. An omitted event may not cause a violation in the rest of the
// log.
func TestTampered(t *testing.T) {
	s := newStory(t, 3, 800)
	rng := rand.New(rand.NewSource(1))
	seen, all := map[string]int{}, map[string]int{}
	for range 400 {
		i := 1 + rng.Intn(len(s.batches)*3/4)
		k := rng.Intn(len(s.batches[i]))
		e := s.batches[i][k]
		if !changesAllocation(e) {
			continue
		}
		for _, how := range []string{"twice", "left out"} {
			batches := append([][]event.Event(nil), s.batches...)
			events := append([]event.Event(nil), batches[i][:k]...)
			if how == "twice" {
				events = append(events, e, e)
			}
			batches[i] = append(events, s.batches[i][k+1:]...)
			all[how]++
			m := follow(t, batches)
			if len(m.Violations()) > 0 {
				seen[how]++
			} else if how == "twice" {
				t.Errorf("%s%+v, twice at index %d, is not seen", e.Kind(), e, i+1)
			}
		}
	}
	t.Logf("twice: %d of %d seen, left out: %d of %d", seen["twice"], all["twice"], seen["left out"], all["left out"])
	if all["twice"] < 50 || seen["left out"]*10 < all["left out"]*7 {
		t.Errorf("left out: %d of %d are seen", seen["left out"], all["left out"])
	}
}

// changesAllocation reports whether an event changes who has what.
func changesAllocation(e event.Event) bool {
	switch e := e.(type) {
	case *event.ContainerAllocated, *event.ContainerReleased, *event.ReservationMade, *event.ReservationFulfilled,
		*event.ReservationCancelled,
		*event.ContainerIncreased, *event.ResizeReserved,
		*event.ApplicationSubmitted, *event.ApplicationEnded, *event.AttemptEnded:
		return true
	case *event.ContainerCompleted:
		return !e.Restore
	}
	return false
}
