package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"rmd/internal/quantile"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestKillLeaderDuringWarning repeatedly kills the leader between the warning of a container and
// its deadline. The new leader must keep the warning: the AM gets one warning, the container ends
// once and not before the deadline, and the queue for which it was preempted gets the resources.
func TestKillLeaderDuringWarning(t *testing.T) {
	c := startProcesses(t, 3, lowest, "")
	s := borrow(newCaller(t, c.addrs()))
	rng := rand.New(rand.NewPCG(1, 1))
	var late []time.Duration
	between := 0
	for range kills(t) {
		s.ask(1)
		w := s.awaitWarning()
		time.Sleep(time.Duration(rng.Float64() * 0.9 * float64(time.Until(time.UnixMilli(w.DeadlineMillis)))))
		victim := c.leader()
		c.kill(victim)
		if time.Now().UnixMilli() < w.DeadlineMillis { // otherwise the machine was too slow
			between++
		}
		s.awaitEnd(w)
		after := time.Since(time.UnixMilli(w.DeadlineMillis))
		if after < 0 {
			t.Fatalf("%s ended %s before its deadline", w.Container, -after)
		}
		late = append(late, after)
		s.awaitTaken()
		c.start(victim)
		c.awaitReady(victim)
		c.awaitInStep()
	}
	slices.Sort(late)
	t.Logf("%d leaders were killed, %d between warning and deadline: %d warnings told, %d containers preempted, %s after their deadlines (median), %s (max)",
		len(late), between, s.told, s.preempted, quantile.Of(late, 0.5).Round(time.Millisecond),
		late[len(late)-1].Round(time.Millisecond))
	if s.told != len(late) || s.preempted != len(late) {
		t.Errorf("%d warnings were told and %d containers preempted in %d rounds", s.told, s.preempted, len(late))
	}
}

// warnedFor is the time from the warning of a container to its deadline.
const warnedFor = 2 * time.Second

// borrowing is a node of 10 GiB. One queue uses 8 GiB of it and is guaranteed 3 GiB. Another queue
// wants 4 GiB.
type borrowing struct {
	*caller
	node         yarn.NodeID
	giver, taker *am
	kill         map[yarn.ContainerID]bool // containers that the node was told to end
	told         int                       // number of warnings
	preempted    int                       // number of preempted containers
}

// am is a fake AM.
type am struct {
	id       yarn.AttemptID
	response int32
	has      map[yarn.ContainerID]bool
	want     []input.Ask
	warned   []input.Preempting // warnings in the last reply
}

func borrow(c *caller) *borrowing {
	c.t.Helper()
	const monitor = "yarn.resourcemanager.monitor.capacity.preemption."
	set := &input.SetQueues{Author: "test"}
	for _, p := range preset.Demo() {
		set.Properties = append(set.Properties, input.Property{Name: p.Name, Value: p.Value})
	}
	for _, p := range [][2]string{{"yarn.resourcemanager.scheduler.monitor.enable", "true"},
		{monitor + "monitoring_interval", "200"},
		{monitor + "max_wait_before_kill", fmt.Sprint(warnedFor.Milliseconds())},
		{monitor + "total_preemption_per_round", "1"}, {monitor + "natural_termination_factor", "1"},
		{"yarn.scheduler.capacity.preemption.keep-guarantee-ms", "0"}} { // the giver borrows again at once
		set.Properties = append(set.Properties, input.Property{Name: p[0], Value: p[1]})
	}
	must[*input.SetQueuesReply](c, set)
	b := &borrowing{caller: c, node: c.node("shared", 10<<10, "/rack"), kill: map[yarn.ContainerID]bool{},
		giver: &am{id: c.application("u1", "root.train"), has: map[yarn.ContainerID]bool{}},
		taker: &am{id: c.application("u2", "root.online"), has: map[yarn.ContainerID]bool{}}}
	b.fill()
	return b
}

// fill makes the giver use 8 GiB.
func (b *borrowing) fill() {
	b.t.Helper()
	b.giver.want = asks(2-int64(len(b.giver.has)), 4<<10)
	b.until("the giver has two containers", func() bool { return len(b.giver.has) == 2 })
}

// ask makes the taker ask for containers.
func (b *borrowing) ask(count int64) { b.taker.want = asks(count, 4<<10) }

// until lets the AMs and the node call until a condition is true.
func (b *borrowing) until(what string, holds func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not within %s: %s; %+v, %+v", patience, what, b.giver, b.taker)
		}
		b.heartbeat()
		b.call(b.giver)
		b.call(b.taker)
	}
}

func (b *borrowing) call(a *am) {
	b.t.Helper()
	r := must[*input.AllocateReply](b.caller, &input.Allocate{Attempt: a.id, Response: a.response, Asks: a.want})
	a.response, a.want, a.warned = r.Response, nil, r.Preempted
	for _, g := range r.Granted {
		a.has[g.Container] = true
	}
	for _, s := range r.Completed {
		delete(a.has, s.Container)
		if s.ExitStatus == yarn.ExitPreempted {
			b.preempted++
		}
	}
	b.told += len(r.Preempted)
}

// heartbeat reports the running containers of the node, and ends those that the reply names.
func (b *borrowing) heartbeat(ended ...yarn.ContainerID) {
	b.t.Helper()
	in := &input.NodeHeartbeat{ID: b.node}
	for _, a := range []*am{b.giver, b.taker} {
		for id := range a.has { // the order does not matter
			if !slices.Contains(ended, id) && !b.kill[id] {
				in.Statuses = append(in.Statuses, input.ContainerStatus{Container: id, State: yarn.ContainerRunning})
			}
		}
	}
	for _, id := range ended {
		in.Statuses = append(in.Statuses, input.ContainerStatus{Container: id, State: yarn.ContainerCompleted})
	}
	for _, id := range must[*input.NodeHeartbeatReply](b.caller, in).Kill {
		if !b.kill[id] {
			b.kill[id] = true
			b.heartbeat(id)
		}
	}
}

// awaitWarning waits for a warning of the giver and returns it.
func (b *borrowing) awaitWarning() input.Preempting {
	b.t.Helper()
	var told []input.Preempting
	b.until("the giver is told of a warning", func() bool {
		told = b.giver.warned
		return len(told) > 0
	})
	if len(told) != 1 || !b.giver.has[told[0].Container] {
		b.t.Fatalf("the giver is told of %+v, it has %v", told, b.giver.has)
	}
	b.giver.warned = nil
	return told[0]
}

// awaitEnd waits until the node is told to end the warned container. No other container may end,
// and no other warning may come.
func (b *borrowing) awaitEnd(w input.Preempting) {
	b.t.Helper()
	before := len(b.kill)
	b.until("the warned container ends", func() bool {
		if len(b.giver.warned) > 0 {
			b.t.Fatalf("the giver is told again: %+v", b.giver.warned)
		}
		return b.kill[w.Container]
	})
	if len(b.kill) != before+1 {
		b.t.Fatalf("%d containers ended with %s", len(b.kill)-before-1, w.Container)
	}
}

// awaitTaken waits until the taker has its container and the giver knows of its loss. Then the
// taker returns the container.
func (b *borrowing) awaitTaken() {
	b.t.Helper()
	b.until("the taker has its container", func() bool { return len(b.taker.has) == 1 && len(b.giver.has) == 1 })
	for id := range b.taker.has { // the only one
		b.heartbeat(id)
	}
	b.until("the taker has none", func() bool { return len(b.taker.has) == 0 })
	b.fill()
}
