package summary

import (
	"cmp"
	"slices"
	"sync"

	"rmd/fsm/state"
	"rmd/fsm/state/table"
)

// chunkSize is the number of application slots that are copied together if one of them has changed.
const chunkSize = 64

type chunk [chunkSize]App

// Summary is the summary of one version of the state.
type Summary struct {
	st    *state.State
	index uint64

	chunks  []*chunk        // applications by slot
	order   []state.AppSlot // slots by sequence number, which is the order of submission
	tallies []Tally         // by the queue's slot; 0 is for queues that are gone
	all     Tally
	places  *places

	countRooms sync.Once // on first use
	rooms      []Room    // by label
}

// nothing is the summary of an empty state, from which the first one is made.
var nothing = &Summary{st: state.New(), places: &places{}}

// App returns the application in a slot, which must have one.
func (c *Summary) App(slot state.AppSlot) *App { return &c.chunks[slot/chunkSize][slot%chunkSize] }

// Index returns the index of the version of the state.
func (c *Summary) Index() uint64 { return c.index }

// Len returns the number of applications.
func (c *Summary) Len() int { return len(c.order) }

// All returns the tally of all applications.
func (c *Summary) All() *Tally { return &c.all }

// Queue returns the tally of one leaf queue.
func (c *Summary) Queue(slot state.QueueSlot) Tally {
	if int(slot) < len(c.tallies) {
		return c.tallies[slot]
	}
	return Tally{}
}

// Tree returns the tallies of all queues by slot, each including the queues below it.
func (c *Summary) Tree() []Tally {
	out := make([]Tally, c.st.Queues.Cap())
	var walk func(slot state.QueueSlot)
	walk = func(slot state.QueueSlot) {
		out[slot] = c.Queue(slot)
		for _, k := range c.st.Queues.Get(slot).Children {
			walk(k)
			out[slot].Add(&out[k])
		}
	}
	if root := c.st.Queues.Root(); root != 0 {
		walk(root)
	}
	return out
}

// Each calls f for every application in the order of submission, or in reverse, until f returns
// false.
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

// From is like Each, but begins after a sequence number. 0 means all.
func (c *Summary) From(after uint32, newest bool, f func(a *App) bool) {
	i, found := slices.BinarySearchFunc(c.order, after,
		func(slot state.AppSlot, seq uint32) int { return cmp.Compare(c.App(slot).Seq, seq) })
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

// step returns the summary of another version of the state.
func (c *Summary) step(st *state.State, index uint64) *Summary {
	n := &Summary{st: st, index: index, all: c.all}
	n.tallies = make([]Tally, max(st.Queues.Cap(), 1, state.QueueSlot(len(c.tallies))))
	copy(n.tallies, c.tallies)
	n.chunks = make([]*chunk, (st.Apps.Cap()+chunkSize-1)/chunkSize)
	m := &move{from: c, to: n}
	for i := range n.chunks {
		if i < len(c.chunks) && sameRecords(&c.st.Apps.Table, &st.Apps.Table, state.AppSlot(i)*chunkSize) {
			n.chunks[i] = c.chunks[i]
			continue
		}
		n.chunks[i] = m.chunk(state.AppSlot(i))
	}
	for i := len(n.chunks); i < len(c.chunks); i++ {
		m.drop(c.chunks[i])
	}
	n.order = m.order()
	n.places = c.places.step(c.st, st)
	return n
}

// sameRecords reports whether two versions of a table have the same records in a chunk of slots. It
// compares their addresses: neither version writes to records that both share.
func sameRecords[S ~uint32, T any](a, b *table.Table[S, T], from S) bool {
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

// move is the change from one summary to another.
type move struct {
	from, to *Summary
	fresh    []state.AppSlot // slots of applications that only the new summary has
	gone     bool            // the old summary has applications that the new one does not have
}

// chunk makes a chunk of the new summary.
func (m *move) chunk(i state.AppSlot) *chunk {
	var old chunk
	if int(i) < len(m.from.chunks) {
		old = *m.from.chunks[i]
	}
	out := new(chunk)
	for k := range out {
		slot := i*chunkSize + state.AppSlot(k)
		if m.to.st.Apps.Has(slot) {
			out[k] = appOf(m.to.st, slot)
		}
		if was, is := &old[k], &out[k]; *was != *is {
			m.change(was, is)
		}
	}
	return out
}

// change replaces an application in the counts.
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

// drop subtracts a chunk for which the new version has no slots.
func (m *move) drop(old *chunk) {
	for k := range old {
		if old[k].Seq != 0 {
			m.change(&old[k], &App{})
		}
	}
}

// order returns the new order of submission.
func (m *move) order() []state.AppSlot {
	old, to := m.from.order, m.to
	if !m.gone && len(m.fresh) == 0 {
		return old
	}
	out := make([]state.AppSlot, 0, len(old)+len(m.fresh))
	for _, slot := range old {
		if int(slot/chunkSize) < len(to.chunks) && to.App(slot).Seq == m.from.App(slot).Seq {
			out = append(out, slot)
		}
	}
	bySeq := func(a, b state.AppSlot) int { return cmp.Compare(to.App(a).Seq, to.App(b).Seq) }
	slices.SortFunc(m.fresh, bySeq)
	inOrder := len(out) == 0 || len(m.fresh) == 0 || bySeq(out[len(out)-1], m.fresh[0]) < 0
	if out = append(out, m.fresh...); !inOrder {
		slices.SortFunc(out, bySeq)
	}
	return out
}
