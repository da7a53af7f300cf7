package v1

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// nodes serves nodes.
type nodes struct{ *shared }

func (s *nodes) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/nodes", "state rack label limit after", listNodes).Doc("List nodes, one page", nil, api.Nodes{}),
		route.Get("/v1/nodes/{id}", "", showNode).Doc("Show a node", nil, api.Node{}),
		route.Get("/v1/nodes/{id}/placement", "", nodePlacement).Doc("Show a node with its containers and its reservation",
			nil, api.Placement{}),
		route.Get("/v1/nodes:choose", "count", s.chooseNodes).Doc("Choose the nodes whose loss costs least, for a drain", nil,
			api.DrainChoices{}),
		route.Post("/v1/nodes:drain", "", s.drainNodes).Makes(&input.DrainNodes{}).Doc(
			"Decommission several nodes gracefully: all, or none",
			api.DrainNodes{}, api.Done{}),
		route.Post("/v1/nodes/{id}:drain", "", s.drainNode).Makes(&input.DrainNode{}).Doc(
			"Decommission a node gracefully", api.Drain{}, api.Done{}),
		route.Post("/v1/nodes/{id}:undrain", "", s.undrainNode).Makes(&input.DrainNode{Back: true}).Doc(
			"End the decommission of a node", nil, api.Done{}),
		route.Post("/v1/nodes/{id}:forget", "", s.forgetNode).Makes(&input.ForgetNode{}).Doc(
			"Remove an inactive node from the cluster's state",
			nil, api.Done{}),
		route.Post("/v1/nodes/{id}:resource", "", s.setNodeResource).Makes(&input.SetNodeResource{}).Doc(
			"Set the total resource of a node",
			api.NodeResource{}, api.Done{}),
	}
}

// nodePlace is the position of a node in the list of nodes.
type nodePlace struct {
	unknown bool // a listed host that never registered; these come last
	id      yarn.NodeID
}

func placeOf(n *state.Node) nodePlace { return nodePlace{unknown: n.NeverRegistered(), id: n.ID} }

func parseNodePlace(name string) (nodePlace, error) {
	if host, ok := strings.CutSuffix(name, view.NoPort); ok {
		return nodePlace{unknown: true, id: yarn.NodeID{Host: host}}, nil
	}
	id, err := yarn.ParseNodeID(name)
	return nodePlace{id: id}, err
}

func (p nodePlace) after(q nodePlace) bool {
	if p.unknown != q.unknown {
		return p.unknown
	}
	return p.id.Compare(q.id) > 0
}

func listNodes(c *route.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	var after nodePlace
	if text := c.Query.Get("after"); text != "" {
		if after, err = parseNodePlace(text); err != nil {
			return problem.Invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	states, rack := route.Words(c.Query["state"]), c.Query.Get("rack")
	if err := route.CheckWords("state", states, view.NodeStates); err != nil {
		return err
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	label, labelled, err := labelFilter(c, v)
	if err != nil {
		return err
	}
	list := v.ListedNodes(func(n *state.Node) bool {
		return (states == nil || states[n.State.String()]) && (rack == "" || rack == n.Rack) &&
			(!labelled || label == n.Label) && placeOf(n).after(after)
	})
	list, next := route.Page(list, limit, view.NodeName)
	items := func(yield func(api.Node) bool) {
		for _, n := range list {
			if !yield(v.Node(n)) {
				return
			}
		}
	}
	return route.List(c, "nodes", items, func() any { return route.NextPage{Next: next} })
}

func showNode(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	n, err := v.ListedNode(c.Args["id"])
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Node(n))
}

func nodePlacement(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	n, err := v.ListedNode(c.Args["id"])
	if err != nil {
		return err
	}
	d := api.Placement{Node: v.Node(n), Containers: []api.Container{}}
	for _, k := range v.State.Containers.On(n) {
		d.Containers = append(d.Containers, v.Container(k))
	}
	slices.SortFunc(d.Containers, func(a, b api.Container) int {
		return cmp.Or(cmp.Compare(b.Size[api.MemoryMB], a.Size[api.MemoryMB]),
			cmp.Compare(b.Size[api.VCores], a.Size[api.VCores]), strings.Compare(a.ID, b.ID))
	})
	if n.Reservation != 0 {
		r := v.Reservation(v.State.Reservations.Get(n.Reservation))
		d.Reservation = &r
	}
	return c.JSON(http.StatusOK, d)
}

// knownNode returns the id of the node that a write is for. It resolves a host name with this
// replica's state. It does not check a full id: the planner does, because its state is newer.
func (s *nodes) knownNode(c *route.Call) (*view.View, yarn.NodeID, error) {
	v := s.cfg.Views.Now()
	id, err := nodeNamed(v, c.Args["id"])
	return v, id, err
}

func nodeNamed(v *view.View, name string) (yarn.NodeID, error) {
	if id, err := yarn.ParseNodeID(name); err == nil {
		return id, nil
	}
	slot, err := v.FindNode(name)
	if err != nil {
		return yarn.NodeID{}, err
	}
	return v.State.Nodes.Get(slot).ID, nil
}

func (s *nodes) drainNode(c *route.Call) error {
	var doc api.Drain
	if err := c.Read(&doc); err != nil {
		return err
	}
	deadline, err := s.deadline(doc)
	if err != nil {
		return err
	}
	_, id, err := s.knownNode(c)
	if err != nil {
		return err
	}
	return c.Done(&input.DrainNode{ID: id, DeadlineMillis: deadline})
}

// deadline returns the end of a drain in Unix milliseconds, or 0 if there is none.
func (s *nodes) deadline(doc api.Drain) (int64, error) {
	switch {
	case doc.DeadlineMillis < 0 || doc.Timeout < 0 || (doc.DeadlineMillis != 0 && doc.Timeout != 0):
		return 0, problem.Invalid("deadline_ms and timeout contradict each other or are negative",
			"give one of them, or neither to wait for ever")
	case doc.Timeout != 0:
		return s.cfg.Now().Add(time.Duration(doc.Timeout)).UnixMilli(), nil
	}
	return doc.DeadlineMillis, nil
}

func (s *nodes) drainNodes(c *route.Call) error {
	var doc api.DrainNodes
	if err := c.Read(&doc); err != nil {
		return err
	}
	in := &input.DrainNodes{}
	var err error
	if in.DeadlineMillis, err = s.deadline(doc.Drain); err != nil {
		return err
	}
	v := s.cfg.Views.Now()
	for _, name := range doc.Nodes {
		id, err := nodeNamed(v, name)
		if err != nil {
			return err
		}
		in.IDs = append(in.IDs, id)
	}
	return c.Done(in)
}

// chooseNodes lists the nodes that are cheapest to drain.
func (s *nodes) chooseNodes(c *route.Call) error {
	count, err := c.Number("count", 1)
	if err != nil {
		return err
	}
	if s.cfg.Planner.CheapestToDrain == nil {
		return problem.NotAvailable("the choice of nodes")
	}
	if count < 1 || count > maxChosen {
		return problem.Invalid("count is out of range", fmt.Sprintf("give 1 to %d", maxChosen))
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.DrainChoices{Nodes: s.cfg.Planner.CheapestToDrain(v.State, int(count))})
}

// maxChosen is the largest number of nodes that a call may ask for.
const maxChosen = 100_000

func (s *nodes) undrainNode(c *route.Call) error {
	_, id, err := s.knownNode(c)
	if err != nil {
		return err
	}
	return c.Done(&input.DrainNode{ID: id, Back: true})
}

func (s *nodes) forgetNode(c *route.Call) error {
	_, id, err := s.knownNode(c)
	if err != nil {
		return err
	}
	return c.Done(&input.ForgetNode{ID: id})
}

func (s *nodes) setNodeResource(c *route.Call) error {
	var doc api.NodeResource
	if err := c.Read(&doc); err != nil {
		return err
	}
	v, id, err := s.knownNode(c)
	if err != nil {
		return err
	}
	if len(doc.Total) == 0 {
		return problem.Invalid("total is missing", `send {"total":{"memory-mb":65536,"vcores":16}}`, "total")
	}
	total, err := v.Amount("total", doc.Total)
	if err != nil {
		return err
	}
	return c.Done(&input.SetNodeResource{ID: id, Total: total})
}
