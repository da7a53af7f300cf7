package hadoop

import (
	"math"
	"math/big"
	"sync"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/hadoop/client"
	"rmd/yarn"
)

// queueView shows the queue configuration of a state to Hadoop's clients. What is
// parsed is kept while version and cluster size stand.
type queueView struct {
	mu      sync.Mutex
	cluster string
	version uint64
	conf    *capacity.Config
	tree    *capacity.Tree
}

// of is the configuration that a state has in force; nil when there is none.
func (q *queueView) of(st *state.State) (*capacity.Config, *capacity.Tree) {
	v := st.Version()
	if v == nil {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.conf == nil || q.version != v.Version || q.cluster != st.Meta.ClusterID {
		props := make([]capacity.Property, len(v.Properties))
		for i, p := range v.Properties {
			props[i] = capacity.Property{Name: p.Name, Value: p.Value}
		}
		conf, err := capacity.Parse(props)
		if err != nil {
			return nil, nil // it was valid when it was proposed
		}
		q.conf, q.tree, q.version, q.cluster = conf, nil, v.Version, st.Meta.ClusterID
	}
	if q.tree == nil || q.tree.Cluster != st.Meta.Cluster {
		q.tree = q.conf.Compute(st.Meta.Cluster)
	}
	return q.conf, q.tree
}

// at is the index of the queue in a slot; −1 when the configuration lacks it.
func at(st *state.State, conf *capacity.Config, slot uint32) int {
	if conf == nil || !st.Queues.Has(slot) {
		return -1
	}
	i, err := conf.Lookup(st.Queues.Get(slot).Path)
	if err != nil {
		return -1
	}
	return i
}

// Find implements client.Queues.
func (q *queueView) Find(st *state.State, name string) uint32 {
	if slot := st.Queue(name); slot != 0 {
		return slot
	}
	conf, _ := q.of(st)
	if conf == nil {
		return 0
	}
	i, err := conf.Lookup(name)
	if err != nil {
		return 0
	}
	return st.Queue(conf.Queues[i].Path)
}

// Queue implements client.Queues.
func (q *queueView) Queue(st *state.State, slot uint32) (client.Queue, bool) {
	conf, tree := q.of(st)
	i := at(st, conf, slot)
	if i < 0 {
		return client.Queue{}, false
	}
	c, e := &conf.Queues[i], &tree.Capacities[i]
	out := client.Queue{
		Capacity: float(e.Capacity.Rat()), MaxCapacity: float(e.MaxCapacity.Rat()),
		UsedCapacity:     parts(capacity.UsedShare(conf.Calculator, tree.Cluster, st.Queues.Get(slot).Used, e.EffMin, conf.MinAlloc)),
		AbsoluteCapacity: float(e.AbsCapacity.Rat()), AbsoluteMax: float(e.AbsMax.Rat()), MaxAMShare: float(c.MaxAMPercent.Rat()),
		Weight: -1, MaxParallelApps: math.MaxInt32, PreemptionDisabled: true, IntraQueueDisabled: true, // there is none yet
		ConfiguredMin: e.ConfiguredMin, ConfiguredMax: e.ConfiguredMax, EffectiveMin: e.EffMin, EffectiveMax: e.EffMax, MaxAllocation: c.MaxAlloc,
	}
	if c.Capacity.Unit == capacity.UnitWeight {
		out.Weight = float(c.Capacity.Value.Rat())
	}
	if c.MaxParallelApps >= 0 {
		out.MaxParallelApps = int32(min(c.MaxParallelApps, math.MaxInt32))
	}
	return out, true
}

// May implements client.Queues.
func (q *queueView) May(st *state.State, slot uint32, user string, groups []string) (submit, administer bool) {
	conf, _ := q.of(st)
	i := at(st, conf, slot)
	switch {
	case i < 0:
		return false, false
	case !conf.ACLEnabled:
		return true, true
	}
	return conf.MaySubmit(i, user, groups...), conf.MayAdminister(i, user, groups...)
}

// Maximum implements client.Queues.
func (q *queueView) Maximum(st *state.State) yarn.Resource {
	if conf, _ := q.of(st); conf != nil {
		return conf.MaxAlloc
	}
	return yarn.Resource{}
}

func float(r *big.Rat) float32 {
	f, _ := r.Float32()
	return f
}

// parts turns parts of 2^32 into a fraction of one.
func parts(n uint64) float32 { return float32(float64(n) / float64(capacity.ShareOne)) }
