package httpserver

import (
	"fmt"
	"sort"
	"sync"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// view is one fork with what it takes to show it.
type view struct {
	st      *state.State
	index   uint64
	kinds   yarn.Kinds
	conf    *capacity.Config // nil before the cluster has queues
	tree    *capacity.Tree
	sizes   map[yarn.Resource]api.Resource // equal amounts share one document
	wsSizes map[yarn.Resource]*shared
	wsZeros *shared // of every kind, as a map
	keeper  *summary.Keeper
	counts  *summary.Census // made when it is needed
}

// census is what the version comes to, for lists and sums.
func (v *view) census() *summary.Census {
	if v.counts == nil {
		v.counts = v.keeper.At(v.st, v.index)
	}
	return v.counts
}

// sharedSizes bounds what is kept of either.
const sharedSizes = 4096

func (s *Server) viewOf(st *state.State, index uint64) *view {
	v := &view{st: st, index: index, kinds: st.Kinds(), sizes: map[yarn.Resource]api.Resource{}, wsSizes: map[yarn.Resource]*shared{}, keeper: &s.census}
	v.conf, v.tree = s.confs.of(st)
	return v
}

// confCache keeps the parsed configuration in force and the capacities it means
// for the cluster's size: both change seldom and cost more than most reads.
type confCache struct {
	mu      sync.Mutex
	cluster string
	version uint64
	conf    *capacity.Config
	tree    *capacity.Tree
}

func (k *confCache) of(st *state.State) (*capacity.Config, *capacity.Tree) {
	v := st.Version()
	if v == nil {
		return nil, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conf == nil || k.version != v.Version || k.cluster != st.Meta.ClusterID {
		conf, err := capacity.Parse(propertiesOf(v))
		if err != nil {
			return nil, nil
		}
		k.conf, k.tree, k.version, k.cluster = conf, nil, v.Version, st.Meta.ClusterID
	}
	if k.tree == nil || k.tree.Cluster != st.Meta.Cluster {
		k.tree = k.conf.Compute(st.Meta.Cluster)
	}
	return k.conf, k.tree
}

// propertiesOf are a version's properties as the configuration's parser takes them.
func propertiesOf(v *state.QueueVersion) []capacity.Property {
	out := make([]capacity.Property, len(v.Properties))
	for i, p := range v.Properties {
		out[i] = capacity.Property{Name: p.Name, Value: p.Value}
	}
	return out
}

// size shows an amount with the cluster's names.
func (v *view) size(r yarn.Resource) api.Resource {
	if have, ok := v.sizes[r]; ok {
		return have
	}
	out := make(api.Resource, len(v.kinds))
	for i, name := range v.kinds {
		out[name] = r[i]
	}
	if len(v.sizes) < sharedSizes {
		v.sizes[r] = out
	}
	return out
}

// resource reads an amount in the cluster's kinds.
func (v *view) resource(field string, in api.Resource) (yarn.Resource, error) {
	var out yarn.Resource
	for name, n := range in { // order is harmless: each name has its own place
		i := v.kinds.Index(name)
		if i < 0 {
			return out, problem(api.CodeUnknownField, fmt.Sprintf("%s: %q is not a resource kind of this cluster", field, name), fmt.Sprintf("it has %v", []string(v.kinds)), name)
		}
		if n < 0 || n > 1<<50 {
			return out, invalid(fmt.Sprintf("%s: %s is out of range", field, name), "give 0 to 2^50", name)
		}
		out[i] = n
	}
	return out, nil
}

// queuePath is the path of a queue's slot.
func (v *view) queuePath(slot uint32) string {
	if !v.st.Queues.Has(slot) {
		return "" // an ended application's queue may be gone
	}
	return v.st.Queues.Get(slot).Path
}

// nodeID is the name of a node's slot.
func (v *view) nodeID(slot uint32) string {
	if !v.st.Nodes.Has(slot) {
		return ""
	}
	return v.st.Nodes.Get(slot).ID.String()
}

// queue finds a queue by path, or by a short name that only one has.
func (v *view) queue(name string) (uint32, error) {
	if slot := v.st.Queue(name); slot != 0 {
		return slot, nil
	}
	if v.conf != nil {
		if i, err := v.conf.Lookup(name); err == nil {
			if slot := v.st.Queue(v.conf.Queues[i].Path); slot != 0 {
				return slot, nil
			}
		}
	}
	return 0, problem("NO_SUCH_QUEUE", fmt.Sprintf("there is no queue %q", name), "see \"rmd queue list\"; a short name must belong to one queue only")
}

// app finds an application by the path's id.
func (v *view) app(text string) (yarn.ApplicationID, uint32, error) {
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return id, 0, invalid(err.Error(), "copy an id from \"rmd app list\"")
	}
	slot := v.st.AppByID(id)
	if slot == 0 {
		return id, 0, problem("NO_SUCH_APPLICATION", "there is no application "+text, "see \"rmd app list\"; applications that ended long ago are forgotten")
	}
	return id, slot, nil
}

// node finds a node by the path's id; a host alone suits when it has one node.
func (v *view) node(text string) (uint32, error) {
	if id, err := yarn.ParseNodeID(text); err == nil {
		if slot := v.st.Node(id); slot != 0 {
			return slot, nil
		}
	}
	nodes := v.census().Nodes()
	host := func(i int) string { return v.st.Nodes.Get(nodes[i]).ID.Host }
	i := sort.Search(len(nodes), func(i int) bool { return host(i) >= text })
	if i == len(nodes) || host(i) != text || i+1 < len(nodes) && host(i+1) == text {
		return 0, problem("NO_SUCH_NODE", fmt.Sprintf("there is no node %q", text), "give host:port as \"rmd node list\" shows it")
	}
	return nodes[i], nil
}

// reservation finds a reservation by r41 or 41.
func (v *view) reservation(text string) (uint32, error) {
	number, err := reservationNumber(text)
	if err != nil {
		return 0, err
	}
	slot := v.st.Reservation(number)
	if slot == 0 {
		return 0, problem("NO_SUCH_RESERVATION", "there is no reservation "+text, "it may have been fulfilled or cancelled; see \"rmd reservation list\"")
	}
	return slot, nil
}

// calculator is the rule by which sizes are compared.
func (v *view) calculator() yarn.Calculator {
	if v.conf != nil {
		return v.conf.Calculator
	}
	return yarn.Calculator{Kinds: len(v.kinds)}
}
