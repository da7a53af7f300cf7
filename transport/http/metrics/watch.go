package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/job"
	"rmd/scheduler/input"
	"rmd/transport/http/view"
	"rmd/yarn"
)

func typeName(in input.Input) string { return fmt.Sprintf("%T", in) }

// held is a reservation that is open.
type held struct {
	queue string
	app   uint32
	first bool // its container will be the first of the application
}

// Reader gives access to the committed state and to the applied batches.
type Reader interface {
	Fork() (st *state.State, index uint64)
	Watch(after uint64) (view.Subscription, error)
}

// Watch counts applied events until the context ends. If it is too slow, the counters miss events
// and then continue. It reports its runs to j.
func (m *Metrics) Watch(ctx context.Context, r Reader, log hclog.Logger, j *job.Job) {
	reservations := map[uint64]held{}
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

func (m *Metrics) watchOnce(ctx context.Context, r Reader, reservations map[uint64]held, j *job.Job) error {
	sub, err := r.Watch(0)
	if err != nil {
		return err
	}
	defer sub.Close()
	st, _ := r.Fork()
	clear(reservations)
	st.Reservations.Each(func(_ uint32, k *state.Reservation) bool {
		reservations[k.Number] = heldOf(st, k.App, k.Container)
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

func heldOf(st *state.State, app uint32, number uint64) held {
	a := st.Apps.Get(app)
	return held{queue: queueOf(st, a), app: a.ID.Seq, first: firstContainer(a.Attempt, number)}
}

func queueOf(st *state.State, a *state.App) string { return queueName(st, a.Queue) }

// firstContainer reports whether a number is that of the first container of an application's first
// attempt. The high bits of the number, which are the epoch, do not count.
func firstContainer(attempt uint32, number uint64) bool {
	return attempt == 1 && yarn.ContainerSequence(number) == 1
}

// tally counts the events of batches. It forks the state only for the few events that need it,
// because after a fork every replica copies the pages that the next batch changes.
type tally struct {
	m            *Metrics
	fork         func() (*state.State, uint64)
	reservations map[uint64]held

	kinds  [maxKind]prometheus.Counter // by event number, made on first use
	events [maxKind]int                // in the current batch
}

// maxKind is larger than every event number that has a cached counter.
const maxKind = 128

// count counts the events of a batch.
func (t *tally) count(b view.Batch) {
	for _, e := range b.Events {
		k := e.Kind()
		if k >= maxKind {
			t.m.events.WithLabelValues(k.String()).Inc()
			continue
		}
		t.events[k]++
		switch e := e.(type) {
		case *event.ContainerAllocated:
			if firstContainer(1, e.Number) { // perhaps of a later attempt; allocated checks that
				t.allocated(e, b.NowMillis)
			}
		case *event.ContainerLent:
			if firstContainer(1, e.Number) {
				t.allocated(&e.ContainerAllocated, b.NowMillis)
			}
		case *event.ReservationMade, *event.GangReserved, *event.ResizeReserved, *event.ReservationFulfilled, *event.ReservationCancelled:
			t.reserved(e, b.NowMillis)
		}
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
}

func (t *tally) allocated(e *event.ContainerAllocated, now int64) {
	st, _ := t.fork()
	if slot := st.App(e.App); slot != 0 && firstContainer(st.Apps.Get(slot).Attempt, e.Number) {
		t.m.waited(st, slot, now)
	}
}

// reserved counts what happened to a reservation.
func (t *tally) reserved(e event.Event, now int64) {
	st, _ := t.fork()
	switch e := e.(type) {
	case *event.ReservationMade:
		t.made(st, e.Reservation, e.App, e.Number)
	case *event.GangReserved:
		t.made(st, e.Reservation, e.App, e.Number)
	case *event.ResizeReserved: // for a larger size of a running container, so it is never an application's first
		t.made(st, e.Reservation, e.Container.App, 0)
	case *event.ReservationFulfilled:
		h := t.reservations[e.Reservation]
		delete(t.reservations, e.Reservation)
		t.m.reservations.WithLabelValues(h.queue, "fulfilled").Inc()
		if slot := st.App(h.app); slot != 0 && h.first {
			t.m.waited(st, slot, now)
		}
	case *event.ReservationCancelled:
		outcome := "cancelled"
		if e.Cause == yarn.CancelExchanged {
			outcome = "moved"
		}
		t.m.reservations.WithLabelValues(t.reservations[e.Reservation].queue, outcome).Inc()
		delete(t.reservations, e.Reservation)
	}
}

// made counts a reservation, and keeps what is needed when it ends.
func (t *tally) made(st *state.State, number uint64, app uint32, container uint64) {
	if slot := st.App(app); slot != 0 {
		t.reservations[number] = heldOf(st, slot, container)
	}
	t.m.reservations.WithLabelValues(t.reservations[number].queue, "made").Inc()
}

// waited records how long an application waited for its first container.
func (m *Metrics) waited(st *state.State, slot uint32, now int64) {
	a := st.Apps.Get(slot)
	size := "small"
	for _, k := range st.ContainersOf(a) {
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
