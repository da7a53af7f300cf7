package sim

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/script"
)

// Draw returns the script that a seed stands for: the cluster and every fault with its time.
func Draw(seed int64, opt Options) script.Script {
	rng := rand.New(rand.NewSource(seed))
	s := script.Script{Seed: seed, Schedule: seed, Cluster: written(drawSettings(rng)),
		Load: script.Load{Nodes: 4, Clients: 4, Readers: readers}, Length: script.Duration(opt.Faults)}
	s.Cluster.Preempt = seed%2 == 0
	if seed%8 == 0 {
		s.Cluster.Selector = "yarn"
	}
	s.Cluster.Ranked = s.Cluster.Preempt && seed%6 != 2
	s.Cluster.Users, s.Cluster.Managed = seed%3 == 0, seed%5 < 2
	s.Cluster.Backfill = [...]string{"", "", "preemptable", "preemptable", "preemptable", "declared", "declared"}[seed%7]
	s.Cluster.ReserveNode = [...]string{"", "earliest", "first"}[seed/2%3]
	s.Cluster.NodeOrder = [...]string{"", "spread", "pack", "lifetime"}[seed/3%4]
	between := func(least, more time.Duration) script.Duration {
		return script.Duration(least + time.Duration(rng.Int63n(int64(more))))
	}
	var at, wait script.Duration
	step := func(f script.Fault) {
		s.Faults = append(s.Faults, f)
		at, wait = at+f.After, 0
	}
	for kinds := drawKinds(rng, opt.Profile); len(kinds) > 0 && at < s.Length; {
		step(script.Fault{After: wait + between(100*time.Millisecond, 2*time.Second), Kind: kinds[rng.Intn(len(kinds))], Draw: rng.Int63()})
		wait = between(100*time.Millisecond, 2*time.Second)
		if rng.Intn(2) == 0 {
			step(script.Fault{After: wait, Kind: script.Heal})
		}
	}
	return s
}

// drawKinds draws which kinds of faults a seed has, and their weights, so that each kind dominates
// in some seeds. A kind with a large weight occurs several times in the result.
func drawKinds(rng *rand.Rand, p Profile) []string {
	var all, drawn []string
	for _, k := range kinds() {
		if !p.has(k) {
			continue
		}
		all = append(all, k.name)
		if rng.Intn(3) > 0 {
			for range 1 + rng.Intn(3)*rng.Intn(3) {
				drawn = append(drawn, k.name)
			}
		}
	}
	if len(drawn) == 0 {
		return all
	}
	return drawn
}

// written converts settings to their form in a script.
func written(o settings) script.Cluster {
	c := script.Cluster{Replicas: o.replicas, Eager: o.eager, Dominant: o.dominant, InFlight: o.inFlight, SnapshotAfter: o.snapshotAfter,
		Trailing: o.trailing, Yields: int(o.yields), LazyCancel: o.lazyCancel, Pipelined: o.pipelined, FastPath: o.fastPath, Preempt: o.preempt, Selector: o.selector, Ranked: o.ranked, Users: o.users, Managed: o.managed, Backfill: o.backfill,
		ReserveNode: o.reserveNode, NodeOrder: o.nodeOrder}
	for _, q := range o.queues {
		c.Queues = append(c.Queues, script.Queue{Name: q.name, Capacity: q.capacity})
	}
	return c
}

// read is the inverse of written.
func read(c script.Cluster) settings {
	o := settings{replicas: c.Replicas, eager: c.Eager, dominant: c.Dominant, inFlight: c.InFlight, snapshotAfter: c.SnapshotAfter,
		trailing: c.Trailing, yields: dial(c.Yields), lazyCancel: c.LazyCancel, pipelined: c.Pipelined, fastPath: c.FastPath, preempt: c.Preempt, selector: c.Selector, ranked: c.Ranked, users: c.Users, managed: c.Managed, backfill: c.Backfill,
		reserveNode: c.ReserveNode, nodeOrder: c.NodeOrder}
	for _, q := range c.Queues {
		o.queues = append(o.queues, queue{q.Name, q.Capacity})
	}
	return o
}

// Check returns an error if this build cannot play the script.
func Check(s script.Script) error {
	if err := s.Validate(); err != nil {
		return err
	}
	for i, f := range s.Faults {
		if _, ok := kindOf(f.Kind); !ok && f.Kind != script.Heal {
			return fmt.Errorf("script %s: fault %d: no kind of faults is named %q", s.Name, i, f.Kind)
		}
	}
	return nil
}

func kindOf(name string) (faultKind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k faultKind) bool { return k.name == name })
	if i < 0 {
		return faultKind{}, false
	}
	return all[i], true
}

// Play runs a script: a cluster under load and faults, and then the calm, in which all work must
// end.
func Play(t *testing.T, s script.Script) (res Result) {
	listen()
	if err := Check(s); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	bubble(t, func(t *testing.T) { res = play(t, s) })
	res.Real = time.Since(begin)
	return res
}

// Outcome returns the result in the form for the host of an exact run.
func (r Result) Outcome() script.Outcome {
	return script.Outcome{Script: r.Script, Violations: r.Violations, BrokeAt: script.Duration(r.brokeAt), Began: script.Duration(r.began), Virtual: script.Duration(r.Virtual),
		Trace: r.trace.String(), Steps: r.trace.steps, Played: r.played, History: r.History, Acked: r.counts.acked}
}

// play executes the steps of a script, each at its time.
func (d *driver) play(s script.Script) {
	begin := time.Now()
	d.began = begin
	end := begin.Add(time.Duration(s.Length))
	for _, f := range s.Faults {
		at := time.Now().Add(time.Duration(f.After))
		if at.After(end) || !d.waitUntil(at) {
			break
		}
		d.played = append(d.played, script.Played{Kind: f.Kind, At: script.Duration(at.Sub(begin))})
		d.runStep(f)
		d.played[len(d.played)-1].Took = script.Duration(time.Since(at))
	}
	d.waitUntil(end)
}

// runStep executes one step. All random numbers of the step come from f.Draw.
func (d *driver) runStep(f script.Fault) {
	d.rng = rand.New(rand.NewSource(f.Draw))
	if f.Kind == script.Heal {
		d.note("all heals")
		d.w.heal()
		return
	}
	k, _ := kindOf(f.Kind) // Check has verified the kind
	d.done[k.name]++
	d.w.check.fault(k.name)
	k.do(d)
}

// waitUntil waits until a time. It returns false after a violation. It ends gridlocks, because in a
// gridlock the remaining faults would have no effect.
func (d *driver) waitUntil(at time.Time) bool {
	for !d.w.check.broken() {
		left := time.Until(at)
		if left <= 0 {
			return true
		}
		if d.sinceProgress() > stallTime/2 && d.unlock(left) {
			continue
		}
		time.Sleep(min(left, time.Second))
	}
	return false
}
