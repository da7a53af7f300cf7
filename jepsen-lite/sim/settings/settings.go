// Package settings has the properties of a simulated cluster that its seed determines, and the queue
// configuration that follows from them.
//
// Begin with settings.go; properties.go makes the queue configuration. preemption.go, userqueues.go and
// backfill.go each have one feature. The package runs nothing.
package settings

import (
	"math/rand"
	"time"

	"rmd/jepsen-lite/sim/yield"
	"rmd/scheduler/input"
)

// Cluster are the properties of the cluster that a seed determines.
type Cluster struct {
	Replicas      int
	Eager         bool
	Dominant      bool
	InFlight      int
	SnapshotAfter uint64
	Trailing      uint64
	Yields        yield.Dial // how long goroutines are delayed where they race
	LazyCancel    bool
	Pipelined     bool // Raft sends entries before earlier ones are acknowledged
	FastPath      bool // without the guard against hashicorp/raft #695
	Preempt       bool // preemption is on
	Selector      string
	GuaranteeWait string // milliseconds in which queues get their guarantees back; empty: rmd's default
	Endless       bool   // some containers do not end by themselves
	Ranked        bool   // preemption by queue priority and for balance is on
	Users         bool   // users have dynamic queues
	Kerberos      bool   // attempts get keys for the tokens of their clients
	Managed       bool   // placement rules use leaves of a managed parent
	Backfill      string // which containers borrow room of reserved nodes; empty: none
	ReserveNode   string // how reservations choose their nodes; empty: by mode
	NodeOrder     string // empty: auto
	Queues        []Queue
}

// Queue is a leaf below root with its capacity.
type Queue struct{ Name, Capacity string }

// Plain returns the settings of tests that bring their own: one queue, and the defaults of rmd.
func Plain() Cluster {
	return Cluster{Replicas: 3, InFlight: 1, SnapshotAfter: 8192, Trailing: 2048, LazyCancel: true,
		Queues: []Queue{{"a", "100"}}}
}

// Draw draws the cluster's settings. It never draws pipelines: when the guard ends the
// goroutine of raft that sends, the goroutine of the library that reads the answers remains. A real
// process that ends does not notice it, but a synctest bubble does.
func Draw(rng *rand.Rand) Cluster {
	pick := func(list ...uint64) uint64 { return list[rng.Intn(len(list))] }
	opt := Cluster{Replicas: 3, Eager: rng.Intn(2) == 0, Dominant: rng.Intn(2) == 0, InFlight: 1 + rng.Intn(2),
		SnapshotAfter: pick(1, 7, 50, 500), Trailing: pick(0, 1, 64, 10240), Yields: yield.Dial(rng.Intn(3)),
		LazyCancel: rng.Intn(2) == 0,
		Queues:     []Queue{{"a", "50"}, {"b", "30"}, {"c", "20"}}}
	if rng.Intn(4) == 0 {
		opt.Replicas = 5
	}
	return opt
}

// Vary sets what follows from the number of the seed, so that a few seeds in a row have all values.
func (o *Cluster) Vary(seed int64) {
	o.Preempt, o.Selector = seed%2 == 0, [8]string{0: "yarn"}[seed%8]
	o.GuaranteeWait = [...]string{"5000", "20000", "", "8000", "-1"}[seed/2%5]
	o.Endless = o.Preempt && o.Selector == "" && seed/2%5 < 2
	o.Dominant = o.Dominant && !o.Endless // the ledger judges debts by the memory alone
	o.Ranked = o.Preempt && seed%6 != 2
	o.Users, o.Managed, o.Kerberos = seed%3 == 0, seed%5 < 2, seed/2%4 == 0
	o.Backfill = [...]string{"", "", "preemptable", "preemptable", "preemptable", "declared", "declared"}[seed%7]
	o.ReserveNode = [...]string{"", "earliest", "first"}[seed/2%3]
	o.NodeOrder = [...]string{"", "spread", "pack", "lifetime"}[seed/3%4]
}

// Labels are the labels that labelNodes defines and assigns.
var Labels = []input.Label{{Name: "x", Exclusive: true}, {Name: "y"}}

// How long nodes and AMs may be silent, and containers wait to be started.
const (
	NodeExpiry      = 10 * time.Second
	AttemptExpiry   = 30 * time.Second
	containerExpiry = 20 * time.Second
	SilentNode      = 2 * time.Second // two intervals between heartbeats, by YARN's default
)

// KeyRoll is how often a leader creates new master keys.
const KeyRoll = time.Minute
