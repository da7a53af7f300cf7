package frontend

import (
	"sync"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
)

// QueueConf parses the queue configuration of a state. It caches the result for the last state,
// because the configuration changes rarely and parsing costs more than most reads.
type QueueConf struct {
	mu         sync.Mutex
	cluster    string
	version    uint64
	dynamic    uint64 // state.DynamicQueues.Set
	static     *capacity.Config
	conf       *capacity.Config     // static with the dynamic queues
	partitions map[string]Partition // by the name of the label
}

// Partition is the queue configuration of a partition, and the capacities that follow from it.
type Partition struct {
	Conf *capacity.Config
	Tree *capacity.Tree
}

// Of returns the configuration, or nil if the state has none.
func (q *QueueConf) Of(st *state.State) *capacity.Config {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of(st)
}

func (q *QueueConf) of(st *state.State) *capacity.Config {
	v := st.Versions.Current()
	if v == nil {
		return nil
	}
	changed := q.static == nil || q.version != v.Version || q.cluster != st.Meta.ClusterID
	if changed {
		conf, err := capacity.ParseStored(Properties(v))
		if err != nil {
			return nil // cannot happen: it was valid when it was proposed
		}
		q.static, q.version, q.cluster = conf, v.Version, st.Meta.ClusterID
	}
	if changed || q.dynamic != st.DynamicQueues.Set() {
		conf, err := q.static.WithDynamic(st.DynamicQueueList())
		if err != nil {
			return nil // cannot happen: they were valid when they were created
		}
		q.conf, q.dynamic = conf, st.DynamicQueues.Set()
		q.partitions = map[string]Partition{"": {Conf: conf}}
	}
	return q.conf
}

// At returns the configuration of a partition, or an empty Partition if the state has no
// configuration.
func (q *QueueConf) At(st *state.State, label state.LabelSlot) Partition {
	q.mu.Lock()
	defer q.mu.Unlock()
	conf := q.of(st)
	if conf == nil {
		return Partition{}
	}
	name, total := st.Labels.Name(label), st.PartitionTotal(label)
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

// Properties converts the properties of a configuration version for the parser.
func Properties(v *state.QueueVersion) []capacity.Property {
	out := make([]capacity.Property, len(v.Properties))
	for i, p := range v.Properties {
		out[i] = capacity.Property{Name: p.Name, Value: p.Value}
	}
	return out
}
