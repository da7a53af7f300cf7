package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"rmd/api"
	"rmd/client"
	"rmd/cmd/internal/output"
	"rmd/internal/sleep"
	"rmd/workload/trace"
)

// killPatience limits how long a kill waits for the next container, and reservePatience how long it
// waits for a reservation.
const (
	killPatience    = time.Minute
	reservePatience = 2 * time.Second
)

// devKill is what a kill of the leader cost, measured by a client of the other replicas.
type devKill struct {
	victim string
	leader string        // the next one; "" so far
	led    time.Duration // from the kill to the first entry of the next leader
	gap    time.Duration // from the kill to the first container that it allocated; 0 so far

	reserved, kept int   // reservations before the kill, and those of them that stayed or were decided since
	running        int64 // containers before the kill
	lost           int64 // containers that ended without their application's doing since then
	err            error
	ago            time.Duration
}

// slowGap is a gap that is longer than what an idle machine with a fast disk needs.
const slowGap = 200 * time.Millisecond

// killed is a kill that is being measured.
type killed struct {
	devKill
	tell    func(devKill)
	cl      *client.Client // of the survivors
	term    uint64         // of the leader that was killed
	at      atomic.Pointer[time.Time]
	before  map[string]bool // reservations that are not accounted for
	judgeAt uint64          // index at which the reservations were read again; 0: not yet
}

// killLeader kills the leader's process with SIGKILL and measures what follows. It calls tell with
// each figure as soon as it is known. If nothing is reserved, it calls reserve first, and gives that a
// moment.
func (d *devCluster) killLeader(ctx context.Context, reserve func(), tell func(devKill)) error {
	ctx, cancel := context.WithTimeout(ctx, killPatience)
	defer cancel()
	k := &killed{tell: tell}
	victim, index, err := d.prepareKill(ctx, k)
	if err == nil && k.reserved == 0 {
		reserve()
		if err = k.awaitReservation(ctx); err == nil {
			victim, index, err = d.prepareKill(ctx, k) // the leader may be another one now
		}
	}
	if err != nil {
		return err
	}
	heard, over := make(chan struct{}), make(chan error, 1)
	go func() { over <- k.follow(ctx, index, heard) }()
	select { // the stream must be open before the kill, or the gap would include its opening
	case <-heard:
	case err := <-over:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	tell(devKill{victim: k.victim, reserved: k.reserved, running: k.running}) // follow tells the rest
	at := time.Now()
	k.at.Store(&at)
	victim.kill()
	d.work.Control.Submit(d.probe())
	if k.err = <-over; errors.Is(k.err, context.DeadlineExceeded) {
		k.err = fmt.Errorf("no container within %s", killPatience)
	}
	tell(k.devKill)
	return nil
}

// prepareKill finds the leader, and what it has promised up to the returned index.
func (d *devCluster) prepareKill(ctx context.Context, k *killed) (victim *devReplica, index uint64, err error) {
	if victim, err = d.chooseVictim(ctx, k); err != nil {
		return nil, 0, err
	}
	index, err = k.readReservations(ctx, func(id string) { k.before[id] = true })
	k.reserved = len(k.before)
	return victim, index, err
}

// awaitReservation waits until a survivor knows a reservation, for reservePatience at most. A job that
// finds a free node reserves none.
func (k *killed) awaitReservation(ctx context.Context) error {
	for end := time.Now().Add(reservePatience); time.Now().Before(end); {
		found := false
		if _, err := k.readReservations(ctx, func(string) { found = true }); err != nil || found {
			return err
		}
		if !sleep.For(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// chooseVictim finds the leader, and refuses to take the majority away.
func (d *devCluster) chooseVictim(ctx context.Context, k *killed) (*devReplica, error) {
	var alive devReplicas
	for _, r := range d.replicas {
		if r.running() {
			alive = append(alive, r)
		}
	}
	if need := len(d.replicas)/2 + 1; len(alive) <= need {
		return nil, fmt.Errorf("%d of %d replicas run, and %d are needed: press b first", len(alive), len(d.replicas), need)
	}
	cl, err := alive.clientOf(alive...)
	if err != nil {
		return nil, err
	}
	doc, err := cl.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	victim := alive.named(doc.Leader)
	if victim == nil {
		return nil, errors.New("no leader now: try again")
	}
	k.victim, k.term, k.running, k.before = doc.Leader, doc.Term, doc.Totals.Containers, map[string]bool{}
	k.cl, err = alive.clientOf(alive.without(doc.Leader)...)
	return victim, err
}

// readReservations reads the reservations of a survivor, and returns the index of its state.
func (k *killed) readReservations(ctx context.Context, each func(id string)) (uint64, error) {
	a, err := k.cl.Get(ctx, "/v1/reservations", url.Values{"limit": {"1000"}})
	if err != nil {
		return 0, err
	}
	var doc api.Reservations
	if err := a.Decode(&doc); err != nil {
		return 0, err
	}
	for _, r := range doc.Reservations {
		each(r.ID)
	}
	return a.Index(), nil
}

// follow reads the log after index until it has seen a container of the next leader, and has
// accounted for each reservation.
func (k *killed) follow(ctx context.Context, index uint64, heard chan struct{}) error {
	first := true
	return k.cl.Watch(ctx, nil, index, func(b api.EventBatch) error { return k.entry(ctx, b) }, func(index uint64) {
		if first {
			first = false
			close(heard)
		}
	})
}

// entry looks at one entry of the log.
func (k *killed) entry(ctx context.Context, b api.EventBatch) error {
	at := k.at.Load()
	for _, e := range b.Events {
		if e.Kind == "ReservationFulfilled" || e.Kind == "ReservationCancelled" { // the scheduler decided: it is not lost
			k.found(e.Reservation)
		}
		if (e.Kind == "ContainerAllocated" || e.Kind == "ReservationFulfilled") && at != nil &&
			b.Term > k.term && k.gap == 0 {
			k.gap = time.Since(*at)
		}
	}
	if at != nil && b.Term > k.term && k.led == 0 {
		k.led = time.Since(*at)
		k.tell(k.devKill) // without a name: a call would lengthen the gap that is measured
	}
	switch {
	case k.gap == 0:
		return nil
	case k.judgeAt == 0:
		return k.judge(ctx)
	case b.Index < k.judgeAt:
		return nil
	}
	return client.Stop()
}

// judge reads the reservations again. Those that were decided meanwhile are in entries up to
// judgeAt, which follow.
func (k *killed) judge(ctx context.Context) (err error) {
	doc, err := k.cl.Cluster(ctx)
	if err != nil {
		return err
	}
	k.leader = doc.Leader
	k.judgeAt, err = k.readReservations(ctx, k.found)
	return err
}

// found accounts for a reservation.
func (k *killed) found(id string) {
	if k.before[id] {
		delete(k.before, id)
		k.kept++
	}
}

// probe is an application with one small container, so that something waits for a container when
// the leader dies.
func (d *devCluster) probe() trace.Job {
	return trace.Job{Name: "next-container", User: "you", Queue: d.smallQueue, Tasks: []trace.TaskGroup{
		{Count: 1, MemoryMB: 1024, VCores: 1, Duration: time.Duration(float64(time.Second) * d.work.Speed),
			Priority: 1, After: -1}}}
}

// lines returns the result as text.
func (k devKill) lines() []string {
	head := "kill -9 " + k.victim + ": "
	next := "no leader yet"
	switch {
	case k.err != nil:
		next = k.err.Error()
	case k.gap == 0 && k.led > 0:
		next = fmt.Sprintf("%s leads after %s; waiting for the next container", cmp.Or(k.leader, "the next leader"),
			millis(k.led))
	case k.gap > 0:
		next = fmt.Sprintf("%s leads after %s, next container after %s", dash(k.leader), millis(k.led), millis(k.gap))
	}
	if k.gap == 0 {
		return []string{head + next, ""}
	}
	out := []string{head + next, fmt.Sprintf("%*s%s, containers lost %d of %d", len(head), "", k.keptText(),
		k.lost, k.running)}
	last := output.Span(k.ago) + " ago"
	if k.gap > slowGap {
		last += "; a busy machine or a slow disk takes longer"
	}
	return append(out, fmt.Sprintf("%*s%s", len(head), "", last))
}

// keptText says how many reservations were kept.
func (k devKill) keptText() string {
	if k.reserved == 0 {
		return "reservations: none to keep"
	}
	return fmt.Sprintf("reservations kept %d of %d", k.kept, k.reserved)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
