// Package replay implements `rmd replay`: it runs a recorded workload on a private cluster of three
// replicas in this process, or on a running cluster.
package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/analysis/rerun"
	"rmd/cmd/rmd/internal/local"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/server"
	"rmd/workload"
	"rmd/workload/mixed"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// Options says what to replay, where, and how fast.
type Options struct {
	Trace *trace.Trace
	Nodes []trace.Node
	// Addrs are the REST addresses of a running cluster. If it is empty, Run starts a private
	// cluster.
	Addrs []string
	Token string      // access token for Addrs
	TLS   *tls.Config // for Addrs; nil: the system's
	// Speed is trace time divided by real time. 0 means virtual time: as fast as the cluster
	// answers.
	Speed float64
	// Without also runs the trace on a cluster without reservations.
	Without    bool
	Queues     []capacity.Property // of the private cluster; nil: queues that the trace names
	Scheduling string
	AM         bool
	Limit      int
	Seed       int64
	Copies     int // copies of the trace for CompareBackfill and CompareNodes; 0 is 1
	number     int // of the copy
	Replicas   int
	Dir        string // for the private cluster's disks; "": a temporary one
	Version    string
	Logger     hclog.Logger
	// Progress is called repeatedly with the name and the progress of a run. It may be nil.
	Progress func(run string, p workload.Progress)
}

// noReservations is the key that turns reservations off.
const noReservations = capacity.Prefix + "reservation.maximum-per-cluster"

// Run replays the trace, and once more without reservations if o.Without is set.
func Run(ctx context.Context, o Options) (with, without *report.Summary, err error) {
	if len(o.Addrs) > 0 {
		if o.Without {
			return nil, nil,
				errors.New("a running cluster is not replayed without reservations; leave --addr out for a private one")
		}
		with, err = o.onCluster(ctx)
		return with, nil, err
	}
	if with, err = o.private(ctx, "with reservations", nil); err != nil || !o.Without {
		return with, nil, err
	}
	without, err = o.private(ctx, "without reservations", []capacity.Property{{Name: noReservations, Value: "0"}})
	return with, without, err
}

// config returns the part of the configuration that is the same for private and running clusters.
func (o Options) config(run string) workload.Config {
	c := workload.DefaultConfig()
	c.Nodes, c.Jobs, c.Limit, c.AM, c.Seed = o.Nodes, workload.FromTrace(o.Trace), o.Limit, o.AM, o.Seed
	c.Logger = o.Logger
	if o.Progress != nil {
		c.OnProgress = func(p workload.Progress) { o.Progress(run, p) }
	}
	return c
}

// onCluster replays on a running cluster.
func (o Options) onCluster(ctx context.Context) (*report.Summary, error) {
	if o.Speed == 0 {
		return nil, errors.New("a running cluster cannot be replayed at --speed max: its clock is real; use a number")
	}
	c, n := o.config(""), &counts{}
	c.Addrs, c.Token, c.TLS, c.Speed, c.Leave = o.Addrs, o.Token, o.TLS, o.Speed, true
	n.count(&c, workload.Observer(o.Addrs, o.Token, &http.Client{Transport: &http.Transport{TLSClientConfig: o.TLS}}))
	s, err := workload.Run(ctx, c)
	return n.into(s), err
}

// private replays on three new replicas in this process.
func (o Options) private(ctx context.Context, run string, more []capacity.Property) (_ *report.Summary, err error) {
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "rmd-replay-*"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	} else {
		dir = filepath.Join(dir, strings.ReplaceAll(run, " ", "-"))
	}
	cfg, err := o.queues(more)
	if err != nil {
		return nil, err
	}
	lost := make(chan error, 1)
	var clock traceClock
	var parts server.Parts
	if o.Speed == 0 {
		parts.Now, parts.Elapsed = clock.now, clock.elapsed
	}
	l, err := local.Start(ctx, local.Options{Parts: parts, Replicas: max(o.Replicas, 1), Dir: dir,
		Queues: cfg.Properties(), Scheduling: o.Scheduling,
		Version: o.Version, Logger: o.Logger, OnFatal: func(id string, code int, err error) {
			select {
			case lost <- fmt.Errorf("replica %s must stop (%d): %w", id, code, err):
			default:
			}
		}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-lost:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	return o.drive(ctx, run, l, &clock, cfg.Kinds)
}

// queues returns the queue configuration of the private cluster with additional keys.
func (o Options) queues(more []capacity.Property) (*capacity.Config, error) {
	queues := o.Queues
	if queues == nil {
		queues = preset.QueuesFor(o.Trace.Queues)
	}
	if o.Speed == 0 {
		// The replica's timers run in real time. A slow machine needs several seconds for a second of
		// the trace, in which each node sends one heartbeat.
		more = append(slices.Clip(more), capacity.Property{Name: "yarn.scheduler.skip.node.multiplier", Value: "1000000"})
	}
	return capacity.Parse(slices.Concat(queues, largest(o.Nodes), more))
}

// cluster returns a cluster without replicas for the trace, with additional keys.
func (o Options) cluster(more []capacity.Property) (*rerun.Cluster, error) {
	queues, err := o.queues(more)
	if err != nil {
		return nil, err
	}
	return rerun.NewCluster(queues.Properties(), o.Scheduling == "eager")
}

// traceClock is the clock of a private cluster at full speed: it shows the time of the trace. The
// scheduler guesses when containers end, so it needs that time, in which they run. The timers of the
// leader use the machine's clock.
type traceClock struct{ since atomic.Int64 }

func (c *traceClock) set(since time.Duration) { c.since.Store(int64(since)) }

func (c *traceClock) elapsed() time.Duration { return time.Duration(c.since.Load()) }

func (c *traceClock) now() time.Time { return time.UnixMilli(rerun.Epoch).Add(c.elapsed()) }

// drive runs the workload on a private cluster, in real or virtual time.
func (o Options) drive(ctx context.Context, run string, l *local.Cluster, clock *traceClock,
	kinds yarn.Kinds) (*report.Summary, error) {
	c := o.config(run)
	c.Kinds = kinds
	n := &counts{}
	if o.Speed > 0 {
		c.Addrs, c.Token, c.Speed = l.Addrs(), l.Token(), o.Speed
		n.count(&c, observer(l.Replicas[0]))
		s, err := workload.Run(ctx, c)
		return n.into(s), err
	}
	r := l.Replicas[max(l.Leader(), 0)]
	c.Submitter, c.Heartbeat = &straight{replica: r, run: run}, time.Second
	c.SampleEvery, c.ProgressEvery = time.Minute, time.Minute
	c.Patience, c.Advance = 60, clock.set
	n.count(&c, observer(r))
	c.Granted = func() uint64 {
		st, _ := r.Machine().Fork()
		return st.Meta.Allocated
	}
	s, err := workload.Simulate(ctx, c)
	return n.into(s), err
}

// straight submits to a replica in this process without HTTP. When it returns a reply, that replica
// has applied the decision.
type straight struct {
	replica *server.Replica
	run     string
	seq     int
}

// Do implements workload.Submitter.
func (s *straight) Do(ctx context.Context, in input.Input) (input.Reply, error) {
	req := input.Request{Input: in}
	if _, ok := in.(*input.SubmitApplication); ok {
		s.seq++
		req.Key = fmt.Sprintf("replay %s/%d", s.run, s.seq)
	}
	reply, _, err := s.replica.Forwarder().Do(ctx, req)
	return reply, err
}

// largest returns keys that allow a container as large as the largest node, whatever the queue
// configuration says.
func largest(nodes []trace.Node) []capacity.Property {
	var memory, vcores, gpus int64 = 1024, 1, 1
	for _, n := range nodes {
		memory, vcores, gpus = max(memory, n.MemoryMB), max(vcores, n.VCores), max(gpus, n.GPUs)
	}
	return []capacity.Property{
		{Name: "yarn.scheduler.maximum-allocation-mb", Value: strconv.FormatInt(memory, 10)},
		{Name: "yarn.scheduler.maximum-allocation-vcores", Value: strconv.FormatInt(vcores, 10)},
		{Name: "yarn.resource-types.yarn.io/gpu.maximum-allocation", Value: strconv.FormatInt(gpus, 10)},
	}
}

// observer returns a function that reads the reservations from a replica in this process.
func observer(r *server.Replica) func(context.Context) (workload.Observation, error) {
	return func(context.Context) (workload.Observation, error) {
		st, _ := r.Machine().Fork()
		return rerun.Observe(st), nil
	}
}

// NodesFor returns the nodes of a replay, and where they come from: the file or number on the
// command line, the trace, a file with the trace's name and -nodes, or four nodes of the demo's
// size.
func NodesFor(named, tracePath string, t *trace.Trace) (nodes []trace.Node, from string, err error) {
	if named != "" {
		if n, err := strconv.Atoi(named); err == nil {
			if n < 1 || n > 100_000 {
				return nil, "", fmt.Errorf("--nodes %s: expected 1 to 100000 nodes, or a file", named)
			}
			return mixed.Nodes(n), "the built-in size: 96 cores, 384 GiB, 8 GPUs", nil
		}
		nodes, err = trace.ReadNodes(named)
		return nodes, named, err
	}
	if len(t.Nodes) > 0 {
		return t.Nodes, "the trace", nil
	}
	beside := strings.TrimSuffix(tracePath, filepath.Ext(tracePath)) + "-nodes.csv"
	if _, err := os.Stat(beside); err == nil {
		nodes, err = trace.ReadNodes(beside)
		return nodes, beside, err
	}
	return mixed.Nodes(4), "the built-in size: 96 cores, 384 GiB, 8 GPUs", nil
}
