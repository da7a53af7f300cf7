package frontend

import (
	"sync"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
)

// QueueConf is the queue configuration that a state has in force. It keeps what it has parsed and
// computed for the last state: both change seldom and cost more than most reads.
type QueueConf struct {
	mu         sync.Mutex
	cluster    string
	version    uint64
	dynamic    uint64 // State.DynamicQueueSet
	static     *capacity.Config
	conf       *capacity.Config     // with the dynamic queues
	partitions map[string]Partition // by the name of the label
}

// Partition is the configuration as it is for the nodes of a label, and the capacities that it means
// there.
type Partition struct {
	Conf *capacity.Config
	Tree *capacity.Tree
}

// Of is the configuration; nil before the cluster has one.
func (q *QueueConf) Of(st *state.State) *capacity.Config {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of(st)
}

func (q *QueueConf) of(st *state.State) *capacity.Config {
	v := st.Version()
	if v == nil {
		return nil
	}
	changed := q.static == nil || q.version != v.Version || q.cluster != st.Meta.ClusterID
	if changed {
		conf, err := capacity.ParseStored(Properties(v))
		if err != nil {
			return nil // it was valid when it was proposed
		}
		q.static, q.version, q.cluster = conf, v.Version, st.Meta.ClusterID
	}
	if changed || q.dynamic != st.DynamicQueueSet() {
		conf, err := q.static.WithDynamic(st.DynamicQueueList())
		if err != nil {
			return nil // they fitted when they were created
		}
		q.conf, q.dynamic = conf, st.DynamicQueueSet()
		q.partitions = map[string]Partition{"": {Conf: conf}}
	}
	return q.conf
}

// At is the configuration for the nodes of a label; empty before the cluster has one.
func (q *QueueConf) At(st *state.State, label state.LabelID) Partition {
	q.mu.Lock()
	defer q.mu.Unlock()
	conf := q.of(st)
	if conf == nil {
		return Partition{}
	}
	name, total := st.LabelName(label), st.PartitionTotal(label)
	p := q.partitions[name]
	if p.Conf == nil {
		p.Conf = conf.Partition(name)
	}
	if p.Tree == nil || p.Tree.Cluster != total {
		p.Tree = p.Conf.Compute(total)
		q.partitions[name] = p
	}
	return p
}

// Properties are those of a version of the configuration, for the parser.
func Properties(v *state.QueueVersion) []capacity.Property {
	out := make([]capacity.Property, len(v.Properties))
	for i, p := range v.Properties {
		out[i] = capacity.Property{Name: p.Name, Value: p.Value}
	}
	return out
}
