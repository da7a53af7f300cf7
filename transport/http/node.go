package httpserver

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) nodeRoutes() []route {
	return []route{
		get("/v1/nodes", "state rack limit after", listNodes),
		get("/v1/nodes/{id}", "", showNode),
		get("/v1/nodes/{id}/placement", "", nodePlacement),
		post("/v1/nodes/{id}:drain", "", drainNode),
		post("/v1/nodes/{id}:undrain", "", undrainNode),
		post("/v1/nodes/{id}:resource", "", setNodeResource),
	}
}

var nodeStates = []string{"RUNNING", "UNHEALTHY", "DECOMMISSIONING", "DECOMMISSIONED", "LOST", "REBOOTED", "SHUTDOWN"}

func compareNodes(a, b yarn.NodeID) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
}

func listNodes(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	var after yarn.NodeID
	if text := c.q.Get("after"); text != "" {
		if after, err = yarn.ParseNodeID(text); err != nil {
			return invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	states, rack := set(c.q["state"]), c.q.Get("rack")
	if err := words("state", states, nodeStates); err != nil {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	slots := v.nodes(func(n *state.Node) bool {
		return (states == nil || states[n.State.String()]) && (rack == "" || rack == n.Rack) && (after.Host == "" || compareNodes(n.ID, after) > 0)
	})
	slots, next := page(slots, limit, v.nodeID)
	items := func(yield func(api.Node) bool) {
		for _, slot := range slots {
			if !yield(v.nodeDoc(v.st.Nodes.Get(slot))) {
				return
			}
		}
	}
	return list(c, "nodes", items, func() any { return nextPage{next} })
}

// nodes lists the nodes that pass, by host and port.
func (v *view) nodes(pass func(n *state.Node) bool) []uint32 {
	var out []uint32
	for _, slot := range v.census().Nodes() {
		if pass(v.st.Nodes.Get(slot)) {
			out = append(out, slot)
		}
	}
	return out
}

// nodeDoc shows one node.
func (v *view) nodeDoc(n *state.Node) api.Node {
	d := api.Node{
		ID: n.ID.String(), Host: n.ID.Host, Port: n.ID.Port, HTTPAddress: httpAddress(n), Rack: n.Rack, State: n.State.String(), Version: n.Version,
		Total: v.size(n.Total), Used: v.size(n.Allocated), Free: v.size(n.Unallocated()), Containers: n.Count,
		RegisteredMillis: n.Registered, DeadlineMillis: n.DeadlineMillis, Report: n.Report, Orders: n.Orders,
	}
	if n.Reservation != 0 {
		r := v.st.Reservations.Get(n.Reservation)
		d.Reservation, d.Reserved = reservationID(r.Number), v.size(r.Size)
	}
	return d
}

func showNode(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	slot, err := v.node(c.args["id"])
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, v.nodeDoc(v.st.Nodes.Get(slot)))
}

func nodePlacement(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	slot, err := v.node(c.args["id"])
	if err != nil {
		return err
	}
	n := v.st.Nodes.Get(slot)
	d := api.Placement{Node: v.nodeDoc(n), Containers: []api.Container{}}
	for at := n.Containers; at != 0; {
		k := v.st.Containers.Get(at)
		d.Containers = append(d.Containers, v.containerDoc(k))
		at = k.NextOnNode()
	}
	slices.SortFunc(d.Containers, func(a, b api.Container) int {
		return cmp.Or(cmp.Compare(b.Size[api.MemoryMB], a.Size[api.MemoryMB]), cmp.Compare(b.Size[api.VCores], a.Size[api.VCores]), strings.Compare(a.ID, b.ID))
	})
	if n.Reservation != 0 {
		r := v.reservationDoc(v.st.Reservations.Get(n.Reservation), v.demands())
		d.Reservation = &r
	}
	return c.json(http.StatusOK, d)
}

// knownNode finds the node a write speaks of. A short name is looked up here;
// a full one is left to the planner, whose state is newer.
func (c *call) knownNode() (*view, yarn.NodeID, error) {
	st, index := c.s.cfg.Reader.Fork()
	v := c.s.viewOf(st, index)
	if id, err := yarn.ParseNodeID(c.args["id"]); err == nil {
		return v, id, nil
	}
	slot, err := v.node(c.args["id"])
	if err != nil {
		return nil, yarn.NodeID{}, err
	}
	return v, v.st.Nodes.Get(slot).ID, nil
}

func drainNode(c *call) error {
	var doc api.Drain
	if err := c.read(&doc); err != nil {
		return err
	}
	if doc.DeadlineMillis < 0 || doc.Timeout < 0 || (doc.DeadlineMillis != 0 && doc.Timeout != 0) {
		return invalid("deadline_ms and timeout contradict each other or are negative", "give one of them, or neither to wait for ever")
	}
	_, id, err := c.knownNode()
	if err != nil {
		return err
	}
	in := &input.DrainNode{ID: id, DeadlineMillis: doc.DeadlineMillis}
	if doc.Timeout != 0 {
		in.DeadlineMillis = c.s.cfg.Now().Add(time.Duration(doc.Timeout)).UnixMilli()
	}
	return c.done(in)
}

func undrainNode(c *call) error {
	_, id, err := c.knownNode()
	if err != nil {
		return err
	}
	return c.done(&input.DrainNode{ID: id, Back: true})
}

func setNodeResource(c *call) error {
	var doc api.NodeResource
	if err := c.read(&doc); err != nil {
		return err
	}
	v, id, err := c.knownNode()
	if err != nil {
		return err
	}
	if len(doc.Total) == 0 {
		return invalid("total is missing", `send {"total":{"memory-mb":65536,"vcores":16}}`, "total")
	}
	total, err := v.resource("total", doc.Total)
	if err != nil {
		return err
	}
	return c.done(&input.SetNodeResource{ID: id, Total: total})
}
