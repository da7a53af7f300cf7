package planner

import (
	"testing"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestUndeclaredKind checks that what a node has of a kind that the cluster does not know is left out:
// nothing that reads the state has a name for it.
func TestUndeclaredKind(t *testing.T) {
	q := newQuiet(t)
	id := yarn.NodeID{Host: "n", Port: 1}
	want := yarn.NewResource(4096, 4)
	with := want
	with[2] = 8
	q.do(&input.RegisterNode{ID: id, Rack: "/r", Total: with})
	n := q.p.State().Nodes.Find(id)
	if got := q.p.State().Nodes.Get(n).Total; got != want {
		t.Errorf("the node has %s, want %s", got, want)
	}
	q.do(&input.SetNodeResource{ID: id, Total: with.Add(with)})
	if got := q.p.State().Nodes.Get(n).Total; got != want.Add(want) {
		t.Errorf("the node has %s, want %s", got, want.Add(want))
	}
}
