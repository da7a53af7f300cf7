package explain

import "rmd/scheduler"

// REST, the terminal and the web pages show these documents. Reasons and states are text in them,
// so a client can also read those of a later server.

// Explanation says why an application waits. It is computed from the current state with the
// scheduler's own checks.
type Explanation struct {
	ID            string `json:"id"`
	State         string `json:"state"`
	Queue         string `json:"queue"`
	Waiting       bool   `json:"waiting"`
	WaitingMillis int64  `json:"waiting_ms,omitempty"` // the wait of the application
	// among the applications of its queue with pending asks, from 1
	Position   int           `json:"position,omitempty"`
	Of         int           `json:"of,omitempty"`
	Reason     string        `json:"reason"`
	Never      bool          `json:"never"` // it can never be served as asked
	Text       string        `json:"text"`
	Diagnostic string        `json:"diagnostic,omitempty"` // YARN's text
	Asks       []Ask         `json:"asks,omitempty"`
	Limits     []Limit       `json:"limits,omitempty"`
	Nodes      []NodeGroup   `json:"nodes,omitempty"`
	Reserved   []Reservation `json:"reserved,omitempty"`
	Ahead      []string      `json:"ahead,omitempty"`
	Behind     []string      `json:"behind,omitempty"`
	WhatIf     []Alternative `json:"what_if,omitempty"`
	MustEnd    *MustEnd      `json:"must_end,omitempty"`

	Placed     *Placed        `json:"placed,omitempty"` // nil if no placement rule chose its queue
	Preemption *AppPreemption `json:"preemption,omitempty"`
	Gang       *Gang          `json:"gang,omitempty"`
	Leases     []Lease        `json:"leases,omitempty"`
	Tokens     []Token        `json:"tokens,omitempty"` // those that it will lose as things are, or has lost

	reason scheduler.Reason
}

// Token is a token that the application carries for another service, and that is not renewed.
type Token struct {
	Number    uint32 `json:"number"`
	Kind      string `json:"kind"`
	Service   string `json:"service"`
	Lost      bool   `json:"lost,omitempty"`   // rmd makes no further call for it
	EndMillis int64  `json:"end_ms,omitempty"` // the last known one
	Text      string `json:"text"`
}

// Lease says that a container runs in the idle room of a reserved node. With Lends, the reservation
// belongs to the application and the container to another one. Otherwise the container belongs to
// the application.
type Lease struct {
	Container      string `json:"container"`
	Node           string `json:"node"`
	Reservation    string `json:"reservation"`
	Lends          bool   `json:"lends,omitempty"`
	DeadlineMillis int64  `json:"deadline_ms,omitempty"` // 0: it ends when the reservation needs the room
	Text           string `json:"text"`
}

// Placed says which placement rule chose the application's queue.
type Placed struct {
	Rule int    `json:"rule"` // from 1, in the configuration at that time
	Text string `json:"text"`
	Why  string `json:"why,omitempty"` // why the rule's queue could not be used, so that the fallback was %default
	For  string `json:"for,omitempty"` // the user of the tag userid
}

// Ask is one outstanding ask.
type Ask struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_id,omitempty"`
	Count        int64  `json:"count"`
	Size         string `json:"size"`
	Amount       Amount `json:"amount"` // the size, by resource
	Where        string `json:"where"`
	AM           bool   `json:"am,omitempty"`
	// Reason, Text, Diagnostic and Never say why the ask is not served, as those of the application do.
	// They are empty before the application is activated, and after its first 16 asks.
	Reason     string `json:"reason,omitempty"`
	Text       string `json:"text,omitempty"`
	Diagnostic string `json:"diagnostic,omitempty"`
	Never      bool   `json:"never,omitempty"`
}

// Amount is a quantity of each resource by YARN's name, as in every other document. The field
// beside it has the text for people.
type Amount = map[string]int64

// Limit is one limit, what counts toward it, and whether it is reached.
type Limit struct {
	Name  string `json:"name"`
	Used  string `json:"used"`
	Most  string `json:"most"`
	Binds bool   `json:"binds"`
	// Over says of which kinds the next ask would exceed the limit: "memory would be 8 GiB of 4 GiB".
	Over string `json:"over,omitempty"`

	UsedAmount Amount `json:"used_amount"`
	MostAmount Amount `json:"most_amount"`
}

// NodeGroup counts the nodes with one reason and names one of them.
type NodeGroup struct {
	Reason     string `json:"reason"`
	Verdict    string `json:"verdict"`
	Diagnostic string `json:"diagnostic,omitempty"` // YARN's sentence
	Count      int    `json:"count"`
	Example    string `json:"example"`
}

// Reservation is a node reserved for the application.
type Reservation struct {
	ID          string   `json:"id"`
	Node        string   `json:"node"`
	Needs       string   `json:"needs"`
	Free        string   `json:"free"`
	NeedsAmount Amount   `json:"needs_amount"`
	FreeAmount  Amount   `json:"free_amount"`
	AgeMillis   int64    `json:"age_ms"`
	WaitsFor    []string `json:"waits_for"` // containers on the node; the reservation waits for some of them to end
}

// Alternative is the result of the same check without one obstacle.
type Alternative struct {
	If     string `json:"if"`
	Now    bool   `json:"now"` // a node would serve it at its next heartbeat
	Reason string `json:"reason,omitempty"`
	Then   string `json:"then"`
}

// MustEnd is a set of containers on one node whose end frees enough for the first ask. The end of fewer
// of them does not.
type MustEnd struct {
	Node          string   `json:"node"`
	Missing       string   `json:"missing"`
	MissingAmount Amount   `json:"missing_amount"`
	Containers    []string `json:"containers"`
}

// Decision says why one event was decided: the stable name of a cause or reason, and a text with
// the numbers.
type Decision struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// Comparison is what another queue configuration would change. The planner plans with the current
// configuration and with the other one, on the same state and at the same time, until it can place
// nothing more. It stops no running container.
type Comparison struct {
	Version uint64 `json:"version"` // of the current configuration
	// Complete is false if a limit ended the planning before everything was placed.
	Complete bool `json:"complete"`
	Turns    int  `json:"turns"` // passes on nodes, with either configuration
	// NodesLeft is the number of nodes that the last round left out, with both configurations.
	NodesLeft int             `json:"nodes_left,omitempty"`
	Warnings  []string        `json:"warnings,omitempty"`
	Queues    []ComparedQueue `json:"queues,omitempty"` // those that differ
	// Starts are the applications that wait now and would start. Waits are those that would start
	// now and would wait. Gains and Loses would have more or less than without the change. Each
	// list has at most 100 applications; Totals counts all.
	Starts []ComparedApp `json:"starts,omitempty"`
	Waits  []ComparedApp `json:"waits,omitempty"`
	Gains  []ComparedApp `json:"gains,omitempty"`
	Loses  []ComparedApp `json:"loses,omitempty"`
	Totals Totals        `json:"totals"`
}

// ComparedGroup is the applications with the same result: how many there are, and the first of
// them.
type ComparedGroup struct {
	Title string
	Total int
	Apps  []ComparedApp
}

// Groups returns the groups of applications with a different result, for display.
func (c *Comparison) Groups() []ComparedGroup {
	return []ComparedGroup{
		{"would start at once (wait now)", c.Totals.Starts, c.Starts},
		{"would wait (would not wait without the change)", c.Totals.Waits, c.Waits},
		{"would have more", c.Totals.Gains, c.Gains}, {"would have less", c.Totals.Loses, c.Loses},
	}
}

// Totals counts the applications of each kind.
type Totals struct {
	Starts int `json:"starts"`
	Waits  int `json:"waits"`
	Gains  int `json:"gains"`
	Loses  int `json:"loses"`
}

// ComparedQueue is one queue under both configurations. If one of them does not have the queue, its
// sizes are empty.
type ComparedQueue struct {
	Path   string     `json:"path"`
	Before QueueShare `json:"before"`
	After  QueueShare `json:"after"`
	Over   bool       `json:"over,omitempty"` // it uses more than its new guarantee
}

// QueueShare is what a queue uses and may use.
type QueueShare struct {
	Guaranteed string `json:"guaranteed,omitempty"`
	Max        string `json:"max,omitempty"`
	Used       string `json:"used,omitempty"`
	Pending    string `json:"pending,omitempty"`
}

// ComparedApp is one application under both configurations.
type ComparedApp struct {
	ID     string   `json:"id"`
	User   string   `json:"user"`
	Queue  string   `json:"queue"`
	Before AppShare `json:"before"`
	After  AppShare `json:"after"`
}

// AppShare is what an application would have, and why it would not have more.
type AppShare struct {
	Containers  int32  `json:"containers"`
	Used        string `json:"used"`
	Outstanding int64  `json:"outstanding"`
	Reason      string `json:"reason,omitempty"`
	Text        string `json:"text,omitempty"` // the reason in a sentence
}
