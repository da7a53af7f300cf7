package v1

import (
	"net/http"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// reservations serves reservations.
type reservations struct{ *shared }

func (s *reservations) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/reservations", "node app queue limit after",
			listReservations).Doc("List the current reservations, one page", nil, api.Reservations{}),
		route.Get("/v1/reservations/{id}", "", showReservation).Doc("Show a reservation", nil, api.Reservation{}),
		route.Get("/v1/reservations/{id}/history", "",
			s.reservationHistory).Doc("Show what happened to a reservation, as far as the log is kept", nil,
			api.ReservationHistory{}),
		route.Delete("/v1/reservations/{id}", "reason", cancelReservation).Makes(&input.CancelReservation{}).Doc(
			"Cancel a reservation", nil, api.Done{}),
	}
}

// reservationFilter reads the filters. The named node, application and queue must exist.
func reservationFilter(c *route.Call, v *view.View) (func(r *state.Reservation) bool, error) {
	var node state.NodeSlot
	var app state.AppSlot
	var queues []bool
	var err error
	if text := c.Query.Get("node"); text != "" {
		if node, err = v.FindNode(text); err != nil {
			return nil, err
		}
	}
	if text := c.Query.Get("app"); text != "" {
		if _, app, err = v.FindApp(text); err != nil {
			return nil, err
		}
	}
	if text := c.Query.Get("queue"); text != "" {
		slot, err := v.FindQueue(text)
		if err != nil {
			return nil, err
		}
		queues = v.Subtree(slot)
	}
	return func(r *state.Reservation) bool {
		return (node == 0 || r.Node == node) && (app == 0 || r.App == app) &&
			(queues == nil || queues[v.State.Apps.Get(r.App).Queue])
	}, nil
}

func listReservations(c *route.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	var after uint64
	if text := c.Query.Get("after"); text != "" {
		if after, err = view.ReservationNumber(text); err != nil {
			return err
		}
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	pass, err := reservationFilter(c, v)
	if err != nil {
		return err
	}
	slots, next := route.Page(v.Reservations(after, pass), limit,
		func(at state.ReservationSlot) string { return view.ReservationID(v.State.Reservations.Get(at).Number) })
	items := func(yield func(api.Reservation) bool) {
		for _, slot := range slots {
			if !yield(v.Reservation(v.State.Reservations.Get(slot))) {
				return
			}
		}
	}
	return route.List(c, "reservations", items, func() any { return reservationTail(v, next) })
}

// reservationTail returns the fields that follow the list of reservations.
func reservationTail(v *view.View, next string) any {
	return struct {
		Next      string            `json:"next,omitempty"`
		Made      uint64            `json:"made"`
		Fulfilled uint64            `json:"fulfilled"`
		Cancelled map[string]uint64 `json:"cancelled"`
	}{next, v.State.Meta.Made, v.State.Meta.Fulfilled, v.Cancelled()}
}

func showReservation(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	slot, err := v.FindReservation(c.Args["id"])
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Reservation(v.State.Reservations.Get(slot)))
}

func cancelReservation(c *route.Call) error {
	number, err := view.ReservationNumber(c.Args["id"])
	if err != nil {
		return err
	}
	reason := c.Query.Get("reason")
	if len(reason) > 1024 {
		return problem.Invalid("the reason is longer than 1024 bytes", "say it shorter", "reason")
	}
	return c.Done(&input.CancelReservation{Number: number, Who: c.Who(), Reason: reason})
}
