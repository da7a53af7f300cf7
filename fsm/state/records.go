package state

// The records of the tables.
//
// Records refer to each other by slot, 0 for none. All fields are in snapshots unless their
// comment says otherwise; code.go has their order there. A field that can be computed from other
// records (a sum, a count, the head of a list) is kept current by Apply and compared with a
// recomputation by Check, so that a new leader need not walk the tables.
//
// Lists are linked through the records. The owner has the slot of the first record, each record
// the slot of the next, and of the previous one where records leave from the middle:
//
//	owner    first record      next, order                    kept by
//	App      Asks              Ask.Next, askBefore            ask.go, resize.go
//	Ask      Locations         Location.Next, newest first    location.go
//	App      Containers        nextApp, newest first          container.go
//	Node     Containers        nextNode, newest first         container.go: occupy, vacate
//	App      Undelivered       nextUndelivered, newest first  container.go, attempt.go: deliver
//	App      Reservations      nextApp, newest first          reservation.go
//	App      History           Attempt.Next, newest first     master.go: record
//	App      NodeApplications  nextApp, newest first          nodeapplication.go
//	Node     NodeApplications  nextNode, newest first         nodeapplication.go
//	Node     ReservationBans   ReservationBan.Next, newest    reservation.go
//	Meta     OldestRequest     Request.Next, oldest first     request.go
//
// Times are Unix milliseconds of the log's clock (Meta.NowMillis).

import (
	"rmd/yarn"
)

// Queue is one queue of the tree, with the sums that are compared with limits. Used, Reserved,
// Pending, Containers and Runnable cover the whole subtree: Accounts.chain adds to all ancestors.
// AMUsed, ActiveApps, PendingApps, NonRunnableApps and the fields about users are for leaves only.
type Queue struct {
	Path     string
	Name     string
	Parent   QueueSlot
	Children []QueueSlot // in the order of the configuration; replaced whole, never written in place
	Leaf     bool
	State    yarn.QueueState

	Used       yarn.Resource // live containers and reservations; kept by charge
	Reserved   yarn.Resource // the part of Used that is reservations
	Pending    yarn.Resource // size times count of all outstanding asks; kept by addPending
	AMUsed     yarn.Resource // AMs of active applications; the AM limit bounds it
	Containers int64         // live containers and reservations

	// Applications of a leaf by the state of their current attempt; kept by countAttempt.
	ActiveApps      int32 // activated, and the attempt has not ended
	PendingApps     int32 // wait for activation
	NonRunnableApps int32 // held back by a limit on parallel applications

	// Runnable counts active and pending applications in the whole subtree. Limits on parallel
	// applications bound it.
	Runnable int32

	// Users of a leaf, as the user limit counts them; kept by changeUser. ActiveUsers have an
	// activated application and outstanding asks; ActiveUsed is what they use. WaitingUsers have
	// applications that wait for activation and no activated one.
	ActiveUsers  int32
	WaitingUsers int32
	ActiveUsed   yarn.Resource

	Totals QueueTotals
}

// Apps returns the number of applications in a leaf.
func (q *Queue) Apps() int32 { return q.ActiveApps + q.PendingApps + q.NonRunnableApps }

// User is one user's share of one leaf. It exists while the user has applications there that have
// not ended. Its fields are sums over these applications.
type User struct {
	Queue  QueueSlot
	Name   NameSlot
	Used   yarn.Resource // live containers and reservations; kept by charge
	AMUsed yarn.Resource // AMs of active applications
	Apps   int32         // applications that have not ended; kept by joinUser and leaveUser
	Active int32         // applications that are active, as Queue.ActiveApps
	// Pending counts applications that wait for activation. Demanding counts those with outstanding
	// asks, activated or not.
	Pending   int32
	Demanding int32
}

// IsActive reports whether the user counts as active in the user limit.
func (u *User) IsActive() bool { return u.Demanding > 0 && u.Active > 0 }

// IsWaiting reports whether the user has applications that wait for activation, and no active one.
func (u *User) IsWaiting() bool { return u.Active == 0 && u.Pending > 0 }

// AttemptState is the state of an application's current attempt.
type AttemptState uint8

// The states of an attempt; append only.
const (
	AttemptNone        AttemptState = iota
	AttemptNonRunnable              // held back by a limit on parallel applications
	AttemptPending                  // waits for activation
	AttemptActive                   // may be scheduled; its AM may not run yet
	AttemptRegistered               // its AM has registered
	AttemptFinishing                // its AM has unregistered; the AM's container still runs
	AttemptEnded

	// AttemptStates is one more than the highest state.
	AttemptStates
)

// App is one application with its current attempt. The fields from ID to EndedMillis belong to the
// whole application, those from Attempt to Progress to the current attempt; beginAttempt clears
// these. The rest is what the application uses, and the heads of its lists.
type App struct {
	ID             yarn.ApplicationID
	details        packed     // see Details
	nameHash       uint64     // see hashOfAppName; not in snapshots: follows from the name
	declaredMillis int64      // see yarn.DeclaredLifetime; not in snapshots: follows from the tags
	Blacklist      []NameSlot // hosts and racks, sorted; replaced whole, never written in place
	User           NameSlot
	Queue          QueueSlot // the leaf; 0: the application has ended and the queue was removed
	UserSlot       UserSlot  // the User to which it is charged; 0: the application has ended
	Priority       int32
	State          yarn.ApplicationState
	Final          yarn.FinalStatus
	Unmanaged      bool // its AM runs outside the cluster and counts in no AM limit
	KeepContainers bool // across attempts
	MaxAttempts    uint32
	Failures       uint32 // attempts that counted toward MaxAttempts
	AM             yarn.Resource
	AMStrict       bool      // the AM may run only at AppDetails.AMPlaces
	labelled       bool      // AppDetails has a label
	AMLabel        LabelSlot // the partition to which its AM is charged
	LifetimeMillis int64     // after SubmittedMillis; 0: no limit
	ValidityMillis int64     // failures older than this do not count; 0: all count

	SubmittedMillis int64
	StartedMillis   int64 // when its first AM registered
	EndedMillis     int64

	Attempt       uint32
	AttemptState  AttemptState
	AttemptMillis int64  // when the attempt began
	Response      int32  // number of the last allocate response
	NextNumber    uint64 // the last container number given; see Meta.NextNumber
	// MasterNumber and MasterNode are the number of the AM's container and of its node.
	// MasterNumber is 0 before the container is allocated. MasterNode is also 0 while the node of
	// an AM that was taken over has not registered, and after the node was forgotten.
	MasterNumber   uint64
	MasterNode     NodeSlot
	LaunchedMillis int64  // when the node started the AM
	FinishMillis   int64  // when the AM unregistered
	Progress       uint32 // hundredths of a percent

	Used     yarn.Resource // live containers
	Reserved yarn.Resource // reservations, increases included
	Pending  yarn.Resource // size times count of its asks
	// ResourceSeconds is what containers of all attempts used until they ended or were resized.
	// State.ResourceSeconds adds the live ones.
	ResourceSeconds yarn.Resource

	RPCPort int32 // of the AM

	Asks             AskSlot             // first Ask, in key order; those for increases come last
	Outstanding      int64               // sum of Ask.Count
	Containers       ContainerSlot       // first Container, of all attempts, that is not freed
	Live             int32               // number of live containers
	Undelivered      ContainerSlot       // first Container with something undelivered or unacknowledged
	Reservations     ReservationSlot     // first Reservation
	Reserving        int32               // number of its reservations
	History          AttemptSlot         // newest ended Attempt
	NodeApplications NodeApplicationSlot // first NodeApplication; empty when it has ended
}

// Attempt is an ended attempt of an application.
type Attempt struct {
	App            AppSlot
	Number         uint32
	Final          yarn.FinalStatus
	Counted        bool // toward the maximum number of attempts
	Unregistered   bool // its AM had unregistered
	StartedMillis  int64
	LaunchedMillis int64
	EndedMillis    int64
	MasterNumber   uint64
	MasterNode     NodeSlot
	Host           string
	RPCPort        int32
	TrackingURL    string
	Diagnostics    string
	Next           AttemptSlot // the attempt before it
}

// NodeApplication records that a NodeManager has or had containers of an application and must learn
// of the application's end; see nodeapplication.go.
type NodeApplication struct {
	App  yarn.ApplicationID
	Slot AppSlot // the App; 0: it has ended, and this is a pending cleanup
	Node NodeSlot

	prevNode, nextNode NodeApplicationSlot
	nextApp            NodeApplicationSlot
}

// NextOnNode returns the slot of the node's next NodeApplication, or 0.
func (p *NodeApplication) NextOnNode() NodeApplicationSlot { return p.nextNode }

// Runnable reports whether the current attempt counts toward the limits on parallel applications:
// it waits for activation, runs, or finishes.
func (a *App) Runnable() bool {
	return a.AttemptState >= AttemptPending && a.AttemptState <= AttemptFinishing
}

// Activated reports whether scheduling passes consider the application.
func (a *App) Activated() bool {
	return a.AttemptState == AttemptActive || a.AttemptState == AttemptRegistered
}

// AttemptID returns the id of the current attempt.
func (a *App) AttemptID() yarn.AttemptID { return yarn.AttemptID{App: a.ID, Attempt: a.Attempt} }

// Ask is what an application asks for under one scheduler key (priority and allocation request id).
// It exists while Count or Reservations is above 0.
type Ask struct {
	App AppSlot
	// Missed counts the offers that the ask has missed since a node without a label last served it;
	// set by AskMissesUpdated. It is 0 in clusters without labels.
	Missed uint32
	Key    yarn.SchedulerKey
	Size   yarn.Resource // of one container
	Count  int64         // containers still wanted; the count of "*"
	Relax  bool          // nodes other than the named ones may serve it; relaxLocality of "*"
	AM     bool          // for the AM's container
	Label  LabelSlot     // label of the nodes that may serve it
	// Opportunities counts missed scheduling opportunities, for delay scheduling. ReReservations
	// counts re-reservations. AskCountersUpdated sets both.
	Opportunities  uint32
	ReReservations uint32
	Reservations   int32        // nodes reserved for it
	Entries        int32        // resource names: "*" and the Locations
	Locations      LocationSlot // first Location
	Next           AskSlot      // in the application's key order; see askBefore
	// IncreaseOf is the slot of the container that the ask would make larger, on that container's
	// node; 0: the ask is for new containers. Such a hidden ask was not sent by the AM under this
	// key. Not in snapshots: follows from Resizes.
	IncreaseOf ContainerSlot
}

// Location is a host or rack entry of an Ask. Its count is above 0.
type Location struct {
	Count int64
	Name  NameSlot
	Next  LocationSlot
	prev  LocationSlot // not in snapshots: follows from Next
	ask   AskSlot      // slot of the Ask; not in snapshots
	Relax bool
}

// Container is an allocated container. It is kept until its AM has acknowledged the completion and
// its node has confirmed it, whichever is later. The fields needed to find, deliver and free a
// container come first, so that they share a cache line.
type Container struct {
	App     AppSlot
	Attempt uint32
	Number  uint64 // within the application, as in YARN's container id
	Node    NodeSlot

	prevUndelivered ContainerSlot // not in snapshots: follows from nextUndelivered
	nextUndelivered ContainerSlot
	undelivered     bool // in the application's Undelivered list

	State       yarn.ContainerState
	Locality    yarn.Locality
	AM          bool
	OnNode      bool  // in the sums and the list of the node: the node has not reported the end
	Launched    bool  // its node has reported it
	Signal      uint8 // signal that the node must still send, as YARN's number; 0: none
	sizing      uint8 // marks of its Resize; not in snapshots
	ExitStatus  int32
	GrantedIn   int32           // response that delivered the allocation; 0: none yet; or deliveredEarlier
	CompletedIn int32           // response that delivered the completion; 0: none yet
	Diagnostics DiagnosticsSlot // slot of its Diagnostics

	prevApp, nextApp   ContainerSlot
	prevNode, nextNode ContainerSlot
	resize             ResizeSlot // slot of its Resize; not in snapshots: follows from Resizes

	Key             yarn.SchedulerKey
	Size            yarn.Resource
	AllocatedMillis int64
}

// Resize records the size changes of a container, asked for or made. It is separate from Container
// because most containers never have one.
type Resize struct {
	Container   ContainerSlot
	Version     int32           // number of changes made
	Ask         AskSlot         // the hidden ask for the increase; 0: none
	Reservation ReservationSlot // of the container's node, for that ask; 0: none
	// Change is the change that the AM has not acknowledged. DeliveredIn is the response that
	// delivered it; 0: none yet.
	Change      yarn.SizeChange
	DeliveredIn int32
	// Unacked means that the node has not acknowledged the command to change the size. Unconfirmed
	// means that the node has not reported the container at its increased size. If the node never
	// does, the container shrinks back to Confirmed.
	Unacked     bool
	Unconfirmed bool
	Confirmed   yarn.Resource
	SinceMillis int64 // when the container got its current size
}

// Node is one NodeManager's machine. Its slot is its number. The node keeps it until it is
// forgotten.
type Node struct {
	ID             yarn.NodeID
	Host           NameSlot
	RackID         NameSlot
	Rack           string
	HTTPPort       uint16
	Version        string
	State          yarn.NodeState
	DeadlineMillis int64           // end of a graceful decommission; 0: none
	Report         string          // health report
	Total          yarn.Resource   // as registered or set by an administrator
	Allocated      yarn.Resource   // sum over Containers
	Reservation    ReservationSlot // slot of its reservation; at most one
	Containers     ContainerSlot   // first Container with OnNode
	Count          int32           // containers with OnNode
	// ReservationBans is the first ReservationBan. freeRoomChanged drops the list.
	ReservationBans ReservationBanSlot
	Registered      int64 // time of the last registration
	// PendingCommands counts containers that the node must still launch, kill, signal or resize, or
	// whose size it must confirm. While it is 0, a heartbeat need not walk over the containers.
	// Kept by occupy and changeCommand.
	PendingCommands  int32
	NodeManager      bool // a Hadoop NodeManager; false: a simulated node
	TotalSet         bool // an administrator set SetTotal, which outlives registrations
	SetTotal         yarn.Resource
	NodeApplications NodeApplicationSlot // first NodeApplication
	PendingCleanups  int32               // NodeApplications of applications that have ended
	Address          string              // from which it registered; empty: unknown
	// HeartbeatSession and Response belong to the last report that was accepted. Older reports are
	// refused.
	HeartbeatSession uint64
	Response         int32
	// KnownMillis is when the node got its number, and DrainSinceMillis when its drain began, or 0
	// if the node does not drain.
	KnownMillis, DrainSinceMillis int64
	SilentSinceMillis             int64        // when it was last heard, if it has missed heartbeats since; else 0
	LastHeardMillis               int64        // when a node that sends no heartbeats any more was heard last; see HeardMillis
	removals                      RemovalsSlot // slot of its Removals; not in snapshots: follows from Removable
	Label                         LabelSlot    // not in snapshots: follows from LabelledHosts
}

// Unallocated returns the free resources of the node. They are negative if its total was lowered.
func (n *Node) Unallocated() yarn.Resource { return n.Total.Sub(n.Allocated) }

// Reservation reserves a node for one container of an application that does not fit there yet. It
// is charged to queues, user and application, but not to the node.
type Reservation struct {
	Number     uint64 // r<Number>; also the order of creation
	App        AppSlot
	Key        yarn.SchedulerKey
	Node       NodeSlot
	Attempt    uint32
	Container  uint64 // number of the future container, or of the container that it increases
	Size       yarn.Resource
	AM         bool
	MadeMillis int64
	IncreaseOf ContainerSlot // slot of the container that it makes larger; 0: none; not in snapshots
	Preempted  uint32        // containers preempted to make room for it
	Members    uint32        // gang members for which it reserves the node; Size is then 0; 0: no gang

	prevApp, nextApp ReservationSlot
}

// Preemption is the warning that a container will be preempted. It exists until it is withdrawn or
// the container ends.
type Preemption struct {
	Reservation                 uint64 // reservation of its node that needs the room; 0: none
	Queue                       string // path of the leaf that gains; the queue may no longer exist
	Cause                       yarn.PreemptionCause
	ToldIn                      int32 // response that delivered the warning to the AM; 0: none yet
	AskedMillis, DeadlineMillis int64
	// Under is how much the gaining queue was below its entitlement, Over how much the container's
	// queue was above its own. Sets is the number of sets of containers that were compared, Cost
	// the cost of the container's set.
	Under, Over yarn.Resource
	Sets        uint32
	Cost        uint64
}

// Lease means that a container runs in room that its node's reservation has lent. It ends with the
// container or the reservation, whichever ends first.
type Lease struct {
	Reservation    uint64 // number of the reservation
	DeadlineMillis int64  // latest end of the container; 0: when the room is needed
}

// Preempted is what an application has lost by preemption. Size and ResourceSeconds are sums over
// the preempted containers; Resizes.ResourceSeconds gives the ResourceSeconds of one.
type Preempted struct {
	Containers      uint64 // without AMs
	AMs             uint64
	Size            yarn.Resource
	ResourceSeconds yarn.Resource
}

// ReservationBan prevents one key from reserving one node until the node's free resources change.
// Without it, the next pass after an operator's cancellation would make the same reservation again.
type ReservationBan struct {
	App  AppSlot
	Key  yarn.SchedulerKey
	Next ReservationBanSlot
}

// Request is the stored reply to a call with an idempotency key. BodyHash reveals a key that is
// used again with another body.
type Request struct {
	Key      string
	BodyHash uint64
	Reply    []byte
	AtMillis int64
	Next     RequestSlot
}

// Diagnostics is a container's diagnostics. It has a table of its own because few containers have
// diagnostics, and because Container then contains no pointer, so that the garbage collector skips
// its pages.
type Diagnostics struct{ Text string }

// Name is an interned host, rack or user. refs counts the fields of type NameSlot that have it; not in
// snapshots.
type Name struct {
	Text string
	refs uint32
}
