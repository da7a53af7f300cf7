package report

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/jepsen-lite/history"
)

// differ is the first index at which replicas have different digests.
type differ struct {
	Index  uint64
	Before uint64 // last index at which all agree; 0 means none
	Sides  []side
	// Left and Right name the replicas whose states are compared field by field.
	Left, Right string
	Same        int // number of equal fields
	Fields      []fieldPair
	More        int // number of differing fields that are not shown
}

// side is one replica at that index.
type side struct {
	Replica, Term, Before, Digest string
	Odd                           bool // there is a majority, and the replica differs from it
}

type fieldPair struct{ Name, Left, Right string }

const fieldsMax = 200

// findDiffer finds the first difference; nil if all digests agree.
func findDiffer(h *history.History) *differ {
	type key struct {
		index uint64
		id    string
	}
	said := map[key]*history.Replica{} // last report of each replica at an index; never iterated
	first := map[uint64]uint64{}
	var found uint64
	var ids []string
	for _, e := range h.Replicas {
		if e.Kind != history.Apply {
			continue
		}
		if !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
		said[key{e.Index, e.ID}] = e
		if have, ok := first[e.Index]; !ok {
			first[e.Index] = e.Digest
		} else if have != e.Digest && (found == 0 || e.Index < found) {
			found = e.Index
		}
	}
	if found == 0 {
		return nil
	}
	d := &differ{Index: found}
	slices.Sort(ids)
	votes := map[uint64]int{}
	for index := range first { // the order does not matter for a maximum
		if index < found {
			d.Before = max(d.Before, index)
		}
	}
	for _, id := range ids {
		if e := said[key{found, id}]; e != nil {
			votes[e.Digest]++
		}
	}
	most := 0
	for _, n := range votes { // the order does not matter for a maximum
		most = max(most, n)
	}
	for _, id := range ids {
		e := said[key{found, id}]
		if e == nil {
			d.Sides = append(d.Sides, side{Replica: id, Digest: "not applied"})
			continue
		}
		s := side{Replica: id, Term: fmt.Sprint(e.Term), Digest: fmt.Sprintf("%016x", e.Digest),
			Odd: 2*most > len(ids) && votes[e.Digest] < most}
		if b := said[key{d.Before, id}]; b != nil {
			s.Before = fmt.Sprintf("%016x", b.Digest)
		}
		d.Sides = append(d.Sides, s)
	}
	d.fields(h.Dumps)
	return d
}

// fields compares two dumps with different digests at that index, or at the next index of which
// there are dumps of two replicas.
func (d *differ) fields(dumps []*history.Dump) {
	dumps = slices.Clone(dumps)
	slices.SortStableFunc(dumps, func(a, b *history.Dump) int { return cmp.Compare(a.Index, b.Index) })
	for i, a := range dumps {
		for _, b := range dumps[i+1:] {
			if a.Index >= d.Index && a.Index == b.Index && a.Replica != b.Replica && (a.Digest != b.Digest || a.Digest == 0) {
				d.Left, d.Right = a.Replica, b.Replica
				d.pair(a.Fields, b.Fields)
				return
			}
		}
	}
}

func (d *differ) pair(left, right []history.Field) {
	values := map[string]string{} // never iterated
	for _, f := range right {
		values[f.Name] = f.Value
	}
	add := func(p fieldPair) {
		if len(d.Fields) == fieldsMax {
			d.More++
			return
		}
		d.Fields = append(d.Fields, p)
	}
	have := map[string]bool{}
	for _, f := range left {
		have[f.Name] = true
		other, ok := values[f.Name]
		switch {
		case !ok:
			add(fieldPair{f.Name, f.Value, "—"})
		case other != f.Value:
			add(fieldPair{f.Name, f.Value, other})
		default:
			d.Same++
		}
	}
	for _, f := range right {
		if !have[f.Name] {
			add(fieldPair{f.Name, "—", f.Value})
		}
	}
}
