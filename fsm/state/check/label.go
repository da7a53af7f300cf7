package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// CheckLabels compares the labels and the map of labelled hosts with the nodes, and every LabelUse
// with the records that it sums.
func (s *Tables) CheckLabels() error {
	if err := s.checkLabelTotals(); err != nil {
		return err
	}
	if err := s.checkLabelledHosts(); err != nil {
		return err
	}
	want := s.sumLabelUses()
	var err error
	s.LabelUses.Each(func(slot record.LabelUseSlot, u *record.LabelUse) bool {
		switch {
		case s.LabelUses.At(u.LabelUseKey) != slot:
			err = fmt.Errorf("the use of label %d by queue %d, user %d is there twice", u.Label, u.Queue, u.User)
		case u.Use != want[u.LabelUseKey] || u.Use == record.Use{}:
			err = fmt.Errorf("queue %d, user %d says %+v of label %d; the applications sum to %+v", u.Queue, u.User, u.Use,
				u.Label, want[u.LabelUseKey])
		}
		return err == nil
	})
	if err == nil && len(want) != s.LabelUses.Len() {
		err = fmt.Errorf("there are %d uses of labels, the applications have %d", s.LabelUses.Len(), len(want))
	}
	return err
}

func (s *Tables) checkLabelTotals() error {
	type sums struct {
		total yarn.Resource
		nodes int32
	}
	var want table.Scratch[record.LabelSlot, sums]
	var err error
	s.Nodes.Each(func(_ record.NodeSlot, n *record.Node) bool {
		if to := s.LabelledHosts.LabelOf(n.ID); n.Label != to {
			err = fmt.Errorf("node %s has label %d and is mapped to %d", n.ID, n.Label, to)
		}
		if n.State.Usable() {
			w := want.At(n.Label)
			w.total, w.nodes = w.total.Add(n.Total), w.nodes+1
		}
		return err == nil
	})
	s.Labels.Each(func(slot record.LabelSlot, l *record.Label) bool {
		w := *want.At(slot)
		switch {
		case l.Name == "" || s.Labels.Find(l.Name) != slot:
			err = fmt.Errorf("label %d has no name, or that of another one", slot)
		case l.Total != w.total || l.Nodes != w.nodes:
			err = fmt.Errorf("label %s says %s on %d nodes; its nodes sum to %s on %d", l.Name, l.Total, l.Nodes,
				w.total, w.nodes)
		}
		return err == nil
	})
	return err
}

// checkLabelledHosts checks that the map names only listed labels and has no redundant entries.
func (s *Tables) checkLabelledHosts() error {
	var err error
	s.LabelledHosts.Each(func(slot record.LabelledHostSlot, h *record.LabelledHost) bool {
		usual := record.LabelSlot(0)
		if h.ID.Port != 0 {
			usual = s.LabelledHosts.HostLabel(h.ID.Host)
		}
		switch {
		case s.LabelledHosts.At(h.ID) != slot:
			err = fmt.Errorf("%s is mapped twice", h.ID)
		case h.Label != 0 && !s.Labels.Get(h.Label).Listed:
			err = fmt.Errorf("%s is mapped to a label that was removed", h.ID)
		case h.Label == usual:
			err = fmt.Errorf("%s is mapped to what its host has", h.ID)
		}
		return err == nil
	})
	return err
}

// sumLabelUses computes the use of every label's partition from the records.
func (s *Tables) sumLabelUses() map[record.LabelUseKey]record.Use {
	sums := map[record.LabelUseKey]record.Use{} // ranged over only to compute sums
	if s.Labels.Len() == 0 {
		return sums
	}
	add := func(k record.LabelUseKey, more record.Use) {
		u := sums[k]
		u.Used, u.Reserved, u.Pending = u.Used.Add(more.Used), u.Reserved.Add(more.Reserved), u.Pending.Add(more.Pending)
		u.AMUsed, u.ActiveUsed = u.AMUsed.Add(more.AMUsed), u.ActiveUsed.Add(more.ActiveUsed)
		if u == (record.Use{}) {
			delete(sums, k)
		} else {
			sums[k] = u
		}
	}
	charge := func(a *record.App, label record.LabelSlot, more record.Use) {
		if label == 0 || a.UserSlot == 0 {
			return
		}
		for q := a.Queue; q != 0; q = s.Queues.Get(q).Parent {
			add(record.LabelUseKey{Label: label, Queue: q}, more)
		}
		add(record.LabelUseKey{Label: label, User: a.UserSlot}, record.Use{Used: more.Used})
		if s.Users.Get(a.UserSlot).IsActive() {
			add(record.LabelUseKey{Label: label, Queue: a.Queue}, record.Use{ActiveUsed: more.Used})
		}
	}
	s.Containers.Each(func(_ record.ContainerSlot, c *record.Container) bool {
		if c.State.Live() {
			charge(s.Apps.Get(c.App), s.Nodes.Get(c.Node).Label, record.Use{Used: c.Size})
		}
		return true
	})
	s.Reservations.Each(func(_ record.ReservationSlot, r *record.Reservation) bool {
		charge(s.Apps.Get(r.App), s.Nodes.Get(r.Node).Label, record.Use{Used: r.Size, Reserved: r.Size})
		return true
	})
	s.Asks.Each(func(_ record.AskSlot, k *record.Ask) bool {
		charge(s.Apps.Get(k.App), k.Label, record.Use{Pending: k.Size.Times(k.Count)})
		return true
	})
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		if a.AMLabel != 0 && a.UserSlot != 0 && a.Charged() {
			add(record.LabelUseKey{Label: a.AMLabel, Queue: a.Queue}, record.Use{AMUsed: a.AMCharge()})
			add(record.LabelUseKey{Label: a.AMLabel, User: a.UserSlot}, record.Use{AMUsed: a.AMCharge()})
		}
		return true
	})
	return sums
}

// withoutLabels subtracts the use of labels' partitions from sums over all partitions. The sums of
// the default partition remain.
func (s *Tables) withoutLabels(users *table.Scratch[record.UserSlot, record.User],
	queues *table.Scratch[record.QueueSlot, record.Queue]) {
	for k, u := range s.sumLabelUses() { // order is harmless: sums
		if k.User != 0 && users != nil {
			w := users.At(k.User)
			w.Used, w.AMUsed = w.Used.Sub(u.Used), w.AMUsed.Sub(u.AMUsed)
		}
		if k.Queue != 0 && queues != nil {
			w := queues.At(k.Queue)
			w.Used, w.Reserved, w.Pending, w.AMUsed = w.Used.Sub(u.Used), w.Reserved.Sub(u.Reserved), w.Pending.Sub(u.Pending),
				w.AMUsed.Sub(u.AMUsed)
		}
	}
}
