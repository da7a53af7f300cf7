package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"rmd/yarn"
)

func sortSteps(s []Step) {
	slices.SortStableFunc(s, func(a, b Step) int { return cmp.Compare(a.Index, b.Index) })
}

// Fact is what the log says of a container. Indexes are 0 for what has not
// happened.
type Fact struct {
	ID                                   yarn.ContainerID
	Node                                 yarn.NodeID
	Size                                 yarn.Resource
	AM, Live, Restored                   bool
	Made, Released, Completed, Signalled uint64
}

// Ended is the index of the container's end; 0 while it lives.
func (f Fact) Ended() uint64 {
	if f.Released != 0 {
		return f.Released
	}
	return f.Completed
}

// Container is what the log says of a container by its id.
func (m *Model) Container(name string) (Fact, bool) {
	id, err := yarn.ParseContainerID(name)
	if err != nil {
		return Fact{}, false
	}
	i := m.find(id.App.Seq)
	if i < 0 || m.apps[i].timestamp != id.App.ClusterTimestamp {
		return Fact{}, false
	}
	a := &m.apps[i]
	at, ok := a.place(id.Attempt, id.Number)
	if !ok {
		return Fact{}, false
	}
	return m.fact(a, &a.containers[at]), true
}

func (m *Model) fact(a *app, c *container) Fact {
	return Fact{ID: a.id(c.attempt, c.number), Node: m.nodes[c.node].id, Size: c.size, AM: c.am, Live: c.live,
		Restored: c.restored, Made: c.made, Released: c.released, Completed: c.completed, Signalled: c.signalled}
}

// Containers are all that an application ever had, oldest attempt first.
func (m *Model) Containers(name string) []Fact {
	i := m.named(name)
	if i < 0 {
		return nil
	}
	a := &m.apps[i]
	out := make([]Fact, 0, len(a.containers))
	for k := range a.containers {
		out = append(out, m.fact(a, &a.containers[k]))
	}
	return out
}

// App is what the log says of an application.
type App struct {
	ID                yarn.ApplicationID
	Name, User, Queue string
	State             yarn.ApplicationState
	Finishing         bool // its AM has unregistered: readers see it FINISHED
	Attempt           uint32
	Resyncs           int
	Forgotten         bool
	Turns             []Turn
	Priorities        []Priority // the first is the submission's
	Ended             uint64     // index; 0 while it goes on
}

// At is the application's state and queue as of an index; false before its
// submission.
func (a App) At(index uint64) (Turn, bool) {
	var out Turn
	for _, t := range a.Turns {
		if t.Index > index {
			break
		}
		out = t
	}
	return out, out.Index != 0
}

// App is an application by its id.
func (m *Model) App(name string) (App, bool) {
	i := m.named(name)
	if i < 0 {
		return App{}, false
	}
	return m.show(&m.apps[i]), true
}

// named is the place of an application by its id; -1 when there is none.
func (m *Model) named(name string) int32 {
	id, err := yarn.ParseApplicationID(name)
	if err != nil {
		return -1
	}
	if i := m.find(id.Seq); i >= 0 && m.apps[i].timestamp == id.ClusterTimestamp {
		return i
	}
	return -1
}

// Apps are all applications ever, in the order of their submission.
func (m *Model) Apps() []App {
	out := make([]App, 0, len(m.apps))
	for i := range m.apps {
		out = append(out, m.show(&m.apps[i]))
	}
	return out
}

func (m *Model) show(a *app) App {
	out := App{ID: yarn.ApplicationID{ClusterTimestamp: a.timestamp, Seq: a.seq}, Name: a.name, User: a.user, Queue: m.queues[a.queue].path,
		State: a.state, Finishing: a.stage == finishing, Attempt: a.attempt, Resyncs: a.resyncs, Forgotten: a.forgotten, Turns: a.turns, Priorities: a.priorities}
	for _, t := range a.turns {
		if t.State.Ended() {
			out.Ended = t.Index
			break
		}
	}
	return out
}

// Key is the index at which a master key was made; false when it never was.
func (m *Model) Key(id int32) (index uint64, ok bool) {
	for _, k := range m.keys {
		if k.id == id {
			return k.index, true
		}
	}
	return 0, false
}

// Recorded says whether a call with an idempotency key is remembered, and since
// which index.
func (m *Model) Recorded(key string) (index uint64, ok bool) {
	index, ok = m.requestSet[key]
	return index, ok
}

// Reservation says when a reservation ended: 0 while it is held. There is none of
// a number that was never made.
func (m *Model) Reservation(name string) (ended uint64, ok bool) {
	number, err := strconv.ParseUint(strings.TrimPrefix(name, "r"), 10, 64)
	if err != nil || number == 0 || number > m.lastReserved {
		return 0, false
	}
	for _, e := range m.ends {
		if e.number == number {
			return e.index, true
		}
	}
	return 0, true
}

// Stuck are reservations on nodes that have room for them: L3 when nothing moves
// any more.
func (m *Model) Stuck() []Step {
	var out []Step
	for i := range m.reservations {
		r := &m.reservations[i]
		n := &m.nodes[r.node]
		if room := n.total.Sub(n.used); n.state.Usable() && m.fits(r.size, room) {
			out = append(out, m.step(r.made, "r%d waits on %s for %s, and %s is free there", r.number, n.id, r.size, room))
		}
	}
	return out
}

// Waiting are asks of active attempts that some usable, unreserved node and
// every maximum up the tree have room for. Limits of users are not known here, so
// that an ask of a user who has something may rightly wait: only those of
// applications that have nothing but their AM in a queue that uses nothing else
// are sure.
func (m *Model) Waiting() (sure, unsure []Step) {
	for i := range m.apps {
		a := &m.apps[i]
		if a.stage != active && a.stage != registered {
			continue
		}
		for k := range a.asks {
			n := m.roomFor(a, &a.asks[k])
			if n == nil {
				continue
			}
			s := m.step(m.index, "application %d waits for %d of %s, and %s has %s free", a.seq, a.asks[k].count, a.asks[k].size, n.id, n.total.Sub(n.used))
			if q := &m.queues[a.queue]; q.apps == 1 && a.live <= 1 && a.holds == 0 {
				sure = append(sure, s)
			} else {
				unsure = append(unsure, s)
			}
		}
	}
	return sure, unsure
}

func (m *Model) roomFor(a *app, k *ask) *node {
	if k.count <= 0 || !k.relax && len(k.where) > 0 {
		return nil
	}
	for i := a.queue; i >= 0; i = m.queues[i].parent {
		used, _ := m.sum(i)
		if !m.fits(used.Add(k.size), m.maximum(i, m.cluster)) {
			return nil
		}
	}
	for i := 1; i < len(m.nodes); i++ {
		n := &m.nodes[i]
		if n.state == yarn.NodeRunning && n.reservation == 0 && m.fits(k.size, n.total.Sub(n.used)) &&
			!slices.Contains(a.black, n.id.Host) && !slices.Contains(a.black, n.rack) {
			return n
		}
	}
	return nil
}
