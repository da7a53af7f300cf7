package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// generalFolders are the folders for random changes.
var generalFolders = []string{"fsm", "fsm/event", "fsm/state", "scheduler", "scheduler/capacity", "scheduler/planner"}

// generalBudget limits the time of one check of one random change. A test that hangs has found the
// change.
const generalBudget = 4 * time.Minute

// outcome is the result of one random change.
type outcome struct {
	c  change
	by string // the check that found it; empty if it survives
}

// mutation is one run of general mutation.
type mutation struct {
	n int

	mu     sync.Mutex
	left   []change
	out    []outcome
	counts map[string]int
}

// mutate tries n random changes and prints which check found each of them. Each worker has a copy
// of the tree.
func mutate(from, trees string, n, workers int, seed uint64) error {
	all, err := changes(from, generalFolders)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	fmt.Printf("%d places for a change, %d are drawn with seed %d\n", len(all), n, seed)
	m := &mutation{n: n, left: all, counts: map[string]int{}}
	errs := make([]error, max(1, workers))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = m.work(from, filepath.Join(trees, fmt.Sprint("copy", i))) })
	}
	wg.Wait()
	report(m.out, m.counts)
	return errors.Join(errs...)
}

// next returns a change that was not tried yet; false if there are enough results or no more
// changes.
func (m *mutation) next() (change, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.out) >= m.n || len(m.left) == 0 {
		return change{}, false
	}
	c := m.left[0]
	m.left = m.left[1:]
	return c, true
}

// work tries changes in one copy of the tree.
func (m *mutation) work(from, tree string) error {
	if err := copyTree(from, tree); err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	for c, ok := m.next(); ok; c, ok = m.next() {
		start := time.Now()
		by, compiles, err := try(tree, c)
		if err != nil {
			return err
		}
		if compiles {
			m.tell(c, by, time.Since(start))
		}
	}
	return nil
}

func (m *mutation) tell(c change, by string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out = append(m.out, outcome{c, by})
	m.counts[by]++
	if by == "" {
		by = "SURVIVES"
	}
	fmt.Printf("%3d %-10s %6.1fs %s\n", len(m.out), by, took.Seconds(), c)
}

// report prints the score, and the survivors once more.
func report(out []outcome, counts map[string]int) {
	noticed := len(out) - counts[""]
	fmt.Printf("score %d of %d: %d by the log-contract simulation, %d by tests, %d by a hang\n",
		noticed, len(out), counts["logsim"], counts["tests"], counts["hang"])
	for _, o := range out {
		if o.by == "" {
			fmt.Println("survives:", o.c)
		}
	}
}

// try makes a change, runs the checks and reverts the change.
func try(tree string, c change) (by string, compiles bool, err error) {
	path := filepath.Join(tree, c.file)
	src, err := os.ReadFile(path)
	if err != nil {
		return "", false, err
	}
	if err := os.WriteFile(path, c.applied(src), 0o644); err != nil {
		return "", false, err
	}
	defer func() {
		if back := os.WriteFile(path, src, 0o644); err == nil {
			err = back
		}
	}()
	pkg := "./" + filepath.ToSlash(filepath.Dir(c.file))
	if _, failed, _ := run(tree, "go vet "+pkg, generalBudget); failed {
		return "", false, nil
	}
	for _, j := range checksFor(tree, pkg) {
		text, failed, _ := run(tree, j.line, generalBudget)
		switch {
		case strings.Contains(text, overBudget):
			return "hang", true, nil
		case failed:
			return j.name, true, nil
		}
	}
	return "", true, nil
}

// check is a command that may find a change.
type check struct{ name, line string }

// checksFor returns the tests of the package and of packages that depend on it most, and the
// log-contract simulation.
func checksFor(tree, pkg string) []check {
	others := []string{pkg, "./scheduler/planner"}
	if strings.HasPrefix(pkg, "./fsm") {
		others = []string{pkg, "./fsm/state", "./fsm", "./snapshot"}
	}
	var out []check
	for i, p := range others {
		if i == 0 || p != pkg {
			out = append(out, check{"tests", "go test -count=1 -failfast " + p + fewer(tree, p)})
		}
	}
	return append(out, check{"logsim", "RMD_LOGSIM_SEEDS=24 go test -count=1 -failfast ./jepsen-lite/logsim"})
}

// fewer returns a flag that limits the draws of property tests, if the package has some.
func fewer(tree, pkg string) string {
	files, _ := filepath.Glob(filepath.Join(tree, pkg, "*_test.go")) // the pattern is valid
	for _, f := range files {
		if src, err := os.ReadFile(f); err == nil && strings.Contains(string(src), "pgregory.net/rapid") {
			return " -rapid.checks=30"
		}
	}
	return ""
}
