package yarnweb

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// YARN records the activities of its passes only after a client has asked for a recording. rmd
// derives the same documents from its explanations of waiting applications, so it needs no
// recording.

// activityApps is the largest number of applications that one document explains.
const activityApps = 10

// explain returns why an application waits.
func (s *API) explain(v *docs, id yarn.ApplicationID) (*api.Explanation, error) {
	if s.cfg.Explain == nil {
		return nil, problem.NotAvailable("the explanation")
	}
	return s.cfg.Explain(v.View, id)
}

// stamp returns the fields with the time of a document, by the clock of the state.
func (v *docs) stamp() obj {
	now := v.State.Meta.NowMillis
	return obj{{"timestamp", now}, {"dateTime", time.UnixMilli(now).UTC().Format("Mon Jan 02 15:04:05 MST 2006")}}
}

func (s *API) wsAppActivities(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	name := c.Args["id"]
	say := func(why string) error {
		return s.writeWS(c, "appActivities", append(obj{{"applicationId", name}, {"diagnostic", why}}, v.stamp()...))
	}
	id, err := yarn.ParseApplicationID(name)
	if err != nil {
		return say("Cannot find application with given appId")
	}
	slot := v.State.Apps.ByID(id)
	if slot == 0 || v.State.Apps.Get(slot).State.Ended() {
		return say("fail to get application activities after finished")
	}
	x, err := s.explain(v, id)
	if err != nil {
		return err
	}
	if !x.Waiting || len(x.Asks) == 0 {
		return say("waiting for display")
	}
	a := v.State.Apps.Get(slot)
	allocation := func(node, verdict string) obj {
		var d obj
		if node != "" {
			d = obj{{"nodeId", node}}
		}
		return append(append(d, v.stamp()...), obj{{"queueName", v.State.Queues.Get(a.Queue).Name},
			{"appPriority", a.Priority}, {"allocationState", "SKIPPED"},
			{"children", requestActivities(x, verdict, false)}}...)
	}
	var list []obj
	if summarize, _ := strconv.ParseBool(c.Query.Get("summarize")); !summarize {
		for _, n := range x.Nodes {
			list = append(list, allocation(n.Example, n.Diagnostic))
		}
	}
	if len(list) == 0 {
		list = []obj{allocation("", "")}
	}
	return s.writeWS(c, "appActivities", obj{{"applicationId", name}, {"allocations", list}})
}

// requestActivities returns for each ask why it is not served: for the first ask verdict, the reason
// of a node, or without one the application's own reason; for others their own.
func requestActivities(x *api.Explanation, verdict string, named bool) []obj {
	var out []obj
	for i, k := range x.Asks {
		var d obj
		if named {
			d = obj{{"name", fmt.Sprintf("request_%d_%d", k.Priority, k.AllocationID)}}
		}
		d = append(d, obj{{"requestPriority", k.Priority}, {"allocationRequestId", k.AllocationID},
			{"allocationState", "REJECTED"}}...)
		why := x.Diagnostic
		if verdict != "" {
			why = verdict
		}
		if i > 0 {
			why = k.Diagnostic
		}
		out = append(out, append(d, field{"diagnostic", why}))
	}
	return out
}

func (s *API) wsActivities(c *route.Call) error {
	d, err := s.activities(c)
	if err != nil {
		return err
	}
	if d == nil {
		return s.writeWS(c, "activities", obj{{"diagnostic", "waiting for next allocation"}})
	}
	return s.writeWS(c, "activities", d)
}

func (s *API) wsBulkActivities(c *route.Call) error {
	d, err := s.activities(c)
	if err != nil {
		return err
	}
	var list []obj
	if d != nil {
		list = []obj{d}
	}
	return s.writeWS(c, "bulkActivities", filled("activities", list))
}

// activities returns what a pass over one node would record, or nil without a node.
func (s *API) activities(c *route.Call) (obj, error) {
	v, err := docsOf(c)
	if err != nil {
		return nil, err
	}
	want := c.Query.Get("nodeId")
	nodes := v.Nodes(func(n *state.Node) bool { return n.TakesContainers() && (want == "" || n.ID.String() == want) })
	root := v.State.Queues.Root()
	if len(nodes) == 0 || root == 0 {
		return nil, nil
	}
	waiting := map[state.QueueSlot][]obj{} // by leaf queue
	for _, a := range v.waitingApps(activityApps) {
		x, err := s.explain(v, a.ID)
		if err != nil {
			return nil, err
		}
		if x.Waiting && len(x.Asks) > 0 {
			waiting[a.Queue] = append(waiting[a.Queue],
				obj{{"name", a.ID.String()}, {"appPriority", a.Priority}, {"allocationState", "REJECTED"},
					{"children", requestActivities(x, "", true)}})
		}
	}
	tree := v.queueActivity(root, waiting)
	return append(append(obj{{"nodeId", v.NodeID(nodes[0])}}, v.stamp()...),
		field{"allocations", []obj{{{"partition", ""}, {"finalAllocationState", "SKIPPED"}, {"root", tree}}}}), nil
}

// waitingApps returns the oldest applications with an outstanding ask, at most the given number.
func (v *docs) waitingApps(most int) []*state.App {
	var out []*state.App
	v.Summary().Each(false, func(a *summary.App) bool {
		if a.Outstanding > 0 && !a.State.Ended() {
			out = append(out, v.State.Apps.Get(a.Slot))
		}
		return len(out) < most
	})
	return out
}

// queueActivity returns the document of a queue, with the queues below it and the applications that
// wait in it.
func (v *docs) queueActivity(slot state.QueueSlot, waiting map[state.QueueSlot][]obj) obj {
	q := v.State.Queues.Get(slot)
	d := obj{{"name", q.Path}}
	children := waiting[slot]
	for _, k := range q.Children {
		children = append(children, v.queueActivity(k, waiting))
	}
	switch {
	case !q.Leaf:
		return append(d, obj{{"allocationState", "SKIPPED"}, {"children", children}}...)
	case len(children) == 0:
		return append(d, obj{{"allocationState", "SKIPPED"}, {"diagnostic", "Queue does not need more resource"}}...)
	}
	last := children[0][3].value.([]obj)[0]
	return append(d, obj{{"allocationState", "REJECTED"},
		{"diagnostic", strings.TrimSpace(fmt.Sprint(last[len(last)-1].value)) + " from " + fmt.Sprint(children[0][0].value)},
		{"children", children}}...)
}
