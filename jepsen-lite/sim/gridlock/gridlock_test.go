package gridlock

import (
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/yarn"
)

// lockable is a cluster with one queue whose AMs may use all resources.
type lockable struct {
	t        *testing.T
	p        *planner.Planner
	response map[yarn.AttemptID]int32
}

func newLockable(t *testing.T, memory ...int64) *lockable {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := &lockable{t, p, map[yarn.AttemptID]int32{}}
	k.do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: []byte("thirty-two bytes that never vary"),
		Properties: []input.Property{
			{Name: capacity.Prefix + "root.queues", Value: "a"}, {Name: capacity.Prefix + "root.a.capacity", Value: "100"},
			{Name: capacity.Prefix + "maximum-am-resource-percent", Value: "1"}}})
	for i, mb := range memory {
		k.do(&input.RegisterNode{ID: yarn.NodeID{Host: "n" + string(rune('1'+i)), Port: 45454}, HTTPPort: 8042, Rack: "/r",
			Total: yarn.NewResource(mb, 64), Version: "virtual"})
	}
	return k
}

func (k *lockable) do(in input.Input) input.Reply {
	k.t.Helper()
	r, _ := k.p.Plan(1, input.Request{Input: in})
	if f := r.Refused(); f != nil {
		k.t.Fatalf("%T: %v", in, f)
	}
	return r
}

// beat sends two heartbeats of every node.
func (k *lockable) beat() {
	k.t.Helper()
	for range 2 {
		k.p.State().Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
			k.do(&input.NodeHeartbeat{ID: n.ID})
			return true
		})
	}
}

// submit submits an application with an AM of mb MiB and registers the AM.
func (k *lockable) submit(mb int64) yarn.AttemptID {
	k.t.Helper()
	r := k.do(&input.SubmitApplication{User: "u", Queue: "root.a", AM: yarn.NewResource(mb, 1)}).(*input.SubmitApplicationReply)
	id := yarn.AttemptID{App: r.ID, Attempt: 1}
	k.beat()
	k.do(&input.RegisterAttempt{Attempt: id, Host: "am"})
	return id
}

func (k *lockable) ask(id yarn.AttemptID, count, mb int64) {
	k.t.Helper()
	r := k.do(&input.Allocate{Attempt: id, Response: k.response[id], FromAM: true,
		Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: count, Size: yarn.NewResource(mb, 1),
			Relax: true}}})
	k.response[id] = r.(*input.AllocateReply).Response
}

func (k *lockable) locked() bool {
	_, locked := Find(k.p.State().Fork(), false)
	return locked
}

func TestGridlock(t *testing.T) {
	k := newLockable(t, 4096, 4096)
	one, two := k.submit(3072), k.submit(3072)
	if k.locked() {
		t.Error("nobody waits for anything")
	}
	k.ask(one, 1, 1024)
	if k.locked() {
		t.Error("what is asked for fits, at the next heartbeat")
	}
	k.ask(one, 1, 2048)
	k.ask(two, 1, 2048)
	k.beat()
	if !k.locked() {
		t.Error("the AMs take the room that each of them waits for")
	}
	k.ask(one, 0, 2048) // cancels its reservation too
	k.ask(two, 1, 1024)
	k.beat()
	if k.locked() {
		t.Error("a container runs, and will end")
	}
}

// TestGridlockByReservations checks a gridlock in which a node has room for the first ask. A
// reservation on another node uses up the limit of the queue, and no later application is served
// first.
func TestGridlockByReservations(t *testing.T) {
	k := newLockable(t, 4096, 3072)
	one, two := k.submit(2048), k.submit(1024)
	k.ask(one, 1, 4096)
	k.beat()
	if n := k.p.State().Reservations.Len(); n == 0 {
		t.Fatal("nothing is reserved")
	}
	k.ask(two, 1, 2048)
	k.beat()
	if !k.locked() {
		t.Error("the second one is served although the queue is full")
	}
}
