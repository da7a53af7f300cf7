package sim

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/jepsen-lite/ledger/statediff"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/result"
	"rmd/jepsen-lite/sim/yield"
)

// Profile says which faults a run may inject: names of kinds or groups, separated by commas; "all",
// or "calm" for none.
type Profile string

// faultKind is one kind of fault.
type faultKind struct {
	name, group string
	do          func(d *driver)
}

// Kinds returns all kinds of faults.
func Kinds() []faultKind {
	return []faultKind{
		{"kill", "crash", (*driver).kill}, {"kill-leader", "crash", (*driver).killLeader},
		{"blackout", "crash", (*driver).blackout}, {"crash-at-point", "crash", (*driver).crashAtPoint},
		{"power-cut", "disk", (*driver).powerCut}, {"crash-at-write", "disk", (*driver).crashAtWrite},
		{"torn-write", "disk", (*driver).tornWrite},
		{"sync-error", "disk", (*driver).syncError}, {"sync-lies", "disk", (*driver).syncLies},
		{"no-space", "disk", (*driver).noSpace},
		{"slow-disk", "disk", (*driver).slowDisk}, {"hung-disk", "disk", (*driver).hungDisk},
		{"bit-rot", "disk", (*driver).bitRot},
		{"misread", "disk", (*driver).misread}, {"lost-disk", "disk", (*driver).lostDisk},
		{"cut", "net", (*driver).isolate}, {"cut-link", "net", (*driver).cutLink}, {"loss", "net", (*driver).loss},
		{"double", "net", (*driver).double},
		{"reorder", "net", (*driver).reorder}, {"slow-link", "net", (*driver).slowLink}, {"reset", "net", (*driver).reset},
		{"fork", "net", (*driver).fork}, {"late-first-entry", "disk", (*driver).lateFirstEntry},
		{"stale-leader", "pause", (*driver).staleLeader}, {"remove-unfit", "member", (*driver).removeUnfit},
		{"pause", "pause", (*driver).pause}, {"slow-apply", "pause", (*driver).slowApply},
		{"late-batches", "pause", (*driver).delayBatches},
		{"hung-leader", "pause", (*driver).hangLeader}, {"refused-entry", "member", (*driver).refuseEntry},
		{"clock-step", "clock", (*driver).clockStep}, {"clock-drift", "clock", (*driver).clockDrift},
		{"transfer", "member", (*driver).transfer}, {"join", "member", (*driver).join},
		{"remove", "member", (*driver).remove},
		{"demote", "member", (*driver).demote}, {"upgrade", "member", (*driver).upgrade},
		{"snapshot", "load", (*driver).snapshot}, {"silent-node", "load", (*driver).silence},
		{"reconfigure", "load", (*driver).reconfigure}, {"drain-node", "load", (*driver).drainNode},
		{"forget-node", "load", (*driver).forgetNode}, {"label-nodes", "load", (*driver).labelNodes},
		{"intruder", "intruder", (*driver).intruder},
	}
}

// kindNames returns the names of all kinds of faults.
func kindNames() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.name)
	}
	return out
}

// Validate returns an error for a name that is neither a kind nor a group.
func (p Profile) Validate() error {
	for _, n := range p.names() {
		if n != "all" && n != "calm" && !slices.ContainsFunc(Kinds(),
			func(k faultKind) bool { return k.name == n || k.group == n }) {
			return fmt.Errorf("profile %q: no kind or group of faults is named %q", p, n)
		}
	}
	return nil
}

func (p Profile) names() []string { return strings.Split(string(p), ",") }

func (p Profile) has(k faultKind) bool {
	n := p.names()
	return slices.Contains(n, "all") || slices.Contains(n, k.name) || slices.Contains(n, k.group)
}

// driver injects faults.
type driver struct {
	w        *world
	l        *load.Load
	rng      *rand.Rand // of the current fault
	done     map[string]int
	stuck    uint32 // an application that does not end
	changes  int    // of the queue configuration
	raising  bool   // an upgrade was finalized, or its outcome is unknown
	executed []result.Step
	// The time of the last progress, and what the checker had counted then.
	moved, preempted int
	movedAt          time.Time
	// lateSince is when something was found overdue; zero if nothing is.
	lateSince time.Time
}

func newDriver(w *world, l *load.Load) *driver {
	return &driver{w: w, l: l, rng: rand.New(rand.NewSource(w.seed)), done: map[string]int{}}
}

func (d *driver) sleep(least, more time.Duration) {
	time.Sleep(least + time.Duration(d.rng.Int63n(int64(more))))
}

func (d *driver) oneIn(n int) bool { return d.rng.Intn(n) == 0 }

// randomMember returns some member.
func (d *driver) randomMember() *replica {
	rs := d.w.members()
	return rs[d.rng.Intn(len(rs))]
}

// victim returns the leader in half of the cases, the newest replica in a quarter, otherwise any
// member.
func (d *driver) victim() *replica {
	switch d.rng.Intn(4) {
	case 0, 1:
		return d.leading()
	case 2:
		rs := d.w.members()
		return rs[len(rs)-1]
	}
	return d.randomMember()
}

// leading returns the leader, or any member if there is none.
func (d *driver) leading() *replica {
	if r := d.w.leading(); r != nil {
		return r
	}
	return d.randomMember()
}

func (d *driver) note(format string, args ...any) { d.w.check.Note(format, args...) }

// Limits of the calm, the phase without faults at the end of a run.
const (
	leaderTime = 10 * election
	stepTime   = 2 * time.Minute
	drainTime  = 30 * time.Minute // for all remaining work
	stallTime  = 2 * time.Minute  // without progress
)

// sinceProgress returns the time since more containers than ever had started, or more applications
// ended.
func (d *driver) sinceProgress() time.Duration {
	if n := d.w.check.Moved(); n > d.moved || d.movedAt.IsZero() {
		d.moved, d.movedAt, d.preempted = n, time.Now(), d.w.check.Preempted()
	}
	return time.Since(d.movedAt)
}

// awaitRecovery ends all faults and waits until the cluster has recovered (L1 to L4, L6). It
// returns the time until there was a leader, and until all replicas were in step.
func (d *driver) awaitRecovery() (leads, step time.Duration) {
	w := d.w
	d.note("the calm")
	w.check.Mark(history.Recovery)
	w.yield.Set(yield.Off)
	w.heal()
	begin := time.Now()
	for w.await(leaderTime) == nil {
		w.check.Fail("L1: no leader within %s of the calm: %s", leaderTime, w.describeProgress())
		return 0, 0
	}
	leads = time.Since(begin)
	d.l.StopDemand()
	w.check.Mark(history.Demand)
	if !d.w.operatorsDone() || !d.unlabelNodes() || !w.inStep(stepTime) {
		return leads, 0
	}
	step = time.Since(begin)
	terms, installs := w.check.Terms(), w.net.CountInstalls()
	defer func() { w.checkCalm(terms, installs) }()
	d.movedAt = time.Time{}
	for ; ; time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > checker.WarningMax {
			w.check.Overdue()
		}
		d.deadlines()
		left := d.unfinished()
		if left == "" || w.check.Broken() {
			return leads, step
		}
		still := d.sinceProgress()
		if still > stallTime/2 && d.unlock(20*time.Second) {
			continue
		}
		if still > stallTime || time.Since(begin) > drainTime {
			d.l.Stop() // so that the load does not change what is read now
			w.check.Fail("L3: %s after everything was healed, still: %s; %s%s", time.Since(begin), left, d.l.Describe(d.stuck),
				d.w.waiting())
			return leads, step
		}
	}
}

// deadlines checks that what a deadline ends does not exist long after it in the calm (L6).
func (d *driver) deadlines() {
	r := d.w.leading()
	if r == nil {
		return
	}
	l, _ := r.currentProcess()
	st, _ := l.machine.Fork()
	late := statediff.Overdue(st)
	switch {
	case len(late) == 0:
		d.lateSince = time.Time{}
	case d.lateSince.IsZero():
		d.lateSince = time.Now()
	case time.Since(d.lateSince) > deadlineTime:
		d.w.check.Fail("L6: %s after it is over: %s", deadlineTime, strings.Join(late, "; "))
	}
}

// deadlineTime is how long after its deadline something may exist in the calm.
const deadlineTime = 10 * time.Second

// calmMax is how many elections and snapshots may still happen after all replicas are in step: a
// message may be late by chance, and a former leader whose disk hung may still send to the others.
const calmMax = 2

// trailingMax is how many more snapshots may be sent if leaders keep no entries before their own
// snapshot: one for each follower that is a message late when the log is truncated.
const trailingMax = 20

// checkCalm checks that elections and snapshots end in the calm: L4.
func (w *world) checkCalm(terms, installs int) {
	if n := w.check.Terms() - terms; n > calmMax {
		w.check.Fail("L4: %d leaders were elected in the calm", n)
	}
	most := calmMax + len(w.members()) - 1
	if w.opt.Trailing <= 1 { // a follower that is one entry behind needs a snapshot
		most += trailingMax
	}
	if n := w.net.CountInstalls() - installs; n > most {
		w.check.Fail("L4: %d snapshots were sent in the calm, the last ones: %q", n, w.net.ToldInstalls(10))
	}
}

// unfinished describes the unfinished operations; empty if there are none.
func (d *driver) unfinished() string {
	if n := d.l.ClientsLeft(); n > 0 {
		return fmt.Sprintf("%d clients wait for an answer; %s", n, d.w.describeProgress())
	}
	what, app := d.w.check.Unfinished()
	if app != 0 {
		d.stuck = app
	}
	return what
}
