package workload

import (
	"context"
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

// Submitter brings an input to the cluster. It repeats what it must by itself: an error is final for this input.
// Package workload/submit has the one over HTTP.
type Submitter interface {
	Do(ctx context.Context, in input.Input) (input.Reply, error)
}

// Config says what is driven, how fast, and what is told about it.
type Config struct {
	Addrs     []string  // of the replicas' REST ports; not used when Submitter is set
	Token     string    // access token of role admin, where the cluster asks for one
	Submitter Submitter // what inputs go through; nil opens one to Addrs (Run only)

	Nodes []trace.Node
	Jobs  iter.Seq[trace.Job] // in order of Submit; nil: nodes only, until the context ends
	Limit int                 // at most so many jobs; 0 is all
	Kinds yarn.Kinds          // the cluster's resource kinds
	Port  uint16              // of the nodes' identities

	Speed       float64       // trace time runs so many times as fast as real time (Run)
	Heartbeat   time.Duration // of nodes: real time in Run, virtual in Simulate
	AMHeartbeat time.Duration // of ApplicationMasters (Run)
	Prompt      bool          // nodes and AMs call at once when a container changes its state (Run)

	AM     bool          // applications have an AM container; else they are unmanaged
	AMSize yarn.Resource // of the AM container
	// Declare has applications declare how long their containers run. The time counts from the allocation, so
	// StartMillis is added for the time until they start.
	Declare     bool
	StartMillis int64

	MaxApps     int // applications alive at one time; further submissions wait, late
	MaxCalls    int // calls under way at one time (Run)
	MaxMeasured int // containers whose waits are kept, the first so many: some 200 bytes each

	// Observe reads reservations from the cluster; nil leaves them out of the summary. Run calls it on a goroutine of
	// its own, one call at a time.
	Observe       func(ctx context.Context) (Observation, error)
	SampleEvery   time.Duration
	OnProgress    func(Progress) // on the loop's goroutine: it must not block
	ProgressEvery time.Duration  // real time in Run, virtual in Simulate

	// Granted gives the number of containers that the cluster has ever allocated. With it Simulate asks an AM's turn
	// only when there is something to tell; nil asks every waiting AM each time.
	Granted func() uint64
	// Advance is told the virtual time that Simulate goes on to, before anything happens then: a cluster whose clock is
	// virtual too needs it.
	Advance func(to time.Duration)
	// Round is called each RoundEvery of virtual time while an application waits, before all else of that time. It says
	// whether it changed something in the cluster.
	Round      func() (changed bool)
	RoundEvery time.Duration
	// StallRounds ends Simulate when so many rounds of heartbeats in a row changed nothing and nothing is to come.
	StallRounds int
	// Patience is after how many rounds that changed nothing Simulate doubles the time between rounds, up to a
	// minute, until something happens. 0 keeps every round: exact where the cluster decides by counting heartbeats.
	Patience int

	Leave  bool  // at the end, kill what still runs and unregister the nodes (Run)
	Seed   int64 // for the report
	Clock  Clock // nil is the system's
	Logger hclog.Logger
}

// Observation is what the cluster says of its reservations. Outcomes are counted since any earlier time: the summary
// takes the difference of the last and the first.
type Observation struct {
	Reserved     report.Resource
	ReservedIdle report.Resource
	Outcomes     report.Outcomes
}

// DefaultConfig is real time with AMs, for a cluster that counts GPUs.
func DefaultConfig() Config {
	return Config{
		Kinds: yarn.Kinds{yarn.MemoryName, yarn.VCoresName, yarn.GPUName}, Port: 45454,
		Speed: 1, Heartbeat: time.Second, AMHeartbeat: time.Second, Prompt: true,
		AM: true, AMSize: yarn.NewResource(1024, 1),
		MaxApps: 10_000, MaxCalls: 1024, MaxMeasured: 500_000,
		SampleEvery: time.Second, ProgressEvery: time.Second, StallRounds: 1000, Seed: 1,
	}
}

// Validate tells which field is out of its bounds.
func (c Config) Validate() error {
	switch {
	case math.IsNaN(c.Speed) || c.Speed < 0.001 || c.Speed > 1e6:
		return fmt.Errorf("workload: speed %v; expected 0.001 to 1000000", c.Speed)
	case c.Heartbeat < time.Millisecond || c.AMHeartbeat < time.Millisecond:
		return fmt.Errorf("workload: heartbeats of %s and %s; expected at least 1ms", c.Heartbeat, c.AMHeartbeat)
	case c.SampleEvery < time.Millisecond || c.ProgressEvery < time.Millisecond:
		return fmt.Errorf("workload: samples each %s, progress each %s; expected at least 1ms", c.SampleEvery, c.ProgressEvery)
	case c.Round != nil && c.RoundEvery < time.Millisecond:
		return fmt.Errorf("workload: rounds each %s; expected at least 1ms", c.RoundEvery)
	case c.MaxApps < 1 || c.MaxCalls < 1 || c.MaxMeasured < 0 || c.Limit < 0 || c.Patience < 0 || c.StallRounds < 1:
		return errors.New("workload: a bound is too low; MaxApps, MaxCalls and StallRounds need at least 1")
	case len(c.Kinds) < 2 || len(c.Kinds) > yarn.MaxKinds:
		return fmt.Errorf("workload: %d resource kinds; expected 2 to %d", len(c.Kinds), yarn.MaxKinds)
	case c.AM && (c.AMSize[yarn.Memory] <= 0 || c.AMSize.Negative()):
		return fmt.Errorf("workload: an AM of %s; expected some memory", c.AMSize)
	}
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		if n.Name == "" || seen[n.Name] {
			return fmt.Errorf("workload: node %q has no name or is named twice", n.Name)
		}
		if n.GPUs > 0 && c.Kinds.Index(yarn.GPUName) < 0 {
			return fmt.Errorf("workload: node %s has GPUs, which the cluster does not count; add %s to its resource types", n.Name, yarn.GPUName)
		}
		seen[n.Name] = true
	}
	return nil
}

// FromTrace gives the jobs of a trace.
func FromTrace(t *trace.Trace) iter.Seq[trace.Job] {
	return func(yield func(trace.Job) bool) {
		for _, j := range t.Jobs {
			if !yield(j) {
				return
			}
		}
	}
}

// FromGenerator gives the endless row of jobs of the built-in workload.
func FromGenerator(g *mixed.Generator) iter.Seq[trace.Job] {
	return func(yield func(trace.Job) bool) {
		for yield(g.Next()) {
		}
	}
}
