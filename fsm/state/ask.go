package state

import (
	"slices"

	"rmd/fsm/event"
	"rmd/fsm/state/change"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

var _ = stored(1, part.Rows(9, "asks", func(s *State) *table.Table[AskSlot, Ask] { return &s.Asks.Table }, (*Ask).Code))
var _ = applies((*State).askChanged)

func (s *Demand) askChanged(e *event.AskChanged) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	if !a.Open() || e.Count < 0 || e.Size.Negative() {
		return broken(e, "attempt is in state %d", a.AttemptState)
	}
	ask := s.Asks.Find(a, e.Key)
	if e.Name != yarn.Any {
		if ask == 0 {
			return broken(e, "no \"*\" is asked under the key")
		}
		name := s.Names.Intern(&s.Meta, e.Name)
		s.changes.Ask(slot, a, ask, e, s.setLocation(ask, name, e.Count, e.Relax))
		s.foldAsk(ask, name, e)
		s.Names.Unretain(&s.Meta, name)
		return nil
	}
	if ask == 0 {
		if e.Count == 0 {
			s.changes.Ask(slot, a, 0, e, 0)
			return nil
		}
		ask = s.addAsk(slot, a, e.Key, e.Size)
	}
	s.changes.Ask(slot, a, ask, e, s.Asks.Get(ask).Count)
	s.setAsk(ask, a, e.Count, e.Size)
	k := s.Asks.Mut(ask)
	k.Relax = e.Relax
	if e.Count == 0 {
		s.dropLocations(k)
		s.dropAskIfIdle(ask, a)
	}
	s.foldAsk(ask, 0, e)
	s.foldResource(a.Pending)
	return nil
}

func (s *Accounts) foldAsk(ask AskSlot, name NameSlot, e *event.AskChanged) {
	s.fold(uint64(e.App)<<32 | uint64(ask))
	s.fold(uint64(uint32(e.Key.Priority))<<32 | uint64(name))
	s.fold(uint64(e.Count)<<1 | uint64(count(e.Relax)))
}

// addAsk adds an ask with count 0 at its position in key order.
func (s *Demand) addAsk(app AppSlot, a *App, key yarn.SchedulerKey, size yarn.Resource) AskSlot {
	slot, k := table.Alloc(&s.Asks.Table)
	*k = Ask{App: app, Key: key, Size: size, Relax: true, Entries: 1,
		AM: a.AttemptState < AttemptRegistered && !a.Unmanaged}
	s.enterAsk(slot, k, a)
	return slot
}

// enterAsk links a new ask into its application's list, ordered by AskBefore.
func (s *Demand) enterAsk(slot AskSlot, k *Ask, a *App) {
	prev, next := AskSlot(0), a.Asks
	for next != 0 && s.Containers.AskBefore(s.Asks.Get(next), k) {
		prev, next = next, s.Asks.Get(next).Next
	}
	k.Next = next
	if prev == 0 {
		a.Asks = slot
	} else {
		s.Asks.Mut(prev).Next = slot
	}
}

// setAsk sets the count and size of an ask and updates the pending resources.
func (s *Demand) setAsk(slot AskSlot, a *App, count int64, size yarn.Resource) {
	k := s.Asks.Mut(slot)
	delta := size.Times(count).Sub(k.Size.Times(k.Count))
	before := a.Outstanding
	a.Outstanding += count - k.Count
	k.Count, k.Size = count, size
	s.Gangs.Follow(&s.Meta, k)
	s.addPending(a, k.Label, delta)
	s.demandChanged(a, before)
}

func (s *Accounts) addPending(a *App, label LabelSlot, delta yarn.Resource) {
	a.Pending = a.Pending.Add(delta)
	if label != 0 {
		s.chainUse(label, a.Queue, func(u *Use) { u.Pending = u.Pending.Add(delta) })
		return
	}
	s.chain(a.Queue, func(q *Queue) { q.Pending = q.Pending.Add(delta) })
}

// demandChanged updates User.Demanding after a change of a.Outstanding. before is the value of
// a.Outstanding before the change.
func (s *Accounts) demandChanged(a *App, before int64) {
	if (before > 0) != (a.Outstanding > 0) {
		d := count(a.Outstanding > 0) - count(before > 0)
		s.changeUser(a.UserSlot, func(u *User) { u.Demanding += d })
	}
}

// dropAskIfIdle removes an ask that wants no containers and has no reservations.
func (s *Demand) dropAskIfIdle(slot AskSlot, a *App) {
	k := s.Asks.Get(slot)
	if k.Count != 0 || k.Reservations != 0 {
		return
	}
	if a.Asks == slot {
		a.Asks = k.Next
	} else {
		p := a.Asks
		for s.Asks.Get(p).Next != slot {
			p = s.Asks.Get(p).Next
		}
		s.Asks.Mut(p).Next = k.Next
	}
	s.leaveResize(s.Asks.Get(slot))
	s.dropLocations(s.Asks.Mut(slot))
	table.Release(&s.Asks.Table, slot)
}

// dropAsks removes all asks of an application.
func (s *Demand) dropAsks(a *App) {
	before := a.Outstanding
	for _, k := range s.Asks.Of(a) {
		if k.Label != 0 {
			s.addPending(a, k.Label, yarn.Resource{}.Sub(k.Size.Times(k.Count)))
		}
	}
	s.addPending(a, 0, yarn.Resource{}.Sub(a.Pending))
	a.Outstanding = 0
	s.demandChanged(a, before)
	for slot := range s.Asks.Of(a) {
		k := s.Asks.Mut(slot)
		k.Count = 0
		s.Gangs.Follow(&s.Meta, k)
		s.leaveResize(k)
		s.dropLocations(k)
		table.Release(&s.Asks.Table, slot)
	}
	a.Asks = 0
}

// consume subtracts one container at the given locality from an ask. Node-local counts against the
// host, the rack and "*"; rack-local against the rack and "*"; off-switch against "*" only.
func (s *Demand) consume(slot AskSlot, a *App, n *Node, l yarn.Locality) {
	k := s.Asks.Mut(slot)
	if l == yarn.NodeLocal {
		s.takeLocation(k, n.Host)
	}
	if l <= yarn.RackLocal {
		s.takeLocation(k, n.RackID)
	}
	s.setAsk(slot, a, k.Count-1, k.Size)
	if k.Count == 0 {
		s.dropLocations(k)
	}
}

// restoreAsk adds one container back to the ask from which it was allocated.
func (s *Cluster) restoreAsk(app AppSlot, a *App, c *Container, label LabelSlot) {
	slot := s.Asks.Find(a, c.Key)
	if slot == 0 {
		slot = s.addAsk(app, a, c.Key, c.Size)
		s.Asks.Mut(slot).Label = label
	}
	k := s.Asks.Get(slot)
	s.setAsk(slot, a, k.Count+1, k.Size)
	s.fold(uint64(slot))
	n := s.Nodes.Get(c.Node)
	if c.Locality == yarn.NodeLocal {
		s.putLocation(slot, n.Host)
	}
	if c.Locality <= yarn.RackLocal {
		s.putLocation(slot, n.RackID)
	}
}

var _ = applies((*State).askCountersUpdated)

func (s *Demand) askCountersUpdated(e *event.AskCountersUpdated) error {
	_, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	slot := s.Asks.Find(a, e.Key)
	if slot == 0 {
		return broken(e, "nothing is asked under the key")
	}
	k := s.Asks.Mut(slot)
	k.Opportunities, k.ReReservations = e.Opportunities, e.ReReservations
	s.fold(uint64(slot))
	s.fold(uint64(e.Opportunities)<<32 | uint64(e.ReReservations))
	return nil
}

var _ = applies((*State).blacklistChanged)

func (s *Demand) blacklistChanged(e *event.BlacklistChanged) error {
	slot, a, err := s.Apps.Named(e, e.App)
	if err != nil {
		return err
	}
	s.changes.App(change.BlacklistChanged, slot, a)
	var drop, list, added []NameSlot
	for _, name := range e.Remove {
		drop = append(drop, s.Names.Find(name))
	}
	slices.Sort(drop)
	for _, id := range a.Blacklist {
		if _, dropped := slices.BinarySearch(drop, id); !dropped {
			list = append(list, id)
		}
	}
	for _, name := range e.Add {
		added = append(added, s.Names.Intern(&s.Meta, name))
	}
	list = append(list, added...)
	slices.Sort(list)
	list = slices.Compact(list)
	s.setBlacklist(a, list)
	s.fold(uint64(e.App))
	for _, id := range list {
		s.fold(uint64(id))
	}
	for _, id := range added {
		s.Names.Unretain(&s.Meta, id)
	}
	return nil
}

// setBlacklist replaces the blacklist of an application.
func (s *Accounts) setBlacklist(a *App, list []NameSlot) {
	for _, id := range list {
		s.Names.Retain(id)
	}
	for _, id := range a.Blacklist {
		s.Names.Unretain(&s.Meta, id)
	}
	a.Blacklist = list
}
