// Program limits compares rmd with what the machine allows, and prints a table of ratios. Each row
// runs two benchmarks of this repository alternately, so that both run under the same conditions.
//
//	go run ./bench/limits [-rounds N] [-only TEXT]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"rmd/bench/gotest"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each benchmark runs; the table has medians")
	only := flag.String("only", "", "only rows whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "limits:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, only string) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds is %d; it must be at least 1", rounds)
	}
	var chosen []row
	for _, r := range rows {
		if strings.Contains(r.work, only) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no row contains %q", only)
	}
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := &goTests{gotest.Runner{Dir: dir}}
	fmt.Print(heading)
	for _, r := range chosen {
		m, err := g.measure(ctx, r, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", r.work, err)
		}
		fmt.Print(r.line(m))
	}
	return nil
}
