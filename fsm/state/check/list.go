package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
)

// walker follows the linked lists of one table. Each record of the table is in at most one of these
// lists.
type walker struct {
	what string
	left int // records not visited yet
}

// follow calls step for each record of a list. step returns the next record, and whether this one is
// in its place.
func follow[S table.Slot](w *walker, first S, step func(slot S) (next S, ok bool)) error {
	for slot := first; slot != 0; {
		if w.left--; w.left < 0 {
			return fmt.Errorf("the lists of %s hold more than there are", w.what)
		}
		next, ok := step(slot)
		if !ok {
			return fmt.Errorf("%s at slot %d stands in a list or place that is not its own", w.what, slot)
		}
		slot = next
	}
	return nil
}

func (w *walker) end() error {
	if w.left != 0 {
		return fmt.Errorf("%d of the %s stand in no list", w.left, w.what)
	}
	return nil
}

// listWalk is a walk over all lists of the state.
type listWalk struct {
	s *Tables

	asks, locations, containers, undelivered, onNode, reservations, bans, requests, nodeApps, appNodes, ended walker
}

// CheckLists walks every linked list once. It checks that each record is in exactly the lists in
// which it belongs, that back links match the links, and that asks are in order.
func (s *Tables) CheckLists() error {
	w := listWalk{s: s,
		asks: walker{"asks", s.Asks.Len()}, locations: walker{"locations", s.Locations.Len()},
		containers: walker{"containers", s.Containers.Len()}, undelivered: walker{what: "undelivered containers"},
		onNode: walker{what: "containers on nodes"}, reservations: walker{"reservations", s.Reservations.Len()},
		bans: walker{"reservation bans", s.ReservationBans.Len()}, requests: walker{"requests", s.Requests.Len()},
		nodeApps: walker{"node applications", s.NodeApplications.Len()},
		appNodes: walker{what: "node applications of running applications"},
		ended:    walker{"attempts", s.Attempts.Len()},
	}
	diagnostics := 0
	s.Containers.Each(func(_ record.ContainerSlot, c *record.Container) bool {
		w.undelivered.left += int(count(c.Undelivered))
		w.onNode.left += int(count(c.OnNode))
		diagnostics += int(count(c.Diagnostics != 0))
		return true
	})
	s.NodeApplications.Each(func(_ record.NodeApplicationSlot, p *record.NodeApplication) bool {
		w.appNodes.left += int(count(p.Slot != 0))
		return true
	})
	if diagnostics != s.Diagnostics.Len() {
		return fmt.Errorf("%d containers have diagnostics and there are %d", diagnostics, s.Diagnostics.Len())
	}
	var err error
	s.Apps.Each(func(slot record.AppSlot, a *record.App) bool { err = w.app(slot, a); return err == nil })
	if err != nil {
		return err
	}
	s.Nodes.Each(func(slot record.NodeSlot, n *record.Node) bool { err = w.node(slot, n); return err == nil })
	if err != nil {
		return err
	}
	if err := w.remembered(); err != nil {
		return err
	}
	for _, l := range []*walker{&w.asks, &w.locations, &w.containers, &w.undelivered, &w.onNode, &w.reservations, &w.bans,
		&w.requests, &w.nodeApps, &w.appNodes, &w.ended} {
		if err := l.end(); err != nil {
			return err
		}
	}
	return nil
}

func (w *listWalk) app(slot record.AppSlot, a *record.App) error {
	s, prev := w.s, record.ContainerSlot(0)
	err := follow(&w.containers, a.Containers, func(at record.ContainerSlot) (record.ContainerSlot, bool) {
		c := s.Containers.Get(at)
		ok := c.App == slot && c.PrevApp == prev
		prev = at
		return c.NextApp, ok
	})
	if err != nil {
		return err
	}
	prev = 0
	err = follow(&w.undelivered, a.Undelivered, func(at record.ContainerSlot) (record.ContainerSlot, bool) {
		c := s.Containers.Get(at)
		ok := c.App == slot && c.Undelivered && c.PrevUndelivered == prev
		prev = at
		return c.NextUndelivered, ok
	})
	if err != nil {
		return err
	}
	before := record.ReservationSlot(0)
	err = follow(&w.reservations, a.Reservations, func(at record.ReservationSlot) (record.ReservationSlot, bool) {
		r := s.Reservations.Get(at)
		ok := r.App == slot && r.PrevApp == before
		before = at
		return r.NextApp, ok
	})
	if err != nil {
		return err
	}
	err = follow(&w.appNodes, a.NodeApplications, func(at record.NodeApplicationSlot) (record.NodeApplicationSlot, bool) {
		p := s.NodeApplications.Get(at)
		return p.NextApp, p.Slot == slot
	})
	if err != nil {
		return err
	}
	if err := w.attempts(slot, a); err != nil {
		return err
	}
	return w.appAsks(slot, a)
}

func (w *listWalk) appAsks(slot record.AppSlot, a *record.App) error {
	s, last := w.s, (*record.Ask)(nil)
	var inner error
	err := follow(&w.asks, a.Asks, func(at record.AskSlot) (record.AskSlot, bool) {
		k := s.Asks.Get(at)
		ok := k.App == slot && (last == nil || s.Containers.AskBefore(last, k))
		last = k
		entries, prev := int32(1), record.LocationSlot(0)
		inner = follow(&w.locations, k.Locations, func(of record.LocationSlot) (record.LocationSlot, bool) {
			entries++
			l := s.Locations.Get(of)
			ok := l.Count > 0 && l.Ask == at && l.Prev == prev
			prev = of
			return l.Next, ok
		})
		return k.Next, ok && inner == nil && entries == k.Entries
	})
	if inner != nil {
		return inner
	}
	return err
}

func (w *listWalk) node(slot record.NodeSlot, n *record.Node) error {
	s, prev := w.s, record.ContainerSlot(0)
	err := follow(&w.onNode, n.Containers, func(at record.ContainerSlot) (record.ContainerSlot, bool) {
		c := s.Containers.Get(at)
		ok := c.Node == slot && c.PrevNode == prev && c.OnNode
		prev = at
		return c.NextNode, ok
	})
	if err != nil {
		return err
	}
	before := record.NodeApplicationSlot(0)
	err = follow(&w.nodeApps, n.NodeApplications, func(at record.NodeApplicationSlot) (record.NodeApplicationSlot, bool) {
		p := s.NodeApplications.Get(at)
		ok := p.Node == slot && p.PrevNode == before
		before = at
		return p.NextNode, ok
	})
	if err != nil {
		return err
	}
	return follow(&w.bans, n.ReservationBans, func(at record.ReservationBanSlot) (record.ReservationBanSlot, bool) {
		return s.ReservationBans.Get(at).Next, true
	})
}

// remembered walks the remembered requests from the oldest to the newest.
func (w *listWalk) remembered() error {
	s, last := w.s, record.RequestSlot(0)
	err := follow(&w.requests, s.Meta.OldestRequest, func(at record.RequestSlot) (record.RequestSlot, bool) {
		last = at
		return s.Requests.Get(at).Next, true
	})
	if err == nil && last != s.Meta.NewestRequest {
		err = fmt.Errorf("the newest request is at slot %d and the list ends at %d", s.Meta.NewestRequest, last)
	}
	return err
}
