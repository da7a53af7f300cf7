package planner

import (
	"testing"

	"rmd/scheduler/input"
)

// TestAMNodeCountDefaultLabel checks that the answer to an AM counts only the nodes with its
// queue's default label.
func TestAMNodeCountDefaultLabel(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`conf queues=(a:50, b:50) yarn.node-labels.enabled=true a.accessible-node-labels=x b.accessible-node-labels=x,y b.default-node-label-expression=x
node add n1 8G
node add n2 8G
node add n3 8G
label add x y
label nodes n1=x n2=x
app app1 user=u1 queue=a
app app2 user=u1 queue=b`)
	nodes := func(name string) uint32 {
		_, a := w.app(name)
		return w.plan(&input.Allocate{Attempt: a.AttemptID(), Response: a.Response}).(*input.AllocateReply).Nodes
	}
	if in, of := nodes("app1"), nodes("app2"); in != 3 || of != 2 {
		t.Errorf("%d nodes in all and %d of x, want 3 and 2", in, of)
	}
	w.tellAll("node lose n1")
	if in, of := nodes("app1"), nodes("app2"); in != 2 || of != 1 {
		t.Errorf("%d nodes in all and %d of x, want 2 and 1", in, of)
	}
}
