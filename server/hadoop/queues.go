package hadoop

import (
	"math"
	"math/big"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/amount"
	"rmd/scheduler/capacity/order"
	"rmd/scheduler/capacity/share"
	"rmd/transport/frontend"
	"rmd/transport/hadoop/client"
	"rmd/yarn"
)

// queueView implements client.Queues: it returns the queue configuration of a state.
type queueView struct{ conf frontend.QueueConf }

// indexOf returns the index of the queue in a slot, or −1 if the configuration does not have the
// queue.
func indexOf(st *state.State, conf *capacity.Config, slot state.QueueSlot) int {
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
func (q *queueView) Find(st *state.State, name string) state.QueueSlot {
	if slot := st.Queues.Find(name); slot != 0 {
		return slot
	}
	conf := q.conf.Of(st)
	if conf == nil {
		return 0
	}
	i, err := conf.Lookup(name)
	if err != nil {
		return 0
	}
	return st.Queues.Find(conf.Queues[i].Path)
}

// Queue implements client.Queues.
func (q *queueView) Queue(st *state.State, slot state.QueueSlot) (client.Queue, bool) {
	p := q.conf.At(st, 0)
	i := indexOf(st, p.Conf, slot)
	if i < 0 {
		return client.Queue{}, false
	}
	c, e := &p.Conf.Queues[i], &p.Tree.Capacities[i]
	disabled, intra := p.Conf.PreemptionDisabled(i)
	out := client.Queue{
		Partition: show(p, "", i), Labels: q.labels(st, slot, i), Accessible: p.Conf.AccessibleLabels(i),
		DefaultLabel: c.DefaultLabel,
		UsedCapacity: parts(order.UsedShare(p.Conf.Calculator, p.Tree.Cluster, st.Queues.Get(slot).Used, e.EffMin,
			p.Conf.MinAlloc)),
		Weight: -1, MaxParallelApps: math.MaxInt32, PreemptionDisabled: disabled, IntraQueueDisabled: intra,
		MaxAllocation: c.MaxAlloc,
	}
	if c.Capacity.Unit == amount.Weight {
		out.Weight = float(c.Capacity.Value.Rat())
	}
	if c.MaxParallelApps >= 0 {
		out.MaxParallelApps = int32(min(c.MaxParallelApps, math.MaxInt32))
	}
	return out, true
}

// labels returns, for each label that queue i may use or uses, the queue's share of the label's
// nodes. slot is the slot of queue i.
func (q *queueView) labels(st *state.State, slot state.QueueSlot, i int) (out []client.Partition) {
	st.Labels.Each(func(id state.LabelSlot, l *state.Label) bool {
		p := q.conf.At(st, id)
		if l.Listed && p.Conf.Queues[i].MayUse(l.Name) || st.QueueUse(slot, id) != (state.Use{}) {
			out = append(out, show(p, l.Name, i))
		}
		return true
	})
	return out
}

// show returns the share of queue i in a partition.
func show(p frontend.Partition, label string, i int) client.Partition {
	c, e := &p.Conf.Queues[i], &p.Tree.Capacities[i]
	guarantee := float(e.Capacity.Rat())
	if c.Capacity.Unit == amount.Weight && c.Parent >= 0 {
		guarantee = 0 // as in YARN for a queue with a weight
	}
	return client.Partition{Label: label,
		Capacity: guarantee, MaxCapacity: float(e.MaxCapacity.Rat()), AbsoluteCapacity: float(e.AbsCapacity.Rat()),
		AbsoluteMax: float(e.AbsMax.Rat()),
		MaxAMShare:  float(c.MaxAMPercent.Rat()), ConfiguredMin: e.ConfiguredMin, ConfiguredMax: e.ConfiguredMax,
		EffectiveMin: e.EffMin, EffectiveMax: e.EffMax}
}

// May implements client.Queues.
func (q *queueView) May(st *state.State, slot state.QueueSlot, user string, groups []string) (submit, administer bool) {
	conf := q.conf.Of(st)
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
	if conf := q.conf.Of(st); conf != nil {
		return conf.MaxAlloc
	}
	return yarn.Resource{}
}

// TrackUnregistered implements client.Queues.
func (q *queueView) TrackUnregistered(st *state.State) bool {
	conf := q.conf.Of(st)
	return conf != nil && conf.TrackUnregistered
}

// maximumIn returns the largest container that the configuration allows in the queue in a slot, and
// in the cluster.
func (q *queueView) maximumIn(st *state.State, slot state.QueueSlot) (here, cluster yarn.Resource) {
	conf := q.conf.Of(st)
	if i := indexOf(st, conf, slot); i >= 0 {
		return conf.Queues[i].MaxAlloc, conf.MaxAlloc
	}
	return q.Maximum(st), q.Maximum(st)
}

// Preprocess implements client.Queues.
func (q *queueView) Preprocess(st *state.State, host func() string) (label, queue, tag string) {
	conf := q.conf.Of(st)
	if conf == nil || !conf.Preprocessor.Enabled {
		return "", "", ""
	}
	give := conf.Preprocessor.Of(host())
	return give.Label, give.Queue, give.Tag
}

func float(r *big.Rat) float32 {
	f, _ := r.Float32()
	return f
}

// parts converts parts of 2^32 to a fraction of one.
func parts(n uint64) float32 { return float32(float64(n) / float64(share.One)) }
