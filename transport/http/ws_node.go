package httpserver

import (
	"slices"
	"strings"

	"rmd/fsm/state"
	"rmd/yarn"
)

// wsNodeStates reads the states filter; nil when there is none. Java knows them
// by their exact names, and no word for all of them.
func wsNodeStates(c *call) (map[string]bool, error) {
	if !c.q.Has("states") {
		return nil, nil
	}
	out := map[string]bool{}
	for _, w := range strings.Split(c.q.Get("states"), ",") {
		w = strings.ToUpper(w)
		if w != "NEW" && !slices.Contains(nodeStates, w) {
			return nil, wsIllegal("No enum constant org.apache.hadoop.yarn.api.records.NodeState." + w)
		}
		out[w] = true
	}
	return out, nil
}

// wsNodes lists the nodes, of all states or of those asked for.
func wsNodes(c *call) error {
	states, err := wsNodeStates(c)
	if err != nil {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	slots := v.nodes(func(n *state.Node) bool { return states == nil || states[n.State.String()] })
	if !wantsXML(c.r) {
		return c.writeNodes(v, slots)
	}
	return c.streamWS("nodes", "node", func(yield func(obj) bool) {
		for _, slot := range slots {
			if !yield(v.wsNode(v.st.Nodes.Get(slot))) {
				return
			}
		}
	})
}

// filled is {} for nothing and {"name":[…]} for something.
func filled(name string, list []obj) obj {
	if len(list) == 0 {
		return obj{}
	}
	return obj{{name, list}}
}

func wsNode(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	id, perr := yarn.ParseNodeID(c.args["id"])
	slot := v.st.Node(id)
	switch {
	case perr != nil:
		return wsIllegal("Invalid NodeId [" + c.args["id"] + "]. Expected host:port")
	case slot == 0:
		return wsNotFound("nodeId, " + c.args["id"] + ", is not found")
	}
	return c.writeWS("node", v.wsNode(v.st.Nodes.Get(slot)))
}

// wsNode shows a node. What only its own heartbeats tell (utilisation, times)
// is not replicated and shows as nothing used.
func (v *view) wsNode(n *state.Node) obj {
	free := n.Unallocated()
	d := obj{
		{"rack", n.Rack}, {"state", n.State.String()}, {"id", n.ID.String()}, {"nodeHostName", n.ID.Host}, {"nodeHTTPAddress", ""},
		{"lastHealthUpdate", n.Registered}, {"version", n.Version}, {"healthReport", n.Report}, {"numContainers", n.Count},
		{"usedMemoryMB", n.Allocated[yarn.Memory]}, {"availMemoryMB", free[yarn.Memory]}, {"usedVirtualCores", n.Allocated[yarn.VCores]}, {"availableVirtualCores", free[yarn.VCores]},
		{"memUtilization", 0.0}, {"cpuUtilization", 0.0},
		{"numRunningOpportContainers", 0}, {"usedMemoryOpportGB", 0}, {"usedVirtualCoresOpport", 0}, {"numQueuedContainers", 0}, {"allocationTags", obj{}},
		{"resourceUtilization", obj{{"nodePhysicalMemoryMB", 0}, {"nodeVirtualMemoryMB", 0}, {"nodeCPUUsage", 0.0},
			{"aggregatedContainersPhysicalMemoryMB", 0}, {"aggregatedContainersVirtualMemoryMB", 0}, {"containersCPUUsage", 0.0}}},
		{"usedResource", v.wsResource(n.Allocated)}, {"availableResource", v.wsResource(free)}, {"nodeAttributesInfo", obj{}}, {"totalResource", v.wsResource(n.Total)},
	}
	if n.State.Usable() {
		d[4].value = httpAddress(n)
	}
	return d
}
