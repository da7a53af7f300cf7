package ui

import (
	"fmt"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/view"
)

// endedContainer is a container that has ended, as the log tells of it. The state does not keep it.
type endedContainer struct {
	ID, Node    string
	AllocatedMs int64 // 0 if the log does not reach so far back
	EndedMs     int64
	Text        string // how it ended
	Exit        string // exit status, if its NodeManager reported one
	Log         string // address of its log at its NodeManager
}

// endedShown is the number of ended containers on the page of an application, the newest.
const endedShown = 100

var containerKinds = []event.Kind{event.KindContainerAllocated, event.KindContainerReleased,
	event.KindContainerCompleted}

// endedContainers returns the newest containers of an application that have ended, as far as they are
// in the retained log.
func (q *query) endedContainers(a *state.App) ([]endedContainer, error) {
	f := decisionFilter{app: a.ID.String(), seq: a.ID.Seq, kinds: containerKinds}
	look := lookNear
	if a.State.Ended() {
		look = lookFar
	}
	list, err := q.u.entries().Recent(q.r.Context(), q.v, eventlog.Position{}, 4*endedShown, look, f.pass)
	if err != nil {
		return nil, err
	}
	var out []endedContainer
	place := map[string]int{} // in out, by container
	user := q.v.State.Names.Text(a.User)
	for _, e := range list.Events { // the newest first: an end before its beginning
		at, known := place[e.Container]
		switch {
		case e.Kind == event.KindContainerAllocated.String():
			if known {
				out[at].AllocatedMs, out[at].Node = e.AtMillis, e.Node
			}
			continue
		case !known && len(out) == endedShown:
			continue
		case !known:
			at = len(out)
			place[e.Container] = at
			out = append(out, endedContainer{ID: e.Container, Node: e.Node, EndedMs: e.AtMillis})
		}
		c := &out[at]
		c.Text = e.Text // a release comes before the report of the end, and says why
		if status, ok := e.Data["exit_status"]; ok && c.Exit == "" {
			c.Exit = fmt.Sprint(status)
		}
	}
	for i := range out {
		out[i].Log = q.logOf(out[i].Node, out[i].ID, user)
	}
	return out, nil
}

// logOf returns the address of a container's log at its NodeManager, or "" if the node is unknown.
func (q *query) logOf(node, container, user string) string {
	slot, err := q.v.FindNode(node)
	if err != nil {
		return ""
	}
	at := view.HTTPAddress(q.v.State.Nodes.Get(slot))
	if at == "" {
		return ""
	}
	return "http://" + at + "/node/containerlogs/" + container + "/" + user
}
