package state

import (
	"fmt"

	"rmd/yarn"
)

// NameID is an interned host, rack, "*" or user name.
type NameID = uint32

// Queue is one queue of the tree with its ledger. Parent and Children are slots.
type Queue struct {
	Path     string
	Name     string
	Parent   uint32
	Children []uint32 // replaced whole, never written in place
	Leaf     bool
	State    yarn.QueueState

	Used       yarn.Resource // live containers and reservations
	Reserved   yarn.Resource
	Pending    yarn.Resource
	AMUsed     yarn.Resource
	Containers int64 // live and reserved

	// Of a leaf: applications by where they stand.
	ActiveApps      int32
	PendingApps     int32
	NonRunnableApps int32
	// Runnable counts applications that are not parked, in the whole subtree.
	Runnable int32
	// ActiveUsers counts users with an activated application and an outstanding
	// ask; ActiveUsed sums their use; WaitingUsers counts users that have only
	// applications not activated yet.
	ActiveUsers  int32
	WaitingUsers int32
	ActiveUsed   yarn.Resource
}

// Apps is the number of applications in a leaf.
func (q *Queue) Apps() int32 { return q.ActiveApps + q.PendingApps + q.NonRunnableApps }

// User is one user's share of one leaf.
type User struct {
	Queue  uint32
	Name   NameID
	Used   yarn.Resource
	AMUsed yarn.Resource
	Apps   int32 // all
	Active int32 // activated applications
	// Pending counts applications that wait for activation, Demanding those
	// (activated or not) with an outstanding ask.
	Pending   int32
	Demanding int32
}

// IsActive says whether the user counts in the active user limit.
func (u *User) IsActive() bool { return u.Demanding > 0 && u.Active > 0 }

// IsWaiting says whether the user has only applications not activated yet.
func (u *User) IsWaiting() bool { return u.Active == 0 && u.Pending > 0 }

// AttemptState is where an application's current attempt stands.
type AttemptState uint8

// Attempt states; append only.
const (
	AttemptNone        AttemptState = iota
	AttemptNonRunnable              // a limit on parallel applications holds it back
	AttemptPending                  // waits for activation
	AttemptActive                   // may be scheduled; its AM may not run yet
	AttemptRegistered               // its AM has registered
	AttemptFinishing                // its AM has unregistered; its container runs still
	AttemptEnded
)

// App is one application, its current attempt and its ledger.
type App struct {
	ID             yarn.ApplicationID
	details        packed   // see Details
	Blacklist      []NameID // sorted; replaced whole; beside details, as the two that point
	User           NameID
	Queue          uint32
	UserSlot       uint32
	Priority       int32
	State          yarn.ApplicationState
	Final          yarn.FinalStatus
	Unmanaged      bool
	KeepContainers bool
	MaxAttempts    uint32
	Failures       uint32 // attempts that counted towards the maximum
	AM             yarn.Resource
	AMStrict       bool // and nowhere else
	LifetimeMillis int64
	ValidityMillis int64

	SubmittedMillis int64
	StartedMillis   int64 // its first AM registered
	EndedMillis     int64

	Attempt       uint32
	AttemptState  AttemptState
	AttemptMillis int64 // the current attempt began
	Response      int32
	NextNumber    uint64 // next container sequence of the attempt
	// MasterNumber and MasterNode are the AM's container and its node's number;
	// 0: it has none yet.
	MasterNumber   uint64
	MasterNode     uint32
	LaunchedMillis int64  // its node took the AM
	FinishMillis   int64  // the AM unregistered
	Progress       uint32 // hundredths of a percent

	Used     yarn.Resource
	Reserved yarn.Resource
	Pending  yarn.Resource
	// Spent is what its ended containers have used over time, of all attempts, in
	// resource-seconds; see State.ResourceSeconds.
	ResourceSeconds yarn.Resource

	RPCPort int32

	Asks             uint32 // first Ask, in key order
	Outstanding      int64  // sum of the "*" counts
	Containers       uint32 // first container
	Live             int32  // live containers
	Undelivered      uint32 // first container with something to tell the AM
	Reservations     uint32 // first reservation
	Reserving        int32
	History          uint32 // newest ended Attempt
	NodeApplications uint32 // first NodeApplication
}

// Attempt is an ended attempt of a remembered application.
type Attempt struct {
	App            uint32
	Number         uint32
	Final          yarn.FinalStatus
	Counted        bool // towards the maximum number of attempts
	Unregistered   bool // its AM had said that it is done
	StartedMillis  int64
	LaunchedMillis int64
	EndedMillis    int64
	MasterNumber   uint64
	MasterNode     uint32
	Host           string
	RPCPort        int32
	TrackingURL    string
	Diagnostics    string
	Next           uint32 // the attempt before
}

// NodeApplication says that a node has, or had, containers of an application, and so
// must be told of its end.
type NodeApplication struct {
	App  yarn.ApplicationID
	Slot uint32 // of the App; 0 when it is over
	Node uint32

	prevNode, nextNode uint32
	nextApp            uint32
}

// NextOnNode is the slot of the node's next presence.
func (p *NodeApplication) NextOnNode() uint32 { return p.nextNode }

// Runnable says whether the current attempt counts among those that run in its
// queue: it waits for activation, runs, or finishes.
func (a *App) Runnable() bool {
	return a.AttemptState >= AttemptPending && a.AttemptState <= AttemptFinishing
}

// Activated says whether passes see the application.
func (a *App) Activated() bool {
	return a.AttemptState == AttemptActive || a.AttemptState == AttemptRegistered
}

// AttemptID is the current attempt's identity.
func (a *App) AttemptID() yarn.AttemptID { return yarn.AttemptID{App: a.ID, Attempt: a.Attempt} }

// Ask is what an application wants under one key. Count is the outstanding
// count of "*".
type Ask struct {
	App            uint32
	Key            yarn.SchedulerKey
	Size           yarn.Resource
	Count          int64
	Relax          bool
	AM             bool
	Opportunities  uint32
	ReReservations uint32
	Reservations   int32
	Entries        int32  // resource names, "*" among them
	Locations      uint32 // first Location
	Next           uint32
	// Grows is the slot of the container that it makes larger, on that one's node;
	// 0: it is for containers of their own. Not in snapshots: follows from Resizes.
	IncreaseOf uint32
}

// Location is a host or rack entry of an Ask.
type Location struct {
	Name  NameID
	Count int64
	Relax bool
	Next  uint32
}

// Container is a granted slice of a node, until its end has been told. What is
// needed to find it, tell of it and forget it stands first, together.
type Container struct {
	App     uint32
	Attempt uint32
	Number  uint64
	Node    uint32

	prevUndelivered uint32 // not in snapshots: follows from nextUndelivered
	nextUndelivered uint32
	undelivered     bool // in the application's undelivered list

	State       yarn.ContainerState
	Locality    yarn.Locality
	AM          bool
	OnNode      bool  // counts in its node's allocation
	Launched    bool  // its node has reported it
	Signal      uint8 // to be sent by its node; YARN's number
	sizing      uint8 // marks of its Resize; not in snapshots
	ExitStatus  int32
	GrantedIn   int32 // response that told the grant; 0 not yet
	CompletedIn int32 // response that told the end; 0 not yet
	Diagnostics uint32

	prevApp, nextApp   uint32
	prevNode, nextNode uint32
	resize             uint32 // slot of its Resize; not in snapshots: follows from that

	Key             yarn.SchedulerKey
	Size            yarn.Resource
	AllocatedMillis int64
}

// Resize is what there is to know of a container whose size is to change, or has
// changed: most never do.
type Resize struct {
	Container   uint32
	Version     int32  // how often it was changed
	Ask         uint32 // the hidden ask for what it is to grow by
	Reservation uint32 // held for that
	// Change is one that its AM has not shown to have heard of, ToldIn the response
	// that told it; 0 not yet.
	Change      yarn.SizeChange
	DeliveredIn int32
	// Ordered: its node must be told of its size. Unconfirmed: its node has not said
	// that it has grown beyond Confirmed, and if it never does it shrinks to that.
	Unacked     bool
	Unconfirmed bool
	Confirmed   yarn.Resource
	SinceMillis int64 // it has had its size since then
}

// NextOfApp is the slot of the application's next container.
func (c *Container) NextOfApp() uint32 { return c.nextApp }

// NextOnNode is the slot of the node's next container.
func (c *Container) NextOnNode() uint32 { return c.nextNode }

// NextUndelivered is the slot of the next container with something to tell.
func (c *Container) NextUndelivered() uint32 { return c.nextUndelivered }

// Node is one NodeManager's machine; its slot is its number.
type Node struct {
	ID               yarn.NodeID
	Host             NameID
	RackID           NameID
	Rack             string
	HTTPPort         uint16
	Version          string
	State            yarn.NodeState
	DeadlineMillis   int64
	Report           string
	Total            yarn.Resource
	Allocated        yarn.Resource
	Reservation      uint32 // slot
	Containers       uint32 // first container
	Count            int32
	ReservationBans  uint32 // first ReservationBan
	Registered       int64  // Unix milliseconds of the last registration
	PendingCommands  int32  // containers that the node must still be told to launch, kill, signal or size, or whose size it has to confirm
	NodeManager      bool   // a Hadoop NodeManager: AMs are started by calling it
	TotalSet         bool   // an administrator set the total, to SetTotal
	SetTotal         yarn.Resource
	NodeApplications uint32 // first NodeApplication
	PendingCleanups  int32  // presences of applications that are over
	Address          string // that it registered from; empty: not known
	// Stay and Response are those of the last report that was taken in; what is
	// older than it is late.
	HeartbeatSession uint64
	Response         int32
	removals         uint32 // slot of its Removals; not in snapshots: follows from those
}

// Unallocated is what is free on the node; negative when its total shrank.
func (n *Node) Unallocated() yarn.Resource { return n.Total.Sub(n.Allocated) }

// Reservation holds a node for one application's container.
type Reservation struct {
	Number     uint64 // r<Number>; also the creation order
	App        uint32
	Key        yarn.SchedulerKey
	Node       uint32
	Attempt    uint32
	Container  uint64 // the container number it will become
	Size       yarn.Resource
	AM         bool
	MadeMillis int64
	IncreaseOf uint32 // slot of the container that it makes larger, else 0; not in snapshots

	prevApp, nextApp uint32
}

// NextOfApp is the slot of the application's next (older) reservation.
func (r *Reservation) NextOfApp() uint32 { return r.nextApp }

// ReservationBan keeps one key from reserving one node until its free room changes.
type ReservationBan struct {
	App  uint32
	Key  yarn.SchedulerKey
	Next uint32
}

// Request is the remembered answer of a call with an idempotency key.
type Request struct {
	Key      string
	BodyHash uint64
	Reply    []byte
	AtMillis int64
	Next     uint32
}

// Note is a text that belongs to few records of a pointer-free table.
type Diagnostics struct{ Text string }

// Name is an interned string.
type Name struct{ Text string }

// JoinToken admits one replica.
type JoinToken struct {
	Hash          []byte
	Voter         bool
	ExpiresMillis int64
	CreatedBy     string
	UsedBy        string
}

// MasterKey signs tokens. ID 0 is none.
type MasterKey struct {
	ID    int32
	Bytes []byte
}

// String names the key and does not tell the secret.
func (k MasterKey) String() string {
	return fmt.Sprintf("key %d (#%04x)", k.ID, uint16(hashString(string(k.Bytes))))
}

// KeySet holds the keys of a kind: Next takes Current's place at ActivateMillis
// (Unix); Previous is the one before.
type KeySet struct {
	Current, Next, Previous MasterKey
	MadeMillis              int64 // of the newest key
	ActivateMillis          int64
}

// DelegationToken is a token given to a client.
type DelegationToken struct {
	Sequence                 uint32
	Owner, Renewer, RealUser string
	KeyID                    int32
	IssuedMillis             int64
	MaxMillis                int64
	ExpiresMillis            int64
}

// HostLists are the hosts that may register (Include; empty: all) and that may
// not.
type HostLists struct{ Include, Exclude []string }

// QueueVersion is one version of the queue configuration.
type QueueVersion struct {
	Version    uint64
	Properties []Property
	Kinds      yarn.Kinds
	Dominant   bool // every kind counts, not memory alone
	AtMillis   int64
	Author     string
	Comment    string
}

// Property is one configuration key and its value.
type Property struct{ Name, Value string }

// Meta is what there is only one of.
type Meta struct {
	ClusterID        string
	ClusterTimestamp int64
	Epoch            uint32
	Level            uint32
	NowMillis        int64
	NextApp          uint32
	NextReservation  uint64
	Cluster          yarn.Resource // total of usable nodes
	UsableNodes      int32
	EndedApps        int32
	OldestRequest    uint32
	NewestRequest    uint32
	// Counters of reservations since the cluster began.
	Made, Fulfilled uint64
	Cancelled       [16]uint64 // by cause
	// Counters of containers since the cluster began.
	Allocated, Completed uint64
	Digest               uint64
	Keys                 [yarn.KeyKinds]KeySet
	NextKey              int32
	NextToken            uint32
	NodeChanges          uint64 // counts changes of nodes' states and totals
	Submitted            uint64 // counts submissions, from event.LevelIDBlocks on
}

// Decisions counts containers allocated and reservations made since the cluster began.
func (m *Meta) Decisions() uint64 { return m.Allocated + m.Made }
