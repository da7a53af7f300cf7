package history

// Line is one thing seen. Its types are *Op, *Replica, *Order, *Fault, *Mark,
// *Entry and *Dump.
type Line interface {
	// At is when it was seen.
	At() int64
	stamp(ns int64)
}

// Replica is an event of a replica's own stream.
type Replica struct {
	ID string `json:"r"`
	// Life counts the starts of the process, from 1.
	Incarnation int         `json:"life,omitempty"`
	Kind        ReplicaKind `json:"k"`
	Term        uint64      `json:"term,omitempty"`
	Index       uint64      `json:"i,omitempty"`
	// Digest is the state's after the entry at Index.
	Digest uint64 `json:"d,omitempty"`
	// Disk names the identity that the data directory holds: a replica whose disk was replaced has another.
	Disk string `json:"disk,omitempty"`
	// Voters and Nonvoters are a configuration's.
	Voters    []string `json:"voters,omitempty"`
	Nonvoters []string `json:"nonvoters,omitempty"`
	// For is who a vote is cast for; nothing is a vote for itself.
	For  string `json:"for,omitempty"`
	Code int    `json:"code,omitempty"` // of a process that ended by itself
	Text string `json:"text,omitempty"`
	// Fresh says that the log was replaced on purpose (a backup restored, a majority recovered by hand): what lies
	// before it on this replica is not held against what follows.
	Fresh bool  `json:"fresh,omitempty"`
	NS    int64 `json:"ns"`
}

// ReplicaKind is what a replica's event tells.
type ReplicaKind string

// Kinds of replicas' events.
const (
	Start    ReplicaKind = "start"    // a process begins: Life, Disk
	Stop     ReplicaKind = "stop"     // it is over: Code, Text; a kill has no code
	Apply    ReplicaKind = "apply"    // Term, Index and Digest of a command applied
	Lead     ReplicaKind = "lead"     // leadership begins: Term
	Follow   ReplicaKind = "follow"   // leadership ends: Term
	Propose  ReplicaKind = "propose"  // an entry handed to Raft by a leader: Term
	Vote     ReplicaKind = "vote"     // a vote written down: Term, For
	Campaign ReplicaKind = "campaign" // an election called: Term
	Config   ReplicaKind = "config"   // a membership committed: Index, Voters, Nonvoters
	Snapshot ReplicaKind = "snapshot" // a snapshot made: Index, Digest
	Install  ReplicaKind = "install"  // a snapshot received from a leader: Index
	Restore  ReplicaKind = "restore"  // a state taken from a snapshot: Index, Digest
	Resync   ReplicaKind = "resync"   // a node or AM was told to start over
)

// Order is what an agent got from rmd, in its own journal.
type Order struct {
	Node      string    `json:"node"`
	Kind      OrderKind `json:"k"`
	Container string    `json:"container,omitempty"`
	App       string    `json:"app,omitempty"`
	Replica   string    `json:"from,omitempty"`  // who it came from
	Key       int32     `json:"key,omitempty"`   // number of a token's master key
	Index     uint64    `json:"index,omitempty"` // that the answer said it was of
	NS        int64     `json:"ns"`
}

// OrderKind is what an agent is told to do.
type OrderKind string

// Kinds of orders.
const (
	StartContainer  OrderKind = "start"
	StopContainer   OrderKind = "stop"
	SignalContainer OrderKind = "signal"
	CleanUp         OrderKind = "cleanup" // of an application
	Token           OrderKind = "token"   // a new master key
)

// Fault is something done to the cluster on purpose.
type Fault struct {
	Kind string   `json:"fault"`
	When When     `json:"t"`
	ID   int      `json:"id,omitempty"` // joins begin and end
	On   []string `json:"on,omitempty"`
	Text string   `json:"text,omitempty"`
	// Disk says, at the begin, that the fault is one of a disk that others must not wait for (L5).
	Disk bool `json:"disk,omitempty"`
	// Outcome is what became of damage, at its end.
	Outcome Outcome `json:"outcome,omitempty"`
	NS      int64   `json:"ns"`
}

// When says whether a fault begins, ends, or is over at once.
type When string

// Ends of a fault.
const (
	Begin When = "begin"
	End   When = "end"
	Once  When = "once"
)

// Outcome is what became of damage that was done to a replica's files.
type Outcome string

// Outcomes of damage: the first four are as they should be.
const (
	Refused   Outcome = "refused"   // seen, and not used
	Healed    Outcome = "healed"    // fetched again from the others
	Stopped   Outcome = "stopped"   // the replica ended with an error that names it
	Unread    Outcome = "unread"    // nobody had to read it, it is gone
	Applied   Outcome = "applied"   // it reached the state
	Forwarded Outcome = "forwarded" // it was sent on
	Dropped   Outcome = "dropped"   // it vanished without a word
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
	Recovery = "calm"    // every fault is taken away: liveness counts from here
	Demand   = "settled" // nobody asks for anything new from here
	Final    = "final"   // what is read from here on is the final state
	Over     = "over"    // the run is over
)

// Entry is one committed entry of the log.
type Entry struct {
	Kind  string `json:"log"` // command, noop, barrier, configuration
	Index uint64 `json:"i"`
	Term  uint64 `json:"term"`
	Data  []byte `json:"data,omitempty"`
	// Skipped says that the replicas skipped the batch as a stale one.
	Skipped bool  `json:"skipped,omitempty"`
	NS      int64 `json:"ns,omitempty"` // when the first replica applied it
}

// Command is the kind of the entries that carry events.
const Command = "command"

// Dump is a replica's whole state at an index, flattened to fields in a fixed
// order, for the comparison of two.
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
