package ledger

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// stage is where an attempt stands.
type stage uint8

const (
	none stage = iota
	parked
	pending
	active
	registered
	finishing
	over
)

func (s stage) String() string {
	return [...]string{"not begun", "parked", "pending", "active", "registered", "finishing", "over"}[s]
}

type app struct {
	seq        uint32
	timestamp  int64
	name, user string
	queue      int32
	priorities []Priority
	state      yarn.ApplicationState
	stage      stage
	attempt    uint32
	response   int32
	resyncs    int
	lastNumber uint64 // of a container of the attempt
	asks       []ask
	black      []string
	containers []container // ascending by attempt and number, every one ever
	live       int32
	holds      int32 // reservations
	forgotten  bool
	turns      []Turn
}

// Turn is a change of an application's state, or of its queue.
type Turn struct {
	Index uint64
	State yarn.ApplicationState
	Queue string
}

// Priority is what an application's priority became.
type Priority struct {
	Index    uint64
	Priority int32
}

// ask is what an attempt wants under a key.
type ask struct {
	key   yarn.SchedulerKey
	size  yarn.Resource
	count int64
	holds int32 // reservations
	relax bool
	where []place
}

type place struct {
	name  string
	count int64
}

type seqAt struct {
	seq uint32
	at  int32
}

// find returns the place of an application by its sequence number, or -1.
func (m *Model) find(seq uint32) int32 {
	if n := len(m.seqs); n == 0 || m.seqs[n-1].seq < seq {
		return -1
	}
	i, ok := slices.BinarySearchFunc(m.seqs, seq, func(s seqAt, seq uint32) int { return cmp.Compare(s.seq, seq) })
	if !ok {
		return -1
	}
	return m.seqs[i].at
}

// app returns an application that an event names; nil, and a violation, when
// there is none.
func (m *Model) app(seq uint32) *app {
	i := m.find(seq)
	if i < 0 || m.apps[i].forgotten {
		m.bad(Audit, nil, "an event names application %d, which there is not", seq)
		return nil
	}
	return &m.apps[i]
}

func (m *Model) submitted(e *event.ApplicationSubmitted) {
	if i := m.find(e.App); i >= 0 {
		a := &m.apps[i]
		m.bad("S5", a.chain(m), "application %d (%s) is submitted a second time, as %s", e.App, a.name, e.Name)
		return
	}
	q := m.queue(e.Queue)
	if q < 0 || !m.queues[q].leaf {
		m.bad(Audit, nil, "application %d is submitted to %s, which is no leaf queue", e.App, e.Queue)
		return
	}
	if m.queues[q].state == yarn.QueueStopped {
		m.bad(Audit, nil, "application %d is submitted to %s, which is stopped", e.App, e.Queue)
	}
	at := int32(len(m.apps))
	m.apps = append(m.apps, app{seq: e.App, timestamp: m.timestamp, name: e.Name, user: e.User, queue: q, priorities: []Priority{{m.index, e.Priority}}})
	i, _ := slices.BinarySearchFunc(m.seqs, e.App, func(s seqAt, seq uint32) int { return cmp.Compare(s.seq, seq) })
	m.seqs = slices.Insert(m.seqs, i, seqAt{e.App, at})
	m.queues[q].apps++
	m.turn(&m.apps[at], yarn.AppSubmitted)
}

// turn moves an application to a state: S10.
func (m *Model) turn(a *app, to yarn.ApplicationState) {
	if a.state == to {
		return
	}
	if a.state.Ended() {
		m.bad("S10", a.chain(m), "application %d is %s and becomes %s", a.seq, a.state, to)
	}
	a.state = to
	a.turns = append(a.turns, Turn{m.index, to, m.queues[a.queue].path})
}

// chain is what became of an application so far.
func (a *app) chain(m *Model) []Step {
	var out []Step
	for _, t := range a.turns {
		out = append(out, m.step(t.Index, "application %d is %s in %s", a.seq, t.State, t.Queue))
	}
	return out
}

func (m *Model) ended(e *event.ApplicationEnded) {
	a := m.app(e.App)
	if a == nil {
		return
	}
	switch {
	case a.state.Ended():
		m.bad("S10", a.chain(m), "application %d is %s and ends again as %s", a.seq, a.state, e.State)
		return
	case !e.State.Ended():
		m.bad("S10", a.chain(m), "application %d ends as %s, which is no end", a.seq, e.State)
	case a.live > 0:
		m.bad("S9", a.chain(m), "application %d ends with %d live containers: their use stays", a.seq, a.live)
	}
	m.noReservations(a, "ends")
	m.Counts.Terminal++
	m.queues[a.queue].apps--
	m.turn(a, e.State)
}

func (m *Model) move(e *event.ApplicationMoved) {
	a, q := m.app(e.App), m.queue(e.Queue)
	if a == nil {
		return
	}
	if q < 0 || !m.queues[q].leaf {
		m.bad(Audit, nil, "application %d moves to %s, which is no leaf queue", e.App, e.Queue)
		return
	}
	if a.state.Ended() {
		m.bad("S10", a.chain(m), "application %d is %s and moves to %s", a.seq, a.state, e.Queue)
		return
	}
	used, held := a.uses(m)
	m.queues[a.queue].take(none1.Sub(used), none1.Sub(held))
	m.queues[a.queue].apps--
	m.queues[q].take(used, held)
	m.queues[q].apps++
	m.moved = true
	a.queue = q
	a.turns = append(a.turns, Turn{m.index, a.state, e.Queue})
}

// uses sums what an application has, and what of it is reserved.
func (a *app) uses(m *Model) (used, held yarn.Resource) {
	for i := range a.containers {
		if c := &a.containers[i]; c.live {
			used = used.Add(c.size)
		}
	}
	for i := range m.reservations {
		if r := &m.reservations[i]; m.apps[r.app].seq == a.seq {
			used, held = used.Add(r.size), held.Add(r.size)
		}
	}
	return used, held
}

func (m *Model) dropApp(seq uint32) {
	a := m.app(seq)
	if a == nil {
		return
	}
	if !a.state.Ended() {
		m.bad("S4", a.chain(m), "application %d is forgotten while it is %s", seq, a.state)
	}
	a.forgotten = true
}
