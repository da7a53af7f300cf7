package scheduler

import "rmd/fsm/state"

// maxAskNames is the number of names in the state (state.State.Names) from which asks and blacklists
// add no more.
const maxAskNames = 1 << 19

// AdmitNames returns a function that reports whether an application of a user may refer to a host
// or rack. An application that refers to n of them may always refer to those that the state has, and
// while the table of names is less than half full, also to new ones. Then the applications of one
// user may refer to as many names as they leave free. So no user fills the table, and half of what
// is free is left for the next one.
func (s *rules) AdmitNames(user state.NameSlot, n int) func(name string) bool {
	left, counted := 0, false
	return func(name string) bool {
		if s.State.Names.Find(name) != 0 {
			return true
		}
		if !counted {
			left, counted = s.newNames(user, n), true
		}
		left--
		return left >= 0
	}
}

// newNames returns how many of n new names the applications of a user may add to the state.
func (s *rules) newNames(user state.NameSlot, n int) int {
	return MayAdd(n, s.State.Names.Len(), maxAskNames, func() int { return s.namesOf(user) })
}

// MayAdd returns how many of n entries a user may add to a table that has used of at most most
// entries. From half of the maximum on, a user may have as many entries as are left for all others, so
// that no user fills the table. has counts the user's entries. It is called only then.
func MayAdd(n, used, most int, has func() int) int {
	free := most - used
	if free-n >= most/2 {
		return n
	}
	return min(n, (free-has())/2)
}

// namesOf returns the number of hosts and racks in the asks and blacklists of a user's applications.
func (s *rules) namesOf(user state.NameSlot) (n int) {
	s.State.Apps.Each(func(_ state.AppSlot, a *state.App) bool {
		if a.User == user {
			n += len(a.Blacklist)
			for _, k := range s.State.Asks.Of(a) {
				n += int(k.Entries) - 1
			}
		}
		return true
	})
	return n
}
