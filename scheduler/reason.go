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

// reasons has the stable name of each reason, YARN's sentence, which YARN's reports contain, and
// what explanations say of a node, a queue or a user with the reason.
var reasons = [Reasons]struct{ name, diagnostic, verdict string }{
	NoReason:            {"", "", "has room"},
	AMLimitQueue:        {"AM_LIMIT_QUEUE", "Queue's AM resource limit exceeded.", ""},
	AMLimitUser:         {"AM_LIMIT_USER", "User's AM resource limit exceeded.", ""},
	QueueStopped:        {"QUEUE_STOPPED", "Queue is not in RUNNING state", ""},
	QueueMaxCapacity:    {"QUEUE_MAX_CAPACITY", "Queue hits max-capacity limit", "at the queue's maximum"},
	ParentMaxCapacity:   {"PARENT_MAX_CAPACITY", "Parent queue hits max-capacity limit", "at a parent queue's maximum"},
	UserLimit:           {"USER_LIMIT", "User capacity has reached its maximum limit.", "at the user's limit"},
	MaxParallelApps:     {"MAX_PARALLEL_APPS", "The number of parallel applications has reached its limit", ""},
	LocalityDelay:       {"LOCALITY_DELAY", "Node skipped because of locality delay", "waits for a nearer node"},
	Blacklisted:         {"BLACKLISTED", "Node is blacklisted by the application", "blacklisted by the application"},
	NodeTooSmall:        {"NODE_TOO_SMALL", "Node's total resource is insufficient for request", "too small in all"},
	NodeTooSmallFree:    {"NODE_TOO_SMALL_FREE", "Node does not have sufficient resource for request", "too little is free"},
	NodeReservedByOther: {"NODE_RESERVED_BY_OTHER", "Node has been reserved", "reserved for another application"},
	BehindFIFO:          {"BEHIND_FIFO", "Other applications are served first", ""},
	AMNotLaunched:       {"AM_NOT_LAUNCHED", "AM container is not launched", ""},
	AMNotRegistered:     {"AM_NOT_REGISTERED", "AM container is launched, waiting for AM container to Register with RM", ""},
	NoAsks:              {"NO_ASKS", "Application does not need more resource", "asks for nothing"},
	NoNodes:             {"NO_NODES", "There is no running node", ""},
	OwnPartitionFirst:   {"OWN_PARTITION_FIRST", "Request skipped because non-partitioned resource request should be scheduled to non-partitioned partition first", "has another label, and waits for the ask to miss more offers"},
	OtherLabel:          {"OTHER_LABEL", "Node does not match partition or placement constraints", "has another label"},
	LabelUnknown:        {"LABEL_UNKNOWN", "Cluster does not contain the label", "asks for a label that is not there"},
	LabelNotAccessible:  {"LABEL_NOT_ACCESSIBLE", "Queue is not able to access partition", "may not use the label"},
	GangIncomplete:      {"GANG_INCOMPLETE", "Application asks for fewer containers than its gang has", "asks for fewer than its gang has"},
	GangWaits:           {"GANG_WAITS", "There is no room for all containers of the gang", "has no room for the whole gang"},
	GangNever:           {"GANG_NEVER", "The containers of the gang can never run together", "can never run the whole gang"},
	NodeSilent:          {"NODE_SILENT", "Node has not sent a heartbeat lately", "has room but is silent"},
	NextPass:            {"NEXT_PASS", "Request is served at the next heartbeat of a node", ""},
	BehindQueue:         {"BEHIND_QUEUE", "Other queues are served first", ""},
	BehindOtherAsk:      {"BEHIND_OTHER_ASK", "Priority skipped because of another request of the application", "reserved for another ask of the application"},
	ReservedElsewhere:   {"RESERVED_ELSEWHERE", "Queue has no room because of reservations on other nodes", "has room, but reservations on other nodes count as used"},
	HoldsReservations:   {"HOLDS_RESERVATIONS", "Request has as many reservations as it needs", "has room, but its reservations suffice"},
}

func (r Reason) String() string { return reasons[r].name }

// MarshalText returns the reason's stable name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Diagnostic returns YARN's sentence for the reason.
func (r Reason) Diagnostic() string { return reasons[r].diagnostic }

// Verdict returns a few words for a node, a queue or a user with the reason; "" if it is about none
// of them.
func (r Reason) Verdict() string { return reasons[r].verdict }
