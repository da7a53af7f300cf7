package summary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// randomCluster is a cluster to which random things happen.
type randomCluster struct {
	t     *testing.T
	r     *rand.Rand
	p     *planner.Planner
	now   int64
	apps  []yarn.AttemptID
	nodes int
}

func newRandomCluster(t *testing.T, seed uint64) *randomCluster {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &randomCluster{t: t, r: rand.New(rand.NewPCG(seed, 1)), p: p, now: 1000}
	var props []input.Property
	for _, q := range append(preset.QueuesFor([]string{"root.a", "root.p.b", "root.p.c"}),
		capacity.Property{Name: "yarn.resourcemanager.max-completed-applications", Value: "40"}) {
		props = append(props, input.Property(q))
	}
	s.do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Properties: props, Entropy: make([]byte, 1024)})
	s.addNode()
	return s
}

func (s *randomCluster) do(in input.Input) input.Reply {
	s.now += 7
	r, _ := s.p.Plan(s.now, input.Request{Input: in})
	return r
}

func (s *randomCluster) addNode() {
	s.nodes++
	s.do(&input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprintf("H%03d", s.r.IntN(1000)), Port: 1},
		Rack: fmt.Sprint("/r", s.r.IntN(3)), Total: yarn.NewResource(16384, 16)})
}

// step makes a random change.
func (s *randomCluster) step() {
	pick := func() (yarn.AttemptID, bool) {
		if len(s.apps) == 0 {
			return yarn.AttemptID{}, false
		}
		return s.apps[s.r.IntN(len(s.apps))], true
	}
	switch n := s.r.IntN(20); {
	case n < 6:
		queue := []string{"root.a", "root.p.b", "root.p.c"}[s.r.IntN(3)]
		if r, ok := s.do(&input.SubmitApplication{User: fmt.Sprint("u", s.r.IntN(4)), Queue: queue,
			Unmanaged: s.r.IntN(2) == 0, MaxAttempts: 1}).(*input.SubmitApplicationReply); ok && r.Refused() == nil {
			s.apps = append(s.apps, yarn.AttemptID{App: r.ID, Attempt: 1})
		}
	case n < 9:
		if id, ok := pick(); ok {
			s.do(&input.RegisterAttempt{Attempt: id})
		}
	case n < 14:
		if id, ok := pick(); ok {
			s.do(&input.Allocate{Attempt: id, Asks: []input.Ask{
				{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: int64(s.r.IntN(5)),
					Size: yarn.NewResource(int64(1+s.r.IntN(12))*1024, 1), Relax: true}}})
		}
	case n < 17:
		if id, ok := pick(); ok {
			s.do(&input.KillApplication{ID: id.App})
		}
	case n == 17 && s.nodes < 6:
		s.addNode()
	default:
		s.p.State().Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
			s.do(&input.NodeHeartbeat{ID: n.ID})
			return true
		})
	}
}

// agree compares a summary with its state.
func agree(t *testing.T, c *Summary, st *state.State) {
	t.Helper()
	var all Tally
	byQueue := map[state.QueueSlot]Tally{}
	var seqs []uint32
	st.Apps.Each(func(slot state.AppSlot, a *state.App) bool {
		k := appOf(st, slot)
		if *c.App(slot) != k {
			t.Fatalf("application %d: %+v, want %+v", a.ID.Seq, *c.App(slot), k)
		}
		all.count(&k, 1)
		q := byQueue[a.Queue]
		q.count(&k, 1)
		byQueue[a.Queue] = q
		seqs = append(seqs, a.ID.Seq)
		return true
	})
	slices.Sort(seqs)
	if *c.All() != all || c.Len() != len(seqs) {
		t.Fatalf("all: %+v, want %+v", *c.All(), all)
	}
	for slot := range st.Queues.Cap() {
		if got := c.Queue(slot); got != byQueue[slot] {
			t.Fatalf("queue %d: %+v, want %+v", slot, got, byQueue[slot])
		}
	}
	if root := st.Queues.Root(); root != 0 {
		tree := c.Tree()[root]
		if gone := byQueue[0]; tree.Apps() != len(seqs)-gone.Apps() {
			t.Fatalf("%d applications below root, want %d", tree.Apps(), len(seqs)-gone.Apps())
		}
	}
	order := func(after uint32, newest bool) []uint32 {
		var out []uint32
		c.From(after, newest, func(a *App) bool { out = append(out, a.Seq); return true })
		return out
	}
	if got := order(0, false); !slices.Equal(got, seqs) {
		t.Fatalf("in order %v, want %v", got, seqs)
	}
	if len(seqs) > 2 {
		at := len(seqs) / 2
		back := slices.Clone(seqs[:at])
		slices.Reverse(back)
		if !slices.Equal(order(seqs[at], false), seqs[at+1:]) || !slices.Equal(order(seqs[at], true), back) {
			t.Fatalf("from %d on: %v and %v", seqs[at], order(seqs[at], false), order(seqs[at], true))
		}
	}
	agreePlaces(t, c, st)
}

func agreePlaces(t *testing.T, c *Summary, st *state.State) {
	t.Helper()
	if len(c.Nodes()) != st.Nodes.Len() {
		t.Fatalf("%d nodes, want %d", len(c.Nodes()), st.Nodes.Len())
	}
	last := ""
	for _, slot := range c.Nodes() {
		n := st.Nodes.Get(slot)
		if p := &c.places.bySlot[slot]; p.ID != n.ID || p.Rack != n.Rack || n.ID.Host < last ||
			!slices.Contains(c.Racks(), n.Rack) {
			t.Fatalf("node %s: %+v after %s", n.ID, *p, last)
		}
		last = n.ID.Host
	}
}

// TestSummaryFollowsTheState checks that a summary that is made from another one equals one that is
// counted from nothing. Either of the two states may be the older one.
func TestSummaryFollowsTheState(t *testing.T) {
	for seed := range uint64(8) {
		s := newRandomCluster(t, seed)
		c := nothing
		var forks []*state.State
		for i := range 300 {
			for range 1 + s.r.IntN(6) {
				s.step()
			}
			forks = append(forks, s.p.State().Fork())
			st := forks[len(forks)-1]
			if i%7 == 0 {
				st = forks[s.r.IntN(len(forks))]
			}
			c = c.step(st, uint64(i))
			agree(t, c, st)
		}
		if last := forks[len(forks)-1]; last.Meta.EndedApps == 0 || last.Meta.Made == 0 || int(last.Meta.NextApp) < 60 {
			t.Errorf("seed %d: too little happened: %+v", seed, last.Meta)
		}
	}
}

// TestSummaryOfQueuesThatGo checks that the ended applications of a removed queue count under slot
// 0.
func TestSummaryOfQueuesThatGo(t *testing.T) {
	s := newRandomCluster(t, 1)
	r := s.do(&input.SubmitApplication{User: "u", Queue: "root.a", Unmanaged: true}).(*input.SubmitApplicationReply)
	k := &Keeper{}
	defer k.Close()
	first := s.p.State().Fork()
	agree(t, k.At(first, 1), first)
	s.do(&input.KillApplication{ID: r.ID})
	s.do(&input.SetQueueState{Queue: "root.a", State: yarn.QueueStopped})
	var props []input.Property
	for _, q := range preset.QueuesFor([]string{"root.p.b", "root.p.c"}) {
		props = append(props, input.Property(q))
	}
	if f := s.do(&input.SetQueues{Properties: props}).Refused(); f != nil {
		t.Fatalf("SetQueues without root.a was refused: %v", f)
	}
	st := s.p.State().Fork()
	agree(t, k.At(st, 2), st)
	if gone := k.At(st, 2).Queue(0); gone.Apps() != 1 {
		t.Errorf("applications under slot 0: %d, want 1", gone.Apps())
	}
	agree(t, k.At(first, 1), first) // a later request for an older version
}

// TestKeeperDropsUnusedSummary checks that a keeper drops an unused summary and makes it again.
func TestKeeperDropsUnusedSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRandomCluster(t, 2)
		k := &Keeper{}
		st := s.p.State().Fork()
		c := k.At(st, 1)
		time.Sleep(idleTime - time.Second)
		if k.At(st, 1) != c {
			t.Error("it was made again though somebody asks")
		}
		time.Sleep(idleTime + time.Second)
		synctest.Wait()
		if k.last != nil {
			t.Error("it is kept though nobody asks")
		}
		agree(t, k.At(st, 1), st)
		k.Close()
	})
}
