package history

// Line is one observation. Its types are *Op, *Replica, *Order, *Fault, *Mark, *Entry and *Dump.
type Line interface {
	// At returns the time of the observation.
	At() int64
	stamp(ns int64)
}

// Replica is an event in a replica's own stream.
type Replica struct {
	ID string `json:"r"`
	// Incarnation counts the starts of the process, from 1.
	Incarnation int         `json:"life,omitempty"`
	Kind        ReplicaKind `json:"k"`
	Term        uint64      `json:"term,omitempty"`
	Index       uint64      `json:"i,omitempty"`
	// Digest is that of the state after the entry at Index.
	Digest uint64 `json:"d,omitempty"`
	// Disk names the identity in the data directory. It changes if the replica's disk is replaced.
	Disk string `json:"disk,omitempty"`
	// Voters and Nonvoters are those of a membership.
	Voters    []string `json:"voters,omitempty"`
	Nonvoters []string `json:"nonvoters,omitempty"`
	// For is the candidate of a vote; "" means the replica itself.
	For  string `json:"for,omitempty"`
	Code int    `json:"code,omitempty"` // exit code of a process that ended by itself
	Text string `json:"text,omitempty"`
	// Fresh says that the log was replaced on purpose (a backup restored, a majority recovered by
	// hand). The checks do not compare what follows on this replica with what came before.
	Fresh bool  `json:"fresh,omitempty"`
	NS    int64 `json:"ns"`
}

// ReplicaKind is the kind of a replica's event.
type ReplicaKind string

// The values of ReplicaKind.
const (
	Start    ReplicaKind = "start"    // a process started: Incarnation, Disk
	Stop     ReplicaKind = "stop"     // a process ended: Code, Text; a killed one has code 0
	Apply    ReplicaKind = "apply"    // a command was applied: Term, Index, Digest
	Lead     ReplicaKind = "lead"     // leadership began: Term
	Follow   ReplicaKind = "follow"   // leadership ended: Term
	Propose  ReplicaKind = "propose"  // a leader passed an entry to Raft: Term
	Vote     ReplicaKind = "vote"     // a vote was stored: Term, For
	Campaign ReplicaKind = "campaign" // an election began: Term
	Config   ReplicaKind = "config"   // a membership was committed: Index, Voters, Nonvoters
	Snapshot ReplicaKind = "snapshot" // a snapshot was taken: Index, Digest
	Install  ReplicaKind = "install"  // a snapshot was received from a leader: Index
	Restore  ReplicaKind = "restore"  // a state was restored from a snapshot: Index, Digest
	Resync   ReplicaKind = "resync"   // a node or AM had to resync
)

// Order is an order that a simulated node or AM received from rmd, in its own journal.
type Order struct {
	Node      string    `json:"node"`
	Kind      OrderKind `json:"k"`
	Container string    `json:"container,omitempty"`
	App       string    `json:"app,omitempty"`
	Replica   string    `json:"from,omitempty"`  // replica that sent it
	Key       int32     `json:"key,omitempty"`   // number of a token's master key
	Index     uint64    `json:"index,omitempty"` // index that the answer named
	NS        int64     `json:"ns"`
}

// OrderKind is the kind of an order.
type OrderKind string

// The values of OrderKind.
const (
	StartContainer  OrderKind = "start"
	StopContainer   OrderKind = "stop"
	SignalContainer OrderKind = "signal"
	CleanUp         OrderKind = "cleanup" // of an application
	Token           OrderKind = "token"   // a new master key
)

// Fault is the begin or the end of an injected fault, or both.
type Fault struct {
	Kind string   `json:"fault"`
	When When     `json:"t"`
	ID   int      `json:"id,omitempty"` // the same at begin and end
	On   []string `json:"on,omitempty"`
	Text string   `json:"text,omitempty"`
	// Disk says, at the begin, that it is a fault of a disk that other replicas must not wait for
	// (L5).
	Disk bool `json:"disk,omitempty"`
	// Outcome is the outcome of damage, at its end.
	Outcome Outcome `json:"outcome,omitempty"`
	NS      int64   `json:"ns"`
}

// When says whether a fault begins, ends, or does both at once.
type When string

// The values of When.
const (
	Begin When = "begin"
	End   When = "end"
	Once  When = "once"
)

// Outcome is what happened to damage in a replica's files.
type Outcome string

// The values of Outcome. The first four are correct behavior.
const (
	Refused   Outcome = "refused"   // detected and not used
	Healed    Outcome = "healed"    // fetched again from other replicas
	Stopped   Outcome = "stopped"   // the replica stopped with an error that names it
	Unread    Outcome = "unread"    // nothing had to read the damaged data, and it is gone
	Applied   Outcome = "applied"   // it reached the state
	Forwarded Outcome = "forwarded" // it was sent to other replicas
	Dropped   Outcome = "dropped"   // data disappeared without an error
)

// Mark is a moment of the run.
type Mark struct {
	Name  string `json:"mark"`
	Text  string `json:"text,omitempty"`
	Count int64  `json:"n,omitempty"`
	NS    int64  `json:"ns"`
}

// Names of marks.
const (
	Seed     = "seed"    // Count is the seed
	Recovery = "calm"    // all faults have ended: liveness counts from here
	Demand   = "settled" // no new work from here on
	Final    = "final"   // reads from here on show the final state
	Over     = "over"    // the run is over
)

// Entry is one committed entry of the log.
type Entry struct {
	Kind  string `json:"log"` // command, noop, barrier, configuration
	Index uint64 `json:"i"`
	Term  uint64 `json:"term"`
	Data  []byte `json:"data,omitempty"`
	// Skipped says that the replicas skipped the batch as stale.
	Skipped bool  `json:"skipped,omitempty"`
	NS      int64 `json:"ns,omitempty"` // when the first replica applied it
}

// Command is the kind of entries with events.
const Command = "command"

// Dump is a replica's whole state at an index, as fields in a fixed order, so that two dumps can be
// compared.
type Dump struct {
	Replica string  `json:"state"`
	Index   uint64  `json:"i"`
	Digest  uint64  `json:"d,omitempty"`
	Fields  []Field `json:"fields"`
	NS      int64   `json:"ns,omitempty"`
}

// Field is a named value of a state: "nodes/3/allocated", "4096MB 2vc".
type Field struct {
	Name  string `json:"f"`
	Value string `json:"v"`
}

// At implements Line.
func (l *Op) At() int64 { return l.NS }

// At implements Line.
func (l *Replica) At() int64 { return l.NS }

// At implements Line.
func (l *Order) At() int64 { return l.NS }

// At implements Line.
func (l *Fault) At() int64 { return l.NS }

// At implements Line.
func (l *Mark) At() int64 { return l.NS }

// At implements Line.
func (l *Entry) At() int64 { return l.NS }

// At implements Line.
func (l *Dump) At() int64 { return l.NS }

func (l *Op) stamp(ns int64)      { l.NS = ns }
func (l *Replica) stamp(ns int64) { l.NS = ns }
func (l *Order) stamp(ns int64)   { l.NS = ns }
func (l *Fault) stamp(ns int64)   { l.NS = ns }
func (l *Mark) stamp(ns int64)    { l.NS = ns }
func (l *Entry) stamp(ns int64)   { l.NS = ns }
func (l *Dump) stamp(ns int64)    { l.NS = ns }
