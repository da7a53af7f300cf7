// Package change has what an event did, in few kinds. Readers of the log follow these instead of the
// events.
package change

import (
	"rmd/fsm/event"
	"rmd/fsm/state/record"
	"rmd/yarn"
)

// Kind says what a Change is.
type Kind uint8

// The kinds of changes.
const (
	// ContainerStarted: a container was allocated. ContainerRecovered: a node reported a container
	// that another ResourceManager has started.
	ContainerStarted Kind = 1 + iota
	ContainerRecovered
	// ContainerEnded: a container no longer counts for its application. ContainerLeft: a container
	// that had ended before has left its node.
	ContainerEnded
	ContainerLeft
	ContainerResized

	// ReservationOpened: a node was reserved. ReservationClosed: a reservation was cancelled or
	// fulfilled. If it was fulfilled, ContainerStarted or ContainerResized follows.
	ReservationOpened
	ReservationClosed

	// AskChanged: an application asks for another number or size of containers under a key, or at
	// other places. AskRelabelled: its ask has another label. BlacklistChanged: it refuses other
	// places.
	AskChanged
	AskRelabelled
	BlacklistChanged

	// WarningBegun: a container was warned of its preemption. WarningEnded: the warning was
	// withdrawn, or the container has ended.
	WarningBegun
	WarningEnded

	// AppPhase: an application was submitted or has ended. AttemptPhase: an attempt is in another
	// state. MasterLaunched: an AM was launched. GangPhase: a gang is in another state. AppChanged:
	// anything else on which scheduling depends, such as the queue or the priority of an application,
	// or the application was forgotten.
	AppPhase
	AttemptPhase
	MasterLaunched
	GangPhase
	AppChanged

	// NodeRegistered: a node has registered. NodePhase: a node is in another state. NodeChanged: the
	// total or the silence of a node changed, or the node was forgotten.
	NodeRegistered
	NodePhase
	NodeChanged

	// QueuesChanged: queues were configured, activated or removed. QueueCreated: a dynamic queue was
	// created. LabelsChanged: labels or the labels of nodes changed.
	QueuesChanged
	QueueCreated
	LabelsChanged
)

// Change is one thing that an event did. Its readers need not know the events: four of them start
// containers, for instance. Fields that do not concern its kind are zero.
//
// Another record may get a slot with the next event. Ref, Key and Number identify the same things
// for ever, but EpochRaised renumbers the containers of open reservations.
type Change struct {
	Kind Kind

	AM       bool // the container is an AM's
	Lent     bool // ContainerStarted: the container runs in the room of a reserved node
	Left     bool // ContainerEnded, ContainerLeft: the container has left its node
	Launched bool // of a container: its node has reported it as running
	Restored bool // ContainerEnded: its AM never received the container, so its ask was put back
	Increase bool // a reservation or an ask is for the increase of Container
	Gang     bool // a reservation is for members of a gang
	Any      bool // AskChanged: the number or size of all containers under the key, not of a place

	Cancelled yarn.CancelCause      // ReservationClosed; 0: it was fulfilled
	Warned    yarn.PreemptionCause  // WarningBegun
	Withdrawn yarn.WithdrawalCause  // WarningEnded; 0: the container has ended
	AppState  yarn.ApplicationState // AppPhase
	Attempt   record.AttemptState   // AttemptPhase
	GangState record.GangState      // GangPhase

	Exit int32 // ContainerEnded, ContainerLeft: the exit status

	// Slots. User and Queue, the leaf, are those of the application before the event. Node is that
	// of the container or the reservation, or the one that changed.
	App         record.AppSlot
	User        record.UserSlot
	Queue       record.QueueSlot
	Ask         record.AskSlot
	Node        record.NodeSlot
	Container   record.ContainerSlot
	Reservation record.ReservationSlot

	Ref    event.ContainerRef // the container, or the one that a reservation is for; else only App is set
	Key    yarn.SchedulerKey  // of the container, the reservation or the ask
	Number uint64             // of the reservation, or of the one that needs the room of a warned container
	Size   yarn.Resource      // of a container, of the reservation or of the ask
	Count  int64              // AskChanged: how many containers are asked for now
	More   int64              // AskChanged: how many more than before
}

// List is what an event did, in order.
type List []Change

// Add adds a change. The caller completes it before it adds another one.
func (l *List) Add(kind Kind) *Change {
	n := len(*l)
	if n == cap(*l) {
		*l = append(*l, Change{})
	} else { // cleared in place, which is faster than a copy of an empty one
		*l = (*l)[:n+1]
		(*l)[n] = Change{}
	}
	c := &(*l)[n]
	c.Kind = kind
	return c
}

// App adds a change of an application. The caller must call it before it changes the
// application's user or leaf.
func (l *List) App(kind Kind, slot record.AppSlot, a *record.App) *Change {
	c := l.Add(kind)
	c.App, c.User, c.Queue, c.Ref.App = slot, a.UserSlot, a.Queue, a.ID.Seq
	return c
}

// Attempt adds a change of an application's attempt.
func (l *List) Attempt(slot record.AppSlot, a *record.App, to record.AttemptState) {
	c := l.App(AttemptPhase, slot, a)
	c.Attempt, c.Ref.Attempt = to, a.Attempt
}

// Node adds a change of a node.
func (l *List) Node(kind Kind, slot record.NodeSlot) { l.Add(kind).Node = slot }

// Ask adds the change of an ask.
func (l *List) Ask(slot record.AppSlot, a *record.App, ask record.AskSlot, e *event.AskChanged, before int64) {
	c := l.App(AskChanged, slot, a)
	c.Ask, c.Key, c.Any, c.Count, c.More = ask, e.Key, e.Name == yarn.Any, e.Count, e.Count-before
	c.Size = e.Size
}
