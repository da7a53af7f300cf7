package ledger

import (
	"cmp"
	"slices"

	"rmd/fsm/event"
	"rmd/yarn"
)

// stage is the stage of an application's current attempt.
type stage uint8

const (
	none stage = iota
	nonRunnable
	pending
	active
	registered
	finishing
	over
)

func (s stage) String() string {
	return [...]string{"not begun", "not runnable", "pending", "active", "registered", "finishing", "over"}[s]
}

type app struct {
	seq         uint32
	timestamp   int64
	name, user  string
	queue       int32
	priorities  []Priority
	state       yarn.ApplicationState
	stage       stage
	attempt     uint32
	response    int32
	resyncs     int
	lastNumber  uint64 // highest container number assigned in the attempt, including reservations
	asks        []ask
	black       []string
	containers  []container // all of them, also ended ones, ascending by attempt and number
	live        int32
	holds       int32 // number of reservations
	forgotten   bool
	banned      bool // an operator has cancelled a reservation: it may not reserve each node
	amLabel     string
	gang        *gang // nil if it has none
	submitted   int64 // in ms
	lifetime    int64 // maximum lifetime of the application in ms; 0 means no limit
	declared    int64 // declared lifetime of its containers in ms; 0 means not declared
	transitions []Transition
}

// Transition is a change of an application's state, or of its queue.
type Transition struct {
	Index uint64
	State yarn.ApplicationState
	Queue string
}

// Priority is a change of an application's priority.
type Priority struct {
	Index    uint64
	Priority int32
}

// ask is an ask of an attempt under one key.
type ask struct {
	key   yarn.SchedulerKey
	size  yarn.Resource
	count int64
	holds int32 // number of reservations for it
	relax bool
	label string
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

// apps are the applications with their attempts and asks.
type apps struct {
	*nouns
	list      []app
	seqs      []seqAt           // ascending by sequence
	names     map[string]uint32 // application numbers by name; nil if names need not be unique
	timestamp int64             // cluster timestamp in application ids
	epoch     uint32
	dropped   int  // number of forgotten applications
	moved     bool // in the entry an application changed its queue, or a node its label
}

// appIndex returns the index in list of an application by its sequence number, or -1.
func (l *apps) appIndex(seq uint32) int32 {
	if n := len(l.seqs); n == 0 || l.seqs[n-1].seq < seq {
		return -1
	}
	i, ok := slices.BinarySearchFunc(l.seqs, seq, func(s seqAt, seq uint32) int { return cmp.Compare(s.seq, seq) })
	if !ok {
		return -1
	}
	return l.seqs[i].at
}

// app returns an application that an event names. If there is none, it returns nil and records a
// violation.
func (l *apps) app(seq uint32) *app {
	i := l.appIndex(seq)
	if i < 0 || l.list[i].forgotten {
		l.violate(Audit, nil, "an event names application %d, which there is not", seq)
		return nil
	}
	return &l.list[i]
}

// goingOn returns an application like app. If the application has ended, the event must not happen:
// goingOn returns nil and records a violation (S10).
func (l *apps) goingOn(seq uint32, what string) *app {
	a := l.app(seq)
	if a != nil && a.state.Ended() {
		l.violate("S10", a.chain(l.nouns), "application %d %s and is %s", seq, what, a.state)
		return nil
	}
	return a
}

func (l *apps) submitted(e *event.ApplicationSubmitted) {
	if i := l.appIndex(e.App); i >= 0 {
		a := &l.list[i]
		l.violate("S5", a.chain(l.nouns), "application %d (%s) is submitted a second time, as %s", e.App, a.name, e.Name)
		return
	}
	l.named(e)
	q := l.queues.queue(e.Queue)
	if q < 0 || !l.queues.list[q].leaf {
		l.violate(Audit, nil, "application %d is submitted to %s, which is no leaf queue", e.App, e.Queue)
		return
	}
	if l.queues.list[q].state == yarn.QueueStopped {
		l.violate(Audit, nil, "application %d is submitted to %s, which is stopped", e.App, e.Queue)
	}
	at := int32(len(l.list))
	l.list = append(l.list, app{seq: e.App, timestamp: l.timestamp, name: e.Name, user: e.User, queue: q,
		priorities: []Priority{{l.index, e.Priority}},
		submitted:  l.now, lifetime: e.LifetimeMillis, declared: declaredBy(e.Tags)})
	i, _ := slices.BinarySearchFunc(l.seqs, e.App, func(s seqAt, seq uint32) int { return cmp.Compare(s.seq, seq) })
	l.seqs = slices.Insert(l.seqs, i, seqAt{e.App, at})
	l.queues.list[q].apps++
	l.setAppState(&l.list[at], yarn.AppSubmitted)
}

// named checks that a name is submitted once (S5). Replicas forget a call a day of log time later.
// If it is repeated after that, it is a new call, which named only counts.
func (l *apps) named(e *event.ApplicationSubmitted) {
	if l.names == nil {
		return
	}
	switch other := l.names[e.Name]; {
	case other != 0 && l.Counts.Forgotten > 0:
		l.Counts.Resubmitted++
	case other != 0:
		l.violate("S5", l.list[l.appIndex(other)].chain(l.nouns), "%s is submitted twice, as application %d and as %d",
			e.Name, other, e.App)
	}
	l.names[e.Name] = e.App
}

// setAppState changes an application's state and checks that it has not ended (S10).
func (l *apps) setAppState(a *app, to yarn.ApplicationState) {
	if a.state == to {
		return
	}
	if a.state.Ended() {
		l.violate("S10", a.chain(l.nouns), "application %d is %s and becomes %s", a.seq, a.state, to)
	}
	a.state = to
	a.transitions = append(a.transitions, Transition{l.index, to, l.queues.list[a.queue].path})
}

// chain returns the history of an application so far.
func (a *app) chain(l *nouns) []Step {
	var out []Step
	for _, t := range a.transitions {
		out = append(out, l.step(t.Index, "application %d is %s in %s", a.seq, t.State, t.Queue))
	}
	return out
}

func (l *apps) ended(e *event.ApplicationEnded) {
	a := l.app(e.App)
	if a == nil {
		return
	}
	switch {
	case a.state.Ended():
		l.violate("S10", a.chain(l.nouns), "application %d is %s and ends again as %s", a.seq, a.state, e.State)
		return
	case !e.State.Ended():
		l.violate("S10", a.chain(l.nouns), "application %d ends as %s, which is no end", a.seq, e.State)
	case a.live > 0:
		l.violate("S9", a.chain(l.nouns), "application %d ends with %d live containers: their use stays", a.seq, a.live)
	}
	l.noReservations(a, "ends")
	l.Counts.Terminal++
	l.queues.list[a.queue].apps--
	l.setAppState(a, e.State)
}

func (l *apps) move(e *event.ApplicationMoved) {
	a, q := l.app(e.App), l.queues.queue(e.Queue)
	if a == nil {
		return
	}
	if q < 0 || !l.queues.list[q].leaf {
		l.violate(Audit, nil, "application %d moves to %s, which is no leaf queue", e.App, e.Queue)
		return
	}
	if a.state.Ended() {
		l.violate("S10", a.chain(l.nouns), "application %d is %s and moves to %s", a.seq, a.state, e.Queue)
		return
	}
	l.warnings.noWarningsOf(l.appIndex(e.App))
	a.uses(l.nouns, func(label string, used, held yarn.Resource) {
		l.queues.list[a.queue].of(label).take(zero.Sub(used), zero.Sub(held))
		l.queues.list[q].of(label).take(used, held)
	})
	l.queues.list[a.queue].apps--
	l.queues.list[q].apps++
	l.moved = true
	a.queue = q
	a.transitions = append(a.transitions, Transition{l.index, a.state, e.Queue})
}

// uses calls f for each live container and each reservation of an application: with its label, its
// size, and the reserved part of the size.
func (a *app) uses(l *nouns, f func(label string, used, held yarn.Resource)) {
	for i := range a.containers {
		if c := &a.containers[i]; c.live {
			f(l.nodes.list[c.node].label, c.size, zero)
		}
	}
	for i := range l.reservations.list {
		if r := &l.reservations.list[i]; l.apps.list[r.app].seq == a.seq {
			f(l.nodes.list[r.node].label, r.size, r.size)
		}
	}
}

func (l *apps) dropApp(seq uint32) {
	a := l.app(seq)
	if a == nil {
		return
	}
	if !a.state.Ended() {
		l.violate("S4", a.chain(l.nouns), "application %d is forgotten while it is %s", seq, a.state)
	}
	a.forgotten = true
	l.dropped++
}
