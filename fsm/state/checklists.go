package state

import (
	"fmt"

	"rmd/yarn"
)

// checkQueueTree checks that the queues form one tree below root, so that the later checks can
// follow Parent.
func (s *State) checkQueueTree() error {
	var err error
	children := 0
	s.Queues.Each(func(slot uint32, q *Queue) bool {
		parent := ""
		if q.Parent != 0 {
			parent = s.Queues.Get(q.Parent).Path
		}
		if yarn.ParentQueue(q.Path) != parent || (parent == "" && q.Path != "root") || (q.Leaf && len(q.Children) > 0) {
			err = fmt.Errorf("queue %s has the parent %q and %d children", q.Path, parent, len(q.Children))
			return false
		}
		for _, c := range q.Children {
			if s.Queues.Get(c).Parent != slot {
				err = fmt.Errorf("queue %s lists the child of another", q.Path)
				return false
			}
		}
		children += len(q.Children)
		return true
	})
	if err == nil && s.Queues.Len() > 0 && children != s.Queues.Len()-1 {
		err = fmt.Errorf("%d queues are listed as children of %d", children, s.Queues.Len())
	}
	return err
}

// walker follows the linked lists of one table. Each record of the table is in at most one of these
// lists.
type walker struct {
	what string
	left int // records not visited yet
}

func (w *walker) follow(first uint32, step func(slot uint32) (next uint32, ok bool)) error {
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
	s *State

	asks, locations, containers, undelivered, onNode, reservations, bans, requests, nodeApps, appNodes, ended walker
}

// checkLists walks every linked list once. It checks that each record is in exactly the lists in
// which it belongs, that back links match the links, and that asks are in order.
func (s *State) checkLists() error {
	w := listWalk{s: s,
		asks: walker{"asks", s.Asks.Len()}, locations: walker{"locations", s.Locations.Len()},
		containers: walker{"containers", s.Containers.Len()}, undelivered: walker{what: "undelivered containers"},
		onNode: walker{what: "containers on nodes"}, reservations: walker{"reservations", s.Reservations.Len()},
		bans: walker{"reservation bans", s.ReservationBans.Len()}, requests: walker{"requests", s.Requests.Len()},
		nodeApps: walker{"node applications", s.NodeApplications.Len()}, appNodes: walker{what: "node applications of running applications"},
		ended: walker{"attempts", s.Attempts.Len()},
	}
	diagnostics := 0
	s.Containers.Each(func(_ uint32, c *Container) bool {
		w.undelivered.left += int(count(c.undelivered))
		w.onNode.left += int(count(c.OnNode))
		diagnostics += int(count(c.Diagnostics != 0))
		return true
	})
	s.NodeApplications.Each(func(_ uint32, p *NodeApplication) bool {
		w.appNodes.left += int(count(p.Slot != 0))
		return true
	})
	if diagnostics != s.Diagnostics.Len() {
		return fmt.Errorf("%d containers have diagnostics and there are %d", diagnostics, s.Diagnostics.Len())
	}
	var err error
	s.Apps.Each(func(slot uint32, a *App) bool { err = w.app(slot, a); return err == nil })
	if err != nil {
		return err
	}
	s.Nodes.Each(func(slot uint32, n *Node) bool { err = w.node(slot, n); return err == nil })
	if err != nil {
		return err
	}
	if err := w.remembered(); err != nil {
		return err
	}
	for _, l := range []*walker{&w.asks, &w.locations, &w.containers, &w.undelivered, &w.onNode, &w.reservations, &w.bans, &w.requests, &w.nodeApps, &w.appNodes, &w.ended} {
		if err := l.end(); err != nil {
			return err
		}
	}
	return nil
}

func (w *listWalk) app(slot uint32, a *App) error {
	s, prev := w.s, uint32(0)
	err := w.containers.follow(a.Containers, func(at uint32) (uint32, bool) {
		c := s.Containers.Get(at)
		ok := c.App == slot && c.prevApp == prev
		prev = at
		return c.nextApp, ok
	})
	if err != nil {
		return err
	}
	prev = 0
	err = w.undelivered.follow(a.Undelivered, func(at uint32) (uint32, bool) {
		c := s.Containers.Get(at)
		ok := c.App == slot && c.undelivered && c.prevUndelivered == prev
		prev = at
		return c.nextUndelivered, ok
	})
	if err != nil {
		return err
	}
	prev = 0
	err = w.reservations.follow(a.Reservations, func(at uint32) (uint32, bool) {
		r := s.Reservations.Get(at)
		ok := r.App == slot && r.prevApp == prev
		prev = at
		return r.nextApp, ok
	})
	if err != nil {
		return err
	}
	err = w.appNodes.follow(a.NodeApplications, func(at uint32) (uint32, bool) {
		p := s.NodeApplications.Get(at)
		return p.nextApp, p.Slot == slot
	})
	if err != nil {
		return err
	}
	if err := w.attempts(slot, a); err != nil {
		return err
	}
	return w.appAsks(slot, a)
}

func (w *listWalk) appAsks(slot uint32, a *App) error {
	s, last := w.s, (*Ask)(nil)
	var inner error
	err := w.asks.follow(a.Asks, func(at uint32) (uint32, bool) {
		k := s.Asks.Get(at)
		ok := k.App == slot && (last == nil || s.askBefore(last, k))
		last = k
		entries, prev := int32(1), uint32(0)
		inner = w.locations.follow(k.Locations, func(of uint32) (uint32, bool) {
			entries++
			l := s.Locations.Get(of)
			ok := l.Count > 0 && l.ask == at && l.prev == prev
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

func (w *listWalk) node(slot uint32, n *Node) error {
	s, prev := w.s, uint32(0)
	err := w.onNode.follow(n.Containers, func(at uint32) (uint32, bool) {
		c := s.Containers.Get(at)
		ok := c.Node == slot && c.prevNode == prev && c.OnNode
		prev = at
		return c.nextNode, ok
	})
	if err != nil {
		return err
	}
	prev = 0
	err = w.nodeApps.follow(n.NodeApplications, func(at uint32) (uint32, bool) {
		p := s.NodeApplications.Get(at)
		ok := p.Node == slot && p.prevNode == prev
		prev = at
		return p.nextNode, ok
	})
	if err != nil {
		return err
	}
	return w.bans.follow(n.ReservationBans, func(at uint32) (uint32, bool) { return s.ReservationBans.Get(at).Next, true })
}

// remembered walks the remembered requests from the oldest to the newest.
func (w *listWalk) remembered() error {
	s, last := w.s, uint32(0)
	err := w.requests.follow(s.Meta.OldestRequest, func(at uint32) (uint32, bool) {
		last = at
		return s.Requests.Get(at).Next, true
	})
	if err == nil && last != s.Meta.NewestRequest {
		err = fmt.Errorf("the newest request is at slot %d and the list ends at %d", s.Meta.NewestRequest, last)
	}
	return err
}

// checkKeys checks that each index finds every record by its key and has no other entries. So no
// key occurs twice.
func (s *State) checkKeys() error {
	var err error
	for _, x := range []struct {
		what string
		x    *index
		n    int
	}{
		{"names", &s.byName, s.Names.Len()}, {"queues", &s.byPath, s.Queues.Len()}, {"users", &s.byUser, s.Users.Len()},
		{"applications", &s.bySeq, s.Apps.Len()}, {"containers", &s.byContainer, s.Containers.Len()}, {"nodes", &s.byNode, s.Nodes.Len()},
		{"reservations", &s.byReservation, s.Reservations.Len()}, {"requests", &s.byRequest, s.Requests.Len()},
		{"node applications", &s.byNodeApplication, s.NodeApplications.Len()}, {"delegation tokens", &s.byDelegation, s.Delegations.Len()},
	} {
		if int(x.x.n) != x.n {
			return fmt.Errorf("%d %s are looked up and there are %d", x.x.n, x.what, x.n)
		}
	}
	found := func(what string, slot, got uint32) bool {
		if got != slot && err == nil {
			err = fmt.Errorf("the %s at slot %d is found at slot %d", what, slot, got)
		}
		return err == nil
	}
	s.Names.Each(func(slot uint32, n *Name) bool { return found("name", slot, s.NameID(n.Text)) })
	s.Queues.Each(func(slot uint32, q *Queue) bool { return found("queue", slot, s.Queue(q.Path)) })
	s.Users.Each(func(slot uint32, u *User) bool { return found("user", slot, s.User(u.Queue, u.Name)) })
	s.Apps.Each(func(slot uint32, a *App) bool { return found("application", slot, s.App(a.ID.Seq)) })
	s.Nodes.Each(func(slot uint32, n *Node) bool { return found("node", slot, s.Node(n.ID)) })
	s.Containers.Each(func(slot uint32, c *Container) bool { return found("container", slot, s.Container(s.Ref(c))) })
	s.Reservations.Each(func(slot uint32, r *Reservation) bool { return found("reservation", slot, s.Reservation(r.Number)) })
	s.NodeApplications.Each(func(slot uint32, p *NodeApplication) bool {
		return found("node application", slot, s.NodeApplication(p.App, p.Node))
	})
	s.Requests.Each(func(slot uint32, r *Request) bool {
		return found("request", slot, s.byRequest.find(hashString(r.Key), func(at uint32) bool { return s.Requests.Get(at).Key == r.Key }))
	})
	return err
}
