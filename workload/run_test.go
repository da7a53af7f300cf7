package workload

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rmd/scheduler/input"
	"rmd/workload/mixed"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// slow delays every answer, so that calls overlap in virtual time.
type slow struct{ *fakeRM }

func (s slow) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	time.Sleep(3 * time.Millisecond)
	return s.fakeRM.Do(ctx, in)
}

func liveConfig(f *fakeRM, nodes int, jobs []trace.Job) Config {
	cfg := simConfig(f, nodes, jobs)
	cfg.Submitter = slow{f}
	return cfg
}

func TestRunAllJobsFinish(t *testing.T) {
	for _, c := range []struct {
		name          string
		speed         float64
		am, prompt    bool
		eager, orders bool
	}{{"real time", 1, true, true, true, false}, {"fast", 300, true, true, true, true},
		{"patient", 30, true, false, false, true}, {"unmanaged", 300, false, true, false, false}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, jobs := newFakeRM(), mixedJobs(80)
				f.eager, f.again = c.eager, c.orders
				cfg := liveConfig(f, 4, jobs)
				cfg.Speed, cfg.AM, cfg.Prompt = c.speed, c.am, c.prompt
				var last Progress
				cfg.OnProgress = func(p Progress) { last = p }
				s, err := Run(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				checkAllRan(t, f, s, jobs)
				if last.Finished != 80 || last.Repeated+last.Lost+last.Errors != 0 || last.Nodes != 4 {
					t.Errorf("last progress %+v", last)
				}
			})
		})
	}
}

// TestRunFinishAnsweredAfterTheAMEnded delays the answer to an AM's last call until its node has
// ended the container.
func TestRunFinishAnsweredAfterTheAMEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, jobs := newFakeRM(), mixedJobs(8)
		cfg := liveConfig(f, 4, jobs)
		cfg.AM, cfg.Prompt = true, true
		cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
			r, err := f.Do(ctx, in)
			if _, ok := in.(*input.FinishAttempt); ok {
				time.Sleep(5 * time.Second)
			}
			return r, err
		})
		var last Progress
		cfg.OnProgress = func(p Progress) { last = p }
		if _, err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if last.Finished != 8 || last.Failed != 0 {
			t.Errorf("last progress %+v", last)
		}
	})
}

func TestRunHeartbeatsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		cfg := liveConfig(f, 4, nil)
		cfg.Jobs = nil
		var at []time.Duration
		begun := time.Now()
		cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
			if _, ok := in.(*input.NodeHeartbeat); ok {
				at = append(at, time.Since(begun))
				time.Sleep(7 * time.Millisecond) // answers take time, and calls keep their phase
			}
			return f.Do(ctx, in)
		})
		cfg.MaxCalls = 1
		ctx, cancel := context.WithTimeout(t.Context(), 2900*time.Millisecond)
		defer cancel()
		_, err := Run(ctx, cfg)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v; want that of the context", err)
		}
		var want []time.Duration
		for d := 250 * time.Millisecond; d <= 2750*time.Millisecond; d += 250 * time.Millisecond {
			want = append(want, d)
		}
		if !slices.Equal(at, want) {
			t.Errorf("heartbeats at %v; want %v", at, want)
		}
	})
}

type submitterFunc func(context.Context, input.Input) (input.Reply, error)

func (d submitterFunc) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	return d(ctx, in)
}

func TestRunNodeTakesLaunchOnceAndResyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		f.again = true // launch orders are repeated twice after the report
		jobs := []trace.Job{{Name: "a", Tasks: []trace.TaskGroup{
			{Count: 3, MemoryMB: 1024, VCores: 1, Duration: 20 * time.Second, After: -1}}}}
		cfg := liveConfig(f, 1, jobs)
		cfg.OnProgress = func(p Progress) {
			if p.Elapsed.Round(time.Second) == 10*time.Second {
				f.mu.Lock()
				f.resync[f.nodes[0].id] = true
				f.mu.Unlock()
			}
		}
		s, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkAllRan(t, f, s, jobs)
		if n := count(f.inputs, "register appattempt"); n != 1 {
			t.Errorf("the AM registered %d times", n)
		}
		if !slices.Contains(f.inputs, "node sim-01:45454 runs 4") {
			t.Errorf("no registration with the AM and its three containers: %q", f.inputs)
		}
	})
}

func TestResyncKeepsUnreportedEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		f.eager = true
		jobs := []trace.Job{{Name: "a", Tasks: []trace.TaskGroup{
			{Count: 2, MemoryMB: 1024, VCores: 1, Duration: 5 * time.Second, After: -1}}}}
		cfg := liveConfig(f, 1, jobs)
		told := false
		cfg.Submitter = submitterFunc(func(ctx context.Context, in input.Input) (input.Reply, error) {
			hb, ok := in.(*input.NodeHeartbeat)
			if ok && !told && len(hb.Statuses) > 0 && hb.Statuses[0].State == yarn.ContainerCompleted {
				told = true
				return &input.NodeHeartbeatReply{Resync: true}, nil // the heartbeat was not executed
			}
			return f.Do(ctx, in)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := Run(ctx, cfg)
		if err != nil || !told {
			t.Fatalf("error %v, resync %v", err, told)
		}
		checkAllRan(t, f, s, jobs)
	})
}

func count(list []string, prefix string) int {
	n := 0
	for _, s := range list {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func TestRunAsksAgainForLostContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		f.eager = true
		jobs := []trace.Job{{Name: "a", Tasks: []trace.TaskGroup{
			{Count: 4, MemoryMB: 1024, VCores: 1, Duration: 20 * time.Second, After: -1}}}}
		cfg := liveConfig(f, 2, jobs)
		var last Progress
		cfg.OnProgress = func(p Progress) {
			last = p
			f.mu.Lock()
			defer f.mu.Unlock()
			a := f.order[0]
			switch p.Elapsed.Round(time.Second) {
			case 5 * time.Second: // ends one container
				for id, c := range a.live {
					if !c.am {
						c.node.kill = append(c.node.kill, id)
						break
					}
				}
			case 10 * time.Second: // ends the AM and all its containers
				a.am.node.kill = append(a.am.node.kill, a.am.id)
			}
		}
		_, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		a := f.order[0]
		if a.final != yarn.FinalSucceeded || a.attempt != 2 || len(a.live) != 0 {
			t.Errorf("ended as %s in attempt %d with %d containers", a.final, a.attempt, len(a.live))
		}
		if last.Completed != 4 || last.Lost != 1 || last.Restarts != 1 || last.Granted != 4+1+4 {
			t.Errorf("progress %+v; want 4 completed, 1 lost, 9 granted", last)
		}
	})
}

func TestRunGivesUpKilledApplications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		jobs := []trace.Job{{Name: "a", Tasks: []trace.TaskGroup{
			{Count: 1, MemoryMB: 1024, VCores: 1, Duration: time.Hour, After: -1}}}}
		cfg := liveConfig(f, 1, jobs)
		var last Progress
		cfg.OnProgress = func(p Progress) {
			if last = p; p.Elapsed.Round(time.Second) == 5*time.Second {
				f.Do(t.Context(), &input.KillApplication{ID: f.order[0].id})
			}
		}
		if _, err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if last.Failed != 1 || last.Running != 0 || last.Elapsed > 10*time.Second {
			t.Errorf("progress %+v", last)
		}
	})
}

func TestUnmanagedApplicationsWaitToBeLetIn(t *testing.T) {
	for name, kill := range map[string]bool{"let in": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, jobs := newFakeRM(), mixedJobs(3)
				f.eager, f.park = true, 25
				cfg := liveConfig(f, 4, jobs)
				cfg.AM = false
				var last Progress
				cfg.OnProgress = func(p Progress) {
					if last = p; kill && p.Elapsed.Round(time.Second) == 5*time.Second {
						for _, a := range f.order {
							f.Do(t.Context(), &input.KillApplication{ID: a.id})
						}
					}
				}
				s, err := Run(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				if kill {
					if last.Failed != 3 || last.Elapsed > 30*time.Second {
						t.Errorf("progress %+v; want all given up soon", last)
					}
					return
				}
				checkAllRan(t, f, s, jobs)
			})
		})
	}
}

func TestUnmanagedAttemptsFollowTheCluster(t *testing.T) {
	f := newFakeRM()
	f.eager = true
	jobs := []trace.Job{{Name: "a", Tasks: []trace.TaskGroup{
		{Count: 2, MemoryMB: 300_000, VCores: 1, Duration: 30 * time.Second, After: -1}}}}
	cfg := simConfig(f, 1, jobs)
	cfg.AM = false
	cfg.ProgressEvery = 10 * time.Second
	cfg.OnProgress = func(p Progress) {
		if p.Virtual >= 10*time.Second && f.order[0].attempt == 1 {
			a := f.order[0] // the attempt expires, and the next one begins
			a.attempt, a.ready, a.next, a.granted, a.completed = 2, false, 0, nil, nil
			clear(a.asks)
			for _, c := range a.live {
				c.node.kill = append(c.node.kill, c.id)
			}
		}
	}
	if _, err := Simulate(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if a := f.order[0]; !a.ended || a.final != yarn.FinalSucceeded || a.attempt != 2 || len(a.live) != 0 {
		t.Errorf("ended %v as %s in attempt %d with %d containers", a.ended, a.final, a.attempt, len(a.live))
	}
}

func TestRunAdoptsForeignApplications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		cfg := liveConfig(f, 1, nil)
		cfg.Jobs = nil
		f.Do(t.Context(), &input.SubmitApplication{Name: "by hand", AM: yarn.NewResource(1024, 1)})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		Run(ctx, cfg)
		if a := f.order[0]; a.final != yarn.FinalSucceeded || len(a.live) != 0 {
			t.Errorf("ended as %s with %d containers", a.final, len(a.live))
		}
	})
}

func TestRunMaxAppsAndLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRM()
		cfg := liveConfig(f, 4, nil)
		cfg.Jobs = FromGenerator(mixed.New(1, 4))
		cfg.MaxApps, cfg.MaxMeasured, cfg.Leave, cfg.Limit = 5, 20, true, 1000
		cfg.Observe = func(context.Context) (Observation, error) {
			made := int64(time.Now().Second())
			return Observation{Reserved: report.Resource{GPUs: 1},
				Outcomes: report.Outcomes{Made: made, Causes: map[string]int64{"ASK_GONE": made}}}, nil
		}
		most := int64(0)
		cfg.OnProgress = func(p Progress) { most = max(most, p.Running) }
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		s, err := Run(ctx, cfg)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if most != 5 || s.Large.Containers+s.Small.Containers != 20 || count(f.inputs, "unregister") != 4 {
			t.Errorf("%d applications at most, %d measured, %d nodes left", most, s.Large.Containers+s.Small.Containers,
				count(f.inputs, "unregister"))
		}
		if r := s.Reservations; r.Made != 30 || r.Causes["ASK_GONE"] != 30 {
			t.Errorf("reservations %+v; want the difference", r)
		}
		for _, a := range f.order {
			if !a.ended {
				t.Errorf("%s left behind", a.id)
			}
		}
	})
}

func TestRunFailsOverAndLosesNothing(t *testing.T) {
	f, jobs := newFakeRM(), mixedJobs(40)
	f.eager, f.repeats = true, true
	var first atomic.Int64
	// The first replica answers for a while, then executes calls without an answer, then is gone.
	dying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := first.Add(1); n > 40 {
			f.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		f.ServeHTTP(w, r)
	}))
	defer dying.Close()
	other := httptest.NewServer(f)
	defer other.Close()
	cfg := simConfig(f, 4, jobs)
	cfg.Submitter, cfg.Addrs, cfg.Speed = nil, []string{dying.URL, strings.TrimPrefix(other.URL, "http://")}, 100
	cfg.Heartbeat, cfg.AMHeartbeat = 20*time.Millisecond, 20*time.Millisecond
	var last Progress
	cfg.OnProgress = func(p Progress) { last = p }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Run(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkAllRan(t, f, s, jobs)
	if last.Submitter.Failovers == 0 || last.Submitter.LongestGap == 0 || last.Submitter.Repeats == 0 {
		t.Errorf("submitter %+v; want a failover", last.Submitter)
	}
}

func TestRunEndsWithoutCluster(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	cfg := simConfig(nil, 1, mixedJobs(1))
	cfg.Submitter, cfg.Addrs = nil, []string{srv.URL}
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v; want the 404", err)
	}
}

func TestObserver(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/reservations" {
			http.NotFound(w, r)
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write([]byte(`{"reservations":[
			{"id":"r1","size":{"memory-mb":4096,"vcores":2,"yarn.io/gpu":8},"free_on_node":{"memory-mb":1024,"vcores":9,"yarn.io/gpu":3}},
			{"id":"r2","size":{"memory-mb":1000},"free_on_node":{"memory-mb":0}}],
			"made":7,"fulfilled":2,"cancelled":{"EXCHANGED":2,"ASK_GONE":1}}`))
	}))
	defer srv.Close()
	got, err := Observer([]string{gone.URL, srv.URL}, "secret", nil)(t.Context())
	want := Observation{Reserved: report.Resource{MemoryMB: 5096, VCores: 2, GPUs: 8},
		ReservedIdle: report.Resource{MemoryMB: 1024, VCores: 2, GPUs: 3},
		Outcomes: report.Outcomes{Made: 7, Fulfilled: 2, Cancelled: 3,
			Causes: map[string]int64{"EXCHANGED": 2, "ASK_GONE": 1}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("error %v, observed %+v; want %+v", err, got, want)
	}
	if _, err := Observer([]string{gone.URL}, "secret", nil)(t.Context()); err == nil {
		t.Error("no error though nobody answers")
	}
	if _, err := Observer([]string{srv.URL}, "", nil)(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"speed":  func(c *Config) { c.Speed = 0 },
		"twice":  func(c *Config) { c.Nodes = append(c.Nodes, c.Nodes[0]) },
		"gpus":   func(c *Config) { c.Kinds = yarn.DefaultKinds() },
		"am":     func(c *Config) { c.AMSize = yarn.Resource{} },
		"beat":   func(c *Config) { c.Heartbeat = 0 },
		"bounds": func(c *Config) { c.MaxApps = 0 },
	} {
		cfg := simConfig(newFakeRM(), 2, nil)
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		if change(&cfg); cfg.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
