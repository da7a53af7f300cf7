package logsim

import (
	"fmt"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// books are the checker's own: who has what, from the events alone. They share no
// code with the state. Maps are looked up by key and never ranged over where the
// order could show.
type books struct {
	dominant     bool
	stamp        int64 // in the ids of applications submitted now
	apps         map[uint32]*appBook
	names        map[string]uint32 // every application is submitted under a name of its own
	nodes        map[uint32]*nodeBook
	containers   map[event.ContainerRef]*containerBook // every id given, since its application is there
	reservations map[uint64]*reservationBook           // those held
	queues       map[string]yarn.Resource              // path to use, reserved included
	lastNumber   uint64                                // of a reservation
	live, onNode int
	epochs       int
	forgotten    int // calls that are not remembered any more
	again        int // applications that a call repeated after that submitted once more
}

type appBook struct {
	id         yarn.ApplicationID
	name       string
	queue      string
	attempt    uint32
	resyncs    int
	ended      bool
	finishing  bool
	sizes      map[yarn.SchedulerKey]yarn.Resource
	containers []event.ContainerRef
}

type nodeBook struct {
	id          yarn.NodeID
	total, used yarn.Resource
	set         bool // an administrator set the total, to asSet
	asSet       yarn.Resource
	reservation uint64
	usable      bool
}

type containerBook struct {
	node     uint32
	size     yarn.Resource
	am       bool
	promised bool // by a reservation: it exists when that is fulfilled
	live     bool
	onNode   bool
	more     yarn.Resource // that it is to grow by
	held     yarn.Resource // reserved for that
}

type reservationBook struct {
	app, node uint32
	container event.ContainerRef
	size      yarn.Resource
	grows     bool // its container lives, and is to grow
}

// violation is what the books object to.
type violation struct{ invariant, text string }

func against(invariant, format string, args ...any) *violation {
	return &violation{invariant, fmt.Sprintf(format, args...)}
}

func newBooks(dominant bool) *books {
	return &books{dominant: dominant, apps: map[uint32]*appBook{}, names: map[string]uint32{}, nodes: map[uint32]*nodeBook{},
		containers: map[event.ContainerRef]*containerBook{}, reservations: map[uint64]*reservationBook{}, queues: map[string]yarn.Resource{}}
}

// over says that an attempt is not its application's running one any more.
func (b *books) over(id yarn.AttemptID) bool {
	a := b.apps[id.App.Seq]
	return a == nil || a.id != id.App || a.ended || a.finishing || a.attempt != id.Attempt
}

func (b *books) attemptOf(id yarn.ApplicationID) uint32 {
	if a := b.apps[id.Seq]; a != nil && a.id == id && !a.ended {
		return a.attempt
	}
	return 0
}

// charge changes the use of a queue and all above it.
func (b *books) charge(queue string, r yarn.Resource) *violation {
	for q := queue; ; {
		b.queues[q] = b.queues[q].Add(r)
		if b.queues[q].Negative() {
			return against("S9", "queue %s uses %s", q, b.queues[q])
		}
		i := strings.LastIndexByte(q, '.')
		if i < 0 {
			return nil
		}
		q = q[:i]
	}
}

// follow enters an event.
func (b *books) follow(e event.Event) *violation {
	switch e := e.(type) {
	case *event.ClusterInitialized:
		b.stamp = e.ClusterTimestamp
	case *event.EpochRaised:
		b.stamp = e.ClusterTimestamp
		b.epochs++
		return b.renumber(e.Epoch)
	case *event.RequestsForgotten:
		b.forgotten += int(e.Count)
	case *event.NodeRegistered, *event.NodeResourceChanged, *event.NodeStateChanged:
		b.followNode(e)
	case *event.ContainerAllocated, *event.ContainerReleased, *event.ContainerCompleted, *event.ContainerLaunched:
		return b.followContainer(e)
	case *event.ReservationMade, *event.ReservationFulfilled, *event.ReservationCancelled:
		return b.followReservation(e)
	case *event.ContainerResizeAsked, *event.ContainerIncreased, *event.ContainerDecreased, *event.ResizeReserved:
		return b.followResize(e)
	default:
		return b.followApp(e)
	}
	return nil
}

func (b *books) followNode(e event.Event) {
	switch e := e.(type) {
	case *event.NodeRegistered:
		n := b.nodes[e.Node]
		if n == nil {
			n = &nodeBook{id: e.ID}
			b.nodes[e.Node] = n
		}
		n.usable = true
		if n.total = e.Total; n.set {
			n.total = n.asSet
		}
	case *event.NodeResourceChanged:
		n := b.nodes[e.Node]
		if n.total = e.Total; e.Set {
			n.set, n.asSet = true, e.Total
		}
	case *event.NodeStateChanged:
		b.nodes[e.Node].usable = e.State.Usable()
	}
}

func (b *books) followApp(e event.Event) *violation {
	seq, ok := appOf(e)
	if !ok {
		return nil
	}
	if e, ok := e.(*event.ApplicationSubmitted); ok {
		return b.submitted(e)
	}
	a := b.apps[seq]
	if a == nil {
		return against("S10", "%s of application %d, which is not there", e.Kind(), seq)
	}
	if e, ok := e.(*event.ApplicationForgotten); ok {
		if !a.ended {
			return against("S4", "application %d is forgotten and had not ended", e.App)
		}
		for _, r := range a.containers {
			delete(b.containers, r)
		}
		delete(b.apps, e.App)
		return nil
	}
	if a.ended {
		return against("S10", "%s %+v of application %d, which has ended", e.Kind(), e, seq)
	}
	switch e := e.(type) {
	case *event.ApplicationEnded:
		a.ended = true
	case *event.ApplicationMoved:
		return b.moved(a, e.Queue)
	case *event.AttemptStarted:
		if e.Attempt != a.attempt {
			a.attempt, a.finishing = e.Attempt, false
			a.sizes = map[yarn.SchedulerKey]yarn.Resource{}
		}
	case *event.AttemptUnregistered:
		a.finishing = true
	case *event.AttemptResynced:
		a.resyncs++
	case *event.AskChanged:
		if e.Name == yarn.Any {
			a.sizes[e.Key] = e.Size
		}
	}
	return nil
}

// appOf is the application that an event is about.
func appOf(e event.Event) (uint32, bool) {
	switch e := e.(type) {
	case *event.ApplicationSubmitted:
		return e.App, true
	case *event.ApplicationForgotten:
		return e.App, true
	case *event.ApplicationEnded:
		return e.App, true
	case *event.ApplicationMoved:
		return e.App, true
	case *event.ApplicationReprioritized:
		return e.App, true
	case *event.AttemptStarted:
		return e.App, true
	case *event.AttemptActivated:
		return e.App, true
	case *event.AttemptRegistered:
		return e.App, true
	case *event.AttemptLaunched:
		return e.App, true
	case *event.AttemptUnregistered:
		return e.App, true
	case *event.AttemptResynced:
		return e.App, true
	case *event.AttemptEnded:
		return e.App, true
	case *event.AskChanged:
		return e.App, true
	case *event.AllocateAnswered:
		return e.App, true
	}
	return 0, false
}

func (b *books) submitted(e *event.ApplicationSubmitted) *violation {
	if b.apps[e.App] != nil {
		return against("S6", "application number %d is given twice", e.App)
	}
	if b.names[e.Name] != 0 && b.forgotten > 0 {
		b.again++ // a call repeated after a day of log time, which a clock that jumps can bring about, is a new one
	} else if b.names[e.Name] != 0 {
		return against("S5", "%s is submitted twice, as application %d and as %d", e.Name, b.names[e.Name], e.App)
	}
	b.apps[e.App] = &appBook{id: yarn.ApplicationID{ClusterTimestamp: b.stamp, Seq: e.App}, name: e.Name, queue: e.Queue, sizes: map[yarn.SchedulerKey]yarn.Resource{}}
	b.names[e.Name] = e.App
	return nil
}

// moved takes what an application has from one queue to another.
func (b *books) moved(a *appBook, to string) *violation {
	var has yarn.Resource
	for _, r := range a.containers {
		if c := b.containers[r]; c.live || c.promised {
			has = has.Add(c.size).Add(c.held)
		}
	}
	if v := b.charge(a.queue, yarn.Resource{}.Sub(has)); v != nil {
		return v
	}
	a.queue = to
	return b.charge(to, has)
}
