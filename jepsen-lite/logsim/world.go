package logsim

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"rmd/jepsen-lite/ledger/owed"
	"rmd/scheduler/input"
)

// world is one run.
type world struct {
	opt    Options
	rng    *rand.Rand
	now    int64 // true time since the begin of the run, in milliseconds
	rounds uint64
	steps  int
	trace  mix
	counts Counts
	events [256]int

	log      fakeLog
	rs       []*replica
	leads    *leadership // nil while there is no leader
	stale    *leadership // a deposed leader that does not know that it is deposed, or nil
	same     *replica    // the replica that must lead again in the same term, or nil
	noLeader int         // rounds until the next leadership

	wire    wire
	parties []party
	agents  []*agent
	masters []*master
	jobs    []*job
	clients []*client
	op      *operator
	service *services
	check   *checker

	recovering bool
	sessions   uint64 // the number of heartbeat sessions so far
	labelTurn  int
	backup     saved
}

// Counts counts what happened in a run. Again is the number of applications that were submitted a
// second time by a call that was repeated after the idempotency table had forgotten it. Resyncs is
// the number of AMs that had to register again because a late copy of their call arrived between
// two other calls, or before their first call after a second registration. Declared is the number of
// applications that declare how long their containers run, and Borrowed the number of containers
// that were lent room until a time at which they end.
type Counts struct {
	Steps, Entries, Skipped, Survived, Dropped, Leaderships, Terms            int
	Crashes, Restores, Installs, Snapshots, Rollbacks                         int
	Acked, Lost, Doubled, Unknown, Twins                                      int
	Submitted, Allocated, Made, Fulfilled, Cancelled, Completed, Repeated     int
	NodesLost, Finished, Killed, Failed, KeysReused, Released, Again, Resyncs int
	Warned, Inside, Withdrawn, Preempted, Told, Forecast, Shadowed            int
	Declared, Borrowed                                                        int
	Debts                                                                     owed.Counts
}

// Result is the result of a run.
type Result struct {
	Seed   uint64
	Trace  uint64
	Counts Counts
	// Events is the number of committed events of each kind.
	Events [256]int
	// Faults are the violations. Each begins with the name of its invariant.
	Faults []string
	// History is the end of the run's history.
	History []string
}

// Failed reports whether an invariant was violated.
func (r Result) Failed() bool { return len(r.Faults) > 0 }

// String returns the violations and the end of the history, or one line for a run without
// violations.
func (r Result) String() string {
	if !r.Failed() {
		return fmt.Sprintf("seed %d: trace %016x, %+v", r.Seed, r.Trace, r.Counts)
	}
	return fmt.Sprintf("seed %d: %s\n... history:\n%s", r.Seed, strings.Join(r.Faults, "\n"),
		strings.Join(r.History, "\n"))
}

// Run runs a seed to its end or to the first violation.
func Run(opt Options) (res Result) {
	if err := opt.Validate(); err != nil {
		return Result{Seed: opt.Seed, Faults: []string{err.Error()}}
	}
	w := newWorld(opt)
	defer func() {
		if p := recover(); p != nil { // the core panics when an event does not follow from its state
			w.check.fail("S7", "panic: %v\n%s", p, debug.Stack())
		}
		w.counts.Steps = w.steps
		res = Result{Seed: opt.Seed, Trace: uint64(w.trace), Counts: w.counts, Events: w.events, Faults: w.check.faults,
			History: w.check.tail()}
	}()
	w.boot()
	for w.steps < opt.Steps && !w.check.broken() {
		w.round()
	}
	if !w.check.broken() {
		w.awaitRecovery()
	}
	return res
}

func newWorld(opt Options) *world {
	w := &world{opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 2))}
	w.check = newChecker(w)
	w.wire.w = w
	for i := range opt.Replicas {
		w.rs = append(w.rs, &replica{w: w, id: i, offset: w.rng.Int64N(4000) - 2000})
	}
	for i := range opt.Nodes {
		w.agents = append(w.agents, newAgent(w, i))
	}
	for i := range opt.Clients {
		w.clients = append(w.clients, &client{w: w, id: i})
	}
	w.op = &operator{w: w, tree: opt.Tree, lazy: opt.Lazy}
	w.service = newServices(w)
	w.enroll()
	return w
}

// enroll rebuilds the list of parties.
func (w *world) enroll() {
	w.parties = w.parties[:0]
	for _, a := range w.agents {
		w.parties = append(w.parties, a)
	}
	for _, c := range w.clients {
		w.parties = append(w.parties, c)
	}
	for _, m := range w.masters {
		w.parties = append(w.parties, m)
	}
	w.parties = append(w.parties, w.op)
}

// boot starts the replicas and initializes the cluster with its first queues.
func (w *world) boot() {
	w.log.term = 1
	for _, r := range w.rs {
		r.start()
	}
	w.beginLeadership(w.rs[0])
	w.leads.step(nil, input.Request{Input: &input.InitCluster{ClusterID: "logsim", ClusterTimestamp: epochMillis,
		Properties: w.opt.properties(w.opt.Tree, w.opt.Lazy, w.opt.Selector), Entropy: w.entropy()}})
	if w.leads.planner.Config() == nil {
		w.check.fail("S1", "the first queues are refused")
		return
	}
	w.leads.propose()
	w.leads.commit()
}

// epochMillis is the time at which each run begins, in milliseconds since 1970.
const epochMillis = 1_780_000_000_000

// timersEvery is the number of rounds between two ticks of a leadership.
const timersEvery = 40

// round advances the time a little. One party acts, calls are delivered, the log and the replicas
// advance, and sometimes a fault happens.
func (w *world) round() {
	w.rounds++
	w.now += w.rng.Int64N(60)
	w.parties[w.rng.IntN(len(w.parties))].act()
	w.service.act()
	for range 1 + w.rng.IntN(2) {
		w.wire.deliver()
	}
	if l := w.leads; l != nil {
		if w.rounds%timersEvery == 0 {
			l.tick()
		}
		l.planDue()
		l.propose()
		if w.chance(w.opt.Commit) || l.core.Full() {
			l.commit()
			l.propose()
		}
	} else {
		w.elect()
	}
	for _, r := range w.rs {
		if w.chance(w.opt.Apply) {
			r.catchUp(1 + w.rng.IntN(6))
		}
	}
	w.appendLate()
	if l := w.stale; l != nil {
		if l.deposed--; l.deposed == 0 {
			w.stale = nil
		}
	}
	if w.opt.Fault > 0 && !w.recovering && w.rng.IntN(10_000) < w.opt.Fault {
		w.fault()
	}
}

// elect waits some rounds and then begins a leadership.
func (w *world) elect() {
	if w.noLeader--; w.noLeader > 0 {
		return
	}
	r := w.same
	if r == nil || !r.up {
		r = w.rs[w.rng.IntN(len(w.rs))]
	}
	w.same = nil
	if !r.up {
		r.start()
	}
	if w.check.broken() {
		return
	}
	w.counts.Terms++
	w.beginLeadership(r)
}

// appendLate appends a batch of an ended leadership to the log.
func (w *world) appendLate() {
	if w.leads == nil || len(w.log.late) == 0 || w.log.late[0].at > w.rounds {
		return
	}
	e := w.log.late[0]
	w.log.late = w.log.late[1:]
	w.check.expectSkip(w.log.append(w.log.term, e.data))
}

// compact removes the entries that the snapshots of a majority of the replicas contain, except the
// trailing ones.
func (w *world) compact() {
	var indexes []uint64
	for _, r := range w.rs {
		indexes = append(indexes, r.snap.index)
	}
	slices.Sort(indexes)
	if safe := indexes[(len(indexes)-1)/2]; safe > w.opt.Trailing {
		w.log.compact(safe - w.opt.Trailing)
	}
}

// chance returns true with a probability of n in a thousand.
func (w *world) chance(n int) bool { return w.rng.IntN(1000) < n }

// entropy returns the random bytes for keys. They are the same in each run of a seed.
func (w *world) entropy() []byte {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
	return b
}
