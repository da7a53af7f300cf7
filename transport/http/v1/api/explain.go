package api

// Explanation answers GET /v1/apps/{id}/explain: why an application waits. The
// planner computes it when it is asked for.
type Explanation struct {
	ID            string           `json:"id"`
	State         string           `json:"state"`
	Queue         string           `json:"queue"`
	Waiting       bool             `json:"waiting"`
	WaitingMillis int64            `json:"waiting_ms,omitempty"`
	Position      int              `json:"position,omitempty"` // among those of its queue that want something, from 1
	Of            int              `json:"of,omitempty"`
	Reason        string           `json:"reason"`
	Never         bool             `json:"never"` // it can never be served as asked
	Text          string           `json:"text"`
	Diagnostic    string           `json:"diagnostic,omitempty"` // YARN's sentence
	Asks          []ExplainedAsk   `json:"asks,omitempty"`
	Limits        []ExplainedLimit `json:"limits,omitempty"`
	Nodes         []ExplainedNodes `json:"nodes,omitempty"`
	Reserved      []ExplainedHold  `json:"reserved,omitempty"`
	Ahead         []string         `json:"ahead,omitempty"`
	Behind        []string         `json:"behind,omitempty"`
	WhatIf        []ExplainedIf    `json:"what_if,omitempty"`
	MustEnd       *ExplainedEnd    `json:"must_end,omitempty"`
}

// ExplainedAsk is one outstanding ask.
type ExplainedAsk struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_id,omitempty"`
	Count        int64  `json:"count"`
	Size         string `json:"size"`
	Where        string `json:"where"`
	AM           bool   `json:"am,omitempty"`
}

// ExplainedLimit is one limit, what counts against it, and whether it binds.
type ExplainedLimit struct {
	Name  string `json:"name"`
	Used  string `json:"used"`
	Most  string `json:"most"`
	Binds bool   `json:"binds"`
}

// ExplainedNodes counts the nodes with one verdict and names one of them.
type ExplainedNodes struct {
	Reason     string `json:"reason"`
	Verdict    string `json:"verdict"`
	Diagnostic string `json:"diagnostic,omitempty"`
	Count      int    `json:"count"`
	Example    string `json:"example"`
}

// ExplainedHold is a reservation held for the application.
type ExplainedHold struct {
	ID        string   `json:"id"`
	Node      string   `json:"node"`
	Needs     string   `json:"needs"`
	Free      string   `json:"free"`
	AgeMillis int64    `json:"age_ms"`
	WaitsFor  []string `json:"waits_for"` // containers on the node, any of which may end
}

// ExplainedIf is what would be if one thing were otherwise: the same check, on a
// copy in which it is.
type ExplainedIf struct {
	If     string `json:"if"`
	Now    bool   `json:"now"` // it could be served at once
	Reason string `json:"reason,omitempty"`
	Then   string `json:"then"`
}

// ExplainedEnd is the least that must end, on one node, for the first ask to
// fit there.
type ExplainedEnd struct {
	Node       string   `json:"node"`
	Missing    string   `json:"missing"`
	Containers []string `json:"containers"`
}

// WhatIf answers POST /v1/whatif: what another queue configuration would change,
// as the planner finds by planning with either on a copy of the state. Nothing
// is changed, and nothing that runs is stopped.
type WhatIf struct {
	Version uint64 `json:"version"` // in force, which it is compared with
	// Complete is false when the time or the turns given did not do for all
	// that could be placed; the answer is then a beginning.
	Complete bool     `json:"complete"`
	Turns    int      `json:"turns"` // of nodes, with either configuration
	Changes  []Change `json:"changes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`

	Queues []WhatIfQueue `json:"queues,omitempty"` // those that differ
	// Starts are the applications that wait now, and would not; Waits those that
	// would wait then, and now would not. Gains and Loses would hold more or less
	// than without the change. Each is a list of at most 100; Totals counts all.
	Starts []WhatIfApp  `json:"starts,omitempty"`
	Waits  []WhatIfApp  `json:"waits,omitempty"`
	Gains  []WhatIfApp  `json:"gains,omitempty"`
	Loses  []WhatIfApp  `json:"loses,omitempty"`
	Totals WhatIfTotals `json:"totals"`
}

// WhatIfTotals counts the applications of each kind.
type WhatIfTotals struct {
	Starts int `json:"starts"`
	Waits  int `json:"waits"`
	Gains  int `json:"gains"`
	Loses  int `json:"loses"`
}

// WhatIfQueue is one queue with the configuration in force and with the other.
// A queue that one of them lacks has empty sizes there.
type WhatIfQueue struct {
	Path   string      `json:"path"`
	Before WhatIfShare `json:"before"`
	After  WhatIfShare `json:"after"`
	// Over says that the queue holds more than its guarantee would be.
	Over bool `json:"over,omitempty"`
}

// WhatIfShare is what a queue has and may have.
type WhatIfShare struct {
	Guaranteed string `json:"guaranteed,omitempty"`
	Max        string `json:"max,omitempty"`
	Used       string `json:"used,omitempty"`
	Pending    string `json:"pending,omitempty"`
}

// WhatIfApp is one application with either configuration.
type WhatIfApp struct {
	ID     string        `json:"id"`
	User   string        `json:"user"`
	Queue  string        `json:"queue"`
	Before WhatIfHolding `json:"before"`
	After  WhatIfHolding `json:"after"`
}

// WhatIfHolding is what an application would hold, and why it would not hold
// more.
type WhatIfHolding struct {
	Containers  int32  `json:"containers"`
	Used        string `json:"used"`
	Outstanding int64  `json:"outstanding"`
	Reason      string `json:"reason,omitempty"`
}
