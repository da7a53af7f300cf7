package workload

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/trace"
)

// TestControl submits a job to a workload that has none, stops the power of a node, and starts the
// node again: it is silent in between, and registers without containers.
func TestControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		cfg := liveConfig(f, 2, nil)
		cfg.Jobs, cfg.AM, cfg.Control = nil, true, NewControl()
		var heard []string // calls of sim-01
		var registered *input.RegisterNode
		inner := cfg.Submitter
		cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
			switch in := in.(type) {
			case *input.RegisterNode:
				if in.ID.Host == "sim-01" {
					heard, registered = append(heard, "register"), in
				}
			case *input.NodeHeartbeat:
				if in.ID.Host == "sim-01" {
					heard = append(heard, "heartbeat")
				}
			}
			return inner.Do(ctx, in)
		})
		var last Progress
		cfg.OnProgress = func(p Progress) { last = p }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := Run(ctx, cfg)
			ended <- err
		}()
		pause := func(d time.Duration) { time.Sleep(d); synctest.Wait() } // until the workload rests, too
		pause(5 * time.Second)
		job := mixedJobs(1)[0]
		job.Submit = time.Hour
		job.Tasks = []trace.TaskGroup{{Count: 1, MemoryMB: 1024, VCores: 1, Duration: time.Second, After: -1}}
		cfg.Control.Submit(job)
		pause(30 * time.Second)
		if last.Submitted != 1 || last.Finished != 1 {
			t.Errorf("half a minute after Submit: %+v, want the job finished", last)
		}
		cfg.Control.StopNode("sim-01")
		cfg.Control.StopNode("no-such-node")
		pause(time.Second)
		heard = nil
		pause(30 * time.Second)
		if len(heard) > 0 || last.Nodes != 1 {
			t.Errorf("a node without power calls: %q; %d nodes are up, want 1", heard, last.Nodes)
		}
		cfg.Control.StartNode("sim-01")
		pause(5 * time.Second)
		if len(heard) < 2 || heard[0] != "register" || !slices.Contains(heard, "heartbeat") ||
			len(registered.Containers) > 0 || last.Nodes != 2 {
			t.Errorf("a node that starts again calls %q with %d containers, %d nodes are up", heard,
				len(registered.Containers), last.Nodes)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
