package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// errLives says that a bug was not caught, or could not be planted.
var errLives = errors.New("not every planted bug was caught")

func command(args []string) error {
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	dir := f.String("dir", "jepsen-lite/mutants", "where the patches lie")
	only := f.String("only", "", "numbers of planted bugs, separated by commas; empty: all")
	list := f.Bool("list", false, "list the planted bugs")
	control := f.Bool("control", false, "first run the commands on the tree as it is: they must pass")
	verbose := f.Bool("v", false, "print the end of what each command printed")
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
		return mutate(".", tree, *general, *seed)
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
	if err := copyTree(".", tree); err != nil {
		return fmt.Errorf("copy the tree: %w", err)
	}
	if *control {
		if err := controls(tree, all); err != nil {
			return err
		}
	}
	return plant(tree, all, *verbose)
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
			if out, failed := run(tree, line, m.budget); failed {
				return fmt.Errorf("without a bug, %q fails:\n%s", line, tail(out, 40))
			}
		}
	}
	fmt.Printf("%d commands pass without a bug\n", len(done))
	return nil
}

// plant plants one bug after the other and prints the table.
func plant(tree string, all []mutant, verbose bool) error {
	const row = "%-3s %-34s %-10s %-10s %-7s %-8s %s\n"
	fmt.Printf(row, "#", "bug", "expected", "caught by", "seeds", "seconds", "command")
	lives := 0
	for _, m := range all {
		start := time.Now()
		v := judge(tree, m)
		name := strings.TrimSuffix(filepath.Base(m.file), ".patch")
		_, name, _ = strings.Cut(name, "-")
		caught, by := v.caught, v.by
		switch {
		case v.err != nil:
			caught, by = "BROKEN", v.err.Error()
		case caught == "":
			caught, by = "LIVES", strings.Join(m.runs, "; ")
		}
		if v.caught == "" || v.err != nil {
			lives++
		}
		fmt.Printf(row, fmt.Sprint(m.number), name, strings.Join(m.expected, "/"), caught, v.seeds, fmt.Sprintf("%.1f", time.Since(start).Seconds()), by)
		if verbose || v.caught == "" || v.err != nil {
			fmt.Println(tail(v.output, 6))
		}
	}
	fmt.Printf("%d of %d caught\n", len(all)-lives, len(all))
	if lives > 0 {
		return errLives
	}
	return nil
}

// tail is where a text first speaks of a failure, and its last lines, each cut short.
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
