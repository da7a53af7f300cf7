package yarnweb

import (
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// wsNodeStates reads the states filter, or returns nil if there is none. Like Java, it accepts the
// names of states in any case, and no word for all states.
func (s *API) wsNodeStates(c *route.Call) (map[string]bool, error) {
	if !c.Query.Has("states") {
		return nil, nil
	}
	out := map[string]bool{}
	for _, w := range strings.Split(c.Query.Get("states"), ",") {
		w = strings.ToUpper(w)
		if w != "NEW" && !slices.Contains(view.NodeStates, w) {
			return nil, wsIllegal("No enum constant org.apache.hadoop.yarn.api.records.NodeState." + w)
		}
		out[w] = true
	}
	return out, nil
}

// wsNodes lists the nodes, of all states or of those in the query.
func (s *API) wsNodes(c *route.Call) error {
	states, err := s.wsNodeStates(c)
	if err != nil {
		return err
	}
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	list := v.ListedNodes(func(n *state.Node) bool { return states == nil || states[n.State.String()] })
	if !wantsXML(c.R) {
		return s.writeNodes(c, v, list)
	}
	now := s.nowMillis(v)
	return s.streamWS(c, "nodes", "node", func(yield func(obj) bool) {
		for _, n := range list {
			if !yield(v.wsNode(n, now)) {
				return
			}
		}
	})
}

// filled returns {} for an empty list, otherwise {"name":[…]}.
func filled(name string, list []obj) obj {
	if len(list) == 0 {
		return obj{}
	}
	return obj{{name, list}}
}

func (s *API) wsNode(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	id, perr := yarn.ParseNodeID(c.Args["id"])
	slot := v.State.Nodes.Find(id)
	switch {
	case perr != nil:
		return wsIllegal("Invalid NodeId [" + c.Args["id"] + "]. Expected host:port")
	case slot == 0:
		return wsNotFound("nodeId, " + c.Args["id"] + ", is not found")
	}
	return s.writeWS(c, "node", v.wsNode(v.State.Nodes.Get(slot), s.nowMillis(v)))
}

// wsNode returns the document of a node at a time in Unix milliseconds. The utilization comes only
// from heartbeats, is not replicated, and is shown as 0.
func (v *docs) wsNode(n *state.Node, now int64) obj {
	free := n.Unallocated()
	d := obj{
		{"rack", n.Rack}, {"state", n.State.String()}, {"id", view.NodeName(n)}, {"nodeHostName", n.ID.Host},
		{"nodeHTTPAddress", ""},
		{"lastHealthUpdate", n.HeardMillis(now)}, {"version", n.Version}, {"healthReport", n.Report},
		{"numContainers", n.Count},
		{"usedMemoryMB", n.Allocated[yarn.Memory]}, {"availMemoryMB", free[yarn.Memory]},
		{"usedVirtualCores", n.Allocated[yarn.VCores]}, {"availableVirtualCores", free[yarn.VCores]},
		{"memUtilization", 0.0}, {"cpuUtilization", 0.0},
		{"numRunningOpportContainers", 0}, {"usedMemoryOpportGB", 0}, {"usedVirtualCoresOpport", 0},
		{"numQueuedContainers", 0},
	}
	if label := v.State.Labels.Name(n.Label); label != "" {
		d = append(d, field{"nodeLabels", []string{label}})
	}
	d = append(d, obj{
		{"allocationTags", obj{}},
		{"resourceUtilization", obj{{"nodePhysicalMemoryMB", 0}, {"nodeVirtualMemoryMB", 0}, {"nodeCPUUsage", 0.0},
			{"aggregatedContainersPhysicalMemoryMB", 0}, {"aggregatedContainersVirtualMemoryMB", 0},
			{"containersCPUUsage", 0.0}}},
		{"usedResource", v.wsResource(n.Allocated)}, {"availableResource", v.wsResource(free)}, {"nodeAttributesInfo", obj{}},
		{"totalResource", v.wsResource(n.Total)},
	}...)
	if n.State.Usable() {
		d[4].value = view.HTTPAddress(n)
	}
	return d
}
