package v1

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// Limits for reading the history of a reservation: the entries to read at once, and in all.
const (
	historyChunk   = 256
	historyEntries = 100_000
)

func (s *reservations) reservationHistory(c *route.Call) error {
	number, err := view.ReservationNumber(c.Args["id"])
	if err != nil {
		return err
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	d, err := s.History(c.R.Context(), v, number)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// History returns the life of a reservation from the log: made, moved, fulfilled or cancelled. It
// covers only the part of the log that the replica still has.
func (s *reservations) History(ctx context.Context, v *view.View, number uint64) (*api.ReservationHistory, error) {
	if s.cfg.Log == nil {
		return nil, problem.NotAvailable("the log")
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	d := &api.ReservationHistory{ID: view.ReservationID(number), Events: []api.ReservationEvent{}}
	d.Held = v.State.Reservations.Find(number) != 0
	if err := s.readHistory(ctx, v, number, d); err != nil {
		return nil, err
	}
	if len(d.Events) == 0 && !d.Held {
		return nil, problem.New("NO_SUCH_RESERVATION", "the log that is kept tells nothing of reservation "+d.ID,
			"\"rmd reservation list\" shows those held")
	}
	slices.Reverse(d.Events)
	return d, nil
}

// readHistory reads the log backwards until it finds the event that made the reservation, reaches
// the beginning of the log, or has read historyEntries.
func (s *reservations) readHistory(ctx context.Context, v *view.View, number uint64, d *api.ReservationHistory) error {
	_, first, _, err := s.cfg.Log.Entries(ctx, 0, 1)
	if err != nil {
		return err
	}
	for next, read := v.Index+1, 0; next > first && read < historyEntries; read += historyChunk {
		from := max(first, next-min(next, historyChunk))
		entries, from, _, err := view.LogBefore(ctx, s.cfg.Log, from, next)
		var old *problem.TooOldError
		if errors.As(err, &old) { // compacted in the meantime
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(entries) {
			if e.Index >= next || e.Type != "events" {
				continue
			}
			made, err := historyOf(v, e, number, d)
			if made || err != nil {
				d.Whole = made
				return err
			}
		}
		next = from
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// historyOf adds the events of an entry, last event first. It reports whether the entry made the
// reservation.
func historyOf(v *view.View, e view.LogEntry, number uint64, d *api.ReservationHistory) (made bool, err error) {
	b, err := event.Decode(e.Data)
	if err != nil {
		return false, nil // an entry of a newer build, which "rmd log show" reports
	}
	at := event.TimeIn(b.Events)
	for i := range d.Events { // later events in a batch without a time of its own
		if d.Events[i].AtMillis == 0 {
			d.Events[i].AtMillis = at
		}
	}
	for _, x := range slices.Backward(b.Events) {
		if event.SubjectOf(x).Reservation != number {
			continue
		}
		h := api.ReservationEvent{Index: e.Index, AtMillis: at}
		if event.Opens(x) {
			begins(d, v, h, x)
			return true, nil
		}
		closes, cancelled := event.Closes(x)
		if !closes {
			continue
		}
		if h.What = view.Outcome(cancelled); cancelled != 0 {
			h.Cause = cancelled.String()
		}
		d.Events = append(d.Events, h)
	}
	return false, nil
}

// begins adds the event that reserved a node for an application.
func begins(d *api.ReservationHistory, v *view.View, h api.ReservationEvent, e event.Event) {
	about := v.Subject(e, 0)
	h.What, h.Node = "made", v.NodeID(about.Node)
	if slot := v.State.Apps.Find(about.App); slot != 0 {
		d.App = v.State.Apps.Get(slot).ID.String()
	}
	d.Events = append(d.Events, h)
}
