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

// small is a quick run against a fake.
func small(f *fakeRM, kind Kind) Config {
	c := DefaultConfig(kind)
	c.Logger, c.Doors = hclog.NewNullLogger(), f.doors()
	c.Nodes, c.NodeContainers = 6, 4
	c.Interval, c.MasterInterval = 4*time.Millisecond, 3*time.Millisecond
	c.Warmup, c.Duration, c.Drain, c.Patience = 20*time.Millisecond, 150*time.Millisecond, 5*time.Second, 10*time.Second
	if kind == Allocations {
		c.Masters, c.Batch = 3, 5
	}
	return c
}

func TestHeartbeatsAreSentAsFastAsAsked(t *testing.T) {
	f := newFake(t, 3, nil)
	c := small(f, Heartbeats)
	c.PIDs = []int{os.Getpid()}
	out, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	per := float64(c.Nodes) / c.Interval.Seconds()
	if h := out.Heartbeats; h.Count < 20 || h.PerSecond > per*1.3 || h.Errors != 0 || h.P50 <= 0 || h.Max < h.P99 || h.P99 < h.P50 {
		t.Errorf("%+v, at most %.0f a second were asked for", h, per)
	}
	if out.Resyncs != 0 || out.Failovers != 0 || out.Stopped || len(out.Processes) != 1 || out.Processes[0].RSSAfter == 0 {
		t.Errorf("%+v", out)
	}
	if n := f.called("unRegisterNodeManager"); n != c.Nodes {
		t.Errorf("%d nodes were taken out, of %d", n, c.Nodes)
	}
}

func TestHeartbeatsBackToBackAreBounded(t *testing.T) {
	f := newFake(t, 1, nil)
	c := small(f, Heartbeats)
	c.Interval, c.Parallel = 0, 2
	out, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if out.Heartbeats.Count < 50 || out.Heartbeats.Errors != 0 {
		t.Errorf("%+v", out.Heartbeats)
	}
}

func TestContainersLiveTheirWholeLifeOnce(t *testing.T) {
	for _, kind := range []Kind{Allocations, Latency} {
		f := newFake(t, 2, nil)
		out, err := Run(t.Context(), small(f, kind))
		if err != nil {
			t.Fatal(err)
		}
		l := out.Containers
		if l.Done < 3 || l.Grant.Count == 0 || l.Told.Count == 0 || l.Life.P50 < l.Grant.P50 || out.Faults.Total() != 0 || out.LastError != "" {
			t.Errorf("%s: %+v, %+v, %s", kind, l, out.Faults, out.LastError)
		}
	}
}

// TestFaultsAreFound breaks each rule once.
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
			f := newFake(t, 1, x.set)
			c := small(f, Allocations)
			c.Drain = 500 * time.Millisecond
			out, err := Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if x.want(out.Faults) == 0 || out.Faults.String() == "" {
				t.Errorf("not found: %+v", out.Faults)
			}
		})
	}
}

func TestNodeRegistersAgainWhenToldTo(t *testing.T) {
	f := newFake(t, 1, func(f *fakeRM) { f.resync = true })
	out, err := Run(t.Context(), small(f, Allocations))
	if err != nil {
		t.Fatal(err)
	}
	if out.Resyncs != 1 || f.called("registerNodeManager") != 7 || out.Faults.Total() != 0 || out.Heartbeats.Errors != 0 {
		t.Errorf("%+v", out)
	}
}

func TestStandbyAndDeadDoorsArePassedOver(t *testing.T) {
	f := newFake(t, 3, func(f *fakeRM) { f.standby = true })
	c := small(f, Allocations)
	c.Duration = 400 * time.Millisecond
	c.OnPhase = func(what string) {
		if strings.HasPrefix(what, "measuring") {
			time.AfterFunc(100*time.Millisecond, func() {
				for _, s := range []interface{ Close() error }{f.fronts[1].tracker, f.fronts[1].scheduler} {
					_ = s.Close()
				}
			})
		}
	}
	out, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if out.Failovers < 4 || out.Faults.Total() != 0 || out.Containers.Done == 0 {
		t.Errorf("failovers %d, %+v, %+v, %s", out.Failovers, out.Faults, out.Containers, out.LastError)
	}
}

func TestStoppedRunTellsWhatWasMeasured(t *testing.T) {
	f := newFake(t, 1, nil)
	c := small(f, Allocations)
	c.Duration = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.OnPhase = func(what string) {
		if strings.HasPrefix(what, "measuring") {
			time.AfterFunc(150*time.Millisecond, stop)
		}
	}
	out, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Stopped || out.Seconds <= 0 || out.Seconds > 60 || out.Heartbeats.Count == 0 || out.Faults.Total() != 0 {
		t.Errorf("%+v", out)
	}
	if f.called("unRegisterNodeManager") != c.Nodes || f.called("finish") < c.Masters {
		t.Errorf("not cleared away: %v", f.calls)
	}
}

func TestRunRefusals(t *testing.T) {
	f := newFake(t, 1, nil)
	c := small(f, Allocations)
	c.Doors.Scheduler = []string{"127.0.0.1:1"}
	if _, err := Run(t.Context(), c); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "scheduler") {
		t.Errorf("%v", err)
	}
	c = small(f, Heartbeats)
	c.PIDs = []int{1 << 30}
	if _, err := Run(t.Context(), c); !errors.Is(err, ErrProcess) {
		t.Errorf("%v", err)
	}
	c = small(f, Allocations)
	c.Queue = "nowhere"
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "unknown queue: nowhere") {
		t.Errorf("%v", err)
	}
	for name, set := range map[string]func(*Config){
		"nodes": func(c *Config) { c.Nodes = 0 }, "ResourceTracker": func(c *Config) { c.Doors.Tracker = nil }, "HOST:PORT": func(c *Config) { c.Doors.Client = []string{"host"} },
		"asks": func(c *Config) { c.Batch = 0 }, "time span": func(c *Config) { c.Duration = 0 }, "kind": func(c *Config) { c.Kind = "" },
	} {
		c := small(f, Allocations)
		set(&c)
		if err := c.Validate(); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(strings.ReplaceAll(name, "ResourceTracker", "resource tracker"))) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
