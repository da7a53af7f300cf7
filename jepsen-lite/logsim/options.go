package logsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Options are the parameters of a run. Draw derives them from a seed.
type Options struct {
	// Seed seeds the random numbers of the run.
	Seed uint64
	// Steps is the number of inputs that are planned before the faults end.
	Steps int
	// Replicas is the number of replicas.
	Replicas int
	// Nodes and Clients are the numbers of nodes and clients.
	Nodes, Clients int
	// Eager is the planner's mode. Dominant selects DominantResourceCalculator. Lazy sets
	// reservation.eager-cancel=false.
	Eager, Dominant, Lazy bool
	// Kinds is the number of resource types: 2 or 3.
	Kinds int
	// Tree is the index of the first queue configuration in trees.
	Tree int
	// Selector is the first value of preemption.selector. If it is empty, preemption is off.
	Selector string
	// InFlight is the maximum number of batches in flight: 1 or 2.
	InFlight int
	// BatchEvents is the number of events at which a batch is full.
	BatchEvents int
	// SnapshotEvery is the number of entries between snapshots. Trailing is the number of entries
	// that compaction keeps.
	SnapshotEvery, Trailing uint64
	// Commit is the probability, per thousand rounds, that the log commits a batch. Apply is the
	// probability that a replica applies entries.
	Commit, Apply int
	// Lost is the probability, per thousand, that a request or an answer is lost. Doubled is the
	// probability that a call arrives twice.
	Lost, Doubled int
	// Fault is the number of faults in 10,000 rounds on average. Faults are the enabled faults.
	Fault  int
	Faults []Fault
	// Loads are the enabled loads.
	Loads []Load
}

// Load is a kind of work.
type Load string

// The workloads.
const (
	LoadStorm    Load = "storm"    // small applications that end soon or are killed
	LoadGang     Load = "gang"     // applications that ask for very many containers at once
	LoadTight    Load = "tight"    // containers as large as nodes: reservations
	LoadChurn    Load = "churn"    // nodes that register, stop, drain, shrink and fall silent
	LoadQueues   Load = "queues"   // the queue configuration changes under load
	LoadRestarts Load = "restarts" // AMs that register again or repeat old calls
	LoadAdmin    Load = "admin"    // tokens, host lists, audit records, autopilot settings, signals
	LoadLabels   Load = "labels"   // labels are added and removed, nodes change theirs, applications ask for them
	LoadPreempt  Load = "preempt"  // preemption is on
	LoadUsers    Load = "users"    // dynamic queues of users, which are created and removed
)

var allLoads = []Load{LoadStorm, LoadGang, LoadTight, LoadChurn, LoadQueues, LoadRestarts, LoadAdmin, LoadLabels,
	LoadPreempt, LoadUsers}

// selectors are the values of preemption.selector.
var selectors = []string{"planned", "yarn"}

// DefaultSteps is the number of inputs that a run plans before its faults end.
const DefaultSteps = 5000

// Draw draws the options of a seed. It enables only some of the faults and loads, and draws their
// rates, so that frequent ones do not hide rare ones.
func Draw(seed uint64) Options {
	rng := rand.New(rand.NewPCG(seed, 1))
	o := Options{
		Seed: seed, Steps: DefaultSteps, Replicas: 3, Nodes: 3 + rng.IntN(8), Clients: 2 + rng.IntN(6),
		Eager: rng.IntN(2) == 0, Dominant: rng.IntN(2) == 0, Lazy: rng.IntN(2) == 0, Kinds: 2, Tree: rng.IntN(len(trees)),
		InFlight: 1 + rng.IntN(2), BatchEvents: pick(rng, 3, 30, 1000),
		SnapshotEvery: pick[uint64](rng, 1, 7, 50, 100, 500, 500, 500, 500), Trailing: pick[uint64](rng, 0, 1, 64, 10240),
		Commit: pick(rng, 150, 400, 800), Apply: pick(rng, 50, 200, 600),
		Lost: pick(rng, 0, 5, 40), Doubled: pick(rng, 0, 5, 30), Fault: pick(rng, 0, 20, 60, 200),
	}
	switch o.SnapshotEvery { // runs with frequent snapshots take long
	case 1:
		o.Steps /= 5
	case 7:
		o.Steps /= 2
	}
	if o.Dominant && rng.IntN(2) == 0 {
		o.Kinds = 3
	}
	for _, f := range allFaults {
		if rng.IntN(3) > 0 {
			o.Faults = append(o.Faults, f)
		}
	}
	for _, l := range allLoads {
		if rng.IntN(3) == 0 {
			o.Loads = append(o.Loads, l)
		}
	}
	if o.has(LoadPreempt) {
		o.Selector = pick(rng, selectors...)
	}
	return o
}

// Validate returns all errors of the options, joined.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if o.Steps < 1 || o.Replicas < 1 || o.Nodes < 1 || o.Clients < 1 || o.BatchEvents < 1 || o.SnapshotEvery < 1 {
		bad("steps, replicas, nodes, clients, events of a batch and entries between snapshots must be positive (start from Draw)")
	}
	if o.InFlight < 1 || o.InFlight > 2 || o.Kinds < 2 || o.Kinds > 3 || o.Tree < 0 || o.Tree >= len(trees) {
		bad("batches in flight %d: 1 or 2; kinds %d: 2 or 3; tree %d: below %d", o.InFlight, o.Kinds, o.Tree, len(trees))
	}
	if o.Commit < 1 || o.Apply < 1 {
		bad("log and replicas must move")
	}
	return errors.Join(errs...)
}

// has reports whether a load is enabled.
func (o Options) has(l Load) bool {
	for _, x := range o.Loads {
		if x == l {
			return true
		}
	}
	return false
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }
