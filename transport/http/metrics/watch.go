package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/internal/job"
	"rmd/scheduler/input"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func typeName(in input.Input) string { return fmt.Sprintf("%T", in) }

// Reader gives access to the committed state and to the applied batches.
type Reader interface {
	Fork() (st *state.State, index uint64)
	Follow() (view.Subscription, error)
}

// Watch counts applied events until the context ends. If it is too slow, the counters miss events
// and then continue. It reports its runs to j.
func (m *Metrics) Watch(ctx context.Context, r Reader, log hclog.Logger, j *job.Job) {
	reservations := map[uint64]string{}
	for ctx.Err() == nil {
		err := m.watchOnce(ctx, r, reservations, j)
		if ctx.Err() != nil {
			return
		}
		_ = j.Done(err)
		log.Debug("watch for the metrics starts again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// watchPause is the time between two attempts to watch.
const watchPause = 100 * time.Millisecond

func (m *Metrics) watchOnce(ctx context.Context, r Reader, reservations map[uint64]string, j *job.Job) error {
	sub, err := r.Follow()
	if err != nil {
		return err
	}
	defer sub.Close()
	st, _ := r.Fork()
	clear(reservations)
	st.Reservations.Each(func(_ state.ReservationSlot, k *state.Reservation) bool {
		reservations[k.Number] = queueOf(st, st.Apps.Get(k.App))
		return true
	})
	t := tally{m: m, fork: r.Fork, reservations: reservations}
	for first := true; ; first = false {
		b, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if first {
			_ = j.Done(nil)
		}
		t.count(b)
	}
}

func queueOf(st *state.State, a *state.App) string { return queueName(st, a.Queue) }

// firstContainer reports whether a number is that of the first container of an application's first
// attempt. The high bits of the number, which are the epoch, do not count.
func firstContainer(attempt uint32, number uint64) bool {
	return attempt == 1 && yarn.ContainerSequence(number) == 1
}

// tally counts the events of batches and what they changed. It forks the state only for the few
// changes that need it, because after a fork every replica copies the pages that the next batch
// changes.
type tally struct {
	m            *Metrics
	fork         func() (*state.State, uint64)
	reservations map[uint64]string // the queue of each open reservation, by number

	kinds  [event.KindsEnd]prometheus.Counter // by event number, made on first use
	events [event.KindsEnd]int                // in the current batch
}

// count counts the events of a batch and what they changed.
func (t *tally) count(b view.Batch) {
	for _, e := range b.Events {
		t.events[e.Kind()]++
	}
	for k, n := range t.events {
		if n == 0 {
			continue
		}
		if t.kinds[k] == nil {
			t.kinds[k] = t.m.events.WithLabelValues(event.Kind(k).String())
		}
		t.kinds[k].Add(float64(n))
		t.events[k] = 0
	}
	for i := range b.Changes {
		t.follow(&b.Changes[i], b.NowMillis)
	}
}

// follow counts a change of a reservation, and the start of an application's first container.
func (t *tally) follow(c *change.Change, now int64) {
	switch c.Kind {
	case change.ContainerStarted:
		if !firstContainer(c.Ref.Attempt, c.Ref.Number) {
			return
		}
		st, _ := t.fork()
		if slot := st.Apps.Find(c.Ref.App); slot != 0 {
			t.m.waited(st, slot, now)
		}
	case change.ReservationOpened:
		st, _ := t.fork()
		if slot := st.Apps.Find(c.Ref.App); slot != 0 {
			t.reservations[c.Number] = queueOf(st, st.Apps.Get(slot))
		}
		t.m.reservations.WithLabelValues(t.reservations[c.Number], "made").Inc()
	case change.ReservationClosed:
		t.m.reservations.WithLabelValues(t.reservations[c.Number], view.Outcome(c.Cancelled)).Inc()
		delete(t.reservations, c.Number)
	}
}

// waited records how long an application waited for its first container.
func (m *Metrics) waited(st *state.State, slot state.AppSlot, now int64) {
	a := st.Apps.Get(slot)
	size := "small"
	for _, k := range st.Containers.Of(a) {
		if firstContainer(k.Attempt, k.Number) && overHalfNode(st, k.Size) {
			size = "large"
		}
	}
	m.appWait.WithLabelValues(queueOf(st, a), size).Observe(float64(max(now-a.SubmittedMillis, 0)) / 1000)
}

// overHalfNode reports whether a size is more than half of an average usable node in any resource
// kind.
func overHalfNode(st *state.State, size yarn.Resource) bool {
	for i, v := range size {
		if total := st.Meta.Cluster[i]; total > 0 && 2*v*int64(st.Meta.UsableNodes) > total {
			return true
		}
	}
	return false
}
