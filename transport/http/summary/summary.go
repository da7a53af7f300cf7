package summary

import (
	"cmp"
	"slices"

	"rmd/fsm/state"
)

// chunkSize is how many slots of applications are copied together when one of
// them has changed.
const chunkSize = 64

type chunk [chunkSize]App

// Summary is what one version of the state comes to.
type Summary struct {
	st    *state.State
	index uint64

	chunks  []*chunk // applications by slot
	order   []uint32 // their slots, by sequence number: as they were submitted
	tallies []Tally  // by queue's slot; 0: of queues that are gone
	all     Tally
	places  *places
}

// nothing is the summary before the first one.
var nothing = &Summary{st: state.New(), places: &places{}}

// App is an application by slot; it must hold one.
func (c *Summary) App(slot uint32) *App { return &c.chunks[slot/chunkSize][slot%chunkSize] }

// Index is that of the version of the state.
func (c *Summary) Index() uint64 { return c.index }

// Len is the number of applications.
func (c *Summary) Len() int { return len(c.order) }

// All counts all applications.
func (c *Summary) All() *Tally { return &c.all }

// Queue counts the applications of one leaf.
func (c *Summary) Queue(slot uint32) Tally {
	if int(slot) < len(c.tallies) {
		return c.tallies[slot]
	}
	return Tally{}
}

// Tree counts the applications of every queue with those of all queues below it,
// by slot.
func (c *Summary) Tree() []Tally {
	out := make([]Tally, c.st.Queues.Cap())
	var walk func(slot uint32)
	walk = func(slot uint32) {
		out[slot] = c.Queue(slot)
		for _, k := range c.st.Queues.Get(slot).Children {
			walk(k)
			out[slot].Add(&out[k])
		}
	}
	if root := c.st.Root(); root != 0 {
		walk(root)
	}
	return out
}

// Each calls f for every application in the order of submission, or the other way
// round, until it returns false.
func (c *Summary) Each(newest bool, f func(a *App) bool) {
	n := len(c.order)
	for i := range n {
		if newest {
			i = n - 1 - i
		}
		if !f(c.App(c.order[i])) {
			return
		}
	}
}

// From is Each from behind a sequence number on; 0 is all.
func (c *Summary) From(after uint32, newest bool, f func(a *App) bool) {
	i, found := slices.BinarySearchFunc(c.order, after, func(slot, seq uint32) int { return cmp.Compare(c.App(slot).Seq, seq) })
	switch {
	case after == 0:
		c.Each(newest, f)
		return
	case newest:
		for i--; i >= 0 && f(c.App(c.order[i])); i-- {
		}
		return
	case found:
		i++
	}
	for ; i < len(c.order) && f(c.App(c.order[i])); i++ {
	}
}

// step makes the summary of another version of the state.
func (c *Summary) step(st *state.State, index uint64) *Summary {
	n := &Summary{st: st, index: index, all: c.all}
	n.tallies = make([]Tally, max(st.Queues.Cap(), 1, uint32(len(c.tallies))))
	copy(n.tallies, c.tallies)
	n.chunks = make([]*chunk, (st.Apps.Cap()+chunkSize-1)/chunkSize)
	m := &move{from: c, to: n}
	for i := range n.chunks {
		if i < len(c.chunks) && sameRecords(&c.st.Apps, &st.Apps, uint32(i)*chunkSize) {
			n.chunks[i] = c.chunks[i]
			continue
		}
		n.chunks[i] = m.chunk(uint32(i))
	}
	for i := len(n.chunks); i < len(c.chunks); i++ {
		m.drop(c.chunks[i])
	}
	n.order = m.order()
	n.places = c.places.step(c.st, st)
	return n
}

// sameRecords says whether the records of a chunk of slots are the same ones in
// both versions of a table: it is so when they lie at the same place in memory,
// for what two versions share neither of them writes to.
func sameRecords[T any](a, b *state.Table[T], from uint32) bool {
	if a.Cap() < from+chunkSize || b.Cap() < from+chunkSize {
		return false
	}
	for slot := from; slot < from+chunkSize; slot++ {
		if a.Get(slot) != b.Get(slot) {
			return false
		}
	}
	return true
}

// move is the way from one summary to another.
type move struct {
	from, to *Summary
	fresh    []uint32 // slots of applications that the old one has not
	gone     bool     // the old one has applications that the new one has not
}

// chunk counts a chunk of slots again.
func (m *move) chunk(i uint32) *chunk {
	var old chunk
	if int(i) < len(m.from.chunks) {
		old = *m.from.chunks[i]
	}
	out := new(chunk)
	for k := range out {
		slot := i*chunkSize + uint32(k)
		if m.to.st.Apps.Has(slot) {
			out[k] = appOf(m.to.st, slot)
		}
		if was, is := &old[k], &out[k]; *was != *is {
			m.change(was, is)
		}
	}
	return out
}

// change moves the counts from what an application was to what it is.
func (m *move) change(was, is *App) {
	if was.Seq != 0 {
		m.count(was, -1)
	}
	if is.Seq != 0 {
		m.count(is, 1)
	}
	if was.Seq != is.Seq {
		m.gone = m.gone || was.Seq != 0
		if is.Seq != 0 {
			m.fresh = append(m.fresh, is.Slot)
		}
	}
}

func (m *move) count(a *App, sign int32) {
	m.to.all.count(a, sign)
	m.to.tallies[a.Queue].count(a, sign)
}

// drop takes away a chunk that the new version has no slots for.
func (m *move) drop(old *chunk) {
	for k := range old {
		if old[k].Seq != 0 {
			m.change(&old[k], &App{})
		}
	}
}

// order is the new order of submission.
func (m *move) order() []uint32 {
	old, to := m.from.order, m.to
	if !m.gone && len(m.fresh) == 0 {
		return old
	}
	out := make([]uint32, 0, len(old)+len(m.fresh))
	for _, slot := range old {
		if int(slot/chunkSize) < len(to.chunks) && to.App(slot).Seq == m.from.App(slot).Seq {
			out = append(out, slot)
		}
	}
	bySeq := func(a, b uint32) int { return cmp.Compare(to.App(a).Seq, to.App(b).Seq) }
	slices.SortFunc(m.fresh, bySeq)
	inOrder := len(out) == 0 || len(m.fresh) == 0 || bySeq(out[len(out)-1], m.fresh[0]) < 0
	if out = append(out, m.fresh...); !inOrder {
		slices.SortFunc(out, bySeq)
	}
	return out
}
