package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rmd/cluster/timers"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/harness/load"
	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/nemesis"
)

// Names of files in a run's directory.
const (
	historyFile = "history.jsonl"
	dataDir     = "data"
)

// run is the state of a run.
type run struct {
	opt     Options
	res     *Result
	rec     *history.Recorder
	writer  *history.Writer
	cluster *harness.Cluster
	load    *load.Load
	env     *nemesis.Env
	bag     *bag
	watch   *observer
	unwatch context.CancelFunc
	archive *archive
	// replaced says that a fault has replaced the log by hand.
	replaced bool
	complete bool // the history has the whole log
	idle     int  // faults in a row that found no target
	rested   int  // 1 after the check that nothing remains

	mu      sync.Mutex
	excused map[string]int // number of exits already judged, by replica
}

// Run runs a scenario. If the run cannot be completed, Result.Broken says why. Run returns an error
// if there is no result at all.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opt.Out, 0o700); err != nil {
		return nil, err
	}
	r := &run{opt: opt, excused: map[string]int{},
		res: &Result{Scenario: opt.Scenario.Name, Seed: opt.Seed, Commit: opt.Commit, Began: time.Now(), Out: opt.Out,
			Failpoints: opt.Failpoints}}
	cfg := r.config()
	offer, err := harness.Probe(cfg, opt.Old != "")
	if err != nil {
		return nil, err
	}
	r.res.Offer = offer
	if err := r.open(cfg, offer); err != nil {
		return nil, err
	}
	r.res.Broken = r.runAll(ctx)
	r.close(context.WithoutCancel(ctx))
	r.res.Took = time.Since(r.res.Began)
	if err := r.judge(); err != nil {
		r.res.Broken = errors.Join(r.res.Broken, err)
	}
	return r.res, nil
}

// config returns the configuration of the cluster.
func (r *run) config() harness.Config {
	s := r.opt.Scenario
	cfg := harness.DefaultConfig()
	cfg.Binary, cfg.Dir, cfg.Env, cfg.Note = r.opt.Binary, r.opt.Out, r.opt.Env, r.opt.Note
	if s.Name == "upgrade" && r.opt.Old != "" {
		cfg.Binary, cfg.Failpoints = r.opt.Old, false // it begins with the old version
	}
	cfg.Replicas, cfg.Spare = r.opt.Replicas, s.Spare
	cfg.Network, cfg.Disk = choice(r.opt.Network, s.Network), choice(r.opt.Disk, s.Disk)
	if s.Trailing > 0 && r.opt.Seed%2 == 1 { // otherwise replicas keep the whole log, and the checks replay it
		cfg.Trailing, cfg.SnapshotEvery = s.Trailing, 500
	}
	if s.Slow {
		cfg.Timers = timers.Default()
	}
	return cfg
}

func choice(asked, scenarios string) string {
	switch {
	case asked != "":
		return asked
	case scenarios != "":
		return scenarios
	}
	return harness.Auto
}

// open prepares everything that a run needs, before the first process starts.
func (r *run) open(cfg harness.Config, offer harness.Offer) error {
	s := r.opt.Scenario
	file := filepath.Join(r.opt.Out, historyFile)
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
		return err
	}
	var err error
	if r.writer, err = history.Open(file); err != nil {
		return err
	}
	began := r.res.Began
	r.rec = history.NewRecorder(r.writer, func() int64 { return int64(time.Since(began)) })
	r.rec.Note(&history.Mark{Name: history.Seed, Count: int64(r.opt.Seed), Text: s.Name})
	if r.cluster, err = harness.Open(cfg, offer); err != nil {
		return errors.Join(err, r.writer.Close())
	}
	rng := rand.New(rand.NewPCG(r.opt.Seed, 1))
	r.env = &nemesis.Env{Cluster: r.cluster, Rand: rng, Record: r.rec, Note: r.opt.note, Violate: r.violate,
		Old: r.opt.Old, New: r.opt.Binary}
	can, cannot := split(s.Faults, offer)
	r.bag, r.res.Skipped = &bag{all: can, ordered: s.Ordered}, slices.Compact(cannot)
	r.res.Kinds = map[string]string{}
	for _, name := range s.Faults {
		if f, ok := nemesis.Find(name); ok {
			r.res.Kinds[name] = f.Kind
		}
	}
	for _, kind := range s.Require {
		if !offer.Can(kind) {
			r.res.Missing = append(r.res.Missing, kind)
			r.opt.note("this run cannot pass: %s requires %s: %s", s.Name, kind, offer.Why(kind))
		}
	}
	return nil
}

func (r *run) violate(invariant, format string, args ...any) {
	v := Violation{Invariant: invariant, What: fmt.Sprintf(format, args...), After: time.Since(r.res.Began)}
	r.opt.note("VIOLATION %s: %s", v.Invariant, v.What)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.res.Violations = append(r.res.Violations, v)
}

// startWithin limits the start of the cluster.
const startWithin = 60 * time.Second

// runAll runs the scenario from the first process to the final state.
func (r *run) runAll(ctx context.Context) error {
	if len(r.bag.all) == 0 {
		return errors.New("this machine supports none of the faults of the scenario")
	}
	born, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := r.cluster.Bootstrap(born); err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	r.unwatch = unwatch
	r.watch = observe(watching, r.cluster, r.rec, 50*time.Millisecond)
	r.archive = r.openArchive(watching)
	if err := r.keepAll(born); err != nil {
		return fmt.Errorf("set the cluster up: %w", err)
	}
	cfg := load.DefaultConfig()
	cfg.URLs, cfg.Trackers, cfg.TLS, cfg.Seed, cfg.Note = r.cluster.URLs(), r.cluster.Trackers(), r.cluster.TLS(),
		r.opt.Seed, r.opt.Note
	var err error
	if r.load, err = load.Start(born, cfg, r.rec); err != nil {
		return fmt.Errorf("start the load: %w", err)
	}
	r.env.BeatGap = r.load.BeatGap
	r.env.Replaces = func() {
		r.archive.close(true) // from here on there is another log
		r.replaced = true
	}
	if err := r.faults(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		r.opt.note("interrupted; the history so far is verified")
	}
	return r.recoveryPhase(context.WithoutCancel(ctx))
}

// faults injects faults until the time is over.
func (r *run) faults(ctx context.Context) error {
	s := r.opt.Scenario
	length := s.Duration
	if r.opt.Duration > 0 {
		length = r.opt.Duration
	}
	r.env.Until = time.Now().Add(length)
	over, cancel := context.WithDeadline(ctx, r.env.Until)
	defer cancel()
	for over.Err() == nil {
		wait := s.Pause/2 + time.Duration(r.env.Rand.Int64N(int64(s.Pause)))
		select {
		case <-over.Done():
			continue
		case <-time.After(wait):
		}
		if err := r.inject(ctx, r.bag.next(r.env.Rand)); err != nil {
			return err
		}
	}
	r.env.Until = time.Time{}
	for _, name := range s.Finale {
		if f, ok := nemesis.Find(name); ok && r.res.Offer.Can(f.Kind) {
			if err := r.finale(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// finale injects a fault that ends a run. On a busy machine it may have to wait for its target.
func (r *run) finale(ctx context.Context, f nemesis.Fault) error {
	r.idle = 0
	for done := len(r.res.Moments); len(r.res.Moments) == done && r.idle < idleMax-1 && ctx.Err() == nil; {
		if err := r.inject(ctx, f); err != nil {
			return err
		}
		if r.idle > 0 {
			time.Sleep(time.Second)
		}
	}
	return nil
}

// idleMax is how many faults in a row may find no target. Between two of them the cluster has time
// to recover.
const idleMax = 20

// inject injects a fault and checks that the cluster serves writes again afterwards.
func (r *run) inject(ctx context.Context, f nemesis.Fault) error {
	m := r.env.Do(ctx, f, r.opt.Scenario.Scale)
	if errors.Is(m.Err, nemesis.ErrNotNow) {
		if r.idle++; r.idle == idleMax {
			r.violate("heal", "%d faults in a row, the last one %s, found no target: the cluster did not recover",
				r.idle, f.Name)
		}
		return r.supervise(ctx)
	}
	r.idle = 0
	r.res.Moments = append(r.res.Moments, m)
	if m.Err != nil && ctx.Err() == nil { // otherwise it was interrupted
		r.violate("heal", "%s (%s): %v", m.Fault, m.Text, m.Err)
	}
	if err := r.supervise(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if m.OnLeader && m.Lone {
		gap := r.load.Prober.Gap(m.Began, m.Ended)
		r.res.Gaps = append(r.res.Gaps, gap)
		r.opt.note("  no write was acknowledged for %s", gap.Round(time.Millisecond))
	}
	return nil
}
