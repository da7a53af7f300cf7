package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/result"
)

// Options are the settings of a run that the seed does not determine.
type Options struct {
	// Profile says which faults may occur.
	Profile Profile
	// Faults is how long faults are injected, in virtual time.
	Faults time.Duration
	// Out is the folder for the history of a failing seed; empty for none.
	Out string
	// Judge lets package check judge the run too.
	Judge bool
}

// DefaultOptions returns options with all faults for ten minutes.
func DefaultOptions() Options { return Options{Profile: "all", Faults: 10 * time.Minute} }

// Run runs one seed: a cluster under load and faults, and then the calm, in which all work must
// end.
func Run(t *testing.T, seed int64, opt Options) (res result.Result) {
	res = execute(t, drawPlan(seed, opt))
	if opt.Judge {
		if err := res.Judge(election); err != nil {
			res.Violations = append(res.Violations, err.Error())
		}
	}
	if len(res.Violations) > 0 && opt.Out != "" {
		res.Keep(t, opt.Out)
	}
	return res
}

// garbage is the GC percentage. Garbage collection costs a third of a run's time, and a run needs a
// bounded amount of memory.
const garbage = 400

// profileRate is the number of allocated bytes between two samples of the memory profile. A test
// binary takes these samples even if no profile is requested.
const profileRate = 64 << 20

func init() {
	debug.SetGCPercent(garbage)
	runtime.MemProfileRate = profileRate
}

// Limits per minute, above what any minute of faults needs.
const (
	installsMax = 60
	restartsMax = 12
	termsMax    = 300
)

// bounded checks that nothing was repeated without end (L4).
func (w *world) bounded(minutes int, res *result.Result) {
	w.mu.Lock()
	for _, r := range w.rs {
		res.Restarts += int(r.restartsInPlace())
	}
	w.mu.Unlock()
	for _, c := range []struct {
		what    string
		n, most int
	}{{"snapshots were sent", w.net.CountInstalls(), installsMax},
		{"times raft was restarted in place", res.Restarts, restartsMax},
		{"leaders were elected", w.check.Terms(), termsMax}} {
		if c.n > c.most*minutes {
			w.check.Fail("L4: %d %s in %d minutes; the most that went from one replica to another of one snapshot: %s", c.n,
				c.what, minutes, w.net.MostInstalled())
		}
	}
}

// executeInBubble executes a plan inside a bubble.
func executeInBubble(t *testing.T, p plan) result.Result {
	begin := time.Now()
	w := newWorld(t, p.seed, p.settings)
	w.boot()
	l := load.New(w, w.check, w.opt, p.seed+20)
	l.Begin(p.load)
	d := newDriver(w, l)
	d.execute(p)
	res := result.Result{Seed: p.seed, Settings: fmt.Sprintf("%+v", w.opt), Installs: w.net.CountInstalls()}
	if !w.check.Broken() {
		res.Leader, res.Step = d.awaitRecovery()
	}
	l.Stop()
	res.Virtual = time.Since(begin)
	if w.check.Broken() {
		w.stop()
	} else {
		w.finish()
	}
	w.bounded(max(1, int(p.length/time.Minute)), &res)
	w.tally(&res, d)
	return res
}

// tally fills in the results at the end.
func (w *world) tally(res *result.Result, d *driver) {
	if w.check.Broken() {
		res.History = w.check.FullReport()
	}
	out := w.check.Outcome()
	res.Violations, res.Counts, res.Achieved, res.Lines = out.Violations, out.Counts, out.Achieved, out.Lines
	res.Debt = out.Debt
	w.mu.Lock()
	res.Exits, res.Hits = w.exits, w.hits
	w.mu.Unlock()
	res.Kinds, res.Executed, res.Net = d.done, d.executed, w.net.Counted()
}
