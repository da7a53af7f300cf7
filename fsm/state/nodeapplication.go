package state

import (
	"rmd/fsm/event"
	"rmd/yarn"
)

// Presences remember which nodes must be told of an application's end. Only
// nodes that are dialed keep anything of an application: logs to be collected,
// files to be removed. While the application lives its presences are in its own
// list as well; over ones are only in their node's.

func hashPresence(app yarn.ApplicationID, node uint32) uint64 {
	return hash64(hash64(uint64(app.ClusterTimestamp)^uint64(app.Seq)<<32) ^ uint64(node))
}

func (s *State) hashOfPresence(slot uint32) uint64 {
	p := s.NodeApplications.Get(slot)
	return hashPresence(p.App, p.Node)
}

// NodeApplication returns the slot of an application's presence on a node; 0 when
// there is none.
func (s *State) NodeApplication(app yarn.ApplicationID, node uint32) uint32 {
	return s.byPresence.find(hashPresence(app, node), func(slot uint32) bool {
		p := s.NodeApplications.Get(slot)
		return p.Node == node && p.App == app
	})
}

// present notes that a node that is dialed has something of an application. Where
// the id was another application's, long forgotten, of which the node has yet to
// be told, that is not told any more: the order would hit this one.
func (s *State) present(app uint32, a *App, node uint32, n *Node) {
	hash := hashPresence(a.ID, node)
	if slot := s.NodeApplication(a.ID, node); slot != 0 {
		if s.NodeApplications.Get(slot).Slot == 0 {
			p := s.NodeApplications.mut(slot)
			p.Slot, p.nextApp = app, a.NodeApplications
			a.NodeApplications = slot
			n.CleanUps--
			s.fold(uint64(slot)<<32 | uint64(node))
		}
		return
	}
	slot, p := s.NodeApplications.alloc()
	*p = NodeApplication{App: a.ID, Slot: app, Node: node, nextNode: n.NodeApplications, nextApp: a.NodeApplications}
	if n.NodeApplications != 0 {
		s.NodeApplications.mut(n.NodeApplications).prevNode = slot
	}
	n.NodeApplications, a.NodeApplications = slot, slot
	s.byPresence.insert(hash, slot, s.hashOfPresence)
	s.fold(uint64(slot)<<32 | uint64(node))
}

// presencesOver turns the presences of an application that has ended into what
// their nodes must be told. A node that has left is not: it tells what it still
// keeps when it registers again.
func (s *State) presencesOver(a *App) {
	for slot := a.NodeApplications; slot != 0; {
		p := s.NodeApplications.mut(slot)
		next := p.nextApp
		p.Slot, p.nextApp = 0, 0
		n := s.Nodes.mut(p.Node)
		n.CleanUps++
		if !n.told() {
			s.dropPresence(slot, n)
		}
		slot = next
	}
	a.NodeApplications = 0
}

// told says whether a node is one that is told of applications' ends.
func (n *Node) told() bool { return n.NodeManager && n.Heard() }

// dropPresence forgets a presence that is over.
func (s *State) dropPresence(slot uint32, n *Node) {
	p := s.NodeApplications.Get(slot)
	s.byPresence.remove(hashPresence(p.App, p.Node), slot, s.hashOfPresence)
	if p.prevNode != 0 {
		s.NodeApplications.mut(p.prevNode).nextNode = p.nextNode
	} else {
		n.NodeApplications = p.nextNode
	}
	if p.nextNode != 0 {
		s.NodeApplications.mut(p.nextNode).prevNode = p.prevNode
	}
	n.CleanUps--
	s.fold(uint64(slot))
	s.NodeApplications.release(slot)
}

// dropPresences forgets what a node was still to be told.
func (s *State) dropPresences(n *Node) {
	for slot := n.NodeApplications; slot != 0 && n.CleanUps > 0; {
		next := s.NodeApplications.Get(slot).nextNode
		if s.NodeApplications.Get(slot).Slot == 0 {
			s.dropPresence(slot, n)
		}
		slot = next
	}
}

// presentAgain notes the applications whose containers stand on a node, which
// may not have been dialed when they came there.
func (s *State) presentAgain(node uint32, n *Node) {
	for slot := n.Containers; slot != 0; slot = s.Containers.Get(slot).nextNode {
		app := s.Containers.Get(slot).App
		if a := s.Apps.Get(app); !a.State.Ended() {
			s.present(app, s.Apps.mut(app), node, n)
		}
	}
}

func (s *State) cleanupsAcked(e *event.CleanupsAcked) error {
	if !s.Nodes.Has(e.Node) {
		return broken(e, "no such node")
	}
	for i, id := range e.Apps {
		if slot := s.NodeApplication(id, e.Node); slot == 0 || s.NodeApplications.Get(slot).Slot != 0 || (i > 0 && !before(e.Apps[i-1], id)) {
			return broken(e, "%s is not to be cleared away there, or out of order", id)
		}
	}
	n := s.Nodes.mut(e.Node)
	for _, id := range e.Apps {
		s.dropPresence(s.NodeApplication(id, e.Node), n)
	}
	return nil
}

// before is the order of applications by their identity.
func before(a, b yarn.ApplicationID) bool {
	return a.ClusterTimestamp < b.ClusterTimestamp || (a.ClusterTimestamp == b.ClusterTimestamp && a.Seq < b.Seq)
}

func (s *State) containerSignalled(e *event.ContainerSignalled) error {
	slot, c, err := s.containerOf(e, e.Container)
	if err != nil {
		return err
	}
	if e.Command == c.Signal || !c.OnNode || !c.State.Live() {
		return broken(e, "it is %s, with signal %d", c.State, c.Signal)
	}
	s.changeOrder(c, func() { c.Signal = e.Command })
	s.fold(uint64(slot)<<8 | uint64(e.Command))
	return nil
}
