// Command run compares rmd's planner with Hadoop's CapacityScheduler over many histories.
//
//	go run ./twin/run -seeds 1000         histories 1 to 1000
//	go run ./twin/run -seed 42            one history, shrunk if it differs
//	go run ./twin/run -file F             a history in a file
//	go run ./twin/run -entitlements 10000 what preemption takes, on random queue trees
//	go run ./twin/run -leaves 10000       what it takes inside a queue, on random leaves
//	go run ./twin/run -placements 1000    where placement rules send submissions, in random queue trees
//
// It exits with 1 if there is an unintended difference, and with 2 if it could not run.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"rmd/twin"
)

func main() {
	var f twin.Flags
	families := ""
	fetch := flag.String("fetch", "interop/fetch", "command that prints the folder with Hadoop's jars and our classes")
	file := flag.String("file", "", "play this history")
	flag.Uint64Var(&f.First, "first", 1, "first of -seeds")
	flag.Uint64Var(&f.Seeds, "seeds", 0, "play so many seeds")
	trees := flag.Uint64("entitlements", 0,
		"compare what queues must give to others on so many queue trees from -first on, and nothing else")
	leaves := flag.Uint64("leaves", 0,
		"compare what applications must give to others of their queue in so many leaves from -first on, and nothing else")
	placements := flag.Uint64("placements", 0,
		"compare how placement rules are read, and where they send submissions, in so many queue trees from -first on, and nothing else")
	seed := flag.Uint64("seed", 0, "play this seed alone")
	flag.StringVar(&families, "only", "", "families of steps, with commas between; empty: all")
	flag.BoolVar(&f.Labels, "labels", false, "histories with node labels")
	flag.BoolVar(&f.Preemption, "preemption", false, "histories with rounds of preemption")
	flag.BoolVar(&f.Eager, "eager", false, "compare the amounts of rmd's eager mode at rest")
	flag.StringVar(&f.Out, "out", "out/twin", "folder for the histories that differ")
	flag.IntVar(&f.Show, "show", 5, "make so many of those that differ smaller, and show them")
	flag.DurationVar(&f.For, "for", 0, "begin no new history after this time")
	flag.IntVar(&f.Parallel, "parallel", runtime.GOMAXPROCS(0), "so many JVMs")
	flag.Parse()
	if families != "" {
		f.Families = strings.Split(families, ",")
	}
	if *seed != 0 {
		f.First, f.Seeds = *seed, 1
	}
	cache, err := cacheFolder(*fetch)
	if err != nil {
		fmt.Fprintln(os.Stderr, "twin:", err)
		os.Exit(2)
	}
	f.Cache = cache
	if *trees > 0 {
		finish(twin.CompareEntitlements(cache, f.First, *trees, os.Stdout))
	}
	if *leaves > 0 {
		finish(twin.CompareLeaves(cache, f.First, *leaves, os.Stdout))
	}
	if *placements > 0 {
		finish(twin.ComparePlacements(cache, f.First, *placements, os.Stdout))
	}
	if *file != "" {
		text, err := os.ReadFile(*file)
		if err != nil {
			fmt.Fprintln(os.Stderr, "twin:", err)
			os.Exit(2)
		}
		f.History = twin.Parse(filepath.Base(*file), string(text))
	}
	finish(twin.Run(f, os.Stdout))
}

// finish exits with the code for a result.
func finish(differing int, err error) {
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "twin:", err)
		os.Exit(2)
	case differing > 0:
		os.Exit(1)
	}
	os.Exit(0)
}

func cacheFolder(fetch string) (string, error) {
	cmd := exec.Command(fetch)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w; it needs a JDK 17 and Maven", fetch, err)
	}
	return strings.TrimSpace(string(out)), nil
}
