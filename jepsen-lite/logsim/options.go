package logsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Options are what a seed draws of a run.
type Options struct {
	// Seed is what everything else of the run is drawn from.
	Seed uint64
	// Steps is how many inputs are planned before the faults end.
	Steps int
	// Replicas is how many machines follow the log.
	Replicas int
	// Nodes, Clients are how many parties of a kind there are.
	Nodes, Clients int
	// Eager, Dominant and Lazy are modes of planner and queues.
	Eager, Dominant, Lazy bool
	// Kinds is how many kinds of resource are in use: 2 or 3.
	Kinds int
	// Tree is the first queue configuration, an index into the known ones.
	Tree int
	// Selector is how queues take back what others have borrowed at first; empty: they do not.
	Selector string
	// InFlight is how many batches the log may have in hand.
	InFlight int
	// BatchEvents closes a batch.
	BatchEvents int
	// SnapshotEvery and Trailing are in entries.
	SnapshotEvery, Trailing uint64
	// Commit and Apply are how likely the log, and a replica, moves in a round,
	// in a thousand.
	Commit, Apply int
	// Lost and Doubled are how likely a call's request or answer is lost, and a
	// call comes a second time, in a thousand.
	Lost, Doubled int
	// Fault is how likely a fault is in a round, in ten thousand; Faults those that may be.
	Fault  int
	Faults []Fault
	// Loads are the workloads mixed.
	Loads []Load
}

// Load is a kind of work.
type Load string

// The workloads.
const (
	LoadStorm    Load = "storm"    // small applications that come and go, or are killed
	LoadGang     Load = "gang"     // one application that wants very many containers
	LoadTight    Load = "tight"    // containers as large as nodes: reservations
	LoadChurn    Load = "churn"    // nodes that come, go, drain, shrink and fall silent
	LoadQueues   Load = "queues"   // the queue configuration changes under load
	LoadRestarts Load = "restarts" // AMs that register again, or repeat old calls
	LoadAdmin    Load = "admin"    // tokens, hosts, levels, audits, epochs
	LoadLabels   Load = "labels"   // labels come and go, nodes get others, applications ask for them
	LoadPreempt  Load = "preempt"  // queues take back what others have borrowed
	LoadUsers    Load = "users"    // users have queues of their own, which come and go
)

var allLoads = []Load{LoadStorm, LoadGang, LoadTight, LoadChurn, LoadQueues, LoadRestarts, LoadAdmin, LoadLabels, LoadPreempt, LoadUsers}

// selectors are the ways to choose what is preempted.
var selectors = []string{"planned", "yarn"}

// DefaultSteps is how many inputs a run plans before its faults end.
const DefaultSteps = 5000

// Draw draws the options of a seed: which faults and loads are on at all, and how
// heavy, so that rare ones are not drowned.
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
	switch o.SnapshotEvery { // those are dear
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

// Validate reports every fault of the options at once.
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

// has says whether a load is part of the mix.
func (o Options) has(l Load) bool {
	for _, x := range o.Loads {
		if x == l {
			return true
		}
	}
	return false
}

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }
