package api

// Apps is one page of applications, by sequence number. Next is the `after` of
// the page that follows; empty on the last one.
type Apps struct {
	Apps []App  `json:"apps"`
	Next string `json:"next,omitempty"`
}

// App is one application with its current attempt.
type App struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	User            string   `json:"user"`
	Queue           string   `json:"queue"`
	Type            string   `json:"type"`
	Tags            []string `json:"tags,omitempty"`
	State           string   `json:"state"`
	FinalStatus     string   `json:"final_status"`
	Priority        int32    `json:"priority"`
	Unmanaged       bool     `json:"unmanaged,omitempty"`
	KeepContainers  bool     `json:"keep_containers,omitempty"`
	SubmittedMillis int64    `json:"submitted_ms"`
	StartedMillis   int64    `json:"started_ms,omitempty"` // its first AM registered
	EndedMillis     int64    `json:"ended_ms,omitempty"`
	// WaitMillis is how long it waited, or has waited, for its AM to register.
	WaitMillis int64 `json:"wait_ms"`
	// WaitingMillis is how long it has been waiting for what it waits for now: its AM, or a container
	// for which it holds a node. 0: it waits for nothing, or only for containers for which it holds
	// no node, of which nobody keeps the time.
	WaitingMillis int64 `json:"waiting_ms,omitempty"`
	// Why is the code of what it waits for, and WhyText says it in a sentence, from its own record;
	// GET /v1/apps/{id}/explain knows more. Empty: it waits for nothing.
	Why            string   `json:"why,omitempty"`
	WhyText        string   `json:"why_text,omitempty"`
	LifetimeMillis int64    `json:"lifetime_ms,omitempty"`
	Attempt        string   `json:"attempt,omitempty"`
	AttemptState   string   `json:"attempt_state"` // NONE PARKED (a limit on parallel applications holds it back) PENDING ACTIVE REGISTERED FINISHING ENDED
	MaxAttempts    uint32   `json:"max_attempts"`
	Failures       uint32   `json:"failures"`
	AM             Resource `json:"am"`
	Label          string   `json:"label,omitempty"`    // of asks that name none
	AMLabel        string   `json:"am_label,omitempty"` // of its ApplicationMaster
	Used           Resource `json:"used"`
	Reserved       Resource `json:"reserved"`
	Pending        Resource `json:"pending"`
	Outstanding    int64    `json:"outstanding"` // containers asked for and not granted
	Containers     int32    `json:"containers"`  // live
	Reservations   int32    `json:"reservations"`
	Response       int32    `json:"response"`
	Host           string   `json:"host,omitempty"`
	RPCPort        int32    `json:"rpc_port,omitempty"`
	TrackingURL    string   `json:"tracking_url,omitempty"`
	Diagnostics    string   `json:"diagnostics,omitempty"`
	Blacklist      []string `json:"blacklist,omitempty"`
}

// Submit asks for a new application. Without an id the cluster gives one.
type Submit struct {
	ID             string   `json:"id,omitempty"`
	Name           string   `json:"name,omitempty"`
	User           string   `json:"user,omitempty"`
	Groups         []string `json:"groups,omitempty"`
	TagGroups      []string `json:"tag_groups,omitempty"` // of the user that a tag userid=NAME names
	Queue          string   `json:"queue,omitempty"`
	Type           string   `json:"type,omitempty"` // YARN unless given
	Tags           []string `json:"tags,omitempty"`
	Priority       *int32   `json:"priority,omitempty"`
	AM             Resource `json:"am,omitempty"`
	Unmanaged      bool     `json:"unmanaged,omitempty"`
	KeepContainers bool     `json:"keep_containers,omitempty"`
	MaxAttempts    uint32   `json:"max_attempts,omitempty"`
	LifetimeMillis int64    `json:"lifetime_ms,omitempty"`
	// Label is that of asks that name none: the queue's default unless given; a blank, " ": nodes
	// without a label. AMLabel is that of its ApplicationMaster: the cluster's default for them
	// unless given, else Label.
	Label   string `json:"label,omitempty"`
	AMLabel string `json:"am_label,omitempty"`
	Context []byte `json:"context,omitempty"` // opaque, for the node that launches the AM
	DryRun  bool   `json:"dry_run,omitempty"`
}

// Submitted tells the id and the leaf queue. Explain, with ?explain, is the
// planner's document of why the application waits.
type Submitted struct {
	ID      string       `json:"id,omitempty"`
	Queue   string       `json:"queue"`
	Index   uint64       `json:"index"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Explain *Explanation `json:"explain,omitempty"`
}

// Kill ends an application.
type Kill struct {
	Diagnostics string `json:"diagnostics,omitempty"`
}

// Move takes an application to another leaf queue.
type Move struct {
	Queue string `json:"queue"`
}

// Priority is an application's priority: asked for, or granted.
type Priority struct {
	Priority int32  `json:"priority"`
	Index    uint64 `json:"index,omitempty"`
}

// Gang declares which containers of an application start together or not at all; "" withdraws that.
type Gang struct {
	Gang *string `json:"gang"` // as behind the tag rmd.gang:
}

// Attempts lists the attempts that the state remembers, the oldest first.
type Attempts struct {
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one attempt of an application.
type Attempt struct {
	ID            string `json:"id"`
	Number        uint32 `json:"number"`
	Current       bool   `json:"current"`
	State         string `json:"state"`
	StartedMillis int64  `json:"started_ms,omitempty"`
	// LaunchedMillis is when a node took its AM.
	LaunchedMillis int64  `json:"launched_ms,omitempty"`
	EndedMillis    int64  `json:"ended_ms,omitempty"`
	FinalStatus    string `json:"final_status,omitempty"`
	AMContainer    string `json:"am_container,omitempty"`
	AMNode         string `json:"am_node,omitempty"`
	Containers     int    `json:"containers"` // live
	Host           string `json:"host,omitempty"`
	RPCPort        int32  `json:"rpc_port,omitempty"`
	TrackingURL    string `json:"tracking_url,omitempty"`
	Diagnostics    string `json:"diagnostics,omitempty"`
}

// Containers is one page of containers.
type Containers struct {
	Containers []Container `json:"containers"`
	Next       string      `json:"next,omitempty"`
}

// Container is one granted container.
type Container struct {
	ID              string   `json:"id"`
	App             string   `json:"app"`
	Attempt         uint32   `json:"attempt"`
	Node            string   `json:"node"`
	NodeHTTPAddress string   `json:"node_http_address,omitempty"`
	State           string   `json:"state"`
	Locality        string   `json:"locality"`
	Priority        int32    `json:"priority"`
	AllocationID    int64    `json:"allocation_id,omitempty"`
	Size            Resource `json:"size"`
	Label           string   `json:"label,omitempty"` // of its node
	Lent            bool     `json:"lent,omitempty"`  // its ask names another label
	AM              bool     `json:"am,omitempty"`
	Launched        bool     `json:"launched"`
	AllocatedMillis int64    `json:"allocated_ms"`
	ExitStatus      int32    `json:"exit_status,omitempty"`
	Diagnostics     string   `json:"diagnostics,omitempty"`
}

// Asks lists what an application asks for, in the order it is served.
type Asks struct {
	Asks []Ask `json:"asks"`
}

// Ask is what is wanted under one key. As part of an Allocate, Name is a host,
// a rack or "*" (also when empty) and Count is absolute.
type Ask struct {
	Priority     int32    `json:"priority"`
	AllocationID int64    `json:"allocation_id,omitempty"`
	Name         string   `json:"name,omitempty"`
	Count        int64    `json:"count"`
	Size         Resource `json:"size"`
	Relax        *bool    `json:"relax,omitempty"` // true unless given

	Label string `json:"label,omitempty"` // of "*" alone: that of the nodes; the application's or the queue's unless given

	// The rest is told, never asked.
	AM             bool       `json:"am,omitempty"`
	Opportunities  uint32     `json:"missed_opportunities,omitempty"`
	ReReservations uint32     `json:"re_reservations,omitempty"`
	Reservations   int32      `json:"reservations,omitempty"`
	Locations      []Location `json:"locations,omitempty"`
}

// Location is a host or rack that an ask names.
type Location struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Relax bool   `json:"relax"`
}

// Register is an ApplicationMaster's registration. Attempt 0 is the current one.
type Register struct {
	Attempt     uint32 `json:"attempt,omitempty"`
	Host        string `json:"host,omitempty"`
	RPCPort     int32  `json:"rpc_port,omitempty"`
	TrackingURL string `json:"tracking_url,omitempty"`
}

// Registered answers a registration.
type Registered struct {
	Attempt string    `json:"attempt"`
	Queue   string    `json:"queue"`
	Maximum Resource  `json:"maximum"`
	Kept    []Granted `json:"kept,omitempty"`
	Index   uint64    `json:"index"`
}

// Allocate is an ApplicationMaster's heartbeat. Without a response number the
// replica fills in the last one it knows, which makes the call a new one.
type Allocate struct {
	Attempt         uint32   `json:"attempt,omitempty"`
	Response        *int32   `json:"response,omitempty"`
	Asks            []Ask    `json:"asks,omitempty"`
	Releases        []string `json:"releases,omitempty"` // container ids
	BlacklistAdd    []string `json:"blacklist_add,omitempty"`
	BlacklistRemove []string `json:"blacklist_remove,omitempty"`
	Gang            string   `json:"gang,omitempty"` // declares the application's gang
}

// Allocated is the answer to a heartbeat.
type Allocated struct {
	Response  int32       `json:"response"`
	Granted   []Granted   `json:"granted"`
	Completed []Completed `json:"completed"`
	// Preempted are containers that end at their deadline for the sake of others, unless the need
	// goes away; each is told once.
	Preempted []Preempting `json:"preempted,omitempty"`
	Headroom  Resource     `json:"headroom"`
	Nodes     uint32       `json:"nodes"`
	Index     uint64       `json:"index"`
}

// Preempting is a container that is to be preempted, as its ApplicationMaster is told of it.
type Preempting struct {
	Container      string   `json:"container"`
	Size           Resource `json:"size"`
	DeadlineMillis int64    `json:"deadline_ms"`
}

// Granted is a container as its ApplicationMaster is told of it.
type Granted struct {
	Container    string   `json:"container"`
	Node         string   `json:"node"`
	Rack         string   `json:"rack,omitempty"`
	Priority     int32    `json:"priority"`
	AllocationID int64    `json:"allocation_id,omitempty"`
	Size         Resource `json:"size"`
}

// Completed is a container that has ended.
type Completed struct {
	Container   string `json:"container"`
	ExitStatus  int32  `json:"exit_status"`
	Diagnostics string `json:"diagnostics,omitempty"`
}

// Finish is an ApplicationMaster's unregistration.
type Finish struct {
	Attempt     uint32 `json:"attempt,omitempty"`
	FinalStatus string `json:"final_status,omitempty"` // SUCCEEDED unless given
	Diagnostics string `json:"diagnostics,omitempty"`
	TrackingURL string `json:"tracking_url,omitempty"`
}
