package explain

import "rmd/scheduler"

// The documents are what REST answers, what the terminal reads and what the pages show. Reasons and
// states are text in them, so that a client reads those of a later server too.

// Explanation says why an application waits. The scheduler's own checks on the state at hand tell it;
// nothing about waiting is stored anywhere.
type Explanation struct {
	ID            string        `json:"id"`
	State         string        `json:"state"`
	Queue         string        `json:"queue"`
	Waiting       bool          `json:"waiting"`
	WaitingMillis int64         `json:"waiting_ms,omitempty"` // as that of the application
	Position      int           `json:"position,omitempty"`   // among those of its queue that want something, from 1
	Of            int           `json:"of,omitempty"`
	Reason        string        `json:"reason"`
	Never         bool          `json:"never"` // it can never be served as asked
	Text          string        `json:"text"`
	Diagnostic    string        `json:"diagnostic,omitempty"` // YARN's sentence
	Asks          []Ask         `json:"asks,omitempty"`
	Limits        []Limit       `json:"limits,omitempty"`
	Nodes         []NodeGroup   `json:"nodes,omitempty"`
	Reserved      []Reservation `json:"reserved,omitempty"`
	Ahead         []string      `json:"ahead,omitempty"`
	Behind        []string      `json:"behind,omitempty"`
	WhatIf        []Alternative `json:"what_if,omitempty"`
	MustEnd       *MustEnd      `json:"must_end,omitempty"`

	Placed     *Placed        `json:"placed,omitempty"` // nil if no placement rule sent it to its queue
	Preemption *AppPreemption `json:"preemption,omitempty"`
	Gang       *Gang          `json:"gang,omitempty"`
	Leases     []Lease        `json:"leases,omitempty"`

	reason scheduler.Reason
}

// Lease says that a container runs in idle room of a reserved node: one of the application, or, if it
// lends, of another one in room of its reservation.
type Lease struct {
	Container      string `json:"container"`
	Node           string `json:"node"`
	Reservation    string `json:"reservation"`
	Lends          bool   `json:"lends,omitempty"`
	DeadlineMillis int64  `json:"deadline_ms,omitempty"` // 0: it ends when the reservation needs the room
	Text           string `json:"text"`
}

// Placed says which placement rule sent the application to its queue.
type Placed struct {
	Rule int    `json:"rule"` // from 1, of the configuration of that time
	Text string `json:"text"`
	Why  string `json:"why,omitempty"` // why the rule's queue could not be used, so that it went to %default
	For  string `json:"for,omitempty"` // the user of its tag, for whom it was placed
}

// Ask is one outstanding ask.
type Ask struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_id,omitempty"`
	Count        int64  `json:"count"`
	Size         string `json:"size"`
	Amount       Amount `json:"amount"` // the size, by kind
	Where        string `json:"where"`
	AM           bool   `json:"am,omitempty"`
}

// Amount is a quantity of each kind of resource by YARN's name, as every other document has it.
// The text beside it is what people read.
type Amount = map[string]int64

// Limit is one limit, what counts against it, and whether that has reached it.
type Limit struct {
	Name  string `json:"name"`
	Used  string `json:"used"`
	Most  string `json:"most"`
	Binds bool   `json:"binds"`

	UsedAmount Amount `json:"used_amount"`
	MostAmount Amount `json:"most_amount"`
}

// NodeGroup counts the nodes with one verdict and names one of them.
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
	WaitsFor    []string `json:"waits_for"` // containers on the node, any of which may end
}

// Alternative is what would be if one thing were otherwise: the same check without that thing.
type Alternative struct {
	If     string `json:"if"`
	Now    bool   `json:"now"` // a node would serve it at its next heartbeat
	Reason string `json:"reason,omitempty"`
	Then   string `json:"then"`
}

// MustEnd is the smallest set of containers on one node whose end frees enough for the first ask.
type MustEnd struct {
	Node          string   `json:"node"`
	Missing       string   `json:"missing"`
	MissingAmount Amount   `json:"missing_amount"`
	Containers    []string `json:"containers"`
}

// Decision says why one event was decided: a cause or a reason by its stable name, and the numbers it
// rests on.
type Decision struct {
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// Comparison is what another queue configuration would change: the planner has planned with the one
// in force and with the other on the same state, at the same time, until nothing more could be
// placed. Nothing that runs is stopped.
type Comparison struct {
	Version uint64 `json:"version"` // in force, which it is compared with
	// Complete is false when the limits ended the planning before all was placed that could be.
	Complete bool            `json:"complete"`
	Turns    int             `json:"turns"` // passes on nodes, with either configuration
	Warnings []string        `json:"warnings,omitempty"`
	Queues   []ComparedQueue `json:"queues,omitempty"` // those that differ
	// Starts are the applications that wait now and would not; Waits those that would wait then and
	// now would not. Gains and Loses would hold more or less than without the change. Each is a list
	// of at most 100; Totals counts all.
	Starts []ComparedApp `json:"starts,omitempty"`
	Waits  []ComparedApp `json:"waits,omitempty"`
	Gains  []ComparedApp `json:"gains,omitempty"`
	Loses  []ComparedApp `json:"loses,omitempty"`
	Totals Totals        `json:"totals"`
}

// ComparedGroup is the applications that fare alike: how many there are, and the first of them.
type ComparedGroup struct {
	Title string
	Total int
	Apps  []ComparedApp
}

// Groups are the applications that fare differently, for people.
func (c *Comparison) Groups() []ComparedGroup {
	return []ComparedGroup{
		{"would start at once (wait now)", c.Totals.Starts, c.Starts}, {"would wait (would not wait without the change)", c.Totals.Waits, c.Waits},
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

// ComparedQueue is one queue with either configuration. A queue that one of them lacks has empty
// sizes there.
type ComparedQueue struct {
	Path   string     `json:"path"`
	Before QueueShare `json:"before"`
	After  QueueShare `json:"after"`
	Over   bool       `json:"over,omitempty"` // it uses more than its guarantee would be
}

// QueueShare is what a queue has and may have.
type QueueShare struct {
	Guaranteed string `json:"guaranteed,omitempty"`
	Max        string `json:"max,omitempty"`
	Used       string `json:"used,omitempty"`
	Pending    string `json:"pending,omitempty"`
}

// ComparedApp is one application with either configuration.
type ComparedApp struct {
	ID     string   `json:"id"`
	User   string   `json:"user"`
	Queue  string   `json:"queue"`
	Before AppShare `json:"before"`
	After  AppShare `json:"after"`
}

// AppShare is what an application would have, and why no more.
type AppShare struct {
	Containers  int32  `json:"containers"`
	Used        string `json:"used"`
	Outstanding int64  `json:"outstanding"`
	Reason      string `json:"reason,omitempty"`
	Text        string `json:"text,omitempty"` // the reason in a sentence
}
