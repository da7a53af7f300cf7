package tracker

import (
	"cmp"
	"slices"
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

// caller is the AM of c.app, as far as its calls of allocate go.
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

// ends starts containers on a node, has them end and reported, and returns their AM.
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

// TestForgottenWhenTheAMHasHeard: telling the AM is not enough, its next call confirms it. None of
// this costs the node a heartbeat that goes to the leader.
func TestForgottenWhenTheAMHasHeard(t *testing.T) {
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

// TestForgottenAtTheReplicaThatComesNext: the AM confirms while the node is on its way from one
// replica to another, which has only the committed state to go by.
func TestForgottenAtTheReplicaThatComesNext(t *testing.T) {
	c, n, am, ids := ends(t, 2)
	am.allocate()
	am.allocate()
	n.s = newService(t, c)
	wantRemoved(t, n, ids...)
	n.s = newService(t, c) // whether the node had that answer is not known here
	wantRemoved(t, n, ids...)
	_, more := c.app(c.slot(n.id), 1)
	n.running = more
	n.beat() // goes to the leader, and tells that the node has had the order
	if first, list := c.Fork().Removals(c.slot(n.id)); first != 3 || len(list) != 0 {
		t.Errorf("%v are listed from %d on", list, first)
	}
	n.s = newService(t, c)
	wantRemoved(t, n)
}

// TestForgottenWhenNobodyWillHear: the attempt is over before its AM has heard of the end.
func TestForgottenWhenNobodyWillHear(t *testing.T) {
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

// TestRemovalsOfALostNode: what the node had to forget is dropped with it, and it is told when it
// comes back with the container.
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

// TestManyRemovalsAreAcknowledged: containers that never ran are listed too, with no report of the
// node to acknowledge them with. The list stays short.
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

// TestOldLevel: replicas of an earlier version serve the cluster too, which list nothing.
func TestOldLevel(t *testing.T) {
	c, _, n := started(t)
	_, ids := c.app(c.slot(n.id), 1)
	n.running = ids
	n.beat()
	st := c.Fork().Fork()
	st.Meta.Level = event.LevelRemovals - 1
	ended := []input.ContainerStatus{{Container: ids[0], State: yarn.ContainerCompleted}}
	if _, forget := split(st, c.slot(n.id), ended); !slices.Equal(forget, ids) {
		t.Errorf("the node is told to forget %v, want %v", forget, ids)
	}
}
