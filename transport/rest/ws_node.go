package rest

import (
	"net/http"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/rest/api"
	"rmd/yarn"
)

// wsNodeStates reads the states filter; unknown words are refused as Hadoop does.
func wsStates(c *call, name string, known []string) (map[string]bool, error) {
	states := set(c.q[name])
	delete(states, "ALL")
	for w := range states { // any one wrong word will do for the message
		ok := false
		for _, k := range known {
			ok = ok || k == w
		}
		if !ok {
			return nil, wsBad("Invalid " + name + " " + w + " specified. It should be one of " + strings.Join(known, ","))
		}
	}
	return states, nil
}

// wsBad is a bad request in Hadoop's words.
func wsBad(message string) error {
	return &api.Error{Code: api.CodeInvalidRequest, Message: message, Status: http.StatusBadRequest}
}

// wsNotFound is a missing thing in Hadoop's words.
func wsNotFound(message string) error {
	return &api.Error{Code: api.CodeNotFound, Message: message, Status: http.StatusNotFound}
}

// wsNodes lists the active nodes, or those in the states asked for.
func wsNodes(c *call) error {
	states, err := wsStates(c, "states", append([]string{"NEW"}, nodeStates...))
	if err != nil {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	slots := v.nodes(func(n *state.Node) bool {
		if len(states) == 0 {
			return n.State.Usable() || c.q.Has("states")
		}
		return states[n.State.String()]
	})
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
	if perr != nil || slot == 0 {
		return wsNotFound("nodeId, " + c.args["id"] + ", is not found")
	}
	return c.writeWS(obj{{"node", v.wsNode(v.st.Nodes.Get(slot))}})
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
		{"numRunningOpportContainers", 0}, {"usedMemoryOpportGB", 0}, {"usedVirtualCoresOpport", 0}, {"numQueuedContainers", 0},
		{"resourceUtilization", obj{{"nodePhysicalMemoryMB", 0}, {"nodeVirtualMemoryMB", 0}, {"nodeCPUUsage", 0.0},
			{"aggregatedContainersPhysicalMemoryMB", 0}, {"aggregatedContainersVirtualMemoryMB", 0}, {"containersCPUUsage", 0.0}}},
		{"usedResource", v.wsResource(n.Allocated)}, {"availableResource", v.wsResource(free)}, {"totalResource", v.wsResource(n.Total)},
	}
	if n.State.Usable() {
		d[4].value = httpAddress(n)
	}
	return d
}
