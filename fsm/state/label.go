package state

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/part"
	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

var _ = stored(1, part.Keyed(25, "labels",
	func(s *State) *table.Keyed[LabelSlot, Label, *Label] { return &s.Labels.Keyed }, (*Label).Code))
var _ = stored(1, part.Rows(28, "labelled-containers",
	func(s *State) *table.Table[ContainerSlot, LabelSlot] {
		return &s.AskedLabels.Table
	}, func(l *LabelSlot, c *codec.Coder) { codec.Slot(c, l) }))

// LabelledNodes returns the hosts (with port 0) and NodeManagers that have a label, ordered by host
// and port. A NodeManager is included if it is usable or has an entry of its own in the map.
func (s *Cluster) LabelledNodes() []LabelledHost {
	var out []LabelledHost
	s.LabelledHosts.Each(func(_ LabelledHostSlot, h *LabelledHost) bool {
		if h.Label != 0 {
			out = append(out, *h)
		}
		return true
	})
	s.Nodes.Each(func(_ NodeSlot, n *Node) bool {
		if n.Label != 0 && n.State.Usable() {
			out = append(out, LabelledHost{ID: n.ID, Label: n.Label})
		}
		return true
	})
	slices.SortFunc(out, func(x, y LabelledHost) int { return x.ID.Compare(y.ID) })
	return slices.Compact(out)
}

// PartitionTotal returns the sum of the resources of a partition's usable nodes.
func (s *Accounts) PartitionTotal(label LabelSlot) yarn.Resource {
	if label != 0 {
		return s.Labels.Get(label).Total
	}
	total := s.Meta.Cluster
	s.Labels.Each(func(_ LabelSlot, l *Label) bool { total = total.Sub(l.Total); return true })
	return total
}

// PartitionNodes returns the number of usable nodes in a partition.
func (s *Accounts) PartitionNodes(label LabelSlot) int32 {
	if label != 0 {
		return s.Labels.Get(label).Nodes
	}
	n := s.Meta.UsableNodes
	s.Labels.Each(func(_ LabelSlot, l *Label) bool { n -= l.Nodes; return true })
	return n
}

// AskedLabelOf returns the name of the label of the ask for which a container was allocated. It is
// empty for no label, and if the container no longer exists.
func (s *Running) AskedLabelOf(id yarn.ContainerID) string {
	if s.AskedLabels.Len() == 0 {
		return ""
	}
	return s.Labels.Name(s.AskedLabels.Of(s.ContainerByID(id)))
}

var _ = applies((*State).labelsSet)

func (s *Running) labelsSet(e *event.LabelsSet) error {
	unknown := 0
	for _, l := range e.Labels {
		if l.Name == "" {
			return broken(e, "a label has no name")
		}
		if s.Labels.Find(l.Name) == 0 {
			unknown++
		}
	}
	if s.Labels.Len()+unknown > MaxLabels {
		return broken(e, "%d labels are known", s.Labels.Len())
	}
	for _, l := range e.Labels {
		slot := s.Labels.Put(l.Name, l.Exclusive)
		s.fold(uint64(slot)<<1 | uint64(count(l.Exclusive)))
		s.fold(table.Hash(l.Name))
	}
	s.relabelGrowth()
	s.changes.Add(change.LabelsChanged)
	return nil
}

var _ = applies((*State).labelsRemoved)

func (s *Running) labelsRemoved(e *event.LabelsRemoved) error {
	for _, name := range e.Names {
		if _, ok := s.Labels.Listed(name); !ok || name == "" {
			return broken(e, "there is no label %q", name)
		}
	}
	for _, name := range e.Names {
		id := s.Labels.Find(name)
		s.Labels.Mut(id).Listed = false
		s.fold(uint64(id))
	}
	s.LabelledHosts.DropUnlisted(&s.Labels)
	s.relabelNodes()
	return nil
}

var _ = applies((*State).nodesLabelled)

func (s *Running) nodesLabelled(e *event.NodesLabelled) error {
	for _, n := range e.Nodes {
		if _, ok := s.Labels.Listed(n.Label); !ok || n.ID.Host == "" {
			return broken(e, "there is no label %q, or no host %q", n.Label, n.ID.Host)
		}
	}
	for _, n := range e.Nodes {
		label := s.Labels.Find(n.Label)
		s.LabelledHosts.Put(n.ID, label)
		s.fold(uint64(n.ID.Port)<<16 | uint64(label))
		s.fold(table.Hash(n.ID.Host))
	}
	s.relabelNodes()
	return nil
}

// relabelNodes gives every node the label to which it is mapped.
func (s *Running) relabelNodes() {
	s.changes.Add(change.LabelsChanged)
	var moves record.Relabelling
	s.Nodes.Each(func(slot NodeSlot, n *Node) bool {
		if to := s.LabelledHosts.LabelOf(n.ID); to != n.Label {
			s.relabel(slot, to, &moves)
		}
		return true
	})
	none := yarn.Resource{}
	for _, m := range moves.Sums() {
		a := s.Apps.Mut(m.App)
		s.charge(a, m.From, none.Sub(m.Used), none.Sub(m.Reserved), 0)
		s.charge(a, m.To, m.Used, m.Reserved, 0)
	}
}

// relabel moves a node to another partition, with all that is charged for it: live containers, AMs,
// the reservation, and hidden asks for increases.
func (s *Running) relabel(slot NodeSlot, to LabelSlot, moves *record.Relabelling) {
	n := s.Nodes.Mut(slot)
	from := n.Label
	if n.State.Usable() {
		s.countNode(n, -1)
	}
	n.Label = to
	if n.State.Usable() {
		s.countNode(n, 1)
	}
	s.Meta.NodeChanges++
	s.fold(uint64(slot)<<32 | uint64(from)<<16 | uint64(to))
	for _, c := range s.Containers.On(n) {
		if !c.State.Live() {
			continue
		}
		moves.Add(c.App, from, to, c.Size, yarn.Resource{})
		if c.AM {
			s.relabelMaster(c, to)
		}
		if r := s.Resizes.Of(c); r != nil && r.Ask != 0 {
			s.labelAsk(r.Ask, s.Apps.Mut(c.App), s.growthLabel(r.Container, to))
		}
	}
	if n.Reservation != 0 {
		r := s.Reservations.Get(n.Reservation)
		moves.Add(r.App, from, to, r.Size, r.Size)
	}
}

// growthLabel returns the label of the hidden ask of a container on a node with the given label.
// The label is the node's, or none if the node is lent to the container.
func (s *Running) growthLabel(container ContainerSlot, node LabelSlot) LabelSlot {
	if node != 0 && s.AskedLabels.Of(container) == 0 && !s.Labels.Get(node).Exclusive {
		return 0
	}
	return node
}

// relabelGrowth updates the labels of hidden asks after labels have become exclusive or shareable.
func (s *Running) relabelGrowth() {
	s.Resizes.Each(func(_ ResizeSlot, r *Resize) bool {
		if r.Ask != 0 {
			c := s.Containers.Get(r.Container)
			s.labelAsk(r.Ask, s.Apps.Mut(c.App), s.growthLabel(r.Container, s.Nodes.Get(c.Node).Label))
		}
		return true
	})
}

// relabelMaster moves an AM container's charge to another partition if it is its application's
// current AM.
func (s *Demand) relabelMaster(c *Container, to LabelSlot) {
	a := s.Apps.Mut(c.App)
	if c.Attempt != a.Attempt || c.Number != a.MasterNumber {
		return
	}
	s.countAttempt(a, -1)
	a.AMLabel = to
	s.countAttempt(a, 1)
}

var _ = applies((*State).askLabelled)

func (s *Demand) askLabelled(e *event.AskLabelled) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	ask, to := s.Asks.Find(a, e.Key), s.Labels.Find(e.Label)
	if ask == 0 || (to == 0 && e.Label != "") {
		return broken(e, "nothing is asked under the key, or there was never such a label")
	}
	c := s.changes.App(change.AskRelabelled, slot, a)
	c.Ask, c.Key = ask, e.Key
	s.labelAsk(ask, a, to)
	s.fold(uint64(ask)<<32 | uint64(to))
	s.foldResource(a.Pending)
	return nil
}

var _ = applies((*State).askMissesUpdated)

func (s *Demand) askMissesUpdated(e *event.AskMissesUpdated) error {
	_, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	ask := s.Asks.Find(a, e.Key)
	if ask == 0 {
		return broken(e, "nothing is asked under the key")
	}
	s.Asks.Mut(ask).Missed = e.Missed
	s.fold(uint64(ask)<<32 | uint64(e.Missed))
	return nil
}

// labelAsk changes the label of an ask.
func (s *Demand) labelAsk(slot AskSlot, a *App, to LabelSlot) {
	k := s.Asks.Mut(slot)
	pending := k.Size.Times(k.Count)
	s.addPending(a, k.Label, yarn.Resource{}.Sub(pending))
	k.Label = to
	s.addPending(a, to, pending)
}

var _ = applies((*State).applicationLabelled)

func (s *Demand) applicationLabelled(e *event.ApplicationLabelled) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	am := s.Labels.Find(e.AMLabel)
	if a.AttemptState != AttemptNone || (am == 0 && e.AMLabel != "") {
		return broken(e, "attempt is in state %d, or there was never such a label", a.AttemptState)
	}
	s.changes.App(change.AppChanged, slot, a)
	a.AMLabel = am
	a.ChangeDetails(func(d *AppDetails) { d.Label, d.AMLabel = e.Label, e.AMLabel })
	s.fold(uint64(slot)<<32 | uint64(am))
	s.fold(table.Hash(e.Label))
	return nil
}

// linkLabels sets Node.Label, which follows from LabelledHosts, in a state from a snapshot.
func (s *Cluster) linkLabels() {
	if s.LabelledHosts.Len() == 0 {
		return
	}
	s.Nodes.Each(func(slot NodeSlot, n *Node) bool {
		if to := s.LabelledHosts.LabelOf(n.ID); to != 0 {
			s.Nodes.Mut(slot).Label = to
		}
		return true
	})
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(26, "labelled-hosts",
	func(s *State) *table.Keyed[LabelledHostSlot, LabelledHost, *LabelledHost] {
		return &s.LabelledHosts.Keyed
	}, (*LabelledHost).Code),
	Links: (*State).linkLabels})
