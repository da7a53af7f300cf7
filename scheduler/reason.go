package scheduler

import "iter"

// Reason is a reason why an application waits. It is computed on request and never stored.
type Reason uint8

// The reasons; append only.
const (
	NoReason Reason = iota
	AMLimitQueue
	AMLimitUser
	QueueStopped
	QueueMaxCapacity
	ParentMaxCapacity
	UserLimit
	MaxParallelApps
	LocalityDelay
	Blacklisted
	NodeTooSmall // the node's total is too small
	NodeTooSmallFree
	NodeReservedByOther
	BehindFIFO
	AMNotLaunched
	AMNotRegistered
	NoAsks
	NoNodes
	OwnPartitionFirst  // an ask must miss more offers before it may use a node of another label
	OtherLabel         // the node has a label for which the ask does not ask
	LabelUnknown       // the label was removed from the cluster
	LabelNotAccessible // the queue may no longer use the label
	GangIncomplete     // the application asks for fewer containers than its gang has members
	GangWaits          // there is no room for all members of a gang
	GangNever          // the members of a gang can never run together
	NodeSilent         // the node has room, but has missed heartbeats
	NextPass           // the next pass on some node serves the ask
	BehindQueue        // other queues are served first
	BehindOtherAsk     // another ask of the application is served first, or its reservation keeps the node
	ReservedElsewhere  // reservations on other nodes count as used, so that a queue that may use all nodes is full
	HoldsReservations  // the ask has as many reservations as it needs
	GuaranteeKept      // the room is kept for the guarantee of another queue that had to wait for it

	// Reasons is the number of reasons.
	Reasons = iota
)

// row has what explanations know of a reason.
type row struct {
	reason     Reason
	name       string // stable
	diagnostic string // YARN's sentence, which YARN's reports contain
	verdict    string // what explanations say of a node, a queue or a user with the reason
	lacksRoom  bool   // only free room is missing: the ask fits when enough containers end
}

// rows has the reasons, those that are nearest to success first. If an ask has several reasons on
// different nodes, explanations give the first of them.
var rows = [Reasons]row{
	{reason: NoReason, verdict: "has room"},
	{reason: LocalityDelay, name: "LOCALITY_DELAY", diagnostic: "Node skipped because of locality delay",
		verdict: "waits for a nearer node"},
	{reason: OwnPartitionFirst, name: "OWN_PARTITION_FIRST",
		diagnostic: "Request skipped because non-partitioned resource request should be scheduled to non-partitioned partition first", verdict: "has another label, and waits for the ask to miss more offers"},
	{reason: NodeSilent, name: "NODE_SILENT", diagnostic: "Node has not sent a heartbeat lately",
		verdict: "has room but is silent"},
	{reason: HoldsReservations, name: "HOLDS_RESERVATIONS", diagnostic: "Request has as many reservations as it needs",
		verdict: "has room, but its reservations suffice"},
	{reason: ReservedElsewhere, name: "RESERVED_ELSEWHERE",
		diagnostic: "Queue has no room because of reservations on other nodes",
		verdict:    "has room, but reservations on other nodes count as used"},
	{reason: GuaranteeKept, name: "GUARANTEE_KEPT",
		diagnostic: "Free room is kept for the guarantees of queues that had to wait for theirs",
		verdict:    "has room, but it is kept for the guarantee of another queue"},
	{reason: UserLimit, name: "USER_LIMIT", diagnostic: "User capacity has reached its maximum limit.",
		verdict: "at the user's limit"},
	{reason: QueueMaxCapacity, name: "QUEUE_MAX_CAPACITY", diagnostic: "Queue hits max-capacity limit",
		verdict: "at the queue's maximum"},
	{reason: ParentMaxCapacity, name: "PARENT_MAX_CAPACITY", diagnostic: "Parent queue hits max-capacity limit",
		verdict: "at a parent queue's maximum"},
	{reason: BehindOtherAsk, name: "BEHIND_OTHER_ASK",
		diagnostic: "Priority skipped because of another request of the application",
		verdict:    "reserved for another ask of the application"},
	{reason: NodeTooSmallFree, name: "NODE_TOO_SMALL_FREE",
		diagnostic: "Node does not have sufficient resource for request", verdict: "too little is free", lacksRoom: true},
	{reason: NodeReservedByOther, name: "NODE_RESERVED_BY_OTHER", diagnostic: "Node has been reserved",
		verdict: "reserved for another application"},
	{reason: Blacklisted, name: "BLACKLISTED", diagnostic: "Node is blacklisted by the application",
		verdict: "blacklisted by the application"},
	{reason: NodeTooSmall, name: "NODE_TOO_SMALL", diagnostic: "Node's total resource is insufficient for request",
		verdict: "too small in all"},
	{reason: OtherLabel, name: "OTHER_LABEL", diagnostic: "Node does not match partition or placement constraints",
		verdict: "has another label"},

	// These are reasons of no node.
	{reason: AMLimitQueue, name: "AM_LIMIT_QUEUE", diagnostic: "Queue's AM resource limit exceeded."},
	{reason: AMLimitUser, name: "AM_LIMIT_USER", diagnostic: "User's AM resource limit exceeded."},
	{reason: QueueStopped, name: "QUEUE_STOPPED", diagnostic: "Queue is not in RUNNING state"},
	{reason: MaxParallelApps, name: "MAX_PARALLEL_APPS",
		diagnostic: "The number of parallel applications has reached its limit"},
	{reason: BehindFIFO, name: "BEHIND_FIFO", diagnostic: "Other applications are served first"},
	{reason: AMNotLaunched, name: "AM_NOT_LAUNCHED", diagnostic: "AM container is not launched"},
	{reason: AMNotRegistered, name: "AM_NOT_REGISTERED",
		diagnostic: "AM container is launched, waiting for AM container to Register with RM"},
	{reason: NoAsks, name: "NO_ASKS", diagnostic: "Application does not need more resource", verdict: "asks for nothing"},
	{reason: NoNodes, name: "NO_NODES", diagnostic: "There is no running node"},
	{reason: LabelUnknown, name: "LABEL_UNKNOWN", diagnostic: "Cluster does not contain the label",
		verdict: "asks for a label that is not there"},
	{reason: LabelNotAccessible, name: "LABEL_NOT_ACCESSIBLE", diagnostic: "Queue is not able to access partition",
		verdict: "may not use the label"},
	{reason: GangIncomplete, name: "GANG_INCOMPLETE",
		diagnostic: "Application asks for fewer containers than its gang has", verdict: "asks for fewer than its gang has"},
	{reason: GangWaits, name: "GANG_WAITS", diagnostic: "There is no room for all containers of the gang",
		verdict: "has no room for the whole gang"},
	{reason: GangNever, name: "GANG_NEVER", diagnostic: "The containers of the gang can never run together",
		verdict: "can never run the whole gang"},
	{reason: NextPass, name: "NEXT_PASS", diagnostic: "Request is served at the next heartbeat of a node"},
	{reason: BehindQueue, name: "BEHIND_QUEUE", diagnostic: "Other queues are served first"},
}

// reasons has the rows by reason.
var reasons = func() (of [Reasons]row) {
	for _, r := range rows {
		of[r.reason] = r
	}
	return of
}()

// NearestFirst returns the reasons, those that are nearest to success first.
func NearestFirst() iter.Seq[Reason] {
	return func(yield func(Reason) bool) {
		for i := range rows {
			if !yield(rows[i].reason) {
				return
			}
		}
	}
}

func (r Reason) String() string { return reasons[r].name }

// MarshalText returns the reason's stable name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Diagnostic returns YARN's sentence for the reason.
func (r Reason) Diagnostic() string { return reasons[r].diagnostic }

// Verdict returns a few words about a node, a queue or a user with the reason; "" if it is about none
// of them.
func (r Reason) Verdict() string { return reasons[r].verdict }

// LacksRoom reports whether only free room is missing: the ask fits when enough containers end.
func (r Reason) LacksRoom() bool { return reasons[r].lacksRoom }
