// Program growth measures what larger clusters cost. It runs benchmarks of this repository at
// growing sizes, prints one table for each kind of object, and can draw the results on a page.
//
//	go run ./bench/growth [-only TEXT] [-report FILE]
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
	only := flag.String("only", "", "only kinds whose name contains this")
	report := flag.String("report", "", "write a page with plots to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *report); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, report string) error {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	runner := &gotest.Runner{Dir: dir}
	var done []measured
	for _, k := range kinds {
		if !strings.Contains(k.name, only) {
			continue
		}
		m, err := measure(ctx, runner, k)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		m.print(os.Stdout)
		done = append(done, m)
	}
	if len(done) == 0 {
		return fmt.Errorf("no kind contains %q", only)
	}
	if report == "" {
		return nil
	}
	return write(report, done)
}

func write(file string, done []measured) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := page(done).Write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
