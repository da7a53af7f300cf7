package httpserver

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"rmd/fsm/event"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// What a reservation's history reads at most: so many entries at once, and in
// all.
const (
	historyChunk   = 256
	historyEntries = 100_000
)

// reservationHistory tells a reservation's life from the log: made, moved,
// fulfilled or cancelled, as far back as the log is kept.
func reservationHistory(c *call) error {
	number, err := reservationNumber(c.args["id"])
	if err != nil {
		return err
	}
	if c.s.cfg.Log == nil {
		return notAvailable("the log")
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	d := api.ReservationHistory{ID: reservationID(number), Events: []api.ReservationEvent{}}
	d.Held = v.st.Reservation(number) != 0
	if err := c.s.readHistory(ctx, v, number, &d); err != nil {
		return err
	}
	if len(d.Events) == 0 && !d.Held {
		return problem("NO_SUCH_RESERVATION", "the log that is kept tells nothing of reservation "+d.ID, "\"rmd reservation list\" shows those held")
	}
	slices.Reverse(d.Events)
	return c.json(http.StatusOK, d)
}

// readHistory reads the log backwards until the reservation was made, or the
// log or what may be read ends.
func (s *Server) readHistory(ctx context.Context, v *view, number uint64, d *api.ReservationHistory) error {
	_, first, _, err := s.cfg.Log.Entries(ctx, 0, 1)
	if err != nil {
		return err
	}
	for next, read := v.index+1, 0; next > first && read < historyEntries; read += historyChunk {
		from := max(first, next-min(next, historyChunk))
		entries, _, _, err := s.cfg.Log.Entries(ctx, from, int(next-from))
		var old *TooOldError
		if errors.As(err, &old) { // compacted meanwhile
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

// historyOf adds what one entry tells, the last event first; true when it tells
// the beginning.
func historyOf(v *view, e LogEntry, number uint64, d *api.ReservationHistory) (made bool, err error) {
	b, err := event.Decode(e.Data)
	if err != nil {
		return false, nil // an entry of a newer build: "rmd log show" tells of it
	}
	var at int64
	for _, x := range b.Events {
		if t, ok := x.(*event.TimeAdvanced); ok {
			at = t.NowMillis
		}
	}
	for i := range d.Events { // what happened later without a stamp of its own
		if d.Events[i].AtMillis == 0 {
			d.Events[i].AtMillis = at
		}
	}
	for _, x := range slices.Backward(b.Events) {
		h := api.ReservationEvent{Index: e.Index, AtMillis: at}
		switch x := x.(type) {
		case *event.ReservationMade:
			if x.Reservation != number {
				continue
			}
			h.What, h.Node = "made", v.nodeID(x.Node)
			if slot := v.st.App(x.App); slot != 0 {
				d.App = v.st.Apps.Get(slot).ID.String()
			}
			d.Events = append(d.Events, h)
			return true, nil
		case *event.ReservationFulfilled:
			if x.Reservation != number {
				continue
			}
			h.What = "fulfilled"
		case *event.ReservationCancelled:
			if x.Reservation != number {
				continue
			}
			h.What, h.Cause = "cancelled", x.Cause.String()
			if x.Cause == yarn.CancelExchanged {
				h.What = "moved"
			}
		default:
			continue
		}
		d.Events = append(d.Events, h)
	}
	return false, nil
}
