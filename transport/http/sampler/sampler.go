// Package sampler keeps the last hour of a replica: the use of the cluster, of each queue and of
// each node, the number of waiting applications, and the number of decisions.
//
// Each replica has its own history. It is neither replicated nor stored, so it begins again when a
// replica restarts. If a sample could not be taken, it is missing and is not replaced.
//
//	sample       at, used, reserved, waiting, decided        32 bytes, every step
//	  └─ detail  queues by slot, 8 bytes each                every step, or every so many
//	             nodes by slot, 4 bytes each                 steps: detailBudget
//
// With 10,000 queues and 10,000 nodes a detail takes 120 kB and is kept every 30 seconds, which is
// 14.4 MB in an hour. A larger cluster gets fewer details and never more bytes.
package sampler

import (
	"math"
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// detailBudget is how many bytes of details are kept for each step.
const detailBudget = 20 << 10

// sample is the cluster at one time.
type sample struct {
	millis         int64
	used, reserved share
	waiting        int32  // applications whose AM has not registered
	decided        uint64 // since the cluster began
	detail         *detail
}

// detail is what is kept of queues and nodes, by slot.
type detail struct {
	steps  int // until the next one
	queues []queueUse
	nodes  []nodeUse
}

type queueUse struct {
	used, reserved share
	waiting        int32 // in the whole subtree
}

type nodeUse struct{ used, reserved share }

// The sizes of these in memory.
const (
	queueUseBytes = 8
	nodeUseBytes  = 4
)

// share is a part of a whole in hundredths of a per cent; unknown where there is no value.
type share uint16

const unknown share = math.MaxUint16

func newShare(f float64) share { return share(min(max(math.Round(f*10_000), 0), float64(unknown-1))) }

func (s share) percent() float64 { return float64(s) / 100 }

// Sampler keeps the samples of the last hour. It is safe for concurrent use.
type Sampler struct {
	step time.Duration

	mu      sync.RWMutex
	began   int64 // of the first sample
	samples []sample
	queues  slots[string]
	nodes   slots[yarn.NodeID]
}

// New makes a sampler that is given a sample every step.
func New(step time.Duration) *Sampler { return &Sampler{step: step} }

// slots say what a slot stands for, and since when: a slot may come to stand for another queue.
type slots[K comparable] []struct {
	key   K
	since int64
}

// set notes what a slot stands for at a time.
func (s *slots[K]) set(slot uint32, key K, millis int64) {
	for int(slot) >= len(*s) {
		*s = append(*s, struct {
			key   K
			since int64
		}{})
	}
	if at := &(*s)[slot]; at.key != key {
		at.key, at.since = key, millis
	}
}

// since is from when on a slot has stood for something; false when it does not.
func (s slots[K]) since(slot uint32, key K) (int64, bool) {
	if int(slot) >= len(s) || s[slot].key != key {
		return 0, false
	}
	return s[slot].since, true
}

// Take takes a sample of a state and its summary. A state without queues has nothing to sample.
func (s *Sampler) Take(now time.Time, st *state.State, sum *summary.Summary) {
	root := st.Root()
	if root == 0 {
		return
	}
	u, m := st.TotalUse(root), &st.Meta
	taken := sample{millis: now.UnixMilli(), waiting: int32(sum.All().ForAM()), decided: m.Decisions()}
	taken.used, taken.reserved = shares(u.Used.Sub(u.Reserved), u.Reserved, m.Cluster)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(taken.millis)
	if s.dueForDetail() {
		taken.detail = s.detailOf(taken.millis, st, sum)
	}
	if s.began == 0 {
		s.began = taken.millis
	}
	s.samples = append(s.samples, taken)
}

// forget drops what is too old, and what a clock that was set back has left in the future.
func (s *Sampler) forget(now int64) {
	for n := len(s.samples); n > 0 && s.samples[n-1].millis >= now; n-- {
		s.samples = s.samples[:n-1]
	}
	old := 0
	for old < len(s.samples) && s.samples[old].millis <= now-api.HistorySpan.Milliseconds() {
		old++
	}
	kept := copy(s.samples, s.samples[old:])
	clear(s.samples[kept:])
	s.samples = s.samples[:kept]
	s.began = min(s.began, now)
}

// dueForDetail says whether the next sample gets a detail.
func (s *Sampler) dueForDetail() bool {
	for i := range s.samples {
		if d := s.samples[len(s.samples)-1-i].detail; d != nil {
			return i+1 >= d.steps
		}
	}
	return true
}

// detailOf reads all queues and nodes. The lock is held.
func (s *Sampler) detailOf(millis int64, st *state.State, sum *summary.Summary) *detail {
	d := &detail{queues: make([]queueUse, st.Queues.Cap()), nodes: make([]nodeUse, st.Nodes.Cap())}
	d.steps = max((len(d.queues)*queueUseBytes+len(d.nodes)*nodeUseBytes+detailBudget-1)/detailBudget, 1)
	tallies := sum.Tree()
	st.Queues.Each(func(slot uint32, q *state.Queue) bool {
		s.queues.set(slot, q.Path, millis)
		u, use := &d.queues[slot], st.TotalUse(slot)
		u.used, u.reserved = shares(use.Used.Sub(use.Reserved), use.Reserved, st.Meta.Cluster)
		u.waiting = int32(tallies[slot].ForAM())
		return true
	})
	st.Nodes.Each(func(slot uint32, n *state.Node) bool {
		s.nodes.set(slot, n.ID, millis)
		d.nodes[slot] = nodeUse{unknown, unknown}
		if !n.Heard() {
			return true
		}
		var kept yarn.Resource // what is free on a reserved node is kept for the reservation
		if n.Reservation != 0 {
			kept = yarn.ComponentMax(n.Unallocated(), yarn.Resource{})
		}
		d.nodes[slot].used, d.nodes[slot].reserved = shares(n.Allocated, kept, n.Total)
		return true
	})
	return d
}

// shares are the parts of a whole that are used and reserved, in the kind of which they are together
// the largest part. Of two such kinds it is the one that more is used of.
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
