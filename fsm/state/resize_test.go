package state

import (
	"testing"
	"unsafe"

	"rmd/fsm/event"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// crowded returns a world in which application 1 has a container of 2 GB on node 1, delivered to
// its AM, and application 2 has a container of 5 GB there.
func crowded(t *testing.T) *State {
	s := world(t)
	apply(t, s, ask(1, k1, 1, 2), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 1},
		&event.ContainerLaunched{Container: ref(1, 1)},
		ask(2, k1, 1, 5), allocated(2, 1, k1, 1))
	return s
}

// TestResizeLedgerSums follows scenario 46 and checks after each step that the sums of section 4 of
// the semantics show what is asked, reserved and granted.
func TestResizeLedgerSums(t *testing.T) {
	s := crowded(t)
	row := func(step string, used, reserved, pending, queue, free int64, containers int64) {
		t.Helper()
		a, q, n := appAt(t, s, 1), queueAt(t, s, "root.a"), s.Nodes.Get(1)
		if a.Used != gb(used) || a.Reserved != gb(reserved) || a.Pending != gb(pending) || q.Used != gb(queue) ||
			q.Reserved != gb(reserved) ||
			n.Unallocated() != gb(free) || q.Containers != containers {
			t.Errorf("%s: app %s %s %s, queue %s %s in %d, node free %s", step, a.Used, a.Reserved, a.Pending, q.Used,
				q.Reserved, q.Containers, n.Unallocated())
		}
	}
	row("before", 2, 0, 0, 2, 1, 1)
	apply(t, s, &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(7)})
	row("asked", 2, 0, 5, 2, 1, 1)
	refuse(t, s, &event.ContainerIncreased{Container: ref(1, 1)}) // the node has 1 GB free
	apply(t, s, &event.ResizeReserved{Reservation: 1, Container: ref(1, 1)})
	row("reserved", 2, 5, 5, 7, 1, 2)
	refuse(t, s, &event.ContainerCompleted{Container: ref(1, 1)}) // the reservation must end first
	refuse(t, s, &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(6)})
	apply(t, s, &event.ContainerCompleted{Container: ref(2, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.NodeLocal})
	row("fulfilled", 7, 0, 0, 7, 1, 1)
	c := s.Containers.Get(s.Container(ref(1, 1)))
	if r := s.Resizes.Of(c); c.Size != gb(7) || r.Version != 1 || r.Change != yarn.SizeIncreased || r.Confirmed != gb(2) ||
		!r.Unconfirmed || !c.Unused() {
		t.Errorf("container %+v, %+v", c, r)
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 2})
	if r := s.Resizes.Of(s.Containers.Get(s.Container(ref(1, 1)))); r.DeliveredIn != 2 {
		t.Errorf("told in %d", r.DeliveredIn)
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 3},
		&event.ContainerSizeReported{Container: ref(1, 1), Size: gb(7)})
	if c := s.Containers.Get(s.Container(ref(1, 1))); c.Undelivered || c.Unused() || s.Nodes.Get(1).PendingCommands != 0 ||
		s.Resizes.Of(c).Change != yarn.SizeKept {
		t.Errorf("told and confirmed: %+v", c)
	}
	apply(t, s, &event.ContainerDecreased{Container: ref(1, 1), Size: gb(3)})
	row("decreased", 3, 0, 0, 3, 5, 1)
	if c := s.Containers.Get(s.Container(ref(1, 1))); s.Resizes.Version(c) != 2 || s.Nodes.Get(1).PendingCommands != 1 ||
		s.Resizes.Of(c).Confirmed != gb(3) {
		t.Errorf("decreased: %+v", s.Resizes.Of(c))
	}
	refuse(t, s, &event.ResizeAcked{Container: ref(1, 1), Version: 1})
	apply(t, s, &event.ResizeAcked{Container: ref(1, 1), Version: 2}, &event.ContainerCompleted{Container: ref(1, 1)},
		&event.ResponseRecorded{App: 1, Response: 4})
	row("over", 0, 0, 0, 0, 8, 0)
	if s.Resizes.Len() != 1 { // until the AM has acknowledged the completion
		t.Errorf("%d resizes", s.Resizes.Len())
	}
	apply(t, s, &event.ResponseRecorded{App: 1, Response: 5})
	if s.Resizes.Len() != 0 || s.Asks.Len() != 0 {
		t.Errorf("%d resizes, %d asks are left", s.Resizes.Len(), s.Asks.Len())
	}
}

// TestResizedContainerResourceSeconds checks that each size counts for the time that the container
// had it.
func TestResizedContainerResourceSeconds(t *testing.T) {
	s := world(t)
	at := func(seconds int64) *event.TimeAdvanced { return &event.TimeAdvanced{NowMillis: 1000 * seconds} }
	apply(t, s, ask(1, k1, 1, 4), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 1}, at(11),
		&event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(6)}, at(21),
		&event.ContainerIncreased{Container: ref(1, 1)},
		at(31), &event.ContainerDecreased{Container: ref(1, 1), Size: gb(1)}, at(41))
	want := gb(20*4 + 10*6 + 10*1)
	if got := s.ResourceSeconds(appAt(t, s, 1), s.Meta.NowMillis); got != want {
		t.Errorf("used over time %s, want %s", got, want)
	}
	apply(t, s, &event.ContainerCompleted{Container: ref(1, 1)})
	if got := appAt(t, s, 1).ResourceSeconds; got != want {
		t.Errorf("ended, used over time %s, want %s", got, want)
	}
}

// TestNodeReportedSizes checks the cases in which a node confirms, partly confirms or exceeds the
// size of a container, as in YARN.
func TestNodeReportedSizes(t *testing.T) {
	for _, c := range []struct {
		name                 string
		says, confirmed      yarn.Resource
		unconfirmed, unacked bool
	}{
		{"all of it", gb(4), gb(4), false, false},
		{"less", gb(3), gb(3), true, false},
		{"less than before", gb(1), gb(2), true, false},
		{"more", gb(5), gb(4), false, true},
		{"another", yarn.NewResource(5*1024, 1), gb(4), false, true},
	} {
		s := world(t)
		apply(t, s, ask(1, k1, 1, 2), allocated(1, 1, k1, 1), &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(4)},
			&event.ContainerIncreased{Container: ref(1, 1)}, &event.ContainerSizeReported{Container: ref(1, 1), Size: c.says})
		if r := s.Resizes.Get(1); r.Confirmed != c.confirmed || r.Unconfirmed != c.unconfirmed || r.Unacked != c.unacked {
			t.Errorf("%s: %+v, want confirmed %v, unconfirmed %v, unacked %v",
				c.name, r, c.confirmed, c.unconfirmed, c.unacked)
		}
	}
}

// TestResizeRefusals has an event for every check of the resize events.
func TestResizeRefusals(t *testing.T) {
	s := crowded(t)
	apply(t, s, submit(3, "cid", "root.b.y"), &event.AttemptStarted{App: 3, Attempt: 1},
		&event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(4)}, ask(2, k2, 1, 8),
		&event.ReservationMade{Reservation: 1, App: 2, Number: 2, Key: k2, Node: 1})
	ended := s.Fork()
	apply(t, ended, &event.ContainerReleased{Container: ref(1, 1)})
	for _, c := range []struct {
		name string
		s    *State
		e    event.Event
	}{
		{"asked for nobody", s, &event.ContainerResizeAsked{Container: ref(1, 9), Size: gb(4)}},
		{"asked for less", s, &event.ContainerResizeAsked{Container: ref(1, 1), Size: yarn.NewResource(9000, 1)}},
		{"taken back unasked", s, &event.ContainerResizeAsked{Container: ref(2, 1), Size: gb(5)}},
		{"asked after its end", ended, &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(4)}},
		{"grown unasked", s, &event.ContainerIncreased{Container: ref(2, 1)}},
		{"grown where another waits", s, &event.ContainerIncreased{Container: ref(1, 1)}},
		{"grown after its end", ended, &event.ContainerIncreased{Container: ref(1, 1)}},
		{"reserved where another waits", s, &event.ResizeReserved{Reservation: 2, Container: ref(1, 1)}},
		{"reserved unasked", s, &event.ResizeReserved{Reservation: 2, Container: ref(2, 1)}},
		{"reserved after its end", ended, &event.ResizeReserved{Reservation: 2, Container: ref(1, 1)}},
		{"shrunk to more", s, &event.ContainerDecreased{Container: ref(1, 1), Size: gb(3)}},
		{"shrunk below zero", s, &event.ContainerDecreased{Container: ref(1, 1), Size: gb(-1)}},
		{"shrunk after its end", ended, &event.ContainerDecreased{Container: ref(1, 1), Size: gb(1)}},
		{"confirmed unasked", s, &event.ContainerSizeReported{Container: ref(1, 1), Size: gb(2)}},
		{"told unasked", s, &event.ResizeAcked{Container: ref(1, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) { refuse(t, c.s, c.e) })
	}
	free := s.Fork()
	apply(t, free, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelAskGone},
		&event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(7)})
	refuse(t, free, &event.ResizeReserved{Reservation: 9, Container: ref(1, 1)})
	apply(t, free, &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(9)},
		&event.ResizeReserved{Reservation: 2, Container: ref(1, 1)},
		&event.NodeResourceChanged{Node: 1, Total: gb(8)})
	apply(t, free, &event.EpochRaised{Epoch: 9, ClusterTimestamp: 99})
	if r := free.Reservations.Get(free.Reservations.Find(2)); r.Container != 1 {
		t.Errorf("what a container is to grow by is promised to container %d", r.Container)
	}
}

// TestDamagedResizesAreSeen damages one field at a time.
func TestDamagedResizesAreSeen(t *testing.T) {
	for name, spoil := range map[string]func(s *State, r *Resize, c *Container){
		"ask of another": func(s *State, r *Resize, c *Container) {
			r.Ask = s.Asks.Find(s.Apps.Get(s.Apps.Find(2)), k2)
		},
		"no ask":              func(s *State, r *Resize, c *Container) { r.Ask = 0 },
		"unknown ask":         func(s *State, r *Resize, c *Container) { r.Ask = 99 },
		"no reservation":      func(s *State, r *Resize, c *Container) { r.Reservation = 0 },
		"unknown reservation": func(s *State, r *Resize, c *Container) { r.Reservation = 99 },
		"unknown container":   func(s *State, r *Resize, c *Container) { r.Container = 99 },
		"marks":               func(s *State, r *Resize, c *Container) { c.Sizing = SizeUnacked },
		"told nobody":         func(s *State, r *Resize, c *Container) { r.Change = yarn.SizeIncreased },
		"told without change": func(s *State, r *Resize, c *Container) { r.DeliveredIn = 3 },
		"negative version":    func(s *State, r *Resize, c *Container) { r.Version = -1 },
		"container's resize":  func(s *State, r *Resize, c *Container) { c.Resize = 0 },
		"ask's container": func(s *State, r *Resize, c *Container) {
			s.Asks.Mut(r.Ask).IncreaseOf = s.Container(ref(2, 1))
		},
		"reservation's number": func(s *State, r *Resize, c *Container) {
			s.Reservations.Mut(r.Reservation).Container = 7
		},
		"resize of an ended": func(s *State, r *Resize, c *Container) {
			_, x := table.Alloc(&s.Resizes.Table)
			*x = Resize{Container: r.Container, Version: 1}
		},
	} {
		s := crowded(t)
		apply(t, s, ask(2, k2, 1, 1), &event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(7)},
			&event.ResizeReserved{Reservation: 1, Container: ref(1, 1)})
		c := s.Containers.Mut(s.Container(ref(1, 1)))
		spoil(s, s.Resizes.Mut(c.Resize), c)
		if s.Check() == nil {
			t.Errorf("%s is not seen", name)
		}
	}
}

// TestContainerRecordKeepsItsSize checks that Container does not grow. There may be hundreds of
// thousands of them, and most never change their size.
func TestContainerRecordKeepsItsSize(t *testing.T) {
	if got, most := unsafe.Sizeof(Container{}), uintptr(72+16+8*yarn.MaxKinds+8); got > most {
		t.Errorf("a container's record takes %d bytes, it took %d", got, most)
	}
}

// TestResizeAfterAMUnregisters takes an unconfirmed increase back after the AM has unregistered. No
// AM receives the change, and the state can be written and restored.
func TestResizeAfterAMUnregisters(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 1, 2), allocated(1, 1, k1, 1), &event.ResponseRecorded{App: 1, Response: 1},
		&event.ContainerLaunched{Container: ref(1, 1)},
		&event.ContainerResizeAsked{Container: ref(1, 1), Size: gb(4)}, &event.ContainerIncreased{Container: ref(1, 1)},
		&event.ResponseRecorded{App: 1, Response: 2},
		&event.AttemptUnregistered{App: 1, Final: yarn.FinalSucceeded},
		&event.ContainerDecreased{Container: ref(1, 1), Size: gb(2)})
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if c := s.Containers.Get(s.Container(ref(1, 1))); c.Size != gb(2) || s.Resizes.Of(c).Change != yarn.SizeKept {
		t.Errorf("container %+v, %+v", c, s.Resizes.Of(c))
	}
}
