package api

// Apps is one page of applications, by sequence number. Next is the parameter after of the
// following page; it is empty on the last page.
type Apps struct {
	Apps []App  `json:"apps"`
	Next string `json:"next,omitempty"`
}

// App is an application with its current attempt.
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
	StartedMillis   int64    `json:"started_ms,omitempty"` // when its first ApplicationMaster registered
	EndedMillis     int64    `json:"ended_ms,omitempty"`
	// WaitMillis is the time from the submission until the first ApplicationMaster registered, or
	// until now or the application's end if none has.
	WaitMillis int64 `json:"wait_ms"`
	// WaitingMillis is how long the application has waited so far: for its ApplicationMaster, or
	// for a container for which it has a reservation. It is 0 if the application waits for nothing,
	// or only for containers without a reservation, for which rmd records no time.
	WaitingMillis int64 `json:"waiting_ms,omitempty"`
	// Why is the code of what the application waits for, and WhyText the same as a sentence, both
	// as GET /v1/apps/{id}/explain had them at most ten seconds ago. A replica uses a hundredth of
	// the time for explanations of lists; without one, both come from the application's own record.
	// They are empty if it waits for nothing.
	Why            string `json:"why,omitempty"`
	WhyText        string `json:"why_text,omitempty"`
	LifetimeMillis int64  `json:"lifetime_ms,omitempty"`
	Attempt        string `json:"attempt,omitempty"`
	// NONE, PARKED (a limit on parallel applications), PENDING, ACTIVE, REGISTERED, FINISHING or ENDED
	AttemptState string   `json:"attempt_state"`
	MaxAttempts  uint32   `json:"max_attempts"`
	Failures     uint32   `json:"failures"`
	AM           Resource `json:"am"`
	Label        string   `json:"label,omitempty"`    // of asks that name no label
	AMLabel      string   `json:"am_label,omitempty"` // of the ApplicationMaster
	Used         Resource `json:"used"`
	Reserved     Resource `json:"reserved"`
	Pending      Resource `json:"pending"`
	Outstanding  int64    `json:"outstanding"` // containers that it asks for and does not have
	Containers   int32    `json:"containers"`  // live ones
	Reservations int32    `json:"reservations"`
	Response     int32    `json:"response"`
	Host         string   `json:"host,omitempty"`
	RPCPort      int32    `json:"rpc_port,omitempty"`
	TrackingURL  string   `json:"tracking_url,omitempty"`
	Diagnostics  string   `json:"diagnostics,omitempty"`
	Blacklist    []string `json:"blacklist,omitempty"`
}

// Submit asks for a new application. Without an id, the cluster assigns one.
type Submit struct {
	ID             string   `json:"id,omitempty"`
	Name           string   `json:"name,omitempty"`
	User           string   `json:"user,omitempty"`
	Groups         []string `json:"groups,omitempty"`
	TagGroups      []string `json:"tag_groups,omitempty"` // groups of the user NAME in a tag userid=NAME
	Queue          string   `json:"queue,omitempty"`
	Type           string   `json:"type,omitempty"` // default YARN
	Tags           []string `json:"tags,omitempty"`
	Priority       *int32   `json:"priority,omitempty"`
	AM             Resource `json:"am,omitempty"`
	Unmanaged      bool     `json:"unmanaged,omitempty"`
	KeepContainers bool     `json:"keep_containers,omitempty"`
	MaxAttempts    uint32   `json:"max_attempts,omitempty"`
	LifetimeMillis int64    `json:"lifetime_ms,omitempty"`
	// Label is the label of asks that name none. The default is the queue's; a blank, " ", means
	// nodes without a label. AMLabel is the label of the ApplicationMaster. The default is the
	// cluster's for ApplicationMasters, or else Label.
	Label   string `json:"label,omitempty"`
	AMLabel string `json:"am_label,omitempty"`
	Context []byte `json:"context,omitempty"` // opaque data for the node that launches the ApplicationMaster
	DryRun  bool   `json:"dry_run,omitempty"`
}

// Submitted has the id and the leaf queue of the application. With ?explain, Explain says why it
// waits.
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

// Move moves an application to another leaf queue.
type Move struct {
	Queue string `json:"queue"`
}

// Priority is an application's priority: the requested one, or in the answer the one that it got.
type Priority struct {
	Priority int32  `json:"priority"`
	Index    uint64 `json:"index,omitempty"`
}

// Gang declares which containers of an application start together or not at all; "" withdraws the
// declaration.
type Gang struct {
	Gang *string `json:"gang"` // in the syntax of the tag rmd.gang:
}

// Attempts lists the attempts that the state still has, oldest first.
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
	// LaunchedMillis is when a node accepted the ApplicationMaster's container.
	LaunchedMillis int64  `json:"launched_ms,omitempty"`
	EndedMillis    int64  `json:"ended_ms,omitempty"`
	FinalStatus    string `json:"final_status,omitempty"`
	AMContainer    string `json:"am_container,omitempty"`
	AMNode         string `json:"am_node,omitempty"`
	Containers     int    `json:"containers"` // live ones
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

// Container is a container of an application.
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
	Lent            bool     `json:"lent,omitempty"`  // the ask names another label than the node's
	AM              bool     `json:"am,omitempty"`
	Launched        bool     `json:"launched"`
	AllocatedMillis int64    `json:"allocated_ms"`
	ExitStatus      int32    `json:"exit_status,omitempty"`
	Diagnostics     string   `json:"diagnostics,omitempty"`
}

// Asks lists the asks of an application, in the order in which they are served.
type Asks struct {
	Asks []Ask `json:"asks"`
}

// Ask asks for containers under one key. In an Allocate, Name is a host, a rack or "*" (the
// default), and Count is absolute.
type Ask struct {
	Priority     int32    `json:"priority"`
	AllocationID int64    `json:"allocation_id,omitempty"`
	Name         string   `json:"name,omitempty"`
	Count        int64    `json:"count"`
	Size         Resource `json:"size"`
	Relax        *bool    `json:"relax,omitempty"` // default true

	// label of the nodes, only with "*"; default: the application's or the queue's label
	Label string `json:"label,omitempty"`

	// AM and the following fields are only in answers.
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

// Register registers an ApplicationMaster. Attempt 0 is the current one.
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

// Allocate is the heartbeat of an ApplicationMaster. Without a response number, the replica uses
// the last one that it knows, so that the call counts as a new one.
type Allocate struct {
	Attempt         uint32   `json:"attempt,omitempty"`
	Response        *int32   `json:"response,omitempty"`
	Asks            []Ask    `json:"asks,omitempty"`
	Releases        []string `json:"releases,omitempty"` // container ids
	BlacklistAdd    []string `json:"blacklist_add,omitempty"`
	BlacklistRemove []string `json:"blacklist_remove,omitempty"`
	Gang            string   `json:"gang,omitempty"` // declares the gang of the application
}

// Allocated is the answer to a heartbeat.
type Allocated struct {
	Response  int32       `json:"response"`
	Granted   []Granted   `json:"granted"`
	Completed []Completed `json:"completed"`
	// Preempted lists containers that rmd ends at their deadline to make room for others, unless
	// the need goes away. Each container is listed once.
	Preempted []Preempting `json:"preempted,omitempty"`
	Headroom  Resource     `json:"headroom"`
	Nodes     uint32       `json:"nodes"`
	Index     uint64       `json:"index"`
}

// Preempting warns an ApplicationMaster that one of its containers will be preempted.
type Preempting struct {
	Container      string   `json:"container"`
	Size           Resource `json:"size"`
	DeadlineMillis int64    `json:"deadline_ms"`
}

// Granted is a container that an ApplicationMaster gets.
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

// Finish unregisters an ApplicationMaster.
type Finish struct {
	Attempt     uint32 `json:"attempt,omitempty"`
	FinalStatus string `json:"final_status,omitempty"` // default SUCCEEDED
	Diagnostics string `json:"diagnostics,omitempty"`
	TrackingURL string `json:"tracking_url,omitempty"`
}
