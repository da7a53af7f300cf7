// Package largest keeps the largest sizes of the members of a set that changes.
package largest

import "rmd/yarn"

// Set has, for each kind of resource, the most that a member has, and how many members have it. While
// a member keeps the maximum, no change of another one needs a look at all.
type Set struct {
	Most    yarn.Resource
	members [yarn.MaxKinds]int32
	Count   int32 // of all members
}

// Add adds a member.
func (s *Set) Add(size yarn.Resource) {
	s.Count++
	for k, v := range size {
		switch {
		case s.Count == 1 || v > s.Most[k]:
			s.Most[k], s.members[k] = v, 1
		case v == s.Most[k]:
			s.members[k]++
		}
	}
}

// Remove removes a member. known reports whether the maxima of the others are still known.
func (s *Set) Remove(size yarn.Resource) (known bool) {
	s.Count--
	known = true
	for k, v := range size {
		if v == s.Most[k] {
			s.members[k]--
			known = known && s.members[k] > 0
		}
	}
	return known
}
