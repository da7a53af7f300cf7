package local

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/config"
	"rmd/internal/portblock"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// start runs three replicas that the test closes. Unless adjust replaces Adjust, nobody else takes the port
// of a replica that is closed and opened again.
func start(t *testing.T, adjust func(o *Options)) *Cluster {
	t.Helper()
	var peers []string
	for _, port := range portblock.Open(t).TakeAll(3) {
		peers = append(peers, portblock.Loopback(port))
	}
	o := Options{Replicas: 3, Queues: preset.Demo(), Dir: t.TempDir(), Scheduling: "eager", Version: "test",
		Adjust:  func(i int, k *config.Config) { k.Raft.Listen, k.Raft.Join = peers[i], peers[:len(k.Raft.Join)] },
		Logger:  hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: testWriter{t}}),
		OnFatal: func(id string, code int, err error) { t.Errorf("replica %s must stop with %d: %v", id, code, err) }}
	if adjust != nil {
		adjust(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}

// do sends an input through replica i. Any error or refusal fails the test.
func do[R input.Reply](t *testing.T, c *Cluster, i int, in input.Input) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reply, _, err := c.Replicas[i].Forwarder().Do(ctx, input.Request{Input: in})
	if err != nil {
		t.Fatalf("%T: %v", in, err)
	}
	if f := reply.Refused(); f != nil {
		t.Fatalf("%T: %v", in, f)
	}
	return reply.(R)
}

// caughtUp waits until every replica has applied what replica i has. A replica that lags answers from its
// own state.
func caughtUp(t *testing.T, c *Cluster, i int) {
	t.Helper()
	index, _ := c.Replicas[i].Machine().Applied()
	for _, r := range c.Replicas {
		if err := r.Machine().WaitApplied(t.Context(), index); err != nil {
			t.Fatal(err)
		}
	}
}

// hold creates a reservation: one node with 6 of 8 GiB in use, and an application that reserves the
// node for a container of 4 GiB.
func hold(t *testing.T, c *Cluster) (node yarn.NodeID, waiting yarn.AttemptID, running yarn.AttemptID,
	containers []input.Granted) {
	t.Helper()
	node = yarn.NodeID{Host: "n1", Port: 45454}
	do[*input.RegisterNodeReply](t, c, 0, &input.RegisterNode{ID: node, Rack: "/r1", Total: yarn.NewResource(8192, 16)})
	// The second node is too small for the reservation. It gives the queue room for the
	// reservation.
	do[*input.RegisterNodeReply](t, c, 0, &input.RegisterNode{ID: yarn.NodeID{Host: "n2", Port: 45454}, Rack: "/r1",
		Total: yarn.NewResource(3072, 16)})
	app := func(user string) yarn.AttemptID {
		r := do[*input.SubmitApplicationReply](t, c, 1,
			&input.SubmitApplication{User: user, Queue: "root.online", Unmanaged: true})
		id := yarn.AttemptID{App: r.ID, Attempt: 1}
		do[*input.RegisterAttemptReply](t, c, 2, &input.RegisterAttempt{Attempt: id, Host: "am"})
		return id
	}
	running, waiting = app("u1"), app("u2")
	ask := func(size int64, count int64) []input.Ask {
		return []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: count,
			Size: yarn.NewResource(size, 1), Relax: true}}
	}
	got := do[*input.AllocateReply](t, c, 0, &input.Allocate{Attempt: running, Asks: ask(3072, 2)})
	containers = got.Granted
	if len(containers) != 2 {
		t.Fatalf("eager mode granted %d of 2 containers in the call that asked", len(containers))
	}
	do[*input.AllocateReply](t, c, 1, &input.Allocate{Attempt: waiting, Asks: ask(4096, 1)})
	do[*input.NodeHeartbeatReply](t, c, 2, &input.NodeHeartbeat{ID: node})
	st, _ := c.Replicas[2].Machine().Fork() // the replica that answered last
	if st.Reservations.Len() != 1 {
		t.Fatalf("%d reservations, not 1", st.Reservations.Len())
	}
	return node, waiting, running, containers
}

func TestReservationSurvivesTheLeader(t *testing.T) {
	c := start(t, nil)
	node, waiting, _, containers := hold(t, c)
	lead := c.Leader()
	before, _ := c.Replicas[lead].Machine().Fork()
	was := *before.Reservations.Get(before.Nodes.Get(before.Nodes.Find(node)).Reservation)

	began := time.Now()
	if err := c.Replicas[lead].Close(); err != nil {
		t.Fatal(err)
	}
	other := (lead + 1) % 3
	do[*input.NodeHeartbeatReply](t, c, other, &input.NodeHeartbeat{ID: node})
	t.Logf("from the leader's end to the next answer: %s", time.Since(began))

	st, _ := c.Replicas[other].Machine().Fork()
	is := *st.Reservations.Get(st.Nodes.Get(st.Nodes.Find(node)).Reservation)
	if is != was {
		t.Fatalf("the reservation was %+v and is %+v", was, is)
	}
	// The reservation becomes its container, with the reserved id, when there is room.
	do[*input.NodeHeartbeatReply](t, c, other, &input.NodeHeartbeat{ID: node, Statuses: []input.ContainerStatus{
		{Container: containers[0].Container, State: yarn.ContainerCompleted}}})
	reply := do[*input.AllocateReply](t, c, other, &input.Allocate{Attempt: waiting, Response: 1})
	if len(reply.Granted) != 1 || reply.Granted[0].Container.Number != was.Container {
		t.Fatalf("granted %+v; the reservation was for container %d", reply.Granted, was.Container)
	}
	if err := c.reopen(lead); err != nil {
		t.Fatal(err)
	}
}

// TestEveryReplicaTakesWrites writes through each replica and checks that the same replica has
// applied the write.
func TestEveryReplicaTakesWrites(t *testing.T) {
	c := start(t, nil)
	for i := range c.Replicas {
		r := do[*input.SubmitApplicationReply](t, c, i,
			&input.SubmitApplication{User: fmt.Sprint("u", i), Queue: "batch", Unmanaged: true})
		st, _ := c.Replicas[i].Machine().Fork()
		if st.Apps.ByID(r.ID) == 0 {
			t.Fatalf("replica %d answered before it had applied the submission", i)
		}
	}
}

// reopen opens a closed replica again, with the same ports and disk.
func (c *Cluster) reopen(i int) error {
	r, err := c.open(i)
	if err == nil {
		c.Replicas[i] = r
	}
	return err
}
