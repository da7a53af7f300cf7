// Command run explores, replays and shrinks simulated runs, repeatable bit by bit.
//
//	go run ./jepsen-lite/exact/run -seed 1411          one seed
//	go run ./jepsen-lite/exact/run -seeds 100          many seeds; failing runs are shrunk
//	go run ./jepsen-lite/exact/run -script F [-shrink] one script
//
// It exits with 1 if an invariant was violated, and with 2 if it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"rmd/jepsen-lite/exact"
	"rmd/jepsen-lite/sim/script"
)

// flags are the values of the command line.
type flags struct {
	tree, pkg, guest, out, file string
	seed, first                 int64
	seeds, parallel, schedules  int
	tries                       int
	shrink                      bool
	build                       string
	budget                      time.Duration
	opt                         exact.Options
}

func parse() flags {
	f := flags{opt: exact.DefaultOptions()}
	flag.StringVar(&f.tree, "tree", ".", "source tree to build")
	flag.StringVar(&f.pkg, "pkg", exact.Package, "package of the simulation")
	flag.StringVar(&f.guest, "guest", "", "a guest that is built already; empty builds one")
	flag.StringVar(&f.out, "out", "out/exact", "folder for the guest and for what failed")
	flag.StringVar(&f.file, "script", "", "play this script")
	flag.Int64Var(&f.seed, "seed", 0, "play this seed")
	flag.Int64Var(&f.first, "first", 1, "first of -seeds")
	flag.IntVar(&f.seeds, "seeds", 0, "play so many seeds")
	flag.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "so many at a time")
	flag.BoolVar(&f.shrink, "shrink", false, "make what fails smaller (always with -seeds)")
	flag.IntVar(&f.tries, "tries", 1, "schedules that -script is played under until it fails, from its own on")
	flag.IntVar(&f.schedules, "schedules", 2, "schedules that a smaller script is tried under")
	flag.DurationVar(&f.budget, "budget", 20*time.Minute, "real time for making one script smaller")
	flag.StringVar(&f.opt.Profile, "profile", "", "kinds of faults, as RMD_SIM_PROFILE; empty is all")
	flag.IntVar(&f.opt.Minutes, "minutes", f.opt.Minutes, "of faults in each seed, in virtual time")
	flag.DurationVar(&f.opt.Within, "within", f.opt.Within, "real time that one run may take")
	flag.BoolVar(&f.opt.FastPath, "fast-path", false, "without the guard against hashicorp/raft #695: runs are to fail")
	flag.Parse()
	return f
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failed, err := run(ctx, parse())
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "exact:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

// run executes the command line and reports whether an invariant was violated.
func run(ctx context.Context, f flags) (failed bool, err error) {
	if err := f.opt.Validate(); err != nil {
		return false, err
	}
	p, err := f.load(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	lab := &exact.Lab{Program: p, Options: f.opt}
	var bad []exact.Finding
	tell := func(g exact.Finding) {
		fmt.Println(g.Line())
		if g.Failed() {
			bad = append(bad, g)
		}
	}
	begin := time.Now()
	f.build = exact.Version(ctx, f.tree)
	fmt.Printf("jepsen-lite tier1 exact  %s\n", f.build)
	switch {
	case f.file != "":
		err = f.play(ctx, lab, tell)
	case f.seeds > 0:
		f.shrink = true
		var seeds []int64
		for i := range int64(f.seeds) {
			seeds = append(seeds, f.first+i)
		}
		err = lab.Explore(ctx, seeds, f.parallel, tell)
		fmt.Printf("%d seeds in %s, %d failed\n", f.seeds, time.Since(begin).Round(time.Second), len(bad))
	case f.seed != 0:
		err = lab.Explore(ctx, []int64{f.seed}, 1, tell)
	default:
		return false, errors.New("say -seed, -seeds or -script")
	}
	for _, g := range bad {
		err = errors.Join(err, f.report(ctx, lab, g))
	}
	return len(bad) > 0, err
}

// load builds the guest and compiles it.
func (f flags) load(ctx context.Context) (*exact.Program, error) {
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return nil, err
	}
	if f.guest == "" {
		f.guest = filepath.Join(f.out, "sim.wasm")
		if err := exact.Build(ctx, f.tree, f.pkg, f.guest); err != nil {
			return nil, err
		}
	}
	return exact.Load(ctx, f.guest, filepath.Join(f.out, "cache"))
}

func (f flags) play(ctx context.Context, lab *exact.Lab, tell func(exact.Finding)) error {
	s, err := script.Read(f.file)
	if err != nil {
		return err
	}
	s.Cluster.FastPath = s.Cluster.FastPath || f.opt.FastPath
	for i := 0; ; i++ {
		g, err := lab.Play(ctx, s)
		if err != nil {
			return err
		}
		tell(g)
		if g.Failed() || i+1 >= f.tries {
			return nil
		}
		s.Schedule++
	}
}

// report keeps a failed run, and with -shrink also the smallest script that fails alike.
func (f flags) report(ctx context.Context, lab *exact.Lab, g exact.Finding) error {
	name := fmt.Sprintf("seed-%d", g.Script.Seed)
	g.Script.Found = fmt.Sprintf("seed %d, schedule %d, %s", g.Script.Seed, g.Script.Schedule, f.build)
	path, err := g.Keep(f.out, name, "as it was drawn")
	if err != nil {
		return err
	}
	fmt.Printf("FAIL seed %d: %s\n  script: %s   (%s)\n", g.Script.Seed, g.Violations[0], path, exact.Describe(g.Script))
	if !f.shrink {
		return nil
	}
	k := &exact.Shrinker{Play: lab.Play, Schedules: f.schedules, Until: time.Now().Add(f.budget),
		Tell: func(best exact.Finding, plays int) {
			fmt.Printf("  after %d runs: %s\n", plays, exact.Describe(best.Script))
		}}
	small, serr := k.Shrink(ctx, g)
	if path, err = small.Keep(f.out, name+"-small", "made smaller from seed "+fmt.Sprint(g.Script.Seed)); err != nil {
		return errors.Join(serr, err)
	}
	fmt.Printf("  shrunk: %s   (%s)\n  again:  make sim-script F=%s\n", path, exact.Describe(small.Script), path)
	return serr
}
