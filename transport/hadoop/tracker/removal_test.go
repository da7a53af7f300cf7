package tracker

import (
	"cmp"
	"slices"
	"testing"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// caller is the AM of c.app. It only calls allocate.
type caller struct {
	c        *cluster
	at       yarn.AttemptID
	response int32
}

func (a *caller) allocate() *input.AllocateReply {
	a.c.tb.Helper()
	r := a.c.must(&input.Allocate{Attempt: a.at, Response: a.response}).(*input.AllocateReply)
	a.response = r.Response
	return r
}

// ends starts containers on a node, reports their end, and returns their AM.
func ends(t *testing.T, containers int) (*cluster, *nm, *caller, []yarn.ContainerID) {
	c, _, n := started(t)
	at, ids := c.app(c.slot(n.id), containers)
	n.running = ids
	n.beat()
	n.end(ids...)
	if p := n.beat(); len(p.ContainersToBeRemovedFromNm) != 0 {
		t.Fatalf("the node is told to forget %v before the AM has heard of the end", texts(p.ContainersToBeRemovedFromNm))
	}
	c.took()
	return c, n, &caller{c: c, at: at, response: 2}, ids
}

func wantRemoved(t *testing.T, n *nm, want ...yarn.ContainerID) {
	t.Helper()
	n.tb = t
	got := texts(n.beat().ContainersToBeRemovedFromNm)
	order := func(a, b yarn.ContainerID) int { return cmp.Compare(a.Number, b.Number) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Fatalf("the node is told to forget %v, want %v", got, want)
	}
}

// TestContainerForgottenAfterAMConfirms checks that a node may forget containers when the AM's next
// call confirms that it knows of their end. None of the node's heartbeats goes to the leader for
// this.
func TestContainerForgottenAfterAMConfirms(t *testing.T) {
	c, n, am, ids := ends(t, 2)
	wantRemoved(t, n)
	if r := am.allocate(); len(r.Completed) != 2 {
		t.Fatalf("the AM is told %v", r.Completed)
	}
	wantRemoved(t, n)
	am.allocate()
	wantRemoved(t, n, ids...)
	wantRemoved(t, n)
	wantInputs(t, c, "")
}

// TestContainerForgottenAtNextReplica checks a node that changes its replica after the AM has
// confirmed. The new replica knows only the committed state.
func TestContainerForgottenAtNextReplica(t *testing.T) {
	c, n, am, ids := ends(t, 2)
	am.allocate()
	am.allocate()
	n.s = newService(t, c)
	wantRemoved(t, n, ids...)
	n.s = newService(t, c) // this replica does not know whether the node received the previous answer
	wantRemoved(t, n, ids...)
	_, more := c.app(c.slot(n.id), 1)
	n.running = more
	n.beat() // goes to the leader, and acknowledges the removals
	if first, list := c.Fork().Removals(c.slot(n.id)); first != 3 || len(list) != 0 {
		t.Errorf("%v are listed from %d on", list, first)
	}
	n.s = newService(t, c)
	wantRemoved(t, n)
}

// TestContainerForgottenAfterAttemptEnd checks that a node may forget containers whose attempt
// ended before its AM knew of their end.
func TestContainerForgottenAfterAttemptEnd(t *testing.T) {
	for name, over := range map[string]func(*caller) input.Input{
		"finished": func(a *caller) input.Input {
			return &input.FinishAttempt{Attempt: a.at, Final: yarn.FinalSucceeded}
		},
		"expired": func(a *caller) input.Input { return &input.ExpireAttempt{Attempt: a.at} },
		"killed":  func(a *caller) input.Input { return &input.KillApplication{ID: a.at.App} },
	} {
		t.Run(name, func(t *testing.T) {
			c, n, am, ids := ends(t, 1)
			c.must(over(am))
			p := n.beat()
			apps, _ := wire.ApplicationIDs(p.ApplicationsToCleanup)
			if !slices.Equal(texts(p.ContainersToBeRemovedFromNm), ids) && !slices.Equal(apps, []yarn.ApplicationID{am.at.App}) {
				t.Fatalf("after the application's end the answer is %v", p)
			}
		})
	}
}

// TestRemovalsOfALostNode checks that the list of removals of a lost node is dropped. If the node
// comes back with the container, it is told to forget it.
func TestRemovalsOfALostNode(t *testing.T) {
	c, n, am, ids := ends(t, 1)
	am.allocate()
	am.allocate()
	c.must(&input.ExpireNode{ID: n.id})
	if _, list := c.Fork().Removals(c.slot(n.id)); len(list) != 0 {
		t.Fatalf("%v are kept for a lost node", list)
	}
	req := n.registration()
	req.ContainerStatuses = append(req.ContainerStatuses, &proto.NMContainerStatusProto{
		ContainerId: wire.ContainerIDProto(ids[0]), ContainerState: proto.ContainerStateProto_C_COMPLETE.Enum()})
	if _, err := n.s.registerNodeManager(t.Context(), &ipc.Call{}, req); err != nil {
		t.Fatal(err)
	}
	n.response = 0
	wantRemoved(t, n, ids...)
	wantRemoved(t, n)
}

// TestManyRemovalsAreAcknowledged checks that the list of removals stays short. It also contains
// containers that never ran, which no report of the node acknowledges.
func TestManyRemovalsAreAcknowledged(t *testing.T) {
	c, _, n := started(t)
	for range 3 * unackedMax / 8 {
		at, _ := c.app(c.slot(n.id), 8)
		c.must(&input.ExpireAttempt{Attempt: at})
		n.beat()
	}
	if _, list := c.Fork().Removals(c.slot(n.id)); len(list) > 2*unackedMax {
		t.Fatalf("%d containers are listed", len(list))
	}
}
