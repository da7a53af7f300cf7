package sim

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/bubble"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/result"
	"rmd/jepsen-lite/sim/settings"
)

// plan is the run that a seed stands for: the cluster, its load and every fault with its time.
type plan struct {
	seed     int64 // of the random decisions of network, disks and load
	settings settings.Cluster
	load     load.Size
	length   time.Duration // time of load and faults, before the calm
	steps    []planStep
}

// planStep is a fault, or the end of all faults. The details of a fault, such as its target and its
// strength, are drawn from its own number.
type planStep struct {
	after time.Duration // after the end of the step before
	kind  string
	draw  int64
}

// healStep is the kind of the step that ends all faults.
const healStep = "heal"

// drawPlan returns the plan of a seed.
func drawPlan(seed int64, opt Options) plan {
	rng := rand.New(rand.NewSource(seed))
	p := plan{seed: seed, settings: settings.Draw(rng), load: load.Size{Nodes: 4, Clients: 4, Readers: load.Readers},
		length: opt.Faults}
	p.settings.Vary(seed)
	between := func(least, more time.Duration) time.Duration {
		return least + time.Duration(rng.Int63n(int64(more)))
	}
	var at, wait time.Duration
	step := func(s planStep) {
		p.steps = append(p.steps, s)
		at, wait = at+s.after, 0
	}
	for kinds := drawKinds(rng, opt.Profile); len(kinds) > 0 && at < p.length; {
		step(planStep{after: wait + between(100*time.Millisecond, 2*time.Second), kind: kinds[rng.Intn(len(kinds))],
			draw: rng.Int63()})
		wait = between(100*time.Millisecond, 2*time.Second)
		if rng.Intn(2) == 0 {
			step(planStep{after: wait, kind: healStep})
		}
	}
	return p
}

// drawKinds draws which kinds of faults a seed has, and their weights, so that each kind dominates
// in some seeds. A kind with a large weight occurs several times in the result.
func drawKinds(rng *rand.Rand, p Profile) []string {
	var all, drawn []string
	for _, k := range Kinds() {
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

func kindOf(name string) faultKind {
	all := Kinds()
	return all[slices.IndexFunc(all, func(k faultKind) bool { return k.name == name })]
}

// execute runs a plan: a cluster under load and faults, and then the calm, in which all work must
// end.
func execute(t *testing.T, p plan) (res result.Result) {
	listen()
	begin := time.Now()
	bubble.Test(t, func(t *testing.T) { res = executeInBubble(t, p) })
	res.Real = time.Since(begin)
	return res
}

// execute executes the steps of a plan, each at its time.
func (d *driver) execute(p plan) {
	begin := time.Now()
	end := begin.Add(p.length)
	for _, s := range p.steps {
		at := time.Now().Add(s.after)
		if at.After(end) || !d.waitUntil(at) {
			break
		}
		d.run(s)
		d.executed = append(d.executed, result.Step{Kind: s.kind, At: at.Sub(begin), Took: time.Since(at)})
	}
	d.waitUntil(end)
}

// run executes one step. All random numbers of the step come from its draw.
func (d *driver) run(s planStep) {
	d.rng = rand.New(rand.NewSource(s.draw))
	if s.kind == healStep {
		d.note("all heals")
		d.w.heal()
		return
	}
	k := kindOf(s.kind)
	d.done[k.name]++
	d.w.check.Fault(k.name)
	k.do(d)
}

// waitUntil waits until a time. It returns false after a violation. It ends gridlocks, because in a
// gridlock the remaining faults would have no effect.
func (d *driver) waitUntil(at time.Time) bool {
	for !d.w.check.Broken() {
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
