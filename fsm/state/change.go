package state

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// ChangeKind says what a Change is.
type ChangeKind uint8

// The kinds of changes.
const (
	// ContainerStarted: a container was allocated. ContainerRecovered: a node reported a container
	// that another ResourceManager has started.
	ContainerStarted ChangeKind = 1 + iota
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
	Kind ChangeKind

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
	Attempt   AttemptState          // AttemptPhase
	GangState GangState             // GangPhase

	Exit int32 // ContainerEnded, ContainerLeft: the exit status

	// Slots. User and Queue, the leaf, are those of the application before the event. Node is that
	// of the container or the reservation, or the one that changed.
	App         AppSlot
	User        UserSlot
	Queue       QueueSlot
	Ask         AskSlot
	Node        NodeSlot
	Container   ContainerSlot
	Reservation ReservationSlot

	Ref    event.ContainerRef // the container, or the one that a reservation is for; else only App is set
	Key    yarn.SchedulerKey  // of the container, the reservation or the ask
	Number uint64             // of the reservation, or of the one that needs the room of a warned container
	Size   yarn.Resource      // of a container, of the reservation or of the ask
	Count  int64              // AskChanged: how many containers are asked for now
	More   int64              // AskChanged: how many more than before
}

// changes is what the last event did, in order.
type changes []Change

// Changes returns what the last event did, in order. The slice is valid until the next event. Events
// that only report, count or acknowledge something do nothing that is listed.
func (s *Cluster) Changes() []Change { return s.changes }

// add adds a change. The caller completes it before it adds another one.
func (l *changes) add(kind ChangeKind) *Change {
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

// app adds a change of an application. The caller must call it before it changes the
// application's user or leaf.
func (l *changes) app(kind ChangeKind, slot AppSlot, a *App) *Change {
	c := l.add(kind)
	c.App, c.User, c.Queue, c.Ref.App = slot, a.UserSlot, a.Queue, a.ID.Seq
	return c
}

// attempt adds a change of an application's attempt.
func (l *changes) attempt(slot AppSlot, a *App, to AttemptState) {
	c := l.app(AttemptPhase, slot, a)
	c.Attempt, c.Ref.Attempt = to, a.Attempt
}

// node adds a change of a node.
func (l *changes) node(kind ChangeKind, slot NodeSlot) { l.add(kind).Node = slot }

// changeContainer adds a change of a container.
func (s *Demand) changeContainer(kind ChangeKind, slot ContainerSlot, k *Container) *Change {
	c := s.changes.app(kind, k.App, s.Apps.Get(k.App))
	c.AM, c.Launched, c.Container, c.Node, c.Key = k.AM, k.Launched, slot, k.Node, k.Key
	c.Size = k.Size
	c.Ref.Attempt, c.Ref.Number = k.Attempt, k.Number
	return c
}

// changeReservation adds a change of a reservation.
func (s *Demand) changeReservation(kind ChangeKind, slot ReservationSlot, r *Reservation) *Change {
	c := s.changes.app(kind, r.App, s.Apps.Get(r.App))
	c.AM, c.Increase, c.Gang, c.Container = r.AM, r.IncreaseOf != 0, r.Members != 0, r.IncreaseOf
	c.Reservation, c.Number, c.Node, c.Key = slot, r.Number, r.Node, r.Key
	c.Size = r.Size
	c.Ref.Attempt, c.Ref.Number = r.Attempt, r.Container
	return c
}
