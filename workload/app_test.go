package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/mixed"
	"rmd/workload/trace"
	"rmd/yarn"
)

func TestGroupAsksAndTakesByHost(t *testing.T) {
	racks := map[string]string{"h1": "/r1", "h2": "/r1", "h3": "/r2"}
	g := &group{spec: &trace.TaskGroup{Hosts: []string{"h1", "h3", "", "elsewhere", "h2"}}}
	for n := range 5 {
		g.waiting = append(g.waiting, slot{n: int32(n)})
	}
	say := func() string {
		out := ""
		for _, a := range g.asks(racks) {
			out += fmt.Sprintf("%s=%d ", a.Name, a.Count)
		}
		return out
	}
	if got, want := say(), "*=5 /r1=2 /r2=1 h1=1 h2=1 h3=1 "; got != want {
		t.Errorf("asks %q; want %q", got, want)
	}
	for _, step := range []struct {
		host, rack string
		slot       int32
		dirty      bool
	}{{"h3", "/r2", 1, false}, {"h9", "/r1", 0, true}, {"h9", "/r9", 2, false}, {"h2", "/r1", 4, false},
		{"h9", "/r9", 3, true}} {
		g.dirty = false
		s, ok := g.take(step.host, step.rack, racks)
		if !ok || s.n != step.slot || g.dirty != step.dirty {
			t.Errorf("on %s took slot %d, dirty %v; want %d, %v", step.host, s.n, g.dirty, step.slot, step.dirty)
		}
		if step.slot == 0 {
			// h1's container came on another host of its rack. h1 is no longer wanted, and the call
			// says so once.
			if got, want := say(), "*=3 /r1=1 /r2=0 h1=0 h2=1 h3=0 "; got != want {
				t.Errorf("asks %q; want %q", got, want)
			}
		}
	}
	if _, ok := g.take("h1", "/r1", racks); ok {
		t.Error("took a slot that nobody waits for")
	}
}

func TestRunRepeatsTheSameCallAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, jobs := newFakeRM(), mixedJobs(30)
		f.eager = true
		cfg := liveConfig(f, 4, jobs)
		// Random calls get no answer. If every third call got none, these could be all calls of one
		// caller, and the run would never end.
		random := rand.New(rand.NewPCG(1, 2))
		lost := errors.New("no answer")
		cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
			f.mu.Lock()
			lose := random.IntN(3) == 0
			f.mu.Unlock()
			switch in.(type) {
			case *input.Allocate, *input.RegisterAttempt, *input.FinishAttempt:
				if r, err := f.Do(ctx, in); !lose {
					return r, err
				}
				return nil, lost // executed, but without an answer
			case *input.NodeHeartbeat, *input.RegisterNode:
				if lose {
					return nil, lost
				}
			}
			return slow{f}.Do(ctx, in)
		})
		cfg.Speed = 10
		var last Progress
		cfg.OnProgress = func(p Progress) { last = p }
		s, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkAllRan(t, f, s, jobs)
		if last.Errors < 30 || last.LastError != lost.Error() || last.Lost+last.Surplus+last.Repeated != 0 {
			t.Errorf("progress %+v", last)
		}
	})
}

// odd allocates one container too many in the first answer to each application that has containers.
type odd struct {
	*fakeRM
	extra map[yarn.AttemptID]bool
}

func (o odd) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	r, err := o.fakeRM.Do(ctx, in)
	a, ok := r.(*input.AllocateReply)
	if !ok || len(a.Granted) == 0 || o.extra[in.(*input.Allocate).Attempt] {
		return r, err
	}
	o.extra[in.(*input.Allocate).Attempt] = true
	more, g := *a, a.Granted[0]
	g.Container.Number += 1000
	more.Granted = append(slices.Clone(a.Granted), a.Granted[0], g,
		input.Granted{Container: yarn.ContainerID{Number: 9999}})
	return &more, err
}

func TestSurplusContainersAreGivenBack(t *testing.T) {
	f := newFakeRM()
	f.eager = true
	jobs := []trace.Job{{Name: "a", Tasks: []trace.TaskGroup{
		{Count: 2, MemoryMB: 1024, VCores: 1, Duration: time.Second, After: -1}}}}
	cfg := simConfig(f, 1, jobs)
	released := map[yarn.ContainerID]int{}
	submitter := odd{f, map[yarn.AttemptID]bool{}}
	cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
		if a, ok := in.(*input.Allocate); ok {
			for _, id := range a.Releases {
				released[id]++
			}
		}
		return submitter.Do(ctx, in)
	})
	var last Progress
	cfg.OnProgress = func(p Progress) { last = p }
	s, err := Simulate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkAllRan(t, f, s, jobs)
	if last.Surplus != 2 || last.Repeated != 1 || len(released) != 2 {
		t.Errorf("progress %+v, released %v; want two surplus ones released once, one repeated", last, released)
	}
}

func TestContainersOnForeignNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, jobs := newFakeRM(), mixedJobs(20)
		f.eager = true
		// The nodes are real ones, not simulated by this workload.
		for _, n := range mixed.Nodes(4) {
			size, _ := sizeOf(n.MemoryMB, n.VCores, n.GPUs, DefaultConfig().Kinds)
			f.Do(t.Context(), &input.RegisterNode{ID: yarn.NodeID{Host: n.Name, Port: 1}, Rack: n.Rack, Total: size})
		}
		cfg := liveConfig(f, 0, jobs)
		cfg.AM, cfg.Speed = false, 20
		s, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkAllRan(t, f, s, jobs)
	})
}

func TestRefusedAsksFailTheApplication(t *testing.T) {
	f := newFakeRM()
	cfg := simConfig(f, 1, mixedJobs(1))
	cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
		if a, ok := in.(*input.Allocate); ok && len(a.Asks) > 0 {
			return input.Refuse(in, input.Refusef(input.NeverFits, "ask less", "too large")), nil
		}
		return f.Do(ctx, in)
	})
	var last Progress
	cfg.OnProgress = func(p Progress) { last = p }
	if _, err := Simulate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if last.Failed != 1 || last.Waiting != 0 || last.LastRefusal == "" || f.order[0].final != yarn.FinalFailed {
		t.Errorf("progress %+v, final %s", last, f.order[0].final)
	}
}

func TestNodeRemembersWhatEnded(t *testing.T) {
	f := newFakeRM()
	cfg := simConfig(f, 1, nil)
	w := newWorld(t.Context(), cfg, 1)
	defer w.stop()
	s := &simulation{w: w, lastRound: -1}
	w.exec, w.pace = s, s
	n := w.nodes[0]
	id := func(i int) yarn.ContainerID { return yarn.ContainerID{Attempt: 1, Number: uint64(i)} }
	n.kill(id(1)) // the node never had it and reports its end once
	n.kill(id(1))
	if news := n.manager.Pending(); len(news) != 1 || news[0].State != yarn.ContainerCompleted || w.news != 1 {
		t.Errorf("news %+v", news)
	}
	n.launch(input.Launch{Container: id(1)})
	if len(n.manager.Running()) != 0 {
		t.Error("a container that was killed first was started")
	}
	for i := 2; i < 10; i++ {
		n.launch(input.Launch{Container: id(i)})
		n.exit(id(i), 0, "")
	}
	if n.launch(input.Launch{Container: id(9)}); len(n.manager.Running()) != 0 {
		t.Error("a container that ended was started again")
	}
	n.launch(input.Launch{Container: id(10)})
	n.launch(input.Launch{Container: id(10)})
	if n.shutdown(); len(n.manager.Running()) != 0 || w.news != 0 || w.meter.used.MemoryMB != 0 {
		t.Errorf("after the shutdown: %d running, %d news, %+v used", len(n.manager.Running()), w.news, w.meter.used)
	}
	if w.loop.fire(); n.down || !n.calls {
		t.Error("the node does not start again after it was told to shut down")
	}
}
