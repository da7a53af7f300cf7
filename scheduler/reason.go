package scheduler

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

	// Reasons is the number of reasons.
	Reasons = iota
)

var reasonNames = [...]string{"", "AM_LIMIT_QUEUE", "AM_LIMIT_USER", "QUEUE_STOPPED", "QUEUE_MAX_CAPACITY", "PARENT_MAX_CAPACITY",
	"USER_LIMIT", "MAX_PARALLEL_APPS", "LOCALITY_DELAY", "BLACKLISTED", "NODE_TOO_SMALL", "NODE_TOO_SMALL_FREE",
	"NODE_RESERVED_BY_OTHER", "BEHIND_FIFO", "AM_NOT_LAUNCHED", "AM_NOT_REGISTERED", "NO_ASKS", "NO_NODES", "OWN_PARTITION_FIRST", "OTHER_LABEL",
	"LABEL_UNKNOWN", "LABEL_NOT_ACCESSIBLE", "GANG_INCOMPLETE", "GANG_WAITS", "GANG_NEVER", "NODE_SILENT",
	"NEXT_PASS", "BEHIND_QUEUE", "BEHIND_OTHER_ASK", "RESERVED_ELSEWHERE", "HOLDS_RESERVATIONS"}

// diagnostics has YARN's sentences, which YARN's reports contain.
var diagnostics = [...]string{"", "Queue's AM resource limit exceeded.", "User's AM resource limit exceeded.",
	"Queue is not in RUNNING state", "Queue hits max-capacity limit", "Parent queue hits max-capacity limit",
	"User capacity has reached its maximum limit.", "The number of parallel applications has reached its limit",
	"Node skipped because of locality delay", "Node is blacklisted by the application",
	"Node's total resource is insufficient for request", "Node does not have sufficient resource for request",
	"Node has been reserved", "Other applications are served first", "AM container is not launched", "AM container is launched, waiting for AM container to Register with RM",
	"Application does not need more resource", "There is no running node", "Request skipped because non-partitioned resource request should be scheduled to non-partitioned partition first",
	"Node does not match partition or placement constraints", "Cluster does not contain the label", "Queue is not able to access partition",
	"Application asks for fewer containers than its gang has", "There is no room for all containers of the gang", "The containers of the gang can never run together",
	"Node has not sent a heartbeat lately", "Request is served at the next heartbeat of a node", "Other queues are served first",
	"Priority skipped because of another request of the application", "Queue has no room because of reservations on other nodes",
	"Request has as many reservations as it needs"}

func (r Reason) String() string { return reasonNames[r] }

// MarshalText returns the reason's stable name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(reasonNames[r]), nil }

// Diagnostic returns YARN's sentence for the reason.
func (r Reason) Diagnostic() string { return diagnostics[r] }
