package sim

import (
	"context"
	"math/rand"
	"slices"
	"strings"
	"time"

	"rmd/fsm/event"
	"rmd/internal/sleep"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/load"
)

// Faults with leaders that do not know that they are deposed, with diverging logs, and with
// removals that must be refused.

// staleLeader isolates a leader and delays the one goroutine of raft that would notice. The replica
// continues to believe that it leads, and a client reads from it all the time. The result of a read
// must not be older than what clients have seen at its successor (S13).
func (d *driver) staleLeader() {
	w, r := d.w, d.w.leading()
	if r == nil {
		return
	}
	d.note("%s is cut off and does not notice that it leads no more", r.id)
	stands := time.Duration(2+d.rng.Intn(4)) * time.Second
	hold := func(id, message string) {
		if id == r.id && strings.HasPrefix(message, "failed to contact quorum") {
			time.Sleep(stands)
		}
	}
	w.atLog.Store(&hold)
	w.net.Isolate(r.id, true, true)
	ctx, cancel := context.WithTimeout(w.ctx, lease+stands)
	defer cancel()
	c := load.NewCaller(w, "stale", rand.New(rand.NewSource(d.rng.Int63()))).StartAt(slices.Index(w.members(), r))
	for sleep.For(ctx, time.Duration(20+d.rng.Intn(100))*time.Millisecond) {
		c.Read(ctx)
	}
	w.atLog.Store(nil)
	w.net.Heal()
}

// fork makes two logs diverge. A leader and one follower have entries that no other replica has. A
// second leader replaces them on that follower by an entry of its own. Then the first replica leads
// again, and must not continue on the follower where it stopped before (S1).
func (d *driver) fork() {
	w, all, first := d.w, d.w.healthyMembers(), d.w.leading()
	if len(all) < 5 || first == nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(all), func(r *replica) bool { return r == first })
	at := d.rng.Intn(len(others))
	torn, rest := others[at], slices.Delete(slices.Clone(others), at, at+1)
	d.note("%s and %s go another way than the rest", first.id, torn.id)
	won := make(chan *replica, 1)
	split := func(id, message string) {
		i := slices.IndexFunc(rest, func(r *replica) bool { return r.id == id })
		if i < 0 || !strings.HasPrefix(message, "election won") {
			return
		}
		for _, r := range rest {
			if r.id != id {
				w.net.Partition(id, r.id)
			}
		}
		w.net.Join(id, torn.id)
		select {
		case won <- rest[i]:
		default:
		}
	}
	for _, r := range rest {
		w.net.Partition(first.id, r.id)
		w.net.Partition(torn.id, r.id)
	}
	w.atLog.Store(&split)
	defer w.atLog.Store(nil)
	defer w.net.Heal()
	d.propose(first, 3+d.rng.Intn(6))
	t := time.NewTimer(10 * election)
	defer t.Stop()
	select {
	case second := <-won:
		w.net.Partition(first.id, torn.id)
		d.sleep(lease, lease) // until the second leader's first entry reaches the torn follower
		w.net.Partition(second.id, torn.id)
		for _, r := range rest {
			if r != second {
				w.net.Join(first.id, r.id)
			}
		}
	case <-t.C:
		return
	}
	w.atLog.Store(nil)
	for end := time.Now().Add(10 * election); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if l, up := first.currentProcess(); up && l.cluster.IsLeader() {
			d.note("%s leads again, and %s hears of it", first.id, torn.id)
			w.net.Join(first.id, torn.id)
			d.w.check.Achieved("forked")
			d.sleep(lease, lease)
			return
		}
	}
}

// propose makes a leader store entries. They have no effect when they are applied, because their
// sequence does not match.
func (d *driver) propose(r *replica, n int) {
	l, up := r.currentProcess()
	if !up {
		return
	}
	empty := (&event.Batch{Level: event.Level, Sequence: ^uint64(0)}).Encode()
	for range n {
		go func() {
			l.owner.MarkGoroutine()
			l.cluster.Propose(empty)
		}()
		time.Sleep(2 * time.Millisecond)
	}
}

// removeUnfit asks for the removal of a healthy voter while so many others are down that the
// remaining members would have no running majority. The leader must refuse, and no replica may have
// the removal in its log (S14).
func (d *driver) removeUnfit() {
	w, all, asked := d.w, d.w.healthyMembers(), d.w.leading()
	if asked == nil || len(all) != 3 && len(all) != 5 {
		return
	}
	l, up := asked.currentProcess()
	others := slices.DeleteFunc(slices.Clone(all), func(r *replica) bool { return r == asked })
	d.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	down, victim := others[:len(all)/2], others[len(all)/2]
	if !up {
		return
	}
	for _, r := range down {
		r.crash()
	}
	d.note("%s is asked to remove %s while as many are down as can be", asked.id, victim.id)
	who, _ := victim.currentProcess()
	server := string(who.cluster.Identity().ServerID())
	votes := func(l *process) bool {
		now, _ := l.disk.Configurations()
		return now.Servers == nil || checker.IsVoter(now, server)
	}
	knew := votes(who) // false while the victim has not learned of its own promotion
	err := l.command(func() error { return l.cluster.Remove(victim.id, false) })
	taken := err == nil || !votes(l) || knew && !votes(who)
	if taken {
		w.check.Fail("S14: with %d of %d voters down %s takes up the removal of %s, which is well: %v", len(down), len(all),
			asked.id, victim.id, err)
	} else {
		w.check.Achieved("removal refused")
	}
	w.heal()
}
