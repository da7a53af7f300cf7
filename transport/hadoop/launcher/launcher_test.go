package launcher

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/fsm/event"
	"rmd/internal/leadership"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/wire"
	"rmd/yarn"
)

var n1 = yarn.NodeID{Host: "n1.example", Port: 8041}

var errDown = errors.New("connection refused")

func down(context.Context, ipc.Target, *proto.StartContainersRequestProto, *proto.StartContainersResponseProto) error {
	return errDown
}

func fine(context.Context, ipc.Target, *proto.StartContainersRequestProto, *proto.StartContainersResponseProto) error {
	return nil
}

func answering(class, message string) clientFunc {
	return func(_ context.Context, _ ipc.Target, _ *proto.StartContainersRequestProto,
		reply *proto.StartContainersResponseProto) error {
		reply.FailedRequests = append(reply.FailedRequests, exception(nil, class, message))
		return nil
	}
}

func TestRefusedStartNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		at := w.submit(submission(t, nil))
		began := time.Now()
		stop := lead(t, newLauncher(t, w, answering(ipc.ClassYarn,
			"\nUnauthorized request to start container. \nThis token is expired."), nil))
		in, ok := (<-w.told).(*input.AttemptLaunchFailed)
		if !ok || in.Attempt != at || in.Container != 1 || in.NodeFault ||
			!strings.Contains(in.Diagnostics, "Unauthorized request") || time.Since(began) != 0 {
			t.Errorf("told %+v after %s", in, time.Since(began))
		}
		stop()
	})
}

// TestANodeThatDoesNotAnswerIsTriedForThreeMinutes checks YARN's default of one try every ten
// seconds.
func TestANodeThatDoesNotAnswerIsTriedForThreeMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		var calls atomic.Int32
		client := clientFunc(func(context.Context, ipc.Target, *proto.StartContainersRequestProto,
			*proto.StartContainersResponseProto) error {
			calls.Add(1)
			return errDown
		})
		at := w.submit(submission(t, nil))
		began := time.Now()
		stop := lead(t, newLauncher(t, w, client, nil))
		in, ok := (<-w.told).(*input.AttemptLaunchFailed)
		if !ok || in.Attempt != at || !in.NodeFault || !strings.Contains(in.Diagnostics, errDown.Error()) {
			t.Errorf("told %+v", in)
		}
		if took := time.Since(began); took != 3*time.Minute || calls.Load() != 19 {
			t.Errorf("%d calls in %s", calls.Load(), took)
		}
		stop()
	})
}

func TestANodeThatIsNotReadyIsTriedAgain(t *testing.T) {
	for _, no := range []clientFunc{
		answering("org.apache.hadoop.yarn.exceptions.InvalidContainerException",
			"Container c rejected as it is allocated by a previous RM"),
		answering(ipc.ClassYarn, "Container start failed as the NodeManager is in the process of shutting down"),
		func(context.Context, ipc.Target, *proto.StartContainersRequestProto, *proto.StartContainersResponseProto) error {
			return &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: "no such key"}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, n1)
			tries := 0
			client := clientFunc(func(ctx context.Context, to ipc.Target, in *proto.StartContainersRequestProto,
				out *proto.StartContainersResponseProto) error {
				if tries++; tries < 3 {
					return no(ctx, to, in, out)
				}
				return nil
			})
			w.submit(submission(t, nil))
			began := time.Now()
			stop := lead(t, newLauncher(t, w, client, nil))
			if in, ok := (<-w.told).(*input.AttemptLaunched); !ok || time.Since(began) != 20*time.Second {
				t.Errorf("told %+v after %s", in, time.Since(began))
			}
			stop()
		})
	}
}

func TestAnAttemptThatEndsIsNotDialed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		outcomes := make(chan Outcome, 10)
		var calls atomic.Int32
		client := clientFunc(func(ctx context.Context, _ ipc.Target, _ *proto.StartContainersRequestProto,
			_ *proto.StartContainersResponseProto) error {
			calls.Add(1)
			<-ctx.Done() // the node does not answer
			return ctx.Err()
		})
		at := w.submit(submission(t, nil))
		stop := lead(t, newLauncher(t, w, client,
			func(c *Config) { c.Observe = func(o Outcome, _ time.Duration) { outcomes <- o } }))
		synctest.Wait()
		began := time.Now()
		w.end(at)
		if o := <-outcomes; o != Dropped || time.Since(began) != 0 {
			t.Errorf("%s after %s", o, time.Since(began))
		}
		time.Sleep(time.Hour)
		if calls.Load() != 1 || len(w.told) != 0 {
			t.Errorf("%d calls, %d reports", calls.Load(), len(w.told))
		}
		stop()
	})
}

// TestAnAMThatIsKnownToRunIsNotDialedAgain checks that a launch ends when the node's heartbeat
// reports the container before the node answers.
func TestAnAMThatIsKnownToRunIsNotDialedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		var calls atomic.Int32
		client := clientFunc(func(context.Context, ipc.Target, *proto.StartContainersRequestProto,
			*proto.StartContainersResponseProto) error {
			calls.Add(1)
			w.apply(&event.ContainerLaunched{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}})
			return errDown
		})
		w.submit(submission(t, nil))
		stop := lead(t, newLauncher(t, w, client, nil))
		time.Sleep(time.Hour)
		if calls.Load() != 1 || len(w.told) != 0 {
			t.Errorf("%d calls, %d reports", calls.Load(), len(w.told))
		}
		stop()
	})
}

func TestInvalidLaunchContexts(t *testing.T) {
	for name, c := range map[string]struct {
		context []byte
		want    string
	}{
		"none":      {nil, "no submission context"},
		"another's": {[]byte(`{"containers": 3}`), "submission context"},
		"no launch": {submission(t, func(p *proto.ApplicationSubmissionContextProto) { p.AmContainerSpec = nil }),
			"without a launch context"},
		"damaged tokens": {
			submission(t,
				func(p *proto.ApplicationSubmissionContextProto) {
					p.AmContainerSpec.Tokens = []byte("HDTS\x00\x05")
				}), "tokens of the launch context"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, n1)
			w.submit(c.context)
			stop := lead(t, newLauncher(t, w, clientFunc(down), nil))
			if in, ok := (<-w.told).(*input.AttemptLaunchFailed); !ok || in.NodeFault ||
				!strings.Contains(in.Diagnostics, c.want) {
				t.Errorf("%s: told %+v", name, in)
			}
			stop()
		})
	}
}

func TestLaunchConcurrencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		for range 200 {
			w.submit(submission(t, nil))
		}
		var now, most, calls atomic.Int32
		client := clientFunc(func(ctx context.Context, _ ipc.Target, _ *proto.StartContainersRequestProto,
			_ *proto.StartContainersResponseProto) error {
			calls.Add(1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			wait(ctx, time.Second)
			return nil
		})
		stop := lead(t, newLauncher(t, w, client, func(c *Config) { c.ParallelMax = 7 }))
		began := time.Now()
		for range 200 {
			if in, ok := (<-w.told).(*input.AttemptLaunched); !ok {
				t.Fatalf("told %+v", in)
			}
		}
		if most.Load() != 7 || calls.Load() != 200 || time.Since(began) != 29*time.Second {
			t.Errorf("%d calls, %d at a time, in %s", calls.Load(), most.Load(), time.Since(began))
		}
		stop()
	})
}

// TestAllocationFoundAfterWatchFailure checks that the launcher finds a container that is allocated
// while the watch fails.
func TestAllocationFoundAfterWatchFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		stop := lead(t, newLauncher(t, w, clientFunc(fine), nil))
		synctest.Wait()
		w.mu.Lock()
		w.broken = true
		w.mu.Unlock()
		w.submit(submission(t, nil))
		if in, ok := (<-w.told).(*input.AttemptLaunched); !ok {
			t.Errorf("told %+v", in)
		}
		stop()
	})
}

func TestLaunchReportRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		w.busy = 3
		w.submit(submission(t, nil))
		stop := lead(t, newLauncher(t, w, clientFunc(fine), nil))
		if in, ok := (<-w.told).(*input.AttemptLaunched); !ok || len(w.reports) != 1 {
			t.Errorf("told %+v, %d reports", in, len(w.reports))
		}
		stop()
	})
}

func TestOnlyLeaderDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		l := newLauncher(t, w, clientFunc(fine), nil)
		changes := make(chan leadership.Leadership)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, changes) }()
		changes <- leadership.Leadership{Term: 1}
		w.submit(submission(t, nil))
		synctest.Wait()
		if len(w.told) != 0 {
			t.Errorf("a follower started %+v", <-w.told)
		}
		changes <- leadership.Leadership{Term: 2, IsLeader: true}
		<-w.told
		changes <- leadership.Leadership{Term: 3}
		synctest.Wait()
		w.submit(submission(t, nil))
		time.Sleep(time.Hour)
		if len(w.told) != 0 {
			t.Errorf("one who led before started %+v", <-w.told)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the launcher ended with %v, want context.Canceled", err)
		}
	})
}

func TestNonDialedNodesSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, n1)
		w.apply(&event.NodeRegistered{Node: 1, ID: n1, Rack: "/r", Total: yarn.NewResource(1<<30, 1<<20)})
		w.submit(submission(t, nil))
		stop := lead(t, newLauncher(t, w, clientFunc(fine), nil))
		time.Sleep(time.Hour)
		if len(w.told) != 0 {
			t.Errorf("told %+v", <-w.told)
		}
		stop()
	})
}

func TestJudging(t *testing.T) {
	id := yarn.ContainerID{App: yarn.ApplicationID{ClusterTimestamp: 1, Seq: 2}, Attempt: 1, Number: 3}
	other := id
	other.Number = 4
	for _, c := range []struct {
		name string
		err  error
		of   yarn.ContainerID
		text string
		want string // error text; empty if the AM runs
	}{
		{name: "fine"},
		{name: "runs", of: id, text: "Container c already is running on this node!!"},
		{name: "ran", of: id,
			text: "\nUnauthorized request to start container. \n Attempt to relaunch the same container with id c."},
		{name: "runs, told as an error", err: &ipc.RemoteError{Class: ipc.ClassYarn,
			Message: "already is running on this node!!"}},
		{name: "of another", of: other, text: "no"},
		{name: "no", of: id, text: "no", want: ipc.ClassYarn + ": no"},
		{name: "not reached", err: errDown, want: errDown.Error()},
	} {
		reply := new(proto.StartContainersResponseProto)
		if c.text != "" {
			reply.FailedRequests = append(reply.FailedRequests, exception(wire.ContainerIDProto(c.of), ipc.ClassYarn, c.text))
		}
		err := judge(c.err, reply, id)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("judge, %s = %v, want %q (empty: the AM runs)", c.name, err, c.want)
		}
	}
	deep := &proto.SerializedExceptionProto{Message: new("a"),
		Cause: &proto.SerializedExceptionProto{Message: new("b"), ClassName: new("B")}}
	if got := messages(deep); got != "a; caused by B: b" {
		t.Errorf("messages = %q, want \"a; caused by B: b\"", got)
	}
	if got := cut(strings.Repeat("ä", diagnosticsMax)); len(got) > diagnosticsMax+10 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := newLauncher(t, newWorld(t, n1), clientFunc(fine), nil).cfg
	for name, change := range map[string]func(*Config){
		"no submitter": func(c *Config) { c.Submitter = nil },
		"no parallel":  func(c *Config) { c.ParallelMax = 0 },
		"no wait":      func(c *Config) { c.MaxWait = 0 },
		"no retry":     func(c *Config) { c.RetryInterval = 0 },
		"no life":      func(c *Config) { c.TokenLife = -1 },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
