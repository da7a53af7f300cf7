package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/nemesis"
)

// Scenario is a mix of faults.
type Scenario struct {
	Name     string
	Text     string
	Duration time.Duration // of the faults, by default
	Faults   []string      // by name; each one occurs once before any occurs again
	Ordered  bool          // the faults occur in this order, not in a random one
	Scale    float64       // multiplies the time for which a fault is held
	Pause    time.Duration // mean time between two faults
	Require  []string      // kinds of faults without which a run does not pass
	Spare    int           // number of replicas that may join
	// log entries that replicas keep if the seed is odd. Otherwise they keep all, so that the checks
	// can replay the whole log
	Trailing uint
	// Finale are faults that occur once, after all others.
	Finale  []string
	Network string // required network; empty means any
	Disk    string
	Slow    bool // the timers of a production cluster instead of the shortest ones
}

// The lists of scenarios are the lists of package nemesis, so that a new fault occurs in each run of
// its kind. A seed draws from a list by position: another order is another run.
var (
	partitions = names(nemesis.Links())
	disks      = names(nemesis.Disks(), nemesis.Files())
	members    = append(names(nemesis.Membership()), "transfer") // twice as often as the others
	clocks     = names(nemesis.Clocks())
	points     = names(nemesis.Failpoints())
	strangers  = names(nemesis.Strangers())
	everything = slices.Concat(names(nemesis.Processes(), nemesis.Stdio()), partitions, disks,
		names(nemesis.Certificates()), members, clocks, points, strangers, []string{"backup", "overlap"})
)

// names returns the names of the faults of lists.
func names(lists ...[]nemesis.Fault) (all []string) {
	for _, f := range slices.Concat(lists...) {
		all = append(all, f.Name)
	}
	return all
}

// All returns the scenarios, in the order of the list.
func All() []Scenario {
	return []Scenario{
		{Name: "smoke", Text: "kill, pause and partition the leader; takes less than a minute, for every push",
			Duration: 22 * time.Second, Ordered: true,
			Faults: []string{"kill-leader", "pause", "isolate", "kill"}, Scale: 0.4, Pause: 700 * time.Millisecond,
			Network: harness.Loopback, Disk: harness.Directory},
		{Name: "leader-kills", Text: "kill the leader repeatedly, and measure how long clients wait",
			Duration: 3 * time.Minute,
			Faults:   []string{"kill-leader"}, Scale: 0.5, Pause: 2 * time.Second},
		{Name: "partitions", Text: "every kind of network partition between replicas", Duration: 5 * time.Minute,
			Faults: partitions, Scale: 1, Pause: time.Second,
			Require: []string{harness.Partition, harness.OneWay}},
		{Name: "disks", Text: "power failures; full, failing, slow and damaged disks", Duration: 5 * time.Minute,
			Faults: disks, Scale: 0.7, Pause: time.Second,
			Require: []string{harness.PowerLoss, harness.DiskFull, harness.SyncFails, harness.Damage}, Trailing: 2048},
		{Name: "clocks", Text: "the wall clock of one replica jumps, drifts and oscillates, with kills between",
			Duration: 3 * time.Minute, Faults: slices.Concat(clocks, []string{"kill-leader", "transfer"}),
			Scale: 0.5, Pause: time.Second, Require: []string{harness.Clock}},
		{Name: "points", Text: "replicas crash or stall at named places in their code", Duration: 5 * time.Minute,
			Faults: points, Scale: 0.5, Pause: time.Second,
			Spare: 1, Require: []string{harness.Failpoints}, Trailing: 2048},
		{Name: "strangers",
			Text:     "unknown callers: garbage, incomplete, slow and endless messages, forged and reused tokens, removed members",
			Duration: 3 * time.Minute, Faults: strangers, Scale: 0.5, Pause: time.Second,
			Spare: 1},
		{Name: "membership", Text: "join, promote, remove and replace replicas under load", Duration: 5 * time.Minute,
			Faults: slices.Concat(members, []string{"kill", "pause", "isolate", "lost-disk", "empty-first"}),
			Scale:  0.5, Pause: time.Second, Spare: 1, Require: []string{harness.Members}, Trailing: 2048},
		{Name: "upgrade", Text: "a rolling upgrade and downgrade, under load and kills", Duration: 3 * time.Minute,
			Faults: []string{"upgrade", "kill", "pause", "downgrade", "kill-leader"}, Ordered: true,
			Scale: 0.5, Pause: time.Second, Require: []string{harness.Upgrade}, Finale: []string{"finalize"}},
		{Name: "restore", Text: "take backups under load, restore them elsewhere, and recover from the loss of a majority",
			Duration: time.Minute, Faults: []string{"backup", "kill-leader", "pause"}, Scale: 0.5, Pause: 2 * time.Second,
			Finale: []string{"recover"}},
		{Name: "nightly", Text: "all faults", Duration: 2 * time.Hour, Faults: everything, Scale: 0.5, Pause: time.Second,
			Spare: 1, Trailing: 2048, Finale: []string{"recover"}},
		{Name: "release", Text: "all faults for a day, with the timers of a production cluster; no fault may be skipped",
			Duration: 24 * time.Hour, Faults: everything, Scale: 2, Pause: 2 * time.Second, Spare: 1,
			Trailing: 2048, Slow: true, Finale: []string{"recover"},
			Require: []string{harness.Partition, harness.OneWay, harness.Delay, harness.Loss, harness.PowerLoss,
				harness.DiskFull, harness.SyncFails, harness.SlowDisk, harness.HungDisk, harness.ReadOnly, harness.Members,
				harness.Clock, harness.Failpoints, harness.Upgrade, harness.Stdio, harness.Certs}},
	}
}

// Find returns a scenario by its name.
func Find(name string) (Scenario, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Scenario{}, false
}

// Only returns the scenario with only the named faults. It returns an error if the scenario does
// not have a name, or if only faults of Finale would remain.
func (s Scenario) Only(names []string) (Scenario, error) {
	for _, name := range names {
		if !slices.Contains(s.Faults, name) && !slices.Contains(s.Finale, name) {
			return s, fmt.Errorf("scenario %s has no fault %q", s.Name, name)
		}
	}
	other := func(name string) bool { return !slices.Contains(names, name) }
	s.Faults, s.Finale = slices.DeleteFunc(slices.Clone(s.Faults), other), slices.DeleteFunc(slices.Clone(s.Finale), other)
	if len(s.Faults) == 0 {
		return s, fmt.Errorf("scenario %s: %s can only come last; add a fault before it", s.Name,
			strings.Join(s.Finale, " and "))
	}
	return s, nil
}

// bag chooses faults so that each one occurs once before any occurs again.
type bag struct {
	all     []nemesis.Fault
	ordered bool
	left    []nemesis.Fault
}

func (b *bag) next(r *rand.Rand) nemesis.Fault {
	if len(b.left) == 0 {
		b.left = slices.Clone(b.all)
		if !b.ordered {
			r.Shuffle(len(b.left), func(i, j int) { b.left[i], b.left[j] = b.left[j], b.left[i] })
		}
	}
	f := b.left[0]
	b.left = b.left[1:]
	return f
}

// split returns the faults that can run here, and the names of those that cannot.
func split(names []string, offer harness.Offer) (can []nemesis.Fault, cannot []string) {
	for _, name := range names {
		f, ok := nemesis.Find(name)
		switch {
		case !ok || !offer.Can(f.Kind):
			cannot = append(cannot, name)
		default:
			can = append(can, f)
		}
	}
	return can, cannot
}
