package state

import (
	"rmd/fsm/state/table"
	"rmd/internal/boolint"
	"rmd/internal/codec"
	"rmd/yarn"
)

// User is one user's share of one leaf. It exists while the user has applications there that have
// not ended. Its fields are sums over these applications.
type User struct {
	Queue  QueueSlot
	Name   NameSlot
	Used   yarn.Resource // live containers and reservations; kept by charge
	AMUsed yarn.Resource // AMs of active applications
	Apps   int32         // applications that have not ended; kept by joinUser and leaveUser
	Active int32         // applications that are active, as Queue.ActiveApps
	// Pending counts applications that wait for activation. Demanding counts those with outstanding
	// asks, activated or not.
	Pending   int32
	Demanding int32
}

// IsActive reports whether the user counts as active in the user limit.
func (u *User) IsActive() bool { return u.Demanding > 0 && u.Active > 0 }

// IsWaiting reports whether the user has applications that wait for activation, and no active one.
func (u *User) IsWaiting() bool { return u.Active == 0 && u.Pending > 0 }

func (u *User) code(c *codec.Coder) {
	codec.Slot(c, &u.Queue)
	codec.Slot(c, &u.Name)
	c.Resource(&u.Used)
	c.Resource(&u.AMUsed)
	c.I32(&u.Apps)
	c.I32(&u.Active)
	c.I32(&u.Pending)
	c.I32(&u.Demanding)
}

// Users is the table of the users of leaves.
type Users struct {
	table.Keyed[UserSlot, User, *User]
}

// Find returns the slot of a user of a leaf, or 0 if there is none.
func (t *Users) Find(queue QueueSlot, name NameSlot) UserSlot {
	return t.Lookup(hashUser(queue, name), func(u *User) bool {
		return u.Queue == queue && u.Name == name
	})
}

func hashUser(queue QueueSlot, name NameSlot) uint64 {
	return table.Mix(uint64(queue)<<32 | uint64(name))
}

func (u *User) Hash() uint64          { return hashUser(u.Queue, u.Name) }
func (u *User) Same(other *User) bool { return u.Queue == other.Queue && u.Name == other.Name }

// joinUser adds one application to a user of a leaf and returns the user's slot. It creates the
// user if needed.
func (s *Accounts) joinUser(queue QueueSlot, name NameSlot) UserSlot {
	slot := s.Users.Find(queue, name)
	if slot == 0 {
		var u *User
		slot, u = s.Users.Alloc()
		u.Queue, u.Name = queue, s.Names.retain(name)
		s.Users.Insert(slot)
		s.DynamicQueues.countUsers(&s.Meta, queue, 1)
	}
	s.Users.Mut(slot).Apps++
	return slot
}

// leaveUser subtracts one application from a user, and removes a user without applications.
func (s *Accounts) leaveUser(slot UserSlot) {
	u := s.Users.Mut(slot)
	u.Apps--
	if u.Apps == 0 && u.Used.IsZero() {
		s.DynamicQueues.countUsers(&s.Meta, u.Queue, -1)
		s.Names.unretain(&s.Meta, u.Name)
		s.Users.Release(slot)
	}
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

var userPart = derived{part: keyedRows(6, "users", func(s *State) *table.Keyed[UserSlot, User, *User] { return &s.Users.Keyed }, (*User).code),
	agrees: (*State).checkUsers}
