package check

import (
	"fmt"

	"rmd/fsm/state/record"
	"rmd/fsm/state/table"
	"rmd/yarn"
)

// CheckReferences checks that every slot that a record names exists, so that the later checks can
// follow references.
func (s *Tables) CheckReferences() error {
	var err error
	fail := func(what string, slot any) bool {
		if err == nil {
			err = fmt.Errorf("%s at slot %d refers to a record that is not there", what, slot)
		}
		return false
	}
	label := func(l record.LabelSlot) bool { return s.Labels.Valid(l) }
	s.Queues.Each(func(slot record.QueueSlot, q *record.Queue) bool {
		ok := s.Queues.Valid(q.Parent)
		for _, c := range q.Children {
			ok = ok && s.Queues.Has(c)
		}
		return ok || fail("queue", slot)
	})
	s.Users.Each(func(slot record.UserSlot, u *record.User) bool {
		return (s.Queues.Has(u.Queue) && s.Names.Has(u.Name)) || fail("user", slot)
	})
	s.Apps.Each(func(slot record.AppSlot, a *record.App) bool {
		ok := label(a.AMLabel) && s.Names.Has(a.User) && s.Queues.Valid(a.Queue) && (a.State.Ended() == (a.UserSlot == 0)) &&
			(a.State.Ended() || (a.Queue != 0 && s.Users.Has(a.UserSlot) && s.Users.Get(a.UserSlot).Queue == a.Queue)) &&
			s.Asks.Valid(a.Asks) && s.Containers.Valid(a.Containers) &&
			s.Containers.Valid(a.Undelivered) && s.Reservations.Valid(a.Reservations) &&
			s.NodeApplications.Valid(a.NodeApplications) && s.Attempts.Valid(a.History) && s.Nodes.Valid(a.MasterNode)
		for _, id := range a.Blacklist {
			ok = ok && s.Names.Has(id)
		}
		return ok || fail("application", slot)
	})
	s.Asks.Each(func(slot record.AskSlot, k *record.Ask) bool {
		return (label(k.Label) && s.Apps.Has(k.App) && s.Asks.Valid(k.Next) && s.Locations.Valid(k.Locations)) ||
			fail("ask", slot)
	})
	s.Resizes.Each(func(slot record.ResizeSlot, r *record.Resize) bool {
		return (s.Containers.Has(r.Container) && s.Asks.Valid(r.Ask) && s.Reservations.Valid(r.Reservation)) ||
			fail("resize", slot)
	})
	s.Locations.Each(func(slot record.LocationSlot, l *record.Location) bool {
		return (s.Names.Has(l.Name) && s.Locations.Valid(l.Next)) || fail("location", slot)
	})
	s.Nodes.Each(func(slot record.NodeSlot, n *record.Node) bool {
		return (s.Names.Has(n.Host) && s.Names.Has(n.RackID) && s.Containers.Valid(n.Containers) &&
			s.Reservations.Valid(n.Reservation) && s.ReservationBans.Valid(n.ReservationBans) &&
			s.NodeApplications.Valid(n.NodeApplications)) || fail("node", slot)
	})
	s.LabelledHosts.Each(func(slot record.LabelledHostSlot, h *record.LabelledHost) bool {
		return label(h.Label) || fail("labelled host", slot)
	})
	s.LabelUses.Each(func(slot record.LabelUseSlot, u *record.LabelUse) bool {
		ok := u.Label != 0 && label(u.Label) && s.Queues.Valid(u.Queue) && s.Users.Valid(u.User)
		return ok || fail("use of a label", slot)
	})
	s.AskedLabels.Each(func(slot record.ContainerSlot, l *record.LabelSlot) bool {
		return s.Containers.Has(slot) && *l != 0 && label(*l) || fail("label of a container", slot)
	})
	s.LargeContainers.Each(func(slot record.LargeSlot, l *record.LargeContainer) bool {
		return s.Labels.Valid(record.LabelSlot(slot-1)) && l.AtMillis <= s.Meta.NowMillis || fail("large container", slot)
	})
	s.Preemptions.Each(func(slot record.ContainerSlot, _ *record.Preemption) bool {
		return s.Containers.Has(slot) || fail("preemption", slot)
	})
	s.Debts.Each(func(slot record.QueueSlot, d *record.Debts) bool {
		ok := s.Queues.Has(slot) && len(*d) > 0
		for i, of := range *d {
			ok = ok && (of.Label == 0 || label(of.Label)) && of.SinceMillis <= s.Meta.NowMillis &&
				(i == 0 || of.Label > (*d)[i-1].Label)
		}
		return ok || fail("debts", slot)
	})
	s.Kept.Each(func(slot record.QueueSlot, list *record.Keeps) bool {
		ok := s.Queues.Has(slot) && len(*list) > 0
		for i, k := range *list {
			ok = ok && (k.Label == 0 || label(k.Label)) && k.ReachedMillis <= s.Meta.NowMillis && !k.Size.Negative() &&
				(!k.Size.IsZero() || k.IdleLeft > 0) && (i == 0 || k.Label > (*list)[i-1].Label)
		}
		return ok || fail("kept", slot)
	})
	s.Leases.Each(func(slot record.ContainerSlot, _ *record.Lease) bool {
		return s.Containers.Has(slot) || fail("lease", slot)
	})
	s.Preempted.Each(func(slot record.AppSlot, _ *record.Preempted) bool {
		return s.Apps.Has(slot) || fail("preempted", slot)
	})
	s.Placements.Each(func(slot record.AppSlot, _ *record.Placement) bool {
		return s.Apps.Has(slot) || fail("placement", slot)
	})
	s.Removable.Each(func(slot record.RemovalsSlot, r *record.Removals) bool {
		return s.Nodes.Has(r.Node) || fail("removals", slot)
	})
	s.NodeApplications.Each(func(slot record.NodeApplicationSlot, p *record.NodeApplication) bool {
		ok := s.Nodes.Has(p.Node) && s.Apps.Valid(p.Slot)
		for _, l := range []record.NodeApplicationSlot{p.PrevNode, p.NextNode, p.NextApp} {
			ok = ok && s.NodeApplications.Valid(l)
		}
		return ok || fail("node application", slot)
	})
	s.Attempts.Each(func(slot record.AttemptSlot, h *record.Attempt) bool {
		return (s.Apps.Has(h.App) && s.Attempts.Valid(h.Next) && s.Nodes.Valid(h.MasterNode)) || fail("attempt", slot)
	})
	s.ReservationBans.Each(func(slot record.ReservationBanSlot, b *record.ReservationBan) bool {
		return (s.Apps.Has(b.App) && s.ReservationBans.Valid(b.Next)) || fail("reservation ban", slot)
	})
	s.Requests.Each(func(slot record.RequestSlot, r *record.Request) bool {
		return s.Requests.Valid(r.Next) || fail("request", slot)
	})
	if o, n := s.Meta.OldestRequest, s.Meta.NewestRequest; !s.Requests.Valid(o) || !s.Requests.Valid(n) {
		fail("oldest or newest request", o)
	}
	s.Containers.Each(func(slot record.ContainerSlot, c *record.Container) bool {
		ok := s.Apps.Has(c.App) && s.Nodes.Has(c.Node) && s.Diagnostics.Valid(c.Diagnostics)
		for _, l := range []record.ContainerSlot{c.PrevApp, c.NextApp, c.PrevNode, c.NextNode, c.NextUndelivered} {
			ok = ok && s.Containers.Valid(l)
		}
		return ok || fail("container", slot)
	})
	s.Reservations.Each(func(slot record.ReservationSlot, r *record.Reservation) bool {
		return (s.Apps.Has(r.App) && s.Nodes.Has(r.Node) && s.Reservations.Valid(r.PrevApp) &&
			s.Reservations.Valid(r.NextApp)) || fail("reservation", slot)
	})
	return err
}

// nodeSums has the sums over the containers on a node.
type nodeSums struct {
	size            yarn.Resource
	count, commands int32
}

func (s *Tables) CheckNodes() error {
	var sums table.Scratch[record.NodeSlot, nodeSums]
	s.Containers.Each(func(_ record.ContainerSlot, c *record.Container) bool {
		w := sums.At(c.Node)
		if c.OnNode {
			w.size = w.size.Add(c.Size)
			w.count++
		}
		w.commands += count(c.HasPendingCommand())
		return true
	})
	var err error
	s.Nodes.Each(func(slot record.NodeSlot, n *record.Node) bool {
		got := nodeSums{n.Allocated, n.Count, n.PendingCommands}
		switch w := *sums.At(slot); {
		case got != w:
			err = fmt.Errorf(
				"node %s says %s in %d containers, %d pending commands; its containers sum to %s in %d, %d pending commands",
				n.ID, n.Allocated, n.Count, n.PendingCommands, w.size, w.count, w.commands)
		case n.Reservation != 0 && s.Reservations.Get(n.Reservation).Node != slot:
			err = fmt.Errorf("node %s names a reservation of another node", n.ID)
		case !n.State.Usable() && (n.Reservation != 0 || n.Count > 0):
			err = fmt.Errorf("node %s is %s and holds something", n.ID, n.State)
		}
		return err == nil
	})
	s.Reservations.Each(func(slot record.ReservationSlot, r *record.Reservation) bool {
		if s.Nodes.Get(r.Node).Reservation != slot {
			err = fmt.Errorf("reservation r%d is not the one of its node", r.Number)
		}
		return err == nil
	})
	return err
}

// appSums has the sums over the records of an application.
type appSums struct {
	used, reserved, pending yarn.Resource
	live, reserving         int32
	outstanding             int64
}

func (s *Tables) sumApps() *table.Scratch[record.AppSlot, appSums] {
	sums := new(table.Scratch[record.AppSlot, appSums])
	s.Containers.Each(func(_ record.ContainerSlot, c *record.Container) bool {
		if c.State.Live() {
			w := sums.At(c.App)
			w.used = w.used.Add(c.Size)
			w.live++
		}
		return true
	})
	s.Reservations.Each(func(_ record.ReservationSlot, r *record.Reservation) bool {
		w := sums.At(r.App)
		w.reserved = w.reserved.Add(r.Size)
		w.reserving++
		return true
	})
	s.Asks.Each(func(_ record.AskSlot, k *record.Ask) bool {
		w := sums.At(k.App)
		w.pending = w.pending.Add(k.Size.Times(k.Count))
		w.outstanding += k.Count
		return true
	})
	return sums
}

func (s *Tables) CheckApps() error {
	var err error
	sums := s.sumApps()
	s.Apps.Each(func(slot record.AppSlot, a *record.App) bool {
		got := appSums{a.Used, a.Reserved, a.Pending, a.Live, a.Reserving, a.Outstanding}
		if w := *sums.At(slot); got != w {
			err = fmt.Errorf("%s says %+v; its records sum to %+v", a.ID, got, w)
			return false
		}
		if a.ResourceSeconds.Negative() {
			err = fmt.Errorf("%s has used %s over time", a.ID, a.ResourceSeconds)
			return false
		}
		if a.Reservations != 0 && !a.Activated() {
			err = fmt.Errorf("%s holds a reservation and is not active", a.ID)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	var held table.Scratch[record.AskSlot, int32]
	s.Reservations.Each(func(_ record.ReservationSlot, r *record.Reservation) bool {
		a := s.Apps.Get(r.App)
		ask := s.Asks.For(a, r.Key, r.IncreaseOf, s.Containers, s.Resizes)
		if (r.Attempt != a.Attempt && r.IncreaseOf == 0) || ask == 0 {
			err = fmt.Errorf("reservation r%d belongs to no ask of the current attempt of %s", r.Number, a.ID)
			return false
		}
		*held.At(ask)++
		return true
	})
	s.Asks.Each(func(slot record.AskSlot, k *record.Ask) bool {
		if err == nil && (*held.At(slot) != k.Reservations || k.Count < 0 || (k.Count == 0 && k.Reservations == 0)) {
			err = fmt.Errorf("ask %+v of %s says %d reservations and holds %d", k.Key, s.Apps.Get(k.App).ID, k.Reservations,
				*held.At(slot))
		}
		return err == nil
	})
	return err
}

func (s *Tables) CheckUsers() error {
	var sums table.Scratch[record.UserSlot, record.User]
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		if a.UserSlot == 0 {
			return true
		}
		u := sums.At(a.UserSlot)
		u.Apps++
		u.Used = u.Used.Add(a.Used).Add(a.Reserved)
		u.Demanding += count(a.Outstanding > 0)
		u.Pending += count(a.AttemptState == record.AttemptPending)
		if a.Charged() {
			u.Active++
			u.AMUsed = u.AMUsed.Add(a.AMCharge())
		}
		return true
	})
	s.withoutLabels(&sums, nil)
	var err error
	s.Users.Each(func(slot record.UserSlot, u *record.User) bool {
		want := *sums.At(slot)
		want.Queue, want.Name = u.Queue, u.Name
		if *u != want {
			err = fmt.Errorf("user %s of %s says %+v; the applications sum to %+v", s.Names.Text(u.Name),
				s.Queues.Get(u.Queue).Path, *u, want)
		}
		return err == nil
	})
	return err
}

// CheckTree computes the sums of every queue again from applications and users.
func (s *Tables) CheckTree() error {
	var sums table.Scratch[record.QueueSlot, record.Queue]
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		if a.UserSlot == 0 {
			return true
		}
		leaf := sums.At(a.Queue)
		leaf.NonRunnableApps += count(a.AttemptState == record.AttemptNonRunnable)
		leaf.PendingApps += count(a.AttemptState == record.AttemptPending)
		if a.Charged() {
			leaf.ActiveApps++
			leaf.AMUsed = leaf.AMUsed.Add(a.AMCharge())
		}
		for slot := a.Queue; slot != 0; slot = s.Queues.Get(slot).Parent {
			q := sums.At(slot)
			q.Used = q.Used.Add(a.Used).Add(a.Reserved)
			q.Reserved = q.Reserved.Add(a.Reserved)
			q.Pending = q.Pending.Add(a.Pending)
			q.Containers += int64(a.Live + a.Reserving)
			q.Runnable += count(a.Runnable())
		}
		return true
	})
	s.withoutLabels(nil, &sums)
	s.Users.Each(func(_ record.UserSlot, u *record.User) bool {
		q := sums.At(u.Queue)
		q.Users++
		if u.IsActive() {
			q.ActiveUsers++
			q.ActiveUsed = q.ActiveUsed.Add(u.Used)
		}
		q.WaitingUsers += count(u.IsWaiting())
		return true
	})
	var err error
	s.Queues.Each(func(slot record.QueueSlot, q *record.Queue) bool {
		err = q.Differs(sums.At(slot))
		return err == nil
	})
	return err
}

func (s *Tables) CheckMeta() error {
	total := s.Nodes.UsableTotal()
	var usable, ended int32
	s.Nodes.Each(func(_ record.NodeSlot, n *record.Node) bool {
		usable += count(n.State.Usable())
		return true
	})
	var high uint64
	s.Apps.Each(func(_ record.AppSlot, a *record.App) bool {
		ended += count(a.State.Ended())
		high = max(high, uint64(a.ID.Seq)+1)
		return true
	})
	if high > uint64(s.Meta.NextApp) {
		return fmt.Errorf("application %d is there and the next one is %d", high-1, s.Meta.NextApp)
	}
	high = 0
	s.Reservations.Each(func(_ record.ReservationSlot, r *record.Reservation) bool {
		high = max(high, r.Number)
		return true
	})
	if high > s.Meta.NextReservation {
		return fmt.Errorf("reservation r%d is there and the last one made is r%d", high, s.Meta.NextReservation)
	}
	if total != s.Meta.Cluster || usable != s.Meta.UsableNodes || ended != s.Meta.EndedApps {
		return fmt.Errorf("the cluster says %s on %d nodes and %d ended applications; summed %s, %d, %d",
			s.Meta.Cluster, s.Meta.UsableNodes, s.Meta.EndedApps, total, usable, ended)
	}
	if l := s.Nodes.FindLargest(); l != s.Nodes.Largest {
		return fmt.Errorf("the largest of %d running nodes has %s; found %d and %s", s.Nodes.Largest.Count,
			s.Nodes.Largest.Most, l.Count, l.Most)
	}
	return nil
}
