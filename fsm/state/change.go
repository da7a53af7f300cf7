package state

import (
	"rmd/fsm/state/change"
)

// Changes returns what the last event did, in order. The slice is valid until the next event. Events
// that only report, count or acknowledge something do nothing that is listed.
func (s *Cluster) Changes() []change.Change { return s.changes }

// changeContainer adds a change of a container.
func (s *Demand) changeContainer(kind change.Kind, slot ContainerSlot, k *Container) *change.Change {
	c := s.changes.App(kind, k.App, s.Apps.Get(k.App))
	c.AM, c.Launched, c.Container, c.Node, c.Key = k.AM, k.Launched, slot, k.Node, k.Key
	c.Size = k.Size
	c.Ref.Attempt, c.Ref.Number = k.Attempt, k.Number
	return c
}

// changeReservation adds a change of a reservation.
func (s *Demand) changeReservation(kind change.Kind, slot ReservationSlot, r *Reservation) *change.Change {
	c := s.changes.App(kind, r.App, s.Apps.Get(r.App))
	c.AM, c.Increase, c.Gang, c.Container = r.AM, r.IncreaseOf != 0, r.Members != 0, r.IncreaseOf
	c.Reservation, c.Number, c.Node, c.Key = slot, r.Number, r.Node, r.Key
	c.Size = r.Size
	c.Ref.Attempt, c.Ref.Number = r.Attempt, r.Container
	return c
}
