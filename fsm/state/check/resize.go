package check

import (
	"fmt"

	"rmd/fsm/state/record"
)

// CheckResizes compares Resizes with containers, asks and reservations: each Resize belongs to one
// container, and each hidden ask and increase reservation belongs to one Resize.
func (s *Tables) CheckResizes() error {
	var err error
	resized, asks, reservations := 0, 0, 0
	s.Resizes.Each(func(slot record.ResizeSlot, r *record.Resize) bool {
		c := s.Containers.Get(r.Container)
		asks += int(count(r.Ask != 0))
		reservations += int(count(r.Reservation != 0))
		switch {
		case c.Resize != slot || c.Sizing != r.Marks():
			err = fmt.Errorf("container %s is resized twice", s.Apps.ContainerID(c))
		case r.Version < 0 || (r.Version == 0 && r.Ask == 0) || (r.Version == 0 && (r.Change != 0 || r.Marks() != 0)):
			err = fmt.Errorf("container %s has version %d and nothing is asked for it", s.Apps.ContainerID(c), r.Version)
		case !c.State.Live() && (r.Ask != 0 || r.Change != 0 || r.Marks() != 0):
			err = fmt.Errorf("container %s is %s and to be resized", s.Apps.ContainerID(c), c.State)
		case r.Change != 0 && !c.Undelivered, r.Change == 0 && r.DeliveredIn != 0:
			err = fmt.Errorf("the change of container %s is in no undelivered list", s.Apps.ContainerID(c))
		case !s.increaseMatches(r):
			err = fmt.Errorf("the increase of container %s has the ask or reservation of another", s.Apps.ContainerID(c))
		}
		return err == nil
	})
	s.Containers.Each(func(_ record.ContainerSlot, c *record.Container) bool {
		resized += int(count(c.Resize != 0))
		return true
	})
	s.Asks.Each(func(_ record.AskSlot, k *record.Ask) bool { asks -= int(count(k.IncreaseOf != 0)); return true })
	s.Reservations.Each(func(_ record.ReservationSlot, r *record.Reservation) bool {
		reservations -= int(count(r.IncreaseOf != 0))
		return true
	})
	if err == nil && (resized != s.Resizes.Len() || asks != 0 || reservations != 0) {
		err = fmt.Errorf("%d containers are resized and there are %d resizes; %d asks and %d reservations too many", resized,
			s.Resizes.Len(), asks, reservations)
	}
	return err
}

// increaseMatches reports whether the ask and the reservation of a Resize belong to its container.
func (s *Tables) increaseMatches(r *record.Resize) bool {
	c := s.Containers.Get(r.Container)
	if r.Ask != 0 {
		if k := s.Asks.Get(r.Ask); k.IncreaseOf != r.Container || k.App != c.App || k.Key != c.Key || k.Count > 1 ||
			k.Reservations != count(r.Reservation != 0) {
			return false
		}
	}
	if r.Reservation != 0 {
		h := s.Reservations.Get(r.Reservation)
		return r.Ask != 0 && h.IncreaseOf == r.Container && h.App == c.App && h.Node == c.Node && h.Container == c.Number &&
			h.Attempt == c.Attempt
	}
	return true
}
