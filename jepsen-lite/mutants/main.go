package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// errLives means that a bug was not caught or could not be planted.
var errLives = errors.New("not every planted bug was caught")

func command(args []string) error {
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	dir := f.String("dir", "jepsen-lite/mutants", "where the patches lie")
	only := f.String("only", "", "numbers of planted bugs, separated by commas; empty: all")
	list := f.Bool("list", false, "list the planted bugs")
	control := f.Bool("control", false, "first run the commands on the tree as it is: they must pass")
	verbose := f.Bool("v", false, "print the end of what each command printed")
	limit := f.Duration("limit", 0, "bound all planted bugs together; what is left then counts as not caught; 0: none")
	workers := f.Int("workers", min(runtime.NumCPU(), 4), "bugs judged at a time, each in a copy of its own on one core")
	general := f.Int("general", 0, "that many random changes instead of the planted bugs")
	seed := f.Uint64("seed", 1, "what random changes are drawn from")
	if err := f.Parse(args); err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "rmd-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if *general > 0 {
		return mutate(".", tree, *general, *workers, *seed)
	}
	numbers, err := numbers(*only)
	if err != nil {
		return err
	}
	all, err := load(*dir, numbers)
	if err != nil && !*list {
		return err
	}
	if *list {
		for _, m := range all {
			fmt.Printf("%2d %-10s %s\n", m.number, strings.Join(m.expected, "/"), m.bug)
		}
		return err
	}
	if *control {
		if err := copyTree(".", tree); err != nil {
			return fmt.Errorf("copy the tree: %w", err)
		}
		if err := controls(tree, all); err != nil {
			return err
		}
	}
	r := runner{trees: tree, workers: *workers, verbose: *verbose}
	if *limit > 0 {
		r.end = time.Now().Add(*limit)
	}
	return r.plant(all)
}

// controls runs every command once on the tree without a bug.
func controls(tree string, all []mutant) error {
	done := map[string]bool{}
	for _, m := range all {
		for _, line := range m.runs {
			if done[line] {
				continue
			}
			done[line] = true
			if out, failed, _ := run(tree, line, m.budget); failed {
				return fmt.Errorf("without a bug, %q fails:\n%s", line, tail(out, 40))
			}
		}
	}
	fmt.Printf("%d commands pass without a bug\n", len(done))
	return nil
}

// tail returns n lines from the first failure in a text, and its last n lines, each shortened to
// 300 bytes.
func tail(text string, n int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	lines := all
	if len(all) > 2*n {
		first := max(0, slices.IndexFunc(all, func(l string) bool { return seedFound.MatchString(l) || strings.Contains(l, "FAIL") }))
		lines = append(append([]string(nil), all[first:min(first+n, len(all))]...), all[len(all)-n:]...)
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "    " + l[:min(len(l), 300)]
	}
	return strings.Join(out, "\n")
}
