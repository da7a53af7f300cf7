package sim

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/result"
)

// defaultSeeds is how many seeds run without RMD_SIM_SEEDS, each with faults for defaultFaults.
const (
	defaultSeeds  = 10
	defaultFaults = time.Minute
)

// seeds returns the seeds to run and their options, from the environment.
func seeds(t *testing.T) (list []int64, opt Options) {
	opt = DefaultOptions()
	opt.Faults, opt.Judge = defaultFaults, os.Getenv("RMD_SIM_SEEDS") == ""
	number := func(name string, set func(n int64)) {
		text := os.Getenv(name)
		if text == "" {
			return
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("%s in the environment: %v", name, err)
		}
		set(n)
	}
	first, count := int64(1), int64(defaultSeeds)
	number("RMD_SIM_SEEDS", func(n int64) { count, opt.Faults = n, DefaultOptions().Faults })
	number("RMD_SIM_FIRST", func(n int64) { first = n })
	number("RMD_SIM_SEED", func(n int64) { first, count, opt.Faults = n, 1, DefaultOptions().Faults })
	number("RMD_SIM_MINUTES", func(n int64) { opt.Faults = time.Duration(n) * time.Minute })
	if p := os.Getenv("RMD_SIM_PROFILE"); p != "" {
		opt.Profile = Profile(p)
	}
	opt.Out = os.Getenv("RMD_SIM_OUT")
	if err := opt.Profile.Validate(); err != nil {
		t.Fatal(err)
	}
	for s := range count {
		list = append(list, first+s)
	}
	return list, opt
}

// TestSeeds runs random load under random faults, then ends all faults and waits until all work is
// done.
func TestSeeds(t *testing.T) {
	all, begin := result.NewSummary(kindNames()), time.Now()
	list, opt := seeds(t)
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("RMD_SIM_FOR"), "0"))
	if err != nil {
		t.Fatalf("RMD_SIM_FOR: %v", err)
	}
	broken, stop := signal.NotifyContext(t.Context(), os.Interrupt) // after an interrupt, the report still has all runs
	defer stop()
	failfast := flag.Lookup("test.failfast").Value.String() == "true"
	var failed atomic.Bool
	var mu sync.Mutex
	run := func(list []int64) {
		t.Run("all", func(t *testing.T) {
			next := make(chan int64, len(list))
			for _, s := range list {
				next <- s
			}
			close(next)
			for core := range runtime.GOMAXPROCS(0) {
				t.Run(fmt.Sprint("core", core), func(t *testing.T) {
					t.Parallel()
					for seed := range next {
						if limit > 0 && time.Since(begin) > limit || broken.Err() != nil || failfast && failed.Load() {
							return
						}
						res := Run(t, seed, opt)
						mu.Lock()
						all.Add(res)
						mu.Unlock()
						if len(res.Violations) > 0 {
							failed.Store(true)
							t.Errorf("seed %d, %s: %v\n%s", seed, res.Settings, res.Violations, tail(res.History, checker.ReportLines))
						}
					}
				})
			}
		})
	}
	run(list)
	// Seeds do not repeat to the bit, and ten of them may meet nothing of a kind. Then others run.
	judged := func() bool { return all.Runs() >= defaultSeeds && opt.Profile == "all" && !t.Failed() }
	for range 3 {
		if !judged() || len(unmet(all)) == 0 {
			break
		}
		t.Logf("seeds %d to %d have met no %s", list[0], list[len(list)-1], strings.Join(unmet(all), ", no "))
		for i := range list {
			list[i] += int64(len(list))
		}
		run(list)
	}
	report := all.Report(time.Since(begin))
	t.Log("\n" + report)
	if out := os.Getenv("RMD_SIM_OUT"); out != "" {
		total := all.Total(string(opt.Profile), time.Since(begin))
		fmt.Print(report, total, "\n")
		if err := total.Append(out); err != nil {
			t.Error(err)
		}
	}
	if kinds := unmet(all); judged() && len(kinds) > 0 {
		t.Errorf("no %s: does the simulation still meet what it is there for?", strings.Join(kinds, ", no "))
	}
}

// unmet returns what ten seeds should meet and all runs have not.
func unmet(all *result.Summary) (kinds []string) {
	c, ran := all.Counts(), all.Runs()
	for _, k := range []struct {
		what string
		n    int
	}{{"leaders", c.Terms - ran}, {"restores", c.Restores}, {"unknown outcomes", c.Unknown}, {"reads", c.Reads},
		{"reservations", c.Made}, {"fulfillments", c.Fulfilled}, {"cancellations", c.Cancelled},
		{"lost containers", c.Lost}, {"memberships", c.Members - ran}, {"warnings", c.Warned},
		{"warnings for priority", c.Ranked}, {"warnings to share evenly", c.Balanced},
		{"withdrawn warnings", c.Withdrawn}, {"warnings told", c.Told}, {"preempted containers", c.Preempted},
		{"containers in room of reserved nodes", c.Lent}, {"debts of guarantees", int(c.Debts.Owed)},
		{"overdue debts", int(c.Debts.Overdue)}, {"judged debts", int(c.Debts.Judged)},
		{"created queues", c.Created}, {"removed queues", c.Removed},
		{"activated queues", c.Activated}, {"deactivated queues", c.Deactivated}} {
		if k.n < 1 {
			kinds = append(kinds, k.what)
		}
	}
	return kinds
}

// tail returns the head of a report, with its violations, and its last lines.
func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	if len(all) <= 2*lines {
		return text
	}
	return strings.Join(append(append(all[:12:12], "..."), all[len(all)-lines:]...), "\n")
}
