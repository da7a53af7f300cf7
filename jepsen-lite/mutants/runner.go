package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"rmd/internal/boolint"
)

// runner plants bugs. Each worker has a copy of the tree.
type runner struct {
	trees   string // folder of the copies
	workers int
	verbose bool
	end     time.Time // end of all runs; zero means none

	mu    sync.Mutex // for printing
	lives int        // number of bugs that were not caught
}

const row = "%-3s %-34s %-12s %-12s %-7s %-8s %-8s %s\n"

// warmBudget limits the time of the first build.
const warmBudget = 10 * time.Minute

// plant plants every bug and prints the table, each row after the bug was judged.
func (r *runner) plant(all []mutant) error {
	begin := time.Now()
	fmt.Printf(row, "#", "bug", "expected", "caught by", "seeds", "seconds", "cpu", "command")
	if err := r.warm(all); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b mutant) int { return boolint.Of[int](b.slow) - boolint.Of[int](a.slow) })
	next := make(chan mutant, len(all))
	for _, m := range all {
		next <- m
	}
	close(next)
	errs := make([]error, max(1, r.workers))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = r.work(filepath.Join(r.trees, fmt.Sprint("copy", i)), next) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("%d of %d caught in %s\n", len(all)-r.lives, len(all), time.Since(begin).Round(time.Second))
	if r.lives > 0 {
		return errLives
	}
	return nil
}

// warm builds once, on all cores, what all workers need and no bug changes. Otherwise each worker
// would build it again.
func (r *runner) warm(all []mutant) error {
	if len(all) < 2 {
		return nil
	}
	tree := filepath.Join(r.trees, "copy0")
	if err := copyTree(".", tree); err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	if out, failed, _ := runOn(runtime.NumCPU(), tree, "go test -count=1 -run '^$' "+strings.Join(judging(all), " "), warmBudget); failed {
		return fmt.Errorf("the tree without a bug does not build:\n%s", tail(out, 10))
	}
	return nil
}

// judging returns the packages whose tests judge bugs.
func judging(all []mutant) []string {
	var out []string
	for _, m := range all {
		for _, line := range m.runs {
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, "./") && !slices.Contains(out, word) {
					out = append(out, word)
				}
			}
		}
	}
	return out
}

// work judges one bug after the other in one copy of the tree.
func (r *runner) work(tree string, next <-chan mutant) error {
	if err := copyTree(".", tree); err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	for m := range next {
		if !r.end.IsZero() {
			m.budget = min(m.budget, time.Until(r.end))
		}
		if m.budget <= 0 {
			r.printResult(verdict{m: m, seeds: "-", err: errors.New("not run: all are over their limit")})
			continue
		}
		r.printResult(judge(tree, m))
	}
	return nil
}

// printResult prints the result of one bug.
func (r *runner) printResult(v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := strings.TrimSuffix(filepath.Base(v.m.file), ".patch")
	_, name, _ = strings.Cut(name, "-")
	caught, by := v.caught, v.by
	switch {
	case v.err != nil:
		caught, by = "BROKEN", v.err.Error()
	case caught == "":
		caught, by = "LIVES", strings.Join(v.m.runs, "; ")
	}
	lives := v.caught == "" || v.err != nil
	if lives {
		r.lives++
	}
	fmt.Printf(row, fmt.Sprint(v.m.number), name, strings.Join(v.m.expected, "/"), caught, v.seeds, fmt.Sprintf("%.1f", v.took.Seconds()), fmt.Sprintf("%.1f", v.cpu.Seconds()), by)
	if r.verbose || lives {
		fmt.Println(tail(v.output, 6))
	}
}
