package record

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

// Code encodes the record, or decodes into it.
func (u *User) Code(c *codec.Coder) {
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

// Hash returns the hash of the key.
func (u *User) Hash() uint64 { return hashUser(u.Queue, u.Name) }

// Same reports whether the keys are equal.
func (u *User) Same(other *User) bool { return u.Queue == other.Queue && u.Name == other.Name }

func count(b bool) int32 { return boolint.Of[int32](b) }
