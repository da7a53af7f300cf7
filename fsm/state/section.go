package state

import (
	"cmp"
	"slices"

	"rmd/fsm/state/part"
)

// Section is one table in a snapshot.
type Section = part.Section[State]

// parts are the parts of the state, in the order of their numbers, which is that of a snapshot. Each is
// in the file of its table.
var parts []stateful

// stateful is a part of the state.
type stateful struct {
	part.Part[State]
	since uint32 // the feature level that has brought it
}

// stored makes something a part of the state since a feature level: it is in snapshots, and a fork has
// its own. A part that is not stored would be missing in snapshots and shared by forks.
func stored(since uint32, p part.Part[State]) (none struct{}) {
	at, _ := slices.BinarySearchFunc(parts, p.Section().ID,
		func(q stateful, id uint8) int { return cmp.Compare(q.Section().ID, id) })
	parts = slices.Insert(parts, at, stateful{p, since})
	return none
}

// Sections returns the sections of all parts, in the order of a snapshot.
func Sections() []Section {
	out := make([]Section, len(parts))
	for i, p := range parts {
		out[i] = p.Section()
		out[i].Since = p.since
	}
	return out
}

// Reindex builds everything that is not in snapshots in a state from a snapshot. It returns an
// error if the state is inconsistent.
func (s *State) Reindex() error {
	for _, p := range parts {
		p.Reindex(s)
	}
	for _, p := range parts {
		p.Link(s)
	}
	return s.Check()
}
