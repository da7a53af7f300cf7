package sim

import (
	"context"
	"math/rand"
	"slices"
	"strings"
	"time"

	"rmd/fsm/event"
	"rmd/internal/sleep"
)

// Faults that make leaders which are none, histories that part, and removals that
// must be refused.

// staleLeader cuts a leader off and lets the one goroutine of raft that would notice
// stand still: it goes on believing that it leads, and is read at all the while. What
// it shows must be as new as what its successor has shown (S13).
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
	w.net.isolate(r.id, true, true)
	ctx, cancel := context.WithTimeout(w.ctx, lease+stands)
	defer cancel()
	c := &caller{w: w, name: "stale", rng: rand.New(rand.NewSource(d.rng.Int63())), at: slices.Index(w.members(), r)}
	for sleep.For(ctx, time.Duration(20+d.rng.Intn(100))*time.Millisecond) {
		c.read(ctx)
	}
	w.atLog.Store(nil)
	w.net.heal()
}

// well is all members, when they run and vote and nobody is coming or going.
func (d *driver) well() []*replica {
	all := d.w.members()
	if d.busy() || d.w.operators.Load() > 0 || voters(d.w.membership()) != len(all) {
		return nil
	}
	for _, r := range all {
		if _, up := r.now(); !up || r.is(func(r *replica) bool { return r.broken }) {
			return nil
		}
	}
	return all
}

// fork makes two histories part: a leader and one follower keep entries that nobody
// else has; another leader has that follower drop them for one of its own; then the
// first leads again, and the follower must not take up where it was before (S1).
func (d *driver) fork() {
	w, all, first := d.w, d.well(), d.w.leading()
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
				w.net.part(id, r.id)
			}
		}
		w.net.join(id, torn.id)
		select {
		case won <- rest[i]:
		default:
		}
	}
	for _, r := range rest {
		w.net.part(first.id, r.id)
		w.net.part(torn.id, r.id)
	}
	w.atLog.Store(&split)
	defer w.atLog.Store(nil)
	defer w.net.heal()
	d.propose(first, 3+d.rng.Intn(6))
	t := time.NewTimer(10 * election)
	defer t.Stop()
	select {
	case second := <-won:
		w.net.part(first.id, torn.id)
		d.sleep(lease, lease) // for its first entry to come to the one that is torn
		w.net.part(second.id, torn.id)
		for _, r := range rest {
			if r != second {
				w.net.join(first.id, r.id)
			}
		}
	case <-t.C:
		return
	}
	w.atLog.Store(nil)
	for end := time.Now().Add(10 * election); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if l, up := first.now(); up && l.cluster.IsLeader() {
			d.note("%s leads again, and %s hears of it", first.id, torn.id)
			w.net.join(first.id, torn.id)
			d.w.check.achieved("forked")
			d.sleep(lease, lease)
			return
		}
	}
}

// propose has a leader store entries that have no effect wherever they are applied:
// they were planned on nothing.
func (d *driver) propose(r *replica, n int) {
	l, up := r.now()
	if !up {
		return
	}
	empty := (&event.Batch{Level: event.Level, Sequence: ^uint64(0)}).Encode()
	for range n {
		go func() {
			l.owner.own()
			l.cluster.Propose(empty)
		}()
		time.Sleep(2 * time.Millisecond)
	}
}

// removeUnfit asks for the removal of a voter that is well while so many others are
// down that no majority of those who stay would be left. It must be refused, and so
// be in nobody's log (S14).
func (d *driver) removeUnfit() {
	w, all, asked := d.w, d.well(), d.w.leading()
	if asked == nil || len(all) != 3 && len(all) != 5 {
		return
	}
	l, up := asked.now()
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
	who, _ := victim.now()
	server := string(who.cluster.Identity().ServerID())
	votes := func(l *process) bool {
		now, _ := l.disk.configurations()
		return now.Servers == nil || isVoter(now, server)
	}
	knew := votes(who) // it may still have to hear of its own promotion
	err := l.within(func() error { return l.cluster.Remove(victim.id, false) })
	taken := err == nil || !votes(l) || knew && !votes(who)
	if taken {
		w.check.fail("S14: with %d of %d voters down %s takes up the removal of %s, which is well: %v", len(down), len(all), asked.id, victim.id, err)
	} else {
		w.check.achieved("removal refused")
	}
	w.heal()
}
