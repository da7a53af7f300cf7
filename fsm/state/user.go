package state

import (
	"rmd/fsm/state/check"
	"rmd/fsm/state/part"
	"rmd/fsm/state/table"
	"rmd/internal/boolint"
	"rmd/yarn"
)

// joinUser adds one application to a user of a leaf and returns the user's slot. It creates the
// user if needed.
func (s *Accounts) joinUser(queue QueueSlot, name NameSlot) UserSlot {
	slot := s.Users.Find(queue, name)
	if slot == 0 {
		var u *User
		slot, u = table.Alloc(&s.Users.Keyed.Table)
		u.Queue, u.Name = queue, s.Names.Retain(name)
		table.InsertKeyed(&s.Users.Keyed, slot)
		s.countUsers(queue, 1)
	}
	s.Users.Mut(slot).Apps++
	return slot
}

// leaveUser subtracts one application from a user, and removes a user without applications.
func (s *Accounts) leaveUser(slot UserSlot) {
	u := s.Users.Mut(slot)
	u.Apps--
	if u.Apps == 0 && u.Used.IsZero() {
		s.countUsers(u.Queue, -1)
		s.Names.Unretain(&s.Meta, u.Name)
		table.ReleaseKeyed(&s.Users.Keyed, slot)
	}
}

func (s *Accounts) countUsers(queue QueueSlot, more int32) {
	s.Queues.Mut(queue).Users += more
	s.DynamicQueues.CountUsers(&s.Meta, queue, more)
}

// linkUsers counts the users of each leaf.
func (s *Accounts) linkUsers() {
	s.Users.Each(func(_ UserSlot, u *User) bool { s.Queues.Mut(u.Queue).Users++; return true })
}

// changeUser calls f, which changes a user, and updates the sums of the user's leaf.
func (s *Accounts) changeUser(slot UserSlot, f func(u *User)) {
	u := s.Users.Mut(slot)
	wasActive, wasWaiting, wasUsed := u.IsActive(), u.IsWaiting(), u.Used
	f(u)
	isActive, isWaiting := u.IsActive(), u.IsWaiting()
	if !wasActive && !isActive && wasWaiting == isWaiting {
		return
	}
	q := s.Queues.Mut(u.Queue)
	if wasActive != isActive {
		s.activateUses(slot, isActive)
	}
	if wasActive {
		q.ActiveUsers--
		q.ActiveUsed = q.ActiveUsed.Sub(wasUsed)
	}
	if isActive {
		q.ActiveUsers++
		q.ActiveUsed = q.ActiveUsed.Add(u.Used)
	}
	q.WaitingUsers += count(isWaiting) - count(wasWaiting)
}

func count(b bool) int32 { return boolint.Of[int32](b) }

// charge adds used and reserved resources and containers of a partition to the user and the queues
// of an application. Negative values subtract.
func (s *Accounts) charge(a *App, label LabelSlot, used, reserved yarn.Resource, containers int64) {
	if label != 0 {
		s.chargeLabel(a, label, used, reserved, containers)
		return
	}
	s.changeUser(a.UserSlot, func(u *User) { u.Used = u.Used.Add(used) })
	s.chain(a.Queue, func(q *Queue) {
		q.Used = q.Used.Add(used)
		q.Reserved = q.Reserved.Add(reserved)
		q.Containers += containers
	})
	s.foldResource(s.Queues.Get(a.Queue).Used)
}

var _ = stored(1, part.Derived[State]{Part: part.Keyed(6, "users",
	func(s *State) *table.Keyed[UserSlot, User, *User] { return &s.Users.Keyed }, (*User).Code),
	Links: func(s *State) { s.linkUsers() }, Agrees: agrees((*check.Tables).CheckUsers)})
