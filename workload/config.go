package workload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/scheduler/input"
	"rmd/workload/mixed"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// Submitter sends an input to the cluster. It repeats the input itself if that is necessary. An
// error is final for the input. Package workload/submit has a Submitter for HTTP.
type Submitter interface {
	Do(ctx context.Context, in input.Input) (input.Reply, error)
}

// Config configures a workload.
type Config struct {
	Addrs     []string    // REST addresses of replicas; not used if Submitter is set
	Token     string      // access token with role admin, if the cluster requires one
	TLS       *tls.Config // for https addresses; nil: the system's
	Submitter Submitter   // nil: Run creates one for Addrs

	Nodes []trace.Node
	Jobs  iter.Seq[trace.Job] // in order of Submit; nil: only nodes, until the context ends
	Limit int                 // maximum number of jobs; 0: all
	Kinds yarn.Kinds          // the cluster's resource kinds
	Port  uint16              // port in the nodes' ids

	Speed       float64       // trace time divided by real time (Run)
	Heartbeat   time.Duration // of nodes: real time in Run, virtual in Simulate
	AMHeartbeat time.Duration // of ApplicationMasters (Run)
	// Phases are the times after the beginning of an interval at which the nodes send heartbeats, in
	// the order of Nodes (Simulate). nil: all nodes send at its beginning, in this order.
	Phases []time.Duration
	Prompt bool // nodes and AMs call immediately when a container changes its state (Run)

	AM     bool          // applications have an AM container; otherwise they are unmanaged
	AMSize yarn.Resource // of the AM container
	// Declare makes applications declare the lifetimes of their containers. A lifetime begins at
	// the allocation, so StartMillis is added for the time until the start.
	Declare     bool
	StartMillis int64

	MaxApps     int // maximum number of live applications; further submissions are delayed
	MaxCalls    int // maximum number of calls in flight (Run)
	MaxMeasured int // number of containers whose waits are recorded, about 200 bytes each

	// Observe reads reservations from the cluster. Without it, the summary has no reservations. Run
	// calls it on a separate goroutine, one call at a time.
	Observe       func(ctx context.Context) (Observation, error)
	SampleEvery   time.Duration
	OnProgress    func(Progress) // called on the loop's goroutine; must not block
	ProgressEvery time.Duration  // real time in Run, virtual in Simulate

	// Granted returns the number of containers that the cluster has ever allocated. With it,
	// Simulate lets AMs call only if there are containers for them. Without it, every waiting AM
	// calls each time.
	Granted func() uint64
	// AskAfter returns how long an application waits before it asks for the containers of a group that it
	// could ask for at a time since the start. Applications and groups are numbered from 1 and 0 in
	// their order. nil: it does not wait.
	AskAfter func(app, group int, at time.Duration) time.Duration
	// Advance is called before Simulate moves its virtual time to to. A cluster with a virtual
	// clock needs it.
	Advance func(to time.Duration)
	// Round is called at every multiple of RoundEvery of virtual time while an application waits,
	// before anything else at that time. It reports whether it changed the cluster.
	Round      func() (changed bool)
	RoundEvery time.Duration
	// StallRounds ends Simulate after so many rounds of heartbeats in a row that changed nothing,
	// if no timer is pending.
	StallRounds int
	// Patience is the number of rounds without a change after which Simulate doubles the time
	// between rounds, up to one minute, until something changes. With 0 it never does. That is
	// exact for a cluster that decides by counting heartbeats.
	Patience int

	Control *Control // nil: nobody changes the run (Run)

	Leave  bool  // at the end, kill running applications and unregister the nodes (Run)
	Seed   int64 // for the report
	Clock  Clock // nil: the system's
	Logger hclog.Logger
}

// Observation is the cluster's view of its reservations. Outcomes may be counted from any earlier
// time, because the summary uses the difference between the last and the first Observation.
type Observation struct {
	Reserved     report.Resource
	ReservedIdle report.Resource
	Outcomes     report.Outcomes
}

// DefaultConfig returns the configuration for real time with AMs, for a cluster that counts GPUs.
func DefaultConfig() Config {
	return Config{
		Kinds: yarn.Kinds{yarn.MemoryName, yarn.VCoresName, yarn.GPUName}, Port: 45454,
		Speed: 1, Heartbeat: time.Second, AMHeartbeat: time.Second, Prompt: true,
		AM: true, AMSize: yarn.NewResource(1024, 1),
		MaxApps: 10_000, MaxCalls: 1024, MaxMeasured: 500_000,
		SampleEvery: time.Second, ProgressEvery: time.Second, StallRounds: 1000, Seed: 1,
	}
}

// Validate returns an error if a field is out of bounds.
func (c Config) Validate() error {
	switch {
	case math.IsNaN(c.Speed) || c.Speed < 0.001 || c.Speed > 1e6:
		return fmt.Errorf("workload: speed %v; expected 0.001 to 1000000", c.Speed)
	case c.Heartbeat < time.Millisecond || c.AMHeartbeat < time.Millisecond:
		return fmt.Errorf("workload: heartbeats of %s and %s; expected at least 1ms", c.Heartbeat, c.AMHeartbeat)
	case c.SampleEvery < time.Millisecond || c.ProgressEvery < time.Millisecond:
		return fmt.Errorf("workload: samples each %s, progress each %s; expected at least 1ms", c.SampleEvery,
			c.ProgressEvery)
	case c.Round != nil && c.RoundEvery < time.Millisecond:
		return fmt.Errorf("workload: rounds each %s; expected at least 1ms", c.RoundEvery)
	case c.MaxApps < 1 || c.MaxCalls < 1 || c.MaxMeasured < 0 || c.Limit < 0 || c.Patience < 0 || c.StallRounds < 1:
		return errors.New("workload: a bound is too low; MaxApps, MaxCalls and StallRounds need at least 1")
	case len(c.Kinds) < 2 || len(c.Kinds) > yarn.MaxKinds:
		return fmt.Errorf("workload: %d resource kinds; expected 2 to %d", len(c.Kinds), yarn.MaxKinds)
	case c.AM && (c.AMSize[yarn.Memory] <= 0 || c.AMSize.Negative()):
		return fmt.Errorf("workload: an AM of %s; expected some memory", c.AMSize)
	}
	if c.Phases != nil && len(c.Phases) != len(c.Nodes) {
		return fmt.Errorf("workload: %d phases for %d nodes; expected one for each", len(c.Phases), len(c.Nodes))
	}
	for _, p := range c.Phases {
		if p < 0 || p >= c.Heartbeat {
			return fmt.Errorf("workload: a phase of %s; expected 0 to less than the interval, %s", p, c.Heartbeat)
		}
	}
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		if n.Name == "" || seen[n.Name] {
			return fmt.Errorf("workload: node %q has no name or is named twice", n.Name)
		}
		if n.GPUs > 0 && c.Kinds.Index(yarn.GPUName) < 0 {
			return fmt.Errorf("workload: node %s has GPUs, which the cluster does not count; add %s to its resource types",
				n.Name, yarn.GPUName)
		}
		seen[n.Name] = true
	}
	return nil
}

// FromTrace returns the jobs of a trace.
func FromTrace(t *trace.Trace) iter.Seq[trace.Job] {
	return func(yield func(trace.Job) bool) {
		for _, j := range t.Jobs {
			if !yield(j) {
				return
			}
		}
	}
}

// FromGenerator returns the endless sequence of jobs of the built-in workload.
func FromGenerator(g *mixed.Generator) iter.Seq[trace.Job] {
	return func(yield func(trace.Job) bool) {
		for yield(g.Next()) {
		}
	}
}
