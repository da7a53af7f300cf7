package hadoop

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/hadoop/ipc"
)

// Kind is the kind of a measurement.
type Kind string

// The kinds.
const (
	// Heartbeats measures heartbeats of idle nodes.
	Heartbeats Kind = "heartbeat"
	// Allocations measures the whole life of containers.
	Allocations Kind = "allocate"
	// Latency measures one ask at a time on an idle cluster.
	Latency Kind = "latency"
)

// Addresses are the ports of all replicas, as host:port.
type Addresses struct{ Tracker, Scheduler, Client []string }

// Config configures a load.
type Config struct {
	Kind      Kind
	Addresses Addresses
	// User submits the applications, and NodeUser runs the nodes; "" means the same user.
	User, NodeUser string
	// Caller returns a user with the credentials that the ports demand. nil: the name is enough.
	Caller func(user string) ipc.Target
	// Protection is the quality of protection of connections with a ticket or token. 0 means
	// ipc.Authentication.
	Protection ipc.Protection
	Queue      string

	Nodes, Masters int
	// Connections is the number of connections that all nodes share. 0: one per node, as with real
	// NodeManagers.
	Connections int
	// NodePort is the port in the nodes' ids. Simultaneous runs need different ports.
	NodePort int
	// NodeContainers is the number of containers that fit on a node.
	NodeContainers int
	// MemoryMB and VCores are the size of a container.
	MemoryMB, VCores int64
	// Batch is the number of containers of one ask, Outstanding the number of asks that a master
	// has at the same time.
	Batch, Outstanding int

	// Interval is the time between two heartbeats of a node. 0: no pause.
	Interval time.Duration
	// MasterInterval is the time between two calls of a master. 0: no pause.
	MasterInterval time.Duration
	// Parallel limits the heartbeats in flight if Interval is 0, and the calls of masters in flight
	// if MasterInterval is 0. 0: no limit.
	Parallel int
	// Run is the run time of a container, at least until its node's next heartbeat.
	Run time.Duration

	// Warmup is the time before the measurement and Duration that of the measurement. Drain limits
	// the wait for the ends of all containers after it.
	Warmup, Duration, Drain time.Duration
	// Patience limits how long calls for setup and cleanup are repeated.
	Patience time.Duration

	// PIDs are processes whose CPU time and memory are measured.
	PIDs []int
	// OnPhase is called at the beginning of each phase. It may be nil.
	OnPhase func(what string)
	Logger  hclog.Logger
}

// DefaultConfig returns the defaults for a kind. The caller sets addresses and logger.
func DefaultConfig(kind Kind) Config {
	c := Config{
		Kind: kind, User: "bench", Queue: "default", Nodes: 1000, NodePort: 45454, NodeContainers: 100,
		MemoryMB: 1024, VCores: 1, Batch: 100, Outstanding: 2,
		Interval: time.Second, Warmup: 2 * time.Second, Duration: 10 * time.Second, Drain: 30 * time.Second,
		Patience: 30 * time.Second,
	}
	switch kind {
	case Allocations:
		c.Masters, c.Interval, c.MasterInterval = 50, 500*time.Millisecond, 100*time.Millisecond
	case Latency:
		c.Nodes, c.Masters, c.Batch, c.Outstanding = 10, 1, 1, 1
		c.MasterInterval, c.Duration = time.Second, 30*time.Second
	}
	return c
}

// nodesMax is the number of addresses in 198.18.0.0/15, the network for benchmarks.
const nodesMax = 1 << 17

// Validate returns an error with all faults of the configuration.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Kind != Heartbeats && c.Kind != Allocations && c.Kind != Latency, "kind %q is none", c.Kind)
	bad(c.Logger == nil, "logger is missing")
	bad(c.User == "", "user is missing")
	bad(c.Nodes < 1 || c.Nodes > nodesMax, "%d nodes are not 1 to %d", c.Nodes, nodesMax)
	bad(c.Connections < 0, "%d connections are too few", c.Connections)
	bad(c.NodePort < 1 || c.NodePort > 65535, "port %d of the nodes is none", c.NodePort)
	bad(c.NodeContainers < 1 || c.NodeContainers > 10_000, "%d containers on a node are not 1 to 10000", c.NodeContainers)
	bad(c.MemoryMB < 1 || c.VCores < 1 || c.MemoryMB > 1<<20 || c.VCores > 1<<10,
		"a container of %d MB and %d vcores is none", c.MemoryMB, c.VCores)
	bad(c.Interval < 0 || c.MasterInterval < 0 || c.Run < 0 || c.Warmup < 0, "a time span is negative")
	bad(c.Duration <= 0 || c.Drain <= 0 || c.Patience <= 0, "a time span must be positive")
	bad(c.Parallel < 0, "%d calls under way are too few", c.Parallel)
	if c.Kind != Heartbeats {
		bad(c.Masters < 1 || c.Masters > 100_000, "%d masters are not 1 to 100000", c.Masters)
		bad(c.Batch < 1 || c.Batch > 1_000_000 || c.Outstanding < 1 || c.Outstanding > 1000,
			"%d asks of %d containers are out of bounds", c.Outstanding, c.Batch)
		errs = append(errs, addresses("scheduler", c.Addresses.Scheduler), addresses("client", c.Addresses.Client))
	}
	return errors.Join(append(errs, addresses("resource tracker", c.Addresses.Tracker))...)
}

func addresses(of string, list []string) error {
	if len(list) == 0 {
		return fmt.Errorf("no address of a %s", of)
	}
	for _, a := range list {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return fmt.Errorf("%q, address of a %s, is not HOST:PORT", a, of)
		}
	}
	return nil
}
