package sim

import (
	"math/rand"
	"time"

	"rmd/jepsen-lite/sim/yield"
	"rmd/scheduler/input"
)

// settings are the properties of the cluster that a seed determines.
type settings struct {
	replicas      int
	eager         bool
	dominant      bool
	inFlight      int
	snapshotAfter uint64
	trailing      uint64
	yields        yield.Dial // how long goroutines are delayed where they race
	lazyCancel    bool
	pipelined     bool // Raft sends entries before earlier ones are acknowledged
	fastPath      bool // without the guard against hashicorp/raft #695
	preempt       bool // preemption is on
	selector      string
	ranked        bool   // preemption by queue priority and for balance is on
	users         bool   // users have dynamic queues
	kerberos      bool   // attempts get keys for the tokens of their clients
	managed       bool   // placement rules use leaves of a managed parent
	backfill      string // which containers borrow room of reserved nodes; empty: none
	reserveNode   string // how reservations choose their nodes; empty: by mode
	nodeOrder     string // empty: auto
	queues        []queue
}

type queue struct{ name, capacity string }

func plainSettings() settings {
	return settings{replicas: 3, inFlight: 1, snapshotAfter: 8192, trailing: 2048, lazyCancel: true, queues: []queue{{"a", "100"}}}
}

// drawSettings draws the cluster's settings. It never draws pipelines: when the guard ends the
// goroutine of raft that sends, the goroutine of the library that reads the answers remains. A real
// process that ends does not notice it, but a synctest bubble does.
func drawSettings(rng *rand.Rand) settings {
	pick := func(list ...uint64) uint64 { return list[rng.Intn(len(list))] }
	opt := settings{replicas: 3, eager: rng.Intn(2) == 0, dominant: rng.Intn(2) == 0, inFlight: 1 + rng.Intn(2),
		snapshotAfter: pick(1, 7, 50, 500), trailing: pick(0, 1, 64, 10240), yields: yield.Dial(rng.Intn(3)), lazyCancel: rng.Intn(2) == 0,
		queues: []queue{{"a", "50"}, {"b", "30"}, {"c", "20"}}}
	if rng.Intn(4) == 0 {
		opt.replicas = 5
	}
	return opt
}

// vary sets what follows from the number of the seed, so that a few seeds in a row have all values.
func (o *settings) vary(seed int64) {
	o.preempt, o.selector = seed%2 == 0, [8]string{0: "yarn"}[seed%8]
	o.ranked = o.preempt && seed%6 != 2
	o.users, o.managed, o.kerberos = seed%3 == 0, seed%5 < 2, seed/2%4 == 0
	o.backfill = [...]string{"", "", "preemptable", "preemptable", "preemptable", "declared", "declared"}[seed%7]
	o.reserveNode = [...]string{"", "earliest", "first"}[seed/2%3]
	o.nodeOrder = [...]string{"", "spread", "pack", "lifetime"}[seed/3%4]
}

// nodeLabels are the labels that labelNodes defines and assigns.
var nodeLabels = []input.Label{{Name: "x", Exclusive: true}, {Name: "y"}}

// How long nodes and AMs may be silent, and containers wait to be started.
const (
	nodeExpiry      = 10 * time.Second
	attemptExpiry   = 30 * time.Second
	containerExpiry = 20 * time.Second
	silentNode      = 2 * time.Second // two intervals between heartbeats, by YARN's default
)

// keyRoll is how often a leader creates new master keys.
const keyRoll = time.Minute
