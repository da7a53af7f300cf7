// Package due finds the records of the state whose time has come.
package due

import "math"

// Never is the time of a deadline of which the state has none.
const Never = math.MaxInt64

// records is a table of the state.
type records[S ~uint32, T any] interface {
	Each(f func(slot S, r *T) bool)
}

// Earliest returns the earliest deadline in a table.
func Earliest[S ~uint32, T any](table records[S, T], of func(*T) int64) int64 {
	first := int64(Never)
	table.Each(func(_ S, r *T) bool {
		first = min(first, of(r))
		return true
	})
	return first
}

// Passed returns the slots of the records whose deadline has passed.
func Passed[S ~uint32, T any](table records[S, T], of func(*T) int64, now int64) (slots []S) {
	table.Each(func(slot S, r *T) bool {
		if of(r) <= now {
			slots = append(slots, slot)
		}
		return true
	})
	return slots
}
