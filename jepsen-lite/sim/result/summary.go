package result

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"rmd/internal/failpoint"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/network"
	"rmd/jepsen-lite/sum"
)

// Summary adds up the results of many seeds.
type Summary struct {
	all      []string // the names of all kinds of faults
	seeds    []int64
	failed   []Result
	cluster  time.Duration
	machine  time.Duration // CPU time
	counts   checker.Counts
	kinds    map[string]int
	achieved map[string]int
	exits    map[int]int
	hits     map[failpoint.Name]int
	net      network.Traffic
	installs int
	restarts int
	leader   time.Duration // maximum
	step     time.Duration
	debt     time.Duration

	undecided int // checks without a result
}

// NewSummary returns an empty summary. all has the names of all kinds of faults, of which the report
// says which never ran.
func NewSummary(all []string) *Summary {
	return &Summary{all: all, kinds: map[string]int{}, achieved: map[string]int{}, exits: map[int]int{},
		hits: map[failpoint.Name]int{}}
}

// Add adds the result of a seed.
func (s *Summary) Add(r Result) {
	s.seeds = append(s.seeds, r.Seed)
	if len(r.Violations) > 0 {
		r.Lines = nil // they are in a file; this limits the use of memory
		s.failed = append(s.failed, r)
	}
	s.cluster += r.Virtual
	s.machine += r.Real
	sum.Fields(&s.counts, r.Counts)
	addAll(s.kinds, r.Kinds)
	addAll(s.achieved, r.Achieved)
	addAll(s.exits, r.Exits)
	addAll(s.hits, r.Hits)
	sum.Fields(&s.net, r.Net)
	s.installs += r.Installs
	s.restarts += r.Restarts
	s.leader, s.step, s.debt = max(s.leader, r.Leader), max(s.step, r.Step), max(s.debt, r.Debt)
	s.undecided += r.undecided
}

func addAll[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

// Runs returns how many results were added.
func (s *Summary) Runs() int { return len(s.seeds) }

// Counts returns what all runs together have met.
func (s *Summary) Counts() checker.Counts { return s.counts }

// Failed reports whether any seed has a violation.
func (s *Summary) Failed() bool { return len(s.failed) > 0 }

// Report formats the summary. wall is the real time of all seeds.
func (s *Summary) Report(wall time.Duration) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	slices.Sort(s.seeds)
	line("jepsen-lite tier1 native  commit %s  %s  seeds %d (%d to %d)", commit(), runtime.Version(), len(s.seeds),
		s.seeds[0], s.seeds[len(s.seeds)-1])
	line("cluster time %.2f h in %s: %.0f cluster-hours per machine-hour, %.0f per core-hour", s.cluster.Hours(),
		wall.Round(time.Second),
		s.cluster.Hours()/max(wall.Hours(), 1e-9), s.cluster.Hours()/max(s.machine.Hours(), 1e-9))
	faults := 0
	for _, n := range s.kinds {
		faults += n
	}
	line("faults %d (%s)", faults, list(s.kinds))
	line("messages %d (lost %d, doubled %d, late %d, connections reset %d)", s.net.Messages, s.net.Lost, s.net.Doubled,
		s.net.Late, s.net.Resets)
	line("processes that ended by their own will: %s   operators: %s", list(s.exits), list(s.achieved))
	c := s.counts
	line("operations acked %d   refused %d   unknown %d   reads %d", c.Acked-c.Refused, c.Refused, c.Unknown, c.Reads)
	line("log %d entries, %d of them without effect   %d memberships   %d snapshots sent, %d restored   raft restarted in place %d times", c.Entries, c.Skipped, c.Members, s.installs, c.Restores, s.restarts)
	line("containers allocated %d (in room of reserved nodes %d), lost %d   reservations made %d, fulfilled %d, cancelled %d (exchanged %d)", c.Allocated, c.Lent, c.Lost, c.Made, c.Fulfilled, c.Cancelled, c.Exchanged)
	line("containers warned %d (for queues of a higher priority %d, to share evenly %d), warnings told %d and withdrawn %d, containers preempted %d",
		c.Warned, c.Ranked, c.Balanced, c.Told, c.Withdrawn, c.Preempted)
	line("debts of guarantees %d, overdue %d, of these judged %d, the longest %s", c.Debts.Owed, c.Debts.Overdue, c.Debts.Judged,
		s.debt.Round(time.Second))
	line("gangs started %d, nodes held for them %d", c.Gangs, c.GangNodes)
	line("queues created by submissions %d, removed when idle %d; leaves of managed parents got their capacity %d times, lost it %d times",
		c.Created, c.Removed, c.Activated, c.Deactivated)
	line("%s", s.verdicts())
	line("points hit %s   fault kinds that never ran: %s", s.points(), s.unusedKinds())
	for _, r := range s.failed {
		line("FAIL seed %d: %s\n  settings %s\n  again (not to the bit): make sim SEED=%d", r.Seed,
			strings.Join(r.Violations, "\n  "), r.Settings, r.Seed)
	}
	return b.String()
}

// verdicts formats the results of the invariants as one line.
func (s *Summary) verdicts() string {
	c, out := s.counts, []string{}
	for _, v := range []struct{ id, what string }{
		{"S1", fmt.Sprintf("%d digests", c.Digests)}, {"S2", fmt.Sprintf("%d terms", c.Terms)}, {"S3", ""}, {"S4", ""},
		{"S5", ""}, {"S6", ""},
		{"S7", ""}, {"S8", ""}, {"S9", ""}, {"S10", ""}, {"S11", ""}, {"S12", registeredAgain(c.Again)},
		{"S13", fmt.Sprintf("%d reads", c.Reads)},
		{"S14", fmt.Sprintf("%d votes", c.Votes)}, {"S15", fmt.Sprintf("%d restores", c.Restores)}, {"S16", ""},
		{"S17", fmt.Sprintf("%d warnings", c.Warned)}, {"S18", ""}, {"S19", ""}, {"S20", ""},
		{"L1", fmt.Sprintf("max %s", s.leader.Round(time.Millisecond))},
		{"L2", fmt.Sprintf("max %s", s.step.Round(time.Millisecond))},
		{"L3", ""}, {"L4", ""}, {"L5", ""}, {"L6", ""},
		{"L7", fmt.Sprintf("%d debts", c.Debts.Judged)}} {
		state := "ok"
		if n := s.violated(v.id); n > 0 {
			state = fmt.Sprintf("FAILED %d times", n)
		}
		out = append(out, strings.TrimSpace(v.id+" "+state+" "+v.what))
	}
	if n := s.violated(""); n > 0 {
		out = append(out, fmt.Sprintf("others FAILED %d times", n))
	}
	return strings.Join(out, "   ")
}

// registeredAgain reports AMs that had to register again; empty if there were none.
func registeredAgain(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("(%d AMs registered again)", n)
}

// violated counts the violations of an invariant; "" stands for violations without one.
func (s *Summary) violated(id string) int {
	n := 0
	for _, r := range s.failed {
		for _, v := range r.Violations {
			head, _, named := strings.Cut(v, ":")
			named = named && len(head) <= 3
			if named && head == id || !named && id == "" {
				n++
			}
		}
	}
	return n
}

// points lists the failpoints that no run reached.
func (s *Summary) points() string {
	var never []string
	for _, n := range failpoint.All() {
		if s.hits[n] == 0 {
			never = append(never, string(n))
		}
	}
	text := fmt.Sprintf("%d/%d", len(failpoint.All())-len(never), len(failpoint.All()))
	if len(never) > 0 {
		text += " (never: " + strings.Join(never, ", ") + ")"
	}
	return text
}

func (s *Summary) unusedKinds() string {
	var out []string
	for _, k := range s.all {
		if s.kinds[k] == 0 {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

func list[K interface{ ~int | ~string }](m map[K]int) string {
	if len(m) == 0 {
		return "none"
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%v %d", k, m[k]))
	}
	return strings.Join(out, ", ")
}

// commit returns the commit of this build: RMD_SIM_COMMIT, that of the build information, or
// "unknown".
func commit() string {
	if c := os.Getenv("RMD_SIM_COMMIT"); c != "" {
		return c
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return "unknown"
}
