package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

// row is what one event adds to the ledgers, in units of gb(1), as in the table of section 4 of the
// semantics.
type row struct {
	appUsed, appReserved, appPending int64
	userUsed                         int64
	chainUsed, chainReserved         int64
	containers                       int64
	node                             int64
}

// TestLedgerTable checks the table row by row: application 2 of bob in root.b.x, below root.b and
// root, asks for 3 GB on node 1.
func TestLedgerTable(t *testing.T) {
	r := int64(3)
	restore := &event.ContainerCompleted{Container: ref(2, 1), Restore: true}
	reserved := []event.Event{ask(1, k1, 2, 3), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1), ask(2, k1, 2, 3),
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: k1, Node: 1}}
	room := &event.ContainerCompleted{Container: ref(1, 1)}
	for _, c := range []struct {
		name   string
		before []event.Event
		e      event.Event
		want   row
	}{
		{"ask grows", nil, ask(2, k1, 2, 3), row{appPending: 2 * r}},
		{"ask shrinks", []event.Event{ask(2, k1, 4, 3)}, ask(2, k1, 1, 3), row{appPending: -3 * r}},
		{"ask changes its size", []event.Event{ask(2, k1, 4, 3)}, ask(2, k1, 4, 2), row{appPending: -4}},
		{"a host's count is no demand", []event.Event{ask(2, k1, 4, 3)},
			&event.AskChanged{App: 2, Key: k1, Name: "h1", Count: 9, Size: gb(3)}, row{}},
		{"allocate", []event.Event{ask(2, k1, 2, 3)}, allocated(2, 1, k1, 1),
			row{appUsed: r, appPending: -r, userUsed: r, chainUsed: r, containers: 1, node: r}},
		{"reserve", reserved[:4], reserved[4], row{appReserved: r, userUsed: r, chainUsed: r, chainReserved: r,
			containers: 1}},
		{"re-reserve", reserved, &event.AskCountersUpdated{App: 2, Key: k1, Opportunities: 4, ReReservations: 1}, row{}},
		{"fulfill", append(reserved, room), &event.ReservationFulfilled{Reservation: 1, Locality: yarn.OffSwitch},
			row{appUsed: r, appReserved: -r, appPending: -r, chainReserved: -r, node: r}},
		{"cancel", reserved, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelAskGone},
			row{appReserved: -r, userUsed: -r, chainUsed: -r, chainReserved: -r, containers: -1}},
		{"complete", []event.Event{ask(2, k1, 2, 3), allocated(2, 1, k1, 1)}, &event.ContainerCompleted{Container: ref(2, 1)},
			row{appUsed: -r, userUsed: -r, chainUsed: -r, containers: -1, node: -r}},
		{"complete and put the ask back", []event.Event{ask(2, k1, 2, 3), allocated(2, 1, k1, 1)}, restore,
			row{appUsed: -r, appPending: r, userUsed: -r, chainUsed: -r, containers: -1, node: -r}},
		{"put the ask back that was the last", []event.Event{ask(2, k1, 1, 3), allocated(2, 1, k1, 1)}, restore,
			row{appUsed: -r, appPending: r, userUsed: -r, chainUsed: -r, containers: -1, node: -r}},
		{"release what the node holds", []event.Event{ask(2, k1, 2, 3), allocated(2, 1, k1, 1)},
			&event.ContainerReleased{Container: ref(2, 1)},
			row{appUsed: -r, userUsed: -r, chainUsed: -r, containers: -1}},
		{"the node reports the end of what was released",
			[]event.Event{ask(2, k1, 2, 3), allocated(2, 1, k1, 1), &event.ContainerReleased{Container: ref(2, 1)}},
			&event.ContainerCompleted{Container: ref(2, 1)}, row{node: -r}},
		{"launch", []event.Event{ask(2, k1, 2, 3), allocated(2, 1, k1, 1)},
			&event.ContainerLaunched{Container: ref(2, 1)}, row{}},
		{"attempt ends with containers kept", []event.Event{ask(2, k1, 3, 3), allocated(2, 1, k1, 1)},
			&event.AttemptEnded{App: 2, Keep: true},
			row{appPending: -2 * r}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := world(t)
			apply(t, s, append([]event.Event{&event.TimeAdvanced{NowMillis: 2000}}, c.before...)...)
			was := ledgers(t, s)
			apply(t, s, c.e)
			for i, is := range ledgers(t, s) {
				if got := is.sub(was[i]); got != c.want {
					t.Errorf("%s: changed by %+v, want %+v", is.queue, got, c.want)
				}
			}
		})
	}
}

type ledger struct {
	queue string
	row   row
}

func (l ledger) sub(o ledger) row {
	a, b := l.row, o.row
	return row{a.appUsed - b.appUsed, a.appReserved - b.appReserved, a.appPending - b.appPending, a.userUsed - b.userUsed,
		a.chainUsed - b.chainUsed, a.chainReserved - b.chainReserved, a.containers - b.containers, a.node - b.node}
}

// ledgers returns the ledger of application 2 for each of its queues. The node's part is what
// application 2 uses of the node. Pending must be the same in the application and its queues.
func ledgers(t *testing.T, s *State) []ledger {
	t.Helper()
	a, other := appAt(t, s, 2), appAt(t, s, 1)
	u := s.Users.Get(a.UserSlot)
	node := s.Nodes.Get(1).Allocated
	for _, c := range s.Containers.Of(other) {
		if c.OnNode {
			node = node.Sub(c.Size)
		}
	}
	var out []ledger
	for slot := a.Queue; slot != 0; slot = s.Queues.Get(slot).Parent {
		q := *s.Queues.Get(slot)
		if q.Path == "root" {
			top := queueAt(t, s, "root.a") // application 1's queue
			q.Used, q.Reserved, q.Pending = q.Used.Sub(top.Used), q.Reserved.Sub(top.Reserved), q.Pending.Sub(top.Pending)
			q.Containers -= top.Containers
		}
		if q.Pending != a.Pending {
			t.Errorf("%s has %s pending, its application %s", q.Path, q.Pending, a.Pending)
		}
		out = append(out, ledger{q.Path, row{units(t, a.Used), units(t, a.Reserved), units(t, a.Pending), units(t, u.Used),
			units(t, q.Used), units(t, q.Reserved), q.Containers, units(t, node)}})
	}
	if len(out) != 3 {
		t.Fatalf("the chain has %d queues", len(out))
	}
	return out
}

// units returns the n of a resource gb(n).
func units(t *testing.T, r yarn.Resource) int64 {
	t.Helper()
	if r != gb(r[yarn.VCores]) {
		t.Fatalf("%s is no whole number of units", r)
	}
	return r[yarn.VCores]
}

// TestFulfillmentGivesReservedContainer checks that a fulfilled reservation gives the reserved
// container, and that the node can be reserved again.
func TestFulfillmentGivesReservedContainer(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 2, 4), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1), ask(2, k2, 2, 4),
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: k2, Node: 1},
		&event.ContainerCompleted{Container: ref(1, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.RackLocal})
	c := s.Containers.Get(s.Container(ref(2, 1)))
	if c.Number != 1 || c.Key != k2 || c.Node != 1 || c.Size != gb(4) || c.Locality != yarn.RackLocal ||
		c.State != yarn.ContainerAllocated {
		t.Errorf("the container is %+v", c)
	}
	if s.Nodes.Get(1).Reservation != 0 || s.Reservations.Find(1) != 0 || s.Meta.NextNumber(appAt(t, s, 2)) != 2 {
		t.Error("the reservation is still there, or its number free")
	}
	if m := s.Meta; m.Made != 1 || m.Fulfilled != 1 || m.Allocated != 3 {
		t.Errorf("counted: %d made, %d fulfilled, %d allocated", m.Made, m.Fulfilled, m.Allocated)
	}
}

// TestReservationNewIDAfterRestore checks that a reservation gets a new container id after a
// restore, because the restore may have undone a container with the old id.
func TestReservationNewIDAfterRestore(t *testing.T) {
	s := world(t)
	apply(t, s, ask(1, k1, 2, 4), allocated(1, 1, k1, 1), allocated(1, 2, k1, 1), ask(2, k2, 2, 4),
		&event.ReservationMade{Reservation: 1, App: 2, Number: 1, Key: k2, Node: 1},
		&event.EpochRaised{Epoch: 2, ClusterTimestamp: 78},
		&event.ContainerCompleted{Container: ref(1, 1)},
		&event.ReservationFulfilled{Reservation: 1, Locality: yarn.RackLocal})
	if s.Container(ref(2, 1)) != 0 {
		t.Error("the container has the id of the epoch before")
	}
	if promised := yarn.ContainerNumber(2, 1); s.Container(ref(2, promised)) == 0 ||
		s.Meta.NextNumber(appAt(t, s, 2)) != promised+1 {
		t.Errorf("the container is not number %d, the next one is %d", promised, s.Meta.NextNumber(appAt(t, s, 2)))
	}
}

// TestAskCountsByLocality checks which counts an allocation at each locality subtracts, and that
// the loss of the container adds them back.
func TestAskCountsByLocality(t *testing.T) {
	for _, c := range []struct {
		name     string
		locality yarn.Locality
		any      int64
		host     int64
		rack     int64
		other    int64
	}{
		{"node-local", yarn.NodeLocal, 3, 1, 1, 2},
		{"rack-local", yarn.RackLocal, 3, 2, 1, 2},
		{"off-switch", yarn.OffSwitch, 3, 2, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := world(t)
			at := func(name string, n int64) *event.AskChanged {
				return &event.AskChanged{App: 2, Key: k1, Name: name, Count: n, Size: gb(1), Relax: true}
			}
			counts := func() [4]int64 {
				k := s.Asks.Get(s.Asks.Find(appAt(t, s, 2), k1))
				out := [4]int64{k.Count}
				for i, name := range []string{"h1", "/r1", "h2"} {
					if l := s.Location(k, s.Names.Find(name)); l != 0 {
						out[i+1] = s.Locations.Get(l).Count
					}
				}
				return out
			}
			apply(t, s, ask(2, k1, 4, 1), at("h1", 2), at("/r1", 2), at("h2", 2),
				&event.ContainerAllocated{App: 2, Number: 1, Key: k1, Node: 1, Locality: c.locality})
			if got, want := counts(), [4]int64{c.any, c.host, c.rack, c.other}; got != want {
				t.Errorf("left %v, want %v", got, want)
			}
			apply(t, s, &event.ContainerCompleted{Container: ref(2, 1), Restore: true})
			if got, want := counts(), [4]int64{4, 2, 2, 2}; got != want {
				t.Errorf("put back %v, want %v", got, want)
			}
			if s.Container(ref(2, 1)) != 0 || appAt(t, s, 2).Undelivered != 0 {
				t.Error("the lost container is still told of")
			}
		})
	}
}
