package hadoop

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// small returns the configuration of a short run against a fake.
func small(f *fakeRM, kind Kind) Config {
	c := DefaultConfig(kind)
	c.Logger, c.Addresses = hclog.NewNullLogger(), f.addresses()
	c.Nodes, c.NodeContainers = 6, 4
	c.Interval, c.MasterInterval = 4*time.Millisecond, 3*time.Millisecond
	c.Warmup, c.Duration, c.Drain, c.Patience = 20*time.Millisecond, 150*time.Millisecond, time.Minute, time.Minute
	if kind == Allocations {
		c.Masters, c.Batch = 3, 5
	}
	return c
}

// tried repeats a run, each against a new fake and four times as long as the previous one, until
// holds accepts the result. How much fits into a short time depends on the machine.
func tried(t *testing.T, run func(longer time.Duration) (*Result, *fakeRM, error),
	holds func(*Result) bool) (*Result, *fakeRM) {
	t.Helper()
	for longer := time.Duration(1); ; longer *= 4 {
		out, f, err := run(longer)
		if err != nil {
			t.Fatal(err)
		}
		if holds(out) || longer >= 64 {
			return out, f
		}
	}
}

func TestHeartbeatsAreSentAsFastAsAsked(t *testing.T) {
	var per float64
	var nodes int
	right := func(out *Result) bool {
		h := out.Heartbeats
		return h.Count >= 20 && h.PerSecond <= per*1.3 && h.Errors == 0 && h.P50 > 0 && h.Max >= h.P99 && h.P99 >= h.P50
	}
	out, f := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
		f := newFake(t, 3, nil)
		c := small(f, Heartbeats)
		c.PIDs, c.Duration = []int{os.Getpid()}, longer*c.Duration
		per, nodes = float64(c.Nodes)/c.Interval.Seconds(), c.Nodes
		out, err := Run(t.Context(), c)
		return out, f, err
	}, right)
	if !right(out) {
		t.Errorf("%+v, at most %.0f a second were asked for", out.Heartbeats, per)
	}
	if out.Resyncs != 0 || out.Failovers != 0 || out.Stopped || len(out.Processes) != 1 || out.Processes[0].RSSAfter == 0 {
		t.Errorf("%d resyncs, %d failovers, stopped %v, processes %+v; want 0, 0, false, one with memory in use",
			out.Resyncs, out.Failovers, out.Stopped, out.Processes)
	}
	if n := f.called("unRegisterNodeManager"); n != nodes {
		t.Errorf("%d nodes were taken out, of %d", n, nodes)
	}
}

// TestNodesShareConnections lets the replica of one of two shared connections refuse. All nodes of
// that connection must continue on another connection.
func TestNodesShareConnections(t *testing.T) {
	right := func(out *Result) bool { return out.Heartbeats.Count >= 20 }
	out, f := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
		f := newFake(t, 2, func(f *fakeRM) { f.standby = true })
		c := small(f, Heartbeats)
		c.Connections, c.Duration = 2, longer*c.Duration
		out, err := Run(t.Context(), c)
		return out, f, err
	}, right)
	// one of the connection, one of the client that first lists the nodes
	if !right(out) || out.Resyncs != 0 || out.Failovers != 2 {
		t.Errorf("%+v, %d failovers", out.Heartbeats, out.Failovers)
	}
	accepted := uint64(0)
	for _, x := range f.fronts {
		accepted += uint64(x.tracker.Stats().Accepted)
	}
	if accepted != 2+2+1 { // check of the ports, connections, and the moved one
		t.Errorf("%d connections were made", accepted)
	}
}

func TestHeartbeatsBackToBackAreBounded(t *testing.T) {
	right := func(out *Result) bool { return out.Heartbeats.Count >= 50 && out.Heartbeats.Errors == 0 }
	out, _ := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
		f := newFake(t, 1, nil)
		c := small(f, Heartbeats)
		c.Interval, c.Parallel, c.Duration = 0, 2, longer*c.Duration
		out, err := Run(t.Context(), c)
		return out, f, err
	}, right)
	if !right(out) {
		t.Errorf("heartbeats back to back: %+v, want a count of at least 50 and no errors", out.Heartbeats)
	}
}

func TestContainersLiveTheirWholeLifeOnce(t *testing.T) {
	for _, kind := range []Kind{Allocations, Latency} {
		enough := func(out *Result) bool {
			l := out.Containers
			return l.Done >= 3 && out.Reports.Count > 0 && out.Reports.Count <= out.Heartbeats.Count && out.Reports.Mean > 0 &&
				l.Grant.Count > 0 && l.Told.Count > 0 && l.Life.P50 >= l.Grant.P50
		}
		out, _ := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
			f := newFake(t, 2, nil)
			c := small(f, kind)
			c.Duration *= longer
			out, err := Run(t.Context(), c)
			if err == nil && (out.Faults.Total() != 0 || out.LastError != "") {
				t.Errorf("%s: faults %+v, last error %q; want none of both", kind, out.Faults, out.LastError)
			}
			return out, f, err
		}, enough)
		if !enough(out) {
			t.Errorf("%s: containers %+v, reports %+v, %d heartbeats; want 3 done, times of grants and completions, "+
				"a life's P50 not below a grant's, reports with a mean, and no more of them than heartbeats",
				kind, *out.Containers, *out.Reports, out.Heartbeats.Count)
		}
	}
}

// TestFaultsAreFound checks that each violation is counted.
func TestFaultsAreFound(t *testing.T) {
	for name, x := range map[string]struct {
		set  func(*fakeRM)
		want func(Faults) int64
	}{
		"granted twice": {func(f *fakeRM) { f.grantTwice = true }, func(x Faults) int64 { return x.GrantedTwice }},
		"told twice":    {func(f *fakeRM) { f.tellTwice = true }, func(x Faults) int64 { return x.ToldTwice }},
		"never told":    {func(f *fakeRM) { f.tellNever = true }, func(x Faults) int64 { return x.NeverTold }},
		"too full":      {func(f *fakeRM) { f.overfill = true }, func(x Faults) int64 { return x.OverCapacity }},
		"not asked":     {func(f *fakeRM) { f.unasked = true }, func(x Faults) int64 { return x.NotAsked }},
		"no token":      {func(f *fakeRM) { f.noToken = true }, func(x Faults) int64 { return x.NoToken }},
		"lost":          {func(f *fakeRM) { f.exit = true }, func(x Faults) int64 { return x.Lost }},
	} {
		t.Run(name, func(t *testing.T) {
			found := func(out *Result) bool { return x.want(out.Faults) > 0 }
			out, _ := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
				f := newFake(t, 1, x.set)
				c := small(f, Allocations)
				c.Duration *= longer
				c.Drain = longer * 500 * time.Millisecond
				out, err := Run(t.Context(), c)
				return out, f, err
			}, found)
			if !found(out) || out.Faults.String() == "" {
				t.Errorf("not found: %+v", out.Faults)
			}
		})
	}
}

func TestNodeRegistersAgainWhenToldTo(t *testing.T) {
	right := func(out *Result) bool {
		return out.Resyncs == 1 && out.Faults.Total() == 0 && out.Heartbeats.Errors == 0
	}
	out, f := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
		f := newFake(t, 1, func(f *fakeRM) { f.resync = true })
		c := small(f, Allocations)
		c.Duration *= longer
		out, err := Run(t.Context(), c)
		return out, f, err
	}, func(out *Result) bool { return out.Resyncs > 0 })
	if !right(out) || f.called("registerNodeManager") != 7 {
		t.Errorf("%d resyncs, faults %+v, %d errors of heartbeats, %d registrations; want 1, none, 0, 7",
			out.Resyncs, out.Faults, out.Heartbeats.Errors, f.called("registerNodeManager"))
	}
}

func TestStandbyAndDeadReplicasArePassedOver(t *testing.T) {
	enough := func(out *Result) bool { return out.Failovers >= 4 && out.Containers.Done > 0 }
	out, _ := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
		f := newFake(t, 3, func(f *fakeRM) { f.standby = true })
		c := small(f, Allocations)
		c.Duration = longer * 400 * time.Millisecond
		c.OnPhase = func(what string) {
			if strings.HasPrefix(what, "measuring") {
				time.AfterFunc(c.Duration/4, func() {
					for _, s := range []interface{ Close() error }{f.fronts[1].tracker, f.fronts[1].scheduler} {
						_ = s.Close()
					}
				})
			}
		}
		out, err := Run(t.Context(), c)
		if err == nil && out.Faults.Total() != 0 {
			t.Errorf("faults %+v, want none; last error %q", out.Faults, out.LastError)
		}
		return out, f, err
	}, enough)
	if !enough(out) {
		t.Errorf("failovers %d, %+v, %s", out.Failovers, out.Containers, out.LastError)
	}
}

func TestStoppedRunTellsWhatWasMeasured(t *testing.T) {
	var c Config
	out, f := tried(t, func(longer time.Duration) (*Result, *fakeRM, error) {
		f := newFake(t, 1, nil)
		c = small(f, Allocations)
		c.Duration = time.Hour
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		c.OnPhase = func(what string) {
			if strings.HasPrefix(what, "measuring") {
				time.AfterFunc(longer*150*time.Millisecond, stop)
			}
		}
		out, err := Run(ctx, c)
		return out, f, err
	}, func(out *Result) bool { return out.Heartbeats.Count > 0 })
	if !out.Stopped || out.Seconds <= 0 || out.Seconds > 600 || out.Heartbeats.Count == 0 || out.Faults.Total() != 0 {
		t.Errorf("stopped %v after %v s, %d heartbeats, faults %+v; want true, up to 600 s, some, none",
			out.Stopped, out.Seconds, out.Heartbeats.Count, out.Faults)
	}
	if f.called("unRegisterNodeManager") != c.Nodes || f.called("finish") < c.Masters {
		t.Errorf("not cleared away: %v", f.calls)
	}
}

func TestRunRefusals(t *testing.T) {
	f := newFake(t, 1, nil)
	c := small(f, Allocations)
	c.Addresses.Scheduler = []string{"127.0.0.1:1"}
	if _, err := Run(t.Context(), c); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "scheduler") {
		t.Errorf("Run with a closed scheduler port: %v, want %v and the word scheduler", err, ErrUnreachable)
	}
	c = small(f, Heartbeats)
	c.PIDs = []int{1 << 30}
	if _, err := Run(t.Context(), c); !errors.Is(err, ErrProcess) {
		t.Errorf("Run with the PID of no process: %v, want %v", err, ErrProcess)
	}
	c = small(f, Allocations)
	c.Queue = "nowhere"
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "unknown queue: nowhere") {
		t.Errorf("Run with queue nowhere: %v, want an error with \"unknown queue: nowhere\"", err)
	}
	for name, set := range map[string]func(*Config){
		"nodes": func(c *Config) { c.Nodes = 0 }, "ResourceTracker": func(c *Config) {
			c.Addresses.Tracker = nil
		}, "HOST:PORT": func(c *Config) {
			c.Addresses.Client = []string{"host"}
		},
		"asks": func(c *Config) { c.Batch = 0 }, "time span": func(c *Config) { c.Duration = 0 },
		"kind": func(c *Config) { c.Kind = "" },
	} {
		c := small(f, Allocations)
		set(&c)
		if err := c.Validate(); err == nil || !strings.Contains(strings.ToLower(err.Error()),
			strings.ToLower(strings.ReplaceAll(name, "ResourceTracker", "resource tracker"))) {
			t.Errorf("Validate of a bad value of %s: %v, want an error that names it", name, err)
		}
	}
}
