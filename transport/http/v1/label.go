package v1

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// labels serves node labels.
type labels struct{ *shared }

func (s *labels) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/labels", "", listLabels).Doc("List the node labels", nil, api.Labels{}),
		route.Get("/v1/labels/{name}", "", showLabel).Doc(
			"Show a label with its queues and the applications that wait for it", nil, api.LabelDetails{}),
		route.Get("/v1/labels:map", "label limit after",
			labelMap).Doc("List the hosts and NodeManagers that have a label, registered or not, one page", nil, api.LabelMap{}),
		route.Post("/v1/labels:add", "", s.addLabels).Makes(&input.SetLabels{}).Doc(
			"Add labels, or change whether they are exclusive", api.AddLabels{},
			api.LabelChange{}),
		route.Post("/v1/labels:remove", "", s.removeLabels).Makes(&input.RemoveLabels{}).Doc(
			"Remove labels", api.RemoveLabels{}, api.LabelChange{}),
		route.Post("/v1/labels:map", "", s.mapLabels).Makes(&input.LabelNodes{}).Doc(
			"Give hosts and NodeManagers labels", api.MapLabels{},
			api.LabelChange{}),
	}
}

func listLabels(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Labels())
}

func showLabel(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	label, err := v.FindLabel(c.Args["name"])
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v.Label(label))
}

// labelFilter reads ?label=, which may be empty. ok reports whether the query has it.
func labelFilter(c *route.Call, v *view.View) (label state.LabelSlot, ok bool, err error) {
	if ok = c.Query.Has("label"); ok && c.Query.Get("label") != "" {
		label, err = v.FindLabel(c.Query.Get("label"))
	}
	return label, ok, err
}

func labelMap(c *route.Call) error {
	limit, err := c.Limit()
	if err != nil {
		return err
	}
	var after yarn.NodeID
	if text := c.Query.Get("after"); text != "" {
		if after, err = hostOrNode(text); err != nil {
			return problem.Invalid("after: "+err.Error(), "give the next of the page before")
		}
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	label, filtered, err := labelFilter(c, v)
	if err != nil {
		return err
	}
	list := v.LabelMap(func(h *state.LabelledHost) bool {
		return (!filtered || h.Label == label) && (after.Host == "" || h.ID.Compare(after) > 0)
	})
	list, next := route.Page(list, limit, func(h *state.LabelledHost) string { return view.HostOrNode(h.ID) })
	items := func(yield func(api.MappedNode) bool) {
		for _, h := range list {
			if !yield(v.MappedNode(h)) {
				return
			}
		}
	}
	return route.List(c, "nodes", items, func() any { return route.NextPage{Next: next} })
}

// hostOrNode parses the name of a host or the id of a NodeManager.
func hostOrNode(text string) (yarn.NodeID, error) {
	if text == "" || strings.ContainsAny(text, " \t/") {
		return yarn.NodeID{}, fmt.Errorf("%q is not a host, nor a node id (host:port)", text)
	}
	if !strings.Contains(text, ":") {
		return yarn.NodeID{Host: text}, nil
	}
	return yarn.ParseNodeID(text)
}

func (s *labels) addLabels(c *route.Call) error {
	var doc api.AddLabels
	if err := c.Read(&doc); err != nil {
		return err
	}
	if len(doc.Labels) == 0 {
		return problem.Invalid("labels is missing", `send {"labels":[{"name":"gpu","exclusive":true}]}`, "labels")
	}
	in := &input.SetLabels{Change: doc.Change}
	for _, l := range doc.Labels {
		in.Labels = append(in.Labels, input.Label{Name: l.Name, Exclusive: l.Exclusive == nil || *l.Exclusive})
	}
	return s.changeLabels(c, in, doc.DryRun, nil)
}

func (s *labels) removeLabels(c *route.Call) error {
	var doc api.RemoveLabels
	if err := c.Read(&doc); err != nil {
		return err
	}
	if len(doc.Names) == 0 {
		return problem.Invalid("names is missing", `send {"names":["gpu"]}`, "names")
	}
	return s.changeLabels(c, &input.RemoveLabels{Names: doc.Names}, doc.DryRun, nil)
}

func (s *labels) mapLabels(c *route.Call) error {
	var doc api.MapLabels
	if err := c.Read(&doc); err != nil {
		return err
	}
	if len(doc.Nodes) == 0 {
		return problem.Invalid("nodes is missing", `send {"nodes":[{"node":"host1","label":"gpu"}]}`, "nodes")
	}
	in := &input.LabelNodes{KnownOnly: doc.KnownOnly}
	ids := make([]yarn.NodeID, 0, len(doc.Nodes))
	for _, n := range doc.Nodes {
		id, err := hostOrNode(n.Node)
		if err != nil {
			return problem.Invalid("nodes: "+err.Error(), "give the name of a host, or host:port for one NodeManager", "nodes")
		}
		m := input.LabelledNode{ID: id}
		if n.Label != "" {
			m.Labels = []string{n.Label}
		}
		in.Nodes, ids = append(in.Nodes, m), append(ids, id)
	}
	return s.changeLabels(c, in, doc.DryRun, ids)
}

// changeLabels changes labels, or with dryRun says what the change would do. nodes are the nodes
// that the change names.
func (s *labels) changeLabels(c *route.Call, in input.Input, dryRun bool, nodes []yarn.NodeID) (err error) {
	var d api.LabelChange
	if dryRun {
		d, err = s.tryLabels(c, in)
	} else {
		_, d.Index, err = route.Do[*input.Done](c, in)
	}
	if err != nil {
		return err
	}
	d.Unregistered = s.cfg.Views.Now().Unregistered(nodes)
	return c.JSON(http.StatusOK, d)
}

// tryLabels plans a change of labels on a private fork.
func (s *labels) tryLabels(c *route.Call, in input.Input) (d api.LabelChange, err error) {
	if s.cfg.Planner.Try == nil {
		return d, problem.NotAvailable("planning ahead")
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.ReadTimeout)
	defer cancel()
	if err := s.planning.take(ctx, "planning a change of labels"); err != nil {
		return d, err
	}
	defer s.planning.give()
	before := s.privateFork(s.cfg.Views.Now().State)
	after := before.Fork()
	if err := s.cfg.Planner.Try(after, in); err != nil {
		return d, err
	}
	return s.cfg.Views.At(before, 0).Relabelled(after), nil
}
