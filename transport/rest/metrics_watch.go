package rest

import (
	"fmt"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

func typeName(in input.Input) string { return fmt.Sprintf("%T", in) }

// held is what a reservation's end needs to know of its beginning.
type held struct {
	queue string
	app   uint32
	first bool // it will be the application's first container
}

// watchMetrics counts what is applied, until Close. What it misses when it is
// too slow is missing in the counters, which then go on.
func (s *Server) watchMetrics() {
	reservations := map[uint64]held{}
	for s.ctx.Err() == nil {
		err := s.watchOnce(reservations)
		if s.ctx.Err() != nil {
			return
		}
		s.log.Debug("watch for the metrics starts anew", "error", err)
		select {
		case <-s.ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// watchPause is the least time between two watches.
const watchPause = 100 * time.Millisecond

func (s *Server) watchOnce(reservations map[uint64]held) error {
	sub, err := s.cfg.Reader.Watch(0)
	if err != nil {
		return err
	}
	defer sub.Close()
	st, _ := s.cfg.Reader.Fork()
	clear(reservations)
	st.Reservations.Each(func(_ uint32, r *state.Reservation) bool {
		reservations[r.Number] = heldOf(st, r.App, r.Container)
		return true
	})
	for {
		b, err := sub.Next(s.ctx)
		if err != nil {
			return err
		}
		st, _ := s.cfg.Reader.Fork()
		s.metrics.count(st, b, reservations)
	}
}

func heldOf(st *state.State, app uint32, number uint64) held {
	a := st.Apps.Get(app)
	return held{queue: queueOf(st, a), app: a.ID.Seq, first: firstContainer(a.Attempt, number)}
}

func queueOf(st *state.State, a *state.App) string {
	if !st.Queues.Has(a.Queue) {
		return ""
	}
	return st.Queues.Get(a.Queue).Path
}

// firstContainer says whether a number is the first of an application's first
// attempt; the epoch stands above the sequence.
func firstContainer(attempt uint32, number uint64) bool {
	return attempt == 1 && number&(1<<40-1) == 1
}

// count notes the events of a batch.
func (m *Metrics) count(st *state.State, b Batch, reservations map[uint64]held) {
	for _, e := range b.Events {
		m.events.WithLabelValues(e.Kind().String()).Inc()
		switch e := e.(type) {
		case *event.ContainerAllocated:
			if slot := st.App(e.App); slot != 0 && firstContainer(st.Apps.Get(slot).Attempt, e.Number) {
				m.waited(st, slot, b.NowMillis)
			}
		case *event.ReservationMade:
			if slot := st.App(e.App); slot != 0 {
				reservations[e.Reservation] = heldOf(st, slot, e.Number)
			}
			m.reservations.WithLabelValues(reservations[e.Reservation].queue, "made").Inc()
		case *event.ReservationFulfilled:
			h := reservations[e.Reservation]
			delete(reservations, e.Reservation)
			m.reservations.WithLabelValues(h.queue, "fulfilled").Inc()
			if slot := st.App(h.app); slot != 0 && h.first {
				m.waited(st, slot, b.NowMillis)
			}
		case *event.ReservationCancelled:
			outcome := "cancelled"
			if e.Cause == yarn.CancelExchanged {
				outcome = "moved"
			}
			m.reservations.WithLabelValues(reservations[e.Reservation].queue, outcome).Inc()
			delete(reservations, e.Reservation)
		}
	}
}

// waited notes how long an application waited for its first container.
func (m *Metrics) waited(st *state.State, slot uint32, now int64) {
	a := st.Apps.Get(slot)
	size := "small"
	for at := a.Containers; at != 0; {
		k := st.Containers.Get(at)
		if firstContainer(k.Attempt, k.Number) && overHalfNode(st, k.Size) {
			size = "large"
		}
		at = k.NextOfApp()
	}
	m.appWait.WithLabelValues(queueOf(st, a), size).Observe(float64(max(now-a.SubmittedMillis, 0)) / 1000)
}

// overHalfNode says whether a size is more than half of an average usable node
// in some kind.
func overHalfNode(st *state.State, size yarn.Resource) bool {
	for i, v := range size {
		if total := st.Meta.Cluster[i]; total > 0 && 2*v*int64(st.Meta.UsableNodes) > total {
			return true
		}
	}
	return false
}
