package sim

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"rmd/internal/point"
)

// Options are what a run is told from outside; the seed draws the rest.
type Options struct {
	// Profile says which faults there may be.
	Profile Profile
	// Faults is how long faults are injected, in virtual time.
	Faults time.Duration
	// Out is the folder where a failing seed leaves its history; empty: nowhere.
	Out string
}

// DefaultOptions returns every fault for ten minutes.
func DefaultOptions() Options { return Options{Profile: "all", Faults: 10 * time.Minute} }

// Result is what one seed came to.
type Result struct {
	Seed       int64
	Violations []string
	History    string // of a failing seed
	Settings   string
	Virtual    time.Duration // of cluster time
	Real       time.Duration

	counts   counts
	kinds    map[string]int
	achieved map[string]int
	exits    map[int]int
	hits     map[point.Name]int
	net      traffic
	installs int
	leader   time.Duration // L1: from the calm to a leader
	step     time.Duration // L2: from the calm to all in step
}

// Run runs one seed: a cluster under load and faults, then the calm in which all
// work must end.
func Run(t *testing.T, seed int64, opt Options) (res Result) {
	listen()
	begin := time.Now()
	synctest.Test(t, func(t *testing.T) { res = run(t, seed, opt) })
	res.Real = time.Since(begin)
	if len(res.Violations) > 0 && opt.Out != "" {
		res.keep(t, opt.Out)
	}
	return res
}

// garbage lets memory grow: a run is short, and collecting costs a third of it.
const garbage = 400

func init() { debug.SetGCPercent(garbage) }

// installsMax is more snapshots than any minute of faults needs.
const installsMax = 60

// run is Run inside the bubble.
func run(t *testing.T, seed int64, opt Options) Result {
	rng := rand.New(rand.NewSource(seed))
	begin := time.Now()
	w := newWorld(t, seed, drawSettings(rng))
	w.boot()
	l := newLoad(w, seed+20)
	l.begin(4, 4)
	d := newDriver(w, l, rng, opt.Profile)
	for end := time.Now().Add(opt.Faults); time.Now().Before(end) && !w.check.broken(); {
		d.step()
	}
	res := Result{Seed: seed, Settings: fmt.Sprintf("%+v", w.opt), installs: w.net.countInstalls()}
	if !w.check.broken() {
		res.leader, res.step = d.settle()
	}
	l.stop()
	res.Virtual = time.Since(begin)
	if w.check.broken() {
		w.stop()
	} else {
		w.finish()
	}
	if most := installsMax * max(1, int(opt.Faults/time.Minute)); w.net.countInstalls() > most {
		w.check.fail("L4: %d snapshots were sent: some follower is sent the same one for ever", w.net.countInstalls())
	}
	w.tally(&res, d)
	return res
}

// tally fills in what is known at the end.
func (w *world) tally(res *Result, d *driver) {
	if w.check.broken() {
		res.History = w.check.told(2 * historyMax)
	}
	w.check.mu.Lock()
	res.Violations, res.counts, res.achieved = w.check.faults, w.check.counts, w.check.done
	w.check.mu.Unlock()
	w.mu.Lock()
	res.exits, res.hits = w.exits, w.hits
	w.mu.Unlock()
	res.kinds, res.net = d.done, w.net.counted()
}

// keep writes what is known of a failing seed.
func (r Result) keep(t *testing.T, out string) {
	dir := filepath.Join(out, fmt.Sprint(r.Seed))
	text := fmt.Sprintf("seed %d\nsettings %s\nfaults %v\n\n%s\n", r.Seed, r.Settings, r.kinds, r.History)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "history.txt"), []byte(text), 0o644)
	}
	if err != nil {
		t.Logf("the history of seed %d is not kept: %v", r.Seed, err)
	}
}

func drawSettings(rng *rand.Rand) settings {
	pick := func(list ...uint64) uint64 { return list[rng.Intn(len(list))] }
	opt := settings{replicas: 3, eager: rng.Intn(2) == 0, dominant: rng.Intn(2) == 0, inFlight: 1 + rng.Intn(2),
		snapshotAfter: pick(1, 7, 50, 500), trailing: pick(0, 1, 64, 10240), yields: dial(rng.Intn(3)), lazyCancel: rng.Intn(2) == 0,
		queues: []queue{{"a", "50"}, {"b", "30"}, {"c", "20"}}}
	if rng.Intn(4) == 0 {
		opt.replicas = 5
	}
	return opt
}
