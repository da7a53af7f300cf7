package sampler

import (
	"math"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// This file has all of a sample of the cluster, its queues and its nodes: its fields, what they are
// read from, their bytes in a file, and the documents that they become. apps.go has the same of
// applications.

// version is the version of these bytes, and of those in apps.go. A file of another version is not
// read, so raise it with every change of them.
const version = 1

// sample is the use of the cluster at one time.
type sample struct {
	millis         int64
	used, reserved share
	waiting        int32  // applications without a registered AM
	decided        uint64 // decisions since the cluster was created
	serving, empty int32  // nodes of all labels, as in summary.Room
	free, node     yarn.Resource
	detail         *detail
}

// detail is the use of queues and nodes at one time, by slot.
type detail struct {
	steps  int // until the next detail
	queues []queueUse
	nodes  []nodeUse
}

type queueUse struct {
	used, reserved share
	waiting        int32 // in the subtree
}

type nodeUse struct{ used, reserved share }

// Sizes in memory, in bytes.
const (
	queueUseBytes = 8
	nodeUseBytes  = 4
)

// share is a part of a whole in hundredths of a percent, or unknown.
type share uint16

const unknown share = math.MaxUint16

func newShare(f float64) share { return share(min(max(math.Round(f*10_000), 0), float64(unknown-1))) }

func (s share) percent() float64 { return float64(s) / 100 }

// newSample reads a sample from a state, its summary and its rooms.
func newSample(now time.Time, st *state.State, sum *summary.Summary, rooms []summary.Room) sample {
	t := sample{millis: now.UnixMilli(), waiting: int32(sum.All().ForAM()), decided: st.Meta.Decisions()}
	u := st.TotalUse(st.Queues.Root())
	t.used, t.reserved = shares(u.Used.Sub(u.Reserved), u.Reserved, st.Meta.Cluster)
	for i := range rooms {
		t.add(&rooms[i])
	}
	return t
}

// add adds the room of a label.
func (t *sample) add(r *summary.Room) {
	t.serving, t.empty = t.serving+r.Serving, t.empty+r.Empty
	t.free, t.node = yarn.ComponentMax(t.free, r.Free()), yarn.ComponentMax(t.node, r.Node)
}

// detailOf returns the use of all queues and nodes. The caller holds the lock.
func (s *series) detailOf(millis int64, st *state.State, sum *summary.Summary) *detail {
	d := &detail{queues: make([]queueUse, st.Queues.Cap()), nodes: make([]nodeUse, st.Nodes.Cap())}
	d.steps = max((len(d.queues)*queueUseBytes+len(d.nodes)*nodeUseBytes+detailBudget-1)/detailBudget, 1)
	tallies := sum.Tree()
	st.Queues.Each(func(slot state.QueueSlot, q *state.Queue) bool {
		s.queues.set(slot, q.Path, millis)
		u, use := &d.queues[slot], st.TotalUse(slot)
		u.used, u.reserved = shares(use.Used.Sub(use.Reserved), use.Reserved, st.Meta.Cluster)
		u.waiting = int32(tallies[slot].ForAM())
		return true
	})
	st.Nodes.Each(func(slot state.NodeSlot, n *state.Node) bool {
		s.nodes.set(slot, n.ID, millis)
		d.nodes[slot] = nodeUse{unknown, unknown}
		if !n.Heard() {
			return true
		}
		var kept yarn.Resource // the free room of a reserved node counts as reserved
		if n.Reservation != 0 {
			kept = yarn.ComponentMax(n.Unallocated(), yarn.Resource{})
		}
		d.nodes[slot].used, d.nodes[slot].reserved = shares(n.Allocated, kept, n.Total)
		return true
	})
	return d
}

// shares returns the used and reserved parts of a whole, for the resource kind in which their sum
// is largest. Among equal kinds it takes the one with more use.
func shares(used, reserved, whole yarn.Resource) (share, share) {
	all := used.Add(reserved)
	var most, u, r float64
	for i, w := range whole {
		if w <= 0 {
			continue
		}
		both, part := float64(all[i])/float64(w), float64(used[i])/float64(w)
		if both > most || both == most && part > u {
			most, u, r = both, part, float64(reserved[i])/float64(w)
		}
	}
	return newShare(u), newShare(r)
}

// code codes a sample. before is the one that was coded before it, so times are small numbers.
func (t *sample) code(c *codec.Coder, before *sample) {
	apart := before.millis - t.millis
	c.I64(&apart)
	t.millis = before.millis - apart
	codec.Slot(c, &t.used)
	codec.Slot(c, &t.reserved)
	c.I32(&t.waiting)
	c.U64(&t.decided)
	c.I32(&t.serving)
	c.I32(&t.empty)
	c.Resource(&t.free)
	c.Resource(&t.node)
	detailed := t.detail != nil
	if c.Bool(&detailed); !detailed {
		return
	}
	if c.Decoding() {
		t.detail = &detail{}
	}
	t.detail.code(c)
}

func (d *detail) code(c *codec.Coder) {
	steps := uint32(d.steps)
	c.U32(&steps)
	d.steps = int(steps)
	codec.List(c, &d.queues, func(c *codec.Coder, u *queueUse) {
		codec.Slot(c, &u.used)
		codec.Slot(c, &u.reserved)
		c.I32(&u.waiting)
	})
	codec.List(c, &d.nodes, func(c *codec.Coder, u *nodeUse) {
		codec.Slot(c, &u.used)
		codec.Slot(c, &u.reserved)
	})
}

// Cluster returns the samples of the cluster.
func (s *series) Cluster(now time.Time) *api.History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var before *sample
	var free api.Resource
	var node yarn.Resource
	d := s.history(now, func(at *sample) (api.HistorySample, int) {
		n := shown(at.used, at.reserved)
		n.Waiting = whole(at.waiting)
		n.Decisions = s.rate(before, at)
		if before == nil || at.free != before.free { // equal samples share a document
			free = size(s.kinds, at.free)
		}
		n.LargestFree, n.EmptyNodes, n.ServingNodes = free, whole(at.empty), whole(at.serving)
		node = yarn.ComponentMax(node, at.node)
		before = at
		return n, 1
	})
	if before != nil {
		d.LargestNode = size(s.kinds, node)
	}
	return d
}

// Queue returns the samples of the queue in a slot.
func (s *series) Queue(slot state.QueueSlot, path string, now time.Time) *api.History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	since, known := s.queues.since(slot, path)
	return s.history(now, func(at *sample) (api.HistorySample, int) {
		if !known || at.millis < since || at.detail == nil {
			return api.HistorySample{}, 0
		}
		u := at.detail.queues[slot]
		n := shown(u.used, u.reserved)
		n.Waiting = whole(u.waiting)
		return n, at.detail.steps
	})
}

// Node returns the samples of the node in a slot. There are no samples while there was no contact
// with the node.
func (s *series) Node(slot state.NodeSlot, id yarn.NodeID, now time.Time) *api.History {
	s.mu.RLock()
	defer s.mu.RUnlock()
	since, known := s.nodes.since(slot, id)
	return s.history(now, func(at *sample) (api.HistorySample, int) {
		if !known || at.millis < since || at.detail == nil || at.detail.nodes[slot].used == unknown {
			return api.HistorySample{}, 0
		}
		u := at.detail.nodes[slot]
		return shown(u.used, u.reserved), at.detail.steps
	})
}

func shown(used, reserved share) api.HistorySample {
	return api.HistorySample{Used: used.percent(), Reserved: reserved.percent()}
}
