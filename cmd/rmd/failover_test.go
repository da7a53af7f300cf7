package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rmd/api"
	"rmd/cluster/timers"
	"rmd/internal/quantile"
	"rmd/scheduler/input"
	"rmd/workload/submit"
	"rmd/yarn"
)

// kills returns how often the leader is killed: RMD_KILLS, or 5.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("RMD_KILLS"))
	if os.Getenv("RMD_KILLS") == "" {
		return 5
	}
	if err != nil || n < 1 {
		t.Fatalf("RMD_KILLS=%q is not a number above zero", os.Getenv("RMD_KILLS"))
	}
	return n
}

// caller calls a cluster of processes. An unexpected error fails the test.
type caller struct {
	t testing.TB
	d *submit.Client
}

func newCaller(t testing.TB, addrs []string) *caller {
	t.Helper()
	cfg := submit.DefaultConfig()
	cfg.Addrs = addrs
	d, err := submit.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return &caller{t, d}
}

// ask sends an input and returns the reply. The client repeats calls whose outcome is unknown after
// a loss of the leader.
func (c *caller) ask(ctx context.Context, in input.Input) (input.Reply, error) {
	reply, err := c.d.Do(ctx, in)
	if err == nil && reply.Refused() != nil {
		return nil, reply.Refused()
	}
	return reply, err
}

func must[R input.Reply](c *caller, in input.Input) R {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	reply, err := c.ask(ctx, in)
	if err != nil {
		c.t.Fatalf("%T: %v", in, err)
	}
	return reply.(R)
}

// application submits an unmanaged application and registers its attempt.
func (c *caller) application(user, queue string) yarn.AttemptID {
	c.t.Helper()
	id := yarn.AttemptID{App: must[*input.SubmitApplicationReply](c,
		&input.SubmitApplication{User: user, Queue: queue, Unmanaged: true}).ID, Attempt: 1}
	must[*input.RegisterAttemptReply](c, &input.RegisterAttempt{Attempt: id, Host: "am"})
	return id
}

func (c *caller) node(name string, memoryMB int64, rack string) yarn.NodeID {
	c.t.Helper()
	id := yarn.NodeID{Host: name, Port: 45454}
	must[*input.RegisterNodeReply](c, &input.RegisterNode{ID: id, Rack: rack, Total: yarn.NewResource(memoryMB, 64)})
	return id
}

func asks(count, memoryMB int64, at ...string) []input.Ask {
	key := yarn.SchedulerKey{Priority: 1}
	out := []input.Ask{{Key: key, Name: yarn.Any, Count: count, Size: yarn.NewResource(memoryMB, 1), Relax: len(at) == 0}}
	for i, name := range at { // the host, then its rack
		out = append(out, input.Ask{Key: key, Name: name, Count: count, Size: yarn.NewResource(memoryMB, 1),
			Relax: i == 0 && len(at) == 1})
	}
	return out
}

// held is what must be the same before and after every kill: a node of 8 GiB with 6 GiB in use and
// a reservation for a container of 4 GiB.
type held struct {
	node       yarn.NodeID
	running    yarn.AttemptID
	waiting    yarn.AttemptID
	containers []input.Granted
}

// hold creates it. The node is alone in its rack, and both applications ask for it by name, so the
// other load does not affect it.
func (c *caller) hold() held {
	c.node("spare", 8192, "/spare") // a reservation counts against its queue, so the cluster must have room for it
	h := held{node: c.node("held", 8192, "/held")}
	h.running, h.waiting = c.application("u1", "root.online"), c.application("u2", "root.train")
	got := must[*input.AllocateReply](c, &input.Allocate{Attempt: h.running, Asks: asks(2, 3072, "held", "/held")})
	h.containers = got.Granted
	for len(h.containers) < 2 {
		must[*input.NodeHeartbeatReply](c, &input.NodeHeartbeat{ID: h.node})
		got = must[*input.AllocateReply](c, &input.Allocate{Attempt: h.running, Response: got.Response})
		h.containers = append(h.containers, got.Granted...)
	}
	must[*input.AllocateReply](c, &input.Allocate{Attempt: h.waiting, Asks: asks(1, 4096, "held", "/held")})
	must[*input.NodeHeartbeatReply](c, &input.NodeHeartbeat{ID: h.node})
	return h
}

// load is one node and one application that allocate and complete containers until the end. It
// knows every container that it ever got.
type load struct {
	c    *caller
	node yarn.NodeID
	id   yarn.AttemptID
	seen map[yarn.ContainerID]bool
	done *atomic.Int64
}

func (l *load) run(ctx context.Context) error {
	response := int32(0)
	for ctx.Err() == nil {
		// Not the test's context: a call in progress when the test ends must complete.
		call, cancel := context.WithTimeout(context.Background(), patience)
		err := l.round(call, &response)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", l.id, err)
		}
		time.Sleep(10 * time.Millisecond) // other tests need the CPU too
	}
	return nil
}

func (l *load) round(ctx context.Context, response *int32) error {
	reply, err := l.c.ask(ctx, &input.Allocate{Attempt: l.id, Response: *response,
		Asks: asks(4, 1024, l.node.Host, "/load")})
	if err != nil {
		return err
	}
	r := reply.(*input.AllocateReply)
	*response = r.Response
	beat := &input.NodeHeartbeat{ID: l.node}
	for _, g := range r.Granted {
		if l.seen[g.Container] {
			return fmt.Errorf("container %s was given twice", g.Container)
		}
		l.seen[g.Container] = true
		beat.Statuses = append(beat.Statuses, input.ContainerStatus{Container: g.Container, State: yarn.ContainerCompleted})
	}
	if _, err := l.c.ask(ctx, beat); err != nil {
		return err
	}
	l.done.Add(int64(2 * len(r.Granted)))
	return nil
}

// reservations returns the reservations in p's state, after p has applied everything that the
// leader had committed.
func (c *processes) reservations(p *process) []api.Reservation {
	c.t.Helper()
	var list struct {
		Reservations []api.Reservation `json:"reservations"`
	}
	c.await("reservations are read", patience, func() bool { return c.get(p, "/v1/reservations?consistent", &list) })
	return list.Reservations
}

// TestKillLeader kills the leader of three processes with SIGKILL, repeatedly, while applications
// allocate, complete and change, and a node is reserved. No acknowledged change may be lost, and
// the reservation stays the same.
func TestKillLeader(t *testing.T) {
	for _, tm := range []timers.Timers{lowest, defaults} {
		t.Run(tm.Heartbeat.String(),
			func(t *testing.T) { loseLeader(t, tm, kills(t), (*processes).kill, (*processes).start) })
	}
}

// TestFreezeLeader stops the leader with SIGSTOP instead, like a machine that vanishes or is
// disconnected. No connection is refused, so only Raft's timers detect the loss. When the process
// continues, it must notice that it is no longer the leader.
func TestFreezeLeader(t *testing.T) {
	for _, tm := range []timers.Timers{lowest, defaults} {
		t.Run(tm.Heartbeat.String(), func(t *testing.T) {
			loseLeader(t, tm, kills(t), func(c *processes, p *process) { p.signal(t, syscall.SIGSTOP) },
				func(c *processes, p *process) { p.signal(t, syscall.SIGCONT) })
		})
	}
}

// loseLeader takes the leader away and brings it back, in each of rounds rounds.
func loseLeader(t *testing.T, tm timers.Timers, rounds int, away, back func(*processes, *process)) {
	c := startProcesses(t, 3, tm, "")
	call := newCaller(t, c.addrs())
	h := call.hold()
	before := c.reservations(c.all[0])
	if len(before) != 1 {
		t.Fatalf("%d reservations are held, not 1", len(before))
	}
	work := c.work(call, 4)
	probe := call.application("prober", "root.adhoc")
	var took []time.Duration
	for round := range rounds {
		victim := c.leader()
		survivors := c.others(victim)
		away(c, victim)
		took = append(took, c.probe(survivors, probe, int32(round%10+1)))
		c.checkHeld(survivors[0], h, before[0])
		back(c, victim)
		c.awaitReady(victim)
		c.awaitInStep()
	}
	work.end()
	slices.Sort(took)
	t.Logf("%d times at %s/%s/%s: next committed decision after %s (median), %s (p99), %s (max); %d decisions meanwhile",
		rounds, tm.Heartbeat, tm.Election, tm.Lease, quantile.Of(took, 0.5), quantile.Of(took, 0.99), took[len(took)-1],
		work.done.Load())
	c.fulfill(call, h, before[0])
}

// probe writes through the survivors until one write is acknowledged, and reads the value back. It
// returns how long the write took.
func (c *processes) probe(survivors []*process, id yarn.AttemptID, value int32) time.Duration {
	c.t.Helper()
	began := time.Now()
	call := newCaller(c.t, []string{survivors[0].http, survivors[1].http})
	got := must[*input.SetPriorityReply](call, &input.SetPriority{ID: id.App, Priority: value})
	took := time.Since(began)
	if got.Priority != value {
		c.t.Fatalf("priority %d was granted, %d was asked", got.Priority, value)
	}
	for _, p := range survivors {
		var app api.App
		c.await("the application is read", patience,
			func() bool { return c.get(p, "/v1/apps/"+id.App.String()+"?consistent", &app) })
		if app.Priority != value {
			c.t.Fatalf("%s says priority %d; %d was acknowledged", p.id, app.Priority, value)
		}
	}
	return took
}

// checkHeld compares the reservation, the containers of its node and the waiting ask with the state
// before the first kill.
func (c *processes) checkHeld(p *process, h held, was api.Reservation) {
	c.t.Helper()
	list := c.reservations(p)
	if len(list) != 1 {
		c.t.Fatalf("%d reservations after the kill, not 1", len(list))
	}
	is := list[0]
	if is.ID != was.ID || is.Node != was.Node || is.App != was.App || is.Container != was.Container ||
		is.MadeMillis != was.MadeMillis ||
		is.Priority != was.Priority || is.Size["memory-mb"] != was.Size["memory-mb"] ||
		is.ReReservations < was.ReReservations || is.AgeMillis < was.AgeMillis {
		c.t.Fatalf("the reservation was %+v and is %+v", was, is)
	}
	var containers struct {
		Containers []api.Container `json:"containers"`
	}
	c.await("containers are read", patience, func() bool {
		return c.get(p, "/v1/apps/"+h.running.App.String()+"/containers?consistent", &containers)
	})
	if len(containers.Containers) != len(h.containers) {
		c.t.Fatalf("%d containers after the kill, %d before", len(containers.Containers), len(h.containers))
	}
	var app api.App
	c.await("the application is read", patience,
		func() bool { return c.get(p, "/v1/apps/"+h.waiting.App.String()+"?consistent", &app) })
	if app.Outstanding != 1 || app.Reservations != 1 {
		c.t.Fatalf("the waiting application asks for %d and holds %d reservations; it was 1 and 1", app.Outstanding,
			app.Reservations)
	}
}

// awaitInStep waits until all replicas are healthy voters and have applied what the leader has
// committed, so that a majority survives the next kill.
func (c *processes) awaitInStep() {
	c.t.Helper()
	c.await("all replicas are in step", patience, func() bool {
		var doc api.Cluster
		return c.get(c.all[0], "/v1/cluster", &doc) && doc.Verdict.HealthyVoters == len(c.all)
	})
}

// fulfill completes a container and checks that the reservation becomes its container, whichever
// replica leads now.
func (c *processes) fulfill(call *caller, h held, was api.Reservation) {
	c.t.Helper()
	must[*input.NodeHeartbeatReply](call, &input.NodeHeartbeat{ID: h.node,
		Statuses: []input.ContainerStatus{{Container: h.containers[0].Container, State: yarn.ContainerCompleted}}})
	got := must[*input.AllocateReply](call, &input.Allocate{Attempt: h.waiting, Response: 1})
	if len(got.Granted) != 1 || got.Granted[0].Container.String() != was.Container {
		c.t.Fatalf("granted %+v; %s was reserved", got.Granted, was.Container)
	}
}
