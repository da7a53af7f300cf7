package state

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// TestRestoreOfFarSlots restores a table whose records are far apart, as after a peak.
func TestRestoreOfFarSlots(t *testing.T) {
	const n = 150_000
	s := New()
	for i := range n {
		if err := s.Apply(&event.RequestRecorded{Key: string(rune(i%1000)) + string(rune(i/1000))}); err != nil {
			t.Fatal(err)
		}
	}
	apply(t, s, &event.RequestsForgotten{Count: n - 1})
	r, err := decode(encode(s))
	if err != nil || !bytes.Equal(encode(r), encode(s)) {
		t.Fatalf("a state whose only request is at slot %d is not restored: %v", n, err)
	}
	apply(t, r, &event.RequestRecorded{Key: "next"})
	apply(t, s, &event.RequestRecorded{Key: "next"})
	if !bytes.Equal(encode(r), encode(s)) {
		t.Error("they go on apart")
	}
}

// TestDamageIsSeen damages one field at a time. Check must find the damage, without a panic and
// without an endless loop.
func TestDamageIsSeen(t *testing.T) {
	box := func(s *State, app uint32, number uint64) *Container {
		return s.Containers.Mut(s.Container(ref(app, number)))
	}
	app := func(s *State, n uint32) *App { return s.Apps.Mut(s.Apps.Find(n)) }
	for name, spoil := range map[string]func(s *State){
		"node's allocation":            func(s *State) { s.Nodes.Mut(1).Allocated[0]++ },
		"node's count":                 func(s *State) { s.Nodes.Mut(1).Count++ },
		"node's pending commands":      func(s *State) { s.Nodes.Mut(1).PendingCommands++ },
		"node's list":                  func(s *State) { s.Nodes.Mut(1).Containers = 0 },
		"node's reservation":           func(s *State) { s.Nodes.Mut(1).Reservation = 0 },
		"reservation of another node":  func(s *State) { s.Nodes.Mut(2).Reservation = s.Reservations.Find(1) },
		"lost node that holds":         func(s *State) { s.Nodes.Mut(1).State = yarn.NodeLost },
		"container's circle on a node": func(s *State) { c := box(s, 2, 1); c.NextNode = s.Container(ref(2, 1)) },
		"container's circle in an app": func(s *State) { c := box(s, 2, 1); c.NextApp = s.Container(ref(2, 1)) },
		"container's back link":        func(s *State) { box(s, 1, 1).PrevApp = s.Container(ref(2, 1)) },
		"container's application":      func(s *State) { box(s, 2, 1).App = s.Apps.Find(1) },
		"container's unknown node":     func(s *State) { box(s, 2, 1).Node = 99 },
		"container's unknown next":     func(s *State) { box(s, 2, 1).NextApp = 9999 },
		"container's number":           func(s *State) { box(s, 2, 1).Number = 77 },
		"container's size":             func(s *State) { box(s, 2, 1).Size = gb(2) },
		"container's state":            func(s *State) { box(s, 2, 1).State = yarn.ContainerReleasing },
		"container's diagnostics":      func(s *State) { box(s, 2, 1).Diagnostics = 55 },
		"diagnostics of nobody":        func(s *State) { table.Alloc(&s.Diagnostics) },
		"undelivered list":             func(s *State) { app(s, 1).Undelivered = 0 },
		"undelivered circle":           func(s *State) { c := box(s, 2, 1); c.NextUndelivered = s.Container(ref(2, 1)) },
		"listed and in no list":        func(s *State) { box(s, 1, 1).Undelivered = !box(s, 1, 1).Undelivered },
		"application's use":            func(s *State) { app(s, 1).Used[1]++ },
		"application's reserved":       func(s *State) { app(s, 1).Reserved[1]++ },
		"application's pending":        func(s *State) { app(s, 1).Pending[1]++ },
		"application's live":           func(s *State) { app(s, 1).Live++ },
		"application's reserving":      func(s *State) { app(s, 1).Reserving++ },
		"application's outstanding":    func(s *State) { app(s, 1).Outstanding++ },
		"application's queue":          func(s *State) { app(s, 1).Queue = s.Queues.Find("root.b.y") },
		"application's no queue":       func(s *State) { app(s, 1).Queue = 0 },
		"application's unknown queue":  func(s *State) { app(s, 1).Queue = 77 },
		"application's user":           func(s *State) { app(s, 1).UserSlot = 77 },
		"application's number":         func(s *State) { app(s, 1).ID.Seq = 1000 },
		"application's attempt state":  func(s *State) { app(s, 1).AttemptState = AttemptPending },
		"ended with a user":            func(s *State) { app(s, 1).State = yarn.AppKilled },
		"ask's circle":                 func(s *State) { k := s.Asks.Mut(app(s, 1).Asks); k.Next = app(s, 1).Asks },
		"ask's count":                  func(s *State) { s.Asks.Mut(app(s, 1).Asks).Count++ },
		"ask's reservations":           func(s *State) { s.Asks.Mut(app(s, 1).Asks).Reservations++ },
		"ask's entries":                func(s *State) { s.Asks.Mut(app(s, 1).Asks).Entries++ },
		"ask's key":                    func(s *State) { s.Asks.Mut(app(s, 1).Asks).Key = k2 },
		"ask of nobody":                func(s *State) { _, k := table.Alloc(&s.Asks.Table); k.App, k.Count = s.Apps.Find(1), 0 },
		"location of nobody":           func(s *State) { _, l := table.Alloc(&s.Locations.Table); l.Name, l.Count = 1, 1 },
		"location's unknown name":      func(s *State) { _, l := table.Alloc(&s.Locations.Table); l.Name = 999 },
		"reservation's attempt":        func(s *State) { s.Reservations.Mut(1).Attempt++ },
		"reservation's key":            func(s *State) { s.Reservations.Mut(1).Key = k2 },
		"reservation's size":           func(s *State) { s.Reservations.Mut(1).Size = gb(1) },
		"reservation's node":           func(s *State) { s.Reservations.Mut(1).Node = 2 },
		"reservation's circle":         func(s *State) { s.Reservations.Mut(1).NextApp = 1 },
		"reservation's number":         func(s *State) { s.Reservations.Mut(1).Number = 99 },
		"next reservation":             func(s *State) { s.Meta.NextReservation = 0 },
		"next application":             func(s *State) { s.Meta.NextApp = 2 },
		"user's use":                   func(s *State) { s.Users.Mut(1).Used[0]++ },
		"user's AM use":                func(s *State) { s.Users.Mut(1).AMUsed[0]++ },
		"user's demand":                func(s *State) { s.Users.Mut(1).Demanding++ },
		"user's queue":                 func(s *State) { s.Users.Mut(1).Queue = 99 },
		"queue's use":                  func(s *State) { s.Queues.Mut(1).Used[0]++ },
		"queue's reserved":             func(s *State) { s.Queues.Mut(1).Reserved[0]++ },
		"queue's pending":              func(s *State) { s.Queues.Mut(1).Pending[0]++ },
		"queue's AM use":               func(s *State) { s.Queues.Mut(2).AMUsed[0]++ },
		"queue's containers":           func(s *State) { s.Queues.Mut(1).Containers++ },
		"queue's runnable":             func(s *State) { s.Queues.Mut(1).Runnable++ },
		"queue's active users":         func(s *State) { s.Queues.Mut(2).ActiveUsers++ },
		"queue's active use":           func(s *State) { s.Queues.Mut(2).ActiveUsed[0]++ },
		"queue's circle":               func(s *State) { s.Queues.Mut(s.Queues.Root()).Parent = s.Queues.Find("root.b.x") },
		"queue's children":             func(s *State) { s.Queues.Mut(s.Queues.Root()).Children = nil },
		"queue's unknown child":        func(s *State) { s.Queues.Mut(s.Queues.Root()).Children = []QueueSlot{99} },
		"queue's path":                 func(s *State) { s.Queues.Mut(s.Queues.Find("root.a")).Path = "root.q" },
		"leaf with children":           func(s *State) { s.Queues.Mut(s.Queues.Root()).Leaf = true },
		"cluster's total":              func(s *State) { s.Meta.Cluster[0]++ },
		"cluster's nodes":              func(s *State) { s.Meta.UsableNodes++ },
		"ended applications":           func(s *State) { s.Meta.EndedApps++ },
		"requests' oldest":             func(s *State) { s.Meta.OldestRequest = 0 },
		"requests' newest":             func(s *State) { s.Meta.NewestRequest = 99 },
		"requests' circle":             func(s *State) { s.Requests.Mut(1).Next = 1 },
		"request's key":                func(s *State) { s.Requests.Mut(1).Key = "other" },
		"name's count":                 func(s *State) { s.Names.Mut(1).Refs++ },
		"blacklist's unknown name":     func(s *State) { app(s, 1).Blacklist = []NameSlot{1 << 31} },
		"name twice":                   func(s *State) { _, n := table.Alloc(&s.Names.Keyed.Table); n.Text = "ann" },
		"node's identity":              func(s *State) { s.Nodes.Mut(1).ID.Host = "other" },
		"ban of nobody":                func(s *State) { _, b := table.Alloc(&s.ReservationBans.Table); b.App = s.Apps.Find(1) },
		"ban's application":            func(s *State) { _, b := table.Alloc(&s.ReservationBans.Table); b.App = 99 },
	} {
		t.Run(name, func(t *testing.T) {
			s := refusable(t)
			spoil(s)
			if err := s.Check(); !errors.Is(err, ErrInconsistent) {
				t.Errorf("Check says %v", err)
			}
		})
	}
}

// TestSectionsRefuseOddSlots checks that decoding rejects slot 0, a slot that occurs twice, a slot
// out of bounds, and a second record of a section with a single one. The records of tokens come one
// after the other.
func TestSectionsRefuseOddSlots(t *testing.T) {
	for _, sec := range Sections() {
		s := New()
		bad := []uint32{0, table.MaxSlots, 1<<32 - 1}
		single := sec.ID <= 3 || (sec.ID >= 19 && sec.ID <= 21) || sec.ID == 31 || sec.ID == 39 || sec.ID == 41
		if single {
			bad = append(bad, 2)
		}
		for _, slot := range bad {
			c := codec.NewDecoder(make([]byte, 500))
			sec.Code(s, slot, c)
			if !errors.Is(c.Err(), codec.ErrMalformed) {
				t.Errorf("%s takes slot %d: %v", sec.Name, slot, c.Err())
			}
		}
		if single {
			continue
		}
		c := codec.NewDecoder(make([]byte, 500))
		if sec.Code(s, 5, c); c.Err() != nil {
			t.Errorf("%s does not take slot 5: %v", sec.Name, c.Err())
		}
		if sec.Code(s, 5, c); !errors.Is(c.Err(), codec.ErrMalformed) {
			t.Errorf("%s takes slot 5 twice: %v", sec.Name, c.Err())
		}
	}
}

// TestFieldOfALaterVersion gives two of three nodes a value in a section with an additional field.
// Decoding rejects a value for a node that does not exist, a second value, and an empty one.
func TestFieldOfALaterVersion(t *testing.T) {
	later := part.More(99, "later", func(s *State) *table.Table[NodeSlot, Node] { return &s.Nodes.Table },
		func(n *Node) bool { return n.Report != "" }, func(n *Node, c *codec.Coder) { c.String(&n.Report) }).Section()
	nodes := func(reports ...string) *State {
		s := New()
		for i, report := range reports {
			table.Place(&s.Nodes.Keyed.Table, NodeSlot(i+1)).Report = report
		}
		return s
	}
	from, to := nodes("one", "", "three"), nodes("", "", "")
	if later.Len(from) != 2 || later.Len(to) != 0 {
		t.Errorf("%d and %d nodes have a value, want 2 and 0", later.Len(from), later.Len(to))
	}
	later.Each(from, func(slot uint32) bool {
		e := codec.NewEncoder(nil)
		later.Code(from, slot, e)
		d := codec.NewDecoder(e.Bytes())
		if later.Code(to, slot, d); d.Finish() != nil {
			t.Errorf("slot %d: %v", slot, d.Finish())
		}
		return true
	})
	for i, want := range []string{"one", "", "three"} {
		if got := to.Nodes.Get(NodeSlot(i + 1)).Report; got != want {
			t.Errorf("node %d has the value %q, want %q", i+1, got, want)
		}
	}
	for what, bad := range map[string]struct {
		slot uint32
		data []byte
	}{"no such node": {4, []byte{1, 'x'}}, "second value": {1, []byte{1, 'x'}}, "empty value": {2, []byte{0}}} {
		c := codec.NewDecoder(bad.data)
		if later.Code(to, bad.slot, c); !errors.Is(c.Err(), codec.ErrMalformed) {
			t.Errorf("%s: %v", what, c.Err())
		}
	}
}

// TestSectionNumbersAreFixed checks the numbers of sections, which are part of the snapshot format.
func TestSectionNumbersAreFixed(t *testing.T) {
	names := []string{"meta", "configuration", "join-tokens", "names", "queues", "users", "nodes", "applications", "asks",
		"locations", "containers", "diagnostics", "reservations", "reservation-bans", "requests", "attempts",
		"node-applications", "delegation-tokens", "hosts", "access-tokens", "autopilot", "resizes", "removals", "audit",
		"labels", "labelled-hosts", "label-uses", "labelled-containers", "preemptions", "preempted",
		"preemption-totals", "lengths", "placements", "dynamic-queues", "gangs", "leases", "former-queues",
		"large-containers", "avoided", "debts", "app-tokens", "kept"}
	all := Sections()
	if len(all) != len(names) {
		t.Fatalf("%d sections", len(all))
	}
	for _, sec := range all {
		if sec.Name != names[sec.ID-1] {
			t.Errorf("section %d is %q, was %q", sec.ID, sec.Name, names[sec.ID-1])
		}
		if sec.Since < 1 || sec.Since > event.Level {
			t.Errorf("section %s is since feature level %d, and this build has %d", sec.Name, sec.Since, event.Level)
		}
	}
}

// FuzzRestore checks that decoding is total: any bytes give a consistent state or an error.
func FuzzRestore(f *testing.F) {
	f.Add(encode(New()))
	f.Add(encode(refusable(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode(data)
		if err != nil {
			return
		}
		if !bytes.Equal(encode(s), data) {
			t.Skip("slots out of order")
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestForksAreReadWhileTheOriginGoesOn is for the race detector. One goroutine applies events while
// others encode and check forks, two of them the same fork.
func TestForksAreReadWhileTheOriginGoesOn(t *testing.T) {
	s := refusable(t)
	var wg sync.WaitGroup
	for i := range 20 {
		f := s.Fork()
		own := f.Fork()
		for range 2 {
			wg.Go(func() {
				encode(f)
				if err := f.Check(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if err := own.Apply(ask(2, k2, 1, 1)); err != nil {
				t.Error(err)
			}
		})
		apply(t, s, ask(2, yarn.SchedulerKey{Priority: int32(i + 5)}, 1, 1),
			tree(uint64(i+2), leaf("root.a"), parent("root.b"), leaf("root.b.x"), leaf("root.b.y")),
			&event.BlacklistChanged{App: 1, Add: []string{string(rune('a' + i))}},
			&event.JoinTokenCreated{Hash: []byte{9, byte(i)}})
	}
	wg.Wait()
}

// TestRestoreOfAWrappedTotal restores a snapshot of an old build, in which the cluster's total has
// overflowed. The restored total is the largest int64.
func TestRestoreOfAWrappedTotal(t *testing.T) {
	s := New()
	apply(t, s, &event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "evil", Port: 1},
		Total: yarn.NewResource(math.MaxInt64, 1)},
		&event.NodeRegistered{Node: 2, ID: yarn.NodeID{Host: "n2", Port: 1}, Total: gb(4)})
	if got := s.Meta.Cluster[yarn.Memory]; got != math.MaxInt64 {
		t.Errorf("the total is %d", got)
	}
	wrapped := s.Fork()
	wrapped.Meta.Cluster[yarn.Memory] = math.MinInt64 + 4095
	r, err := decode(encode(wrapped))
	if err != nil || r.Meta.Cluster != s.Meta.Cluster {
		t.Fatalf("%v: the total is %v, want %v", err, r, s.Meta.Cluster)
	}
	apply(t, r, &event.NodeStateChanged{Node: 1, State: yarn.NodeLost})
	if r.Meta.Cluster != gb(4) {
		t.Errorf("without the node it is %s", r.Meta.Cluster)
	}
}
