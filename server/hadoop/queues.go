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
	parts   map[string]partition // by the name of the label
}

// partition is the configuration as it is for the nodes of a label, and what it comes to.
type partition struct {
	conf *capacity.Config
	tree *capacity.Tree
}

// of is the configuration that a state has in force; nil when there is none.
func (q *queueView) of(st *state.State) *capacity.Config {
	p := q.at(st, 0)
	return p.conf
}

// at is the configuration for the nodes of a label.
func (q *queueView) at(st *state.State, label state.LabelID) partition {
	v := st.Version()
	if v == nil {
		return partition{}
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
			return partition{} // it was valid when it was proposed
		}
		q.conf, q.version, q.cluster = conf, v.Version, st.Meta.ClusterID
		q.parts = map[string]partition{"": {conf: conf}}
	}
	name, total := st.LabelName(label), st.PartitionTotal(label)
	p := q.parts[name]
	if p.conf == nil {
		p.conf = q.conf.Partition(name)
	}
	if p.tree == nil || p.tree.Cluster != total {
		p.tree = p.conf.Compute(total)
		q.parts[name] = p
	}
	return p
}

// indexOf is the index of the queue in a slot; −1 when the configuration lacks it.
func indexOf(st *state.State, conf *capacity.Config, slot uint32) int {
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
	conf := q.of(st)
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
	p := q.at(st, 0)
	i := indexOf(st, p.conf, slot)
	if i < 0 {
		return client.Queue{}, false
	}
	c, e := &p.conf.Queues[i], &p.tree.Capacities[i]
	out := client.Queue{
		Partition: p.show("", i), Labels: q.labels(st, slot, i), Accessible: p.conf.AccessibleLabels(i), DefaultLabel: c.DefaultLabel,
		UsedCapacity: parts(capacity.UsedShare(p.conf.Calculator, p.tree.Cluster, st.Queues.Get(slot).Used, e.EffMin, p.conf.MinAlloc)),
		Weight:       -1, MaxParallelApps: math.MaxInt32, PreemptionDisabled: true, IntraQueueDisabled: true, // there is none yet
		MaxAllocation: c.MaxAlloc,
	}
	if c.Capacity.Unit == capacity.UnitWeight {
		out.Weight = float(c.Capacity.Value.Rat())
	}
	if c.MaxParallelApps >= 0 {
		out.MaxParallelApps = int32(min(c.MaxParallelApps, math.MaxInt32))
	}
	return out, true
}

// labels is what queue i, in a slot, has of the nodes of each label that it may use or uses.
func (q *queueView) labels(st *state.State, slot uint32, i int) (out []client.Partition) {
	st.Labels.Each(func(id uint32, l *state.Label) bool {
		p := q.at(st, state.LabelID(id))
		if l.Listed && p.conf.Queues[i].MayUse(l.Name) || st.QueueUse(slot, state.LabelID(id)) != (state.Use{}) {
			out = append(out, p.show(l.Name, i))
		}
		return true
	})
	return out
}

// show is what queue i has of a partition.
func (p *partition) show(label string, i int) client.Partition {
	c, e := &p.conf.Queues[i], &p.tree.Capacities[i]
	return client.Partition{Label: label,
		Capacity: float(e.Capacity.Rat()), MaxCapacity: float(e.MaxCapacity.Rat()), AbsoluteCapacity: float(e.AbsCapacity.Rat()), AbsoluteMax: float(e.AbsMax.Rat()),
		MaxAMShare: float(c.MaxAMPercent.Rat()), ConfiguredMin: e.ConfiguredMin, ConfiguredMax: e.ConfiguredMax, EffectiveMin: e.EffMin, EffectiveMax: e.EffMax}
}

// May implements client.Queues.
func (q *queueView) May(st *state.State, slot uint32, user string, groups []string) (submit, administer bool) {
	conf := q.of(st)
	i := indexOf(st, conf, slot)
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
	if conf := q.of(st); conf != nil {
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
