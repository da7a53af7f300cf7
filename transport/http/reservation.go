package httpserver

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) reservationRoutes() []route {
	return []route{
		get("/v1/reservations", "node app queue limit after", listReservations),
		get("/v1/reservations/{id}", "", showReservation),
		get("/v1/reservations/{id}/history", "", reservationHistory),
		{method: http.MethodDelete, pattern: "/v1/reservations/{id}", class: ClassWrite, query: "reason", handle: cancelReservation},
	}
}

func reservationID(number uint64) string { return "r" + strconv.FormatUint(number, 10) }

func reservationNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "r"), 10, 63)
	if err != nil || n == 0 {
		return 0, invalid(fmt.Sprintf("%q is not a reservation id", text), "give r41, as \"rmd reservation list\" shows it")
	}
	return n, nil
}

// reservationFilter reads the filters; what they name must exist.
func (c *call) reservationFilter(v *view) (func(r *state.Reservation) bool, error) {
	var node, app uint32
	var queue appFilter
	var err error
	if text := c.q.Get("node"); text != "" {
		if node, err = v.node(text); err != nil {
			return nil, err
		}
	}
	if text := c.q.Get("app"); text != "" {
		if _, app, err = v.app(text); err != nil {
			return nil, err
		}
	}
	if text := c.q.Get("queue"); text != "" {
		slot, err := v.queue(text)
		if err != nil {
			return nil, err
		}
		queue.setQueue(v, slot)
	}
	return func(r *state.Reservation) bool {
		return (node == 0 || r.Node == node) && (app == 0 || r.App == app) && (queue.queue == 0 || queue.under[v.st.Apps.Get(r.App).Queue])
	}, nil
}

func listReservations(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	var after uint64
	if text := c.q.Get("after"); text != "" {
		if after, err = reservationNumber(text); err != nil {
			return err
		}
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	pass, err := c.reservationFilter(v)
	if err != nil {
		return err
	}
	slots, next := page(v.reservations(after, pass), limit, func(at uint32) string { return reservationID(v.st.Reservations.Get(at).Number) })
	demands := v.demands()
	items := func(yield func(api.Reservation) bool) {
		for _, slot := range slots {
			if !yield(v.reservationDoc(v.st.Reservations.Get(slot), demands)) {
				return
			}
		}
	}
	return list(c, "reservations", items, func() any { return v.reservationTail(next) })
}

// reservations lists those that pass, oldest first.
func (v *view) reservations(after uint64, pass func(r *state.Reservation) bool) []uint32 {
	var out []uint32
	v.st.Reservations.Each(func(slot uint32, r *state.Reservation) bool {
		if r.Number > after && pass(r) {
			out = append(out, slot)
		}
		return true
	})
	slices.SortFunc(out, func(a, b uint32) int {
		return cmp.Compare(v.st.Reservations.Get(a).Number, v.st.Reservations.Get(b).Number)
	})
	return out
}

// reservationTail is what the list says besides its items.
func (v *view) reservationTail(next string) any {
	return struct {
		Next      string            `json:"next,omitempty"`
		Made      uint64            `json:"made"`
		Fulfilled uint64            `json:"fulfilled"`
		Cancelled map[string]uint64 `json:"cancelled"`
	}{next, v.st.Meta.Made, v.st.Meta.Fulfilled, v.cancelled()}
}

// cancelled counts the cancellations by cause.
func (v *view) cancelled() map[string]uint64 {
	out := map[string]uint64{}
	for cause, n := range v.st.Meta.Cancelled {
		if n > 0 {
			out[yarn.CancelCause(cause).String()] = n
		}
	}
	return out
}

// demand is one size that an application waits for.
type demand struct {
	app  uint32
	size yarn.Resource
}

// demands lists what activated applications ask for, once for all reservations
// of a page.
func (v *view) demands() []demand {
	var out []demand
	if v.st.Reservations.Len() == 0 {
		return nil
	}
	v.census().Each(false, func(a *summary.App) bool {
		if a.Outstanding == 0 || a.Attempt != state.AttemptActive && a.Attempt != state.AttemptRegistered {
			return true
		}
		for at := v.st.Apps.Get(a.Slot).Asks; at != 0; at = v.st.Asks.Get(at).Next {
			if k := v.st.Asks.Get(at); k.Count > 0 {
				out = append(out, demand{a.Slot, k.Size})
			}
		}
		return true
	})
	return out
}

// blocked counts the other applications with an ask that fits what is free on a
// reserved node.
func (v *view) blocked(demands []demand, app uint32, free yarn.Resource) int {
	calc := v.calculator()
	var n int
	var last uint32
	for _, d := range demands {
		if d.app != app && d.app != last && calc.FitsIn(d.size, free) {
			n++
			last = d.app
		}
	}
	return n
}

// reservationDoc shows one reservation.
func (v *view) reservationDoc(r *state.Reservation, demands []demand) api.Reservation {
	a, n := v.st.Apps.Get(r.App), v.st.Nodes.Get(r.Node)
	free := n.Unallocated()
	d := api.Reservation{
		ID: reservationID(r.Number), Node: n.ID.String(), App: a.ID.String(), Attempt: r.Attempt, Queue: v.queuePath(a.Queue), User: v.st.NameOf(a.User),
		Container: yarn.ContainerID{App: a.ID, Attempt: r.Attempt, Number: r.Container}.String(), Priority: r.Key.Priority, AllocationID: r.Key.AllocationID,
		Size: v.size(r.Size), AM: r.AM, NodeTotal: v.size(n.Total), Free: v.size(free), Missing: v.size(yarn.ComponentMax(r.Size.Sub(free), yarn.Resource{})),
		MadeMillis: r.MadeMillis, AgeMillis: max(v.st.Meta.NowMillis-r.MadeMillis, 0), Blocks: v.blocked(demands, r.App, free),
	}
	if ask := v.st.Ask(a, r.Key); ask != 0 {
		d.ReReservations = v.st.Asks.Get(ask).ReReservations
	}
	return d
}

func showReservation(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	slot, err := v.reservation(c.args["id"])
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, v.reservationDoc(v.st.Reservations.Get(slot), v.demands()))
}

func cancelReservation(c *call) error {
	number, err := reservationNumber(c.args["id"])
	if err != nil {
		return err
	}
	reason := c.q.Get("reason")
	if len(reason) > 1024 {
		return invalid("the reason is longer than 1024 bytes", "say it shorter", "reason")
	}
	return c.done(&input.CancelReservation{Number: number, Who: c.who(), Reason: reason})
}
