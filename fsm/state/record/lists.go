package record

import (
	"iter"

	"rmd/fsm/state/table"
)

// Lists are linked through the records. The owner has the slot of the first record, each record
// the slot of the next, and of the previous one where records leave from the middle. Files of package
// state keep them, where events are applied:
//
//	owner    first record      next, order                    kept by
//	App      Asks              Ask.Next, AskBefore            ask.go, resize.go
//	Ask      Locations         Location.Next, newest first    location.go
//	App      Containers        NextApp, newest first          container.go
//	Node     Containers        NextNode, newest first         container.go: occupy, vacate
//	App      Undelivered       NextUndelivered, newest first  container.go, attempt.go: deliver
//	App      Reservations      NextApp, newest first          reservation.go
//	App      History           Attempt.Next, newest first     master.go: record
//	App      NodeApplications  NextApp, newest first          nodeapplication.go
//	Node     NodeApplications  NextNode, newest first         nodeapplication.go
//	Node     ReservationBans   ReservationBan.Next, newest    reservation.go
//	Meta     OldestRequest     Request.Next, oldest first     request.go

// Of returns an application's asks in key order. Hidden asks for increases come last.
func (t *Asks) Of(a *App) iter.Seq2[AskSlot, *Ask] {
	return table.List(&t.Table, a.Asks, func(k *Ask) AskSlot { return k.Next })
}

// Of returns an ask's hosts and racks, newest first.
func (t *Locations) Of(k *Ask) iter.Seq2[LocationSlot, *Location] {
	return table.List(&t.Table, k.Locations, func(l *Location) LocationSlot { return l.Next })
}

// Of returns an application's containers that are not freed, newest first.
func (t *Containers) Of(a *App) iter.Seq2[ContainerSlot, *Container] {
	return table.List(&t.Table, a.Containers, func(c *Container) ContainerSlot { return c.NextApp })
}

// On returns the containers that use a node, newest first.
func (t *Containers) On(n *Node) iter.Seq2[ContainerSlot, *Container] {
	return table.List(&t.Table, n.Containers, func(c *Container) ContainerSlot { return c.NextNode })
}

// UndeliveredTo returns the containers about which an application's AM must receive, or
// acknowledge, something, newest first.
func (t *Containers) UndeliveredTo(a *App) iter.Seq2[ContainerSlot, *Container] {
	return table.List(&t.Table, a.Undelivered, func(c *Container) ContainerSlot { return c.NextUndelivered })
}

// Of returns an application's reservations, newest first.
func (t *Reservations) Of(a *App) iter.Seq2[ReservationSlot, *Reservation] {
	return table.List(&t.Table, a.Reservations, func(r *Reservation) ReservationSlot { return r.NextApp })
}

// Of returns an application's ended attempts, newest first.
func (t *Attempts) Of(a *App) iter.Seq2[AttemptSlot, *Attempt] {
	return table.List(&t.Table, a.History, func(h *Attempt) AttemptSlot { return h.Next })
}
