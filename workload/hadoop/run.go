package hadoop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// Errors of a run.
var (
	// ErrUnreachable means that no replica takes connections.
	ErrUnreachable = errors.New("no replica's port can be reached")
	// ErrTaken means that the cluster runs nodes of the load's names already.
	ErrTaken = errors.New("the cluster runs nodes of these names already")
	// ErrProcess means that a process cannot be looked at.
	ErrProcess = errors.New("process cannot be looked at")
)

// How many nodes and masters are set up or taken away at one time.
const (
	nodesAtOnce   = 64
	mastersAtOnce = 16
)

// run is one run.
type run struct {
	cfg    Config
	sizes  *sizes
	client *ipc.Client
	epoch  time.Time
	ctx    context.Context // ends when the run is over, not when it is stopped
	end    context.CancelFunc

	counters
	measured
	draining atomic.Bool

	trunks  []*trunk
	all     []*node
	byID    map[string]*node
	ams     []*master
	nodes   *lane
	masters *lane

	mu     sync.Mutex
	last   error
	fault  error // what makes the run meaningless
	broken chan struct{}

	astir bool // calls were under way still when the lanes were closed
}

// Run loads a cluster and tells what was measured. When the context ends in the
// measured span, the result is of the time until then.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	before, err := look(cfg.PIDs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProcess, err)
	}
	if err := reach(ctx, cfg); err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, epoch: time.Now(), byID: map[string]*node{}, broken: make(chan struct{})}
	if r.sizes, err = newSizes(&cfg); err != nil {
		return nil, err
	}
	k := ipc.DefaultClientConfig()
	k.Logger = cfg.Logger
	if r.client, err = ipc.OpenClient(k); err != nil {
		return nil, err
	}
	r.ctx, r.end = context.WithCancel(context.Background())
	defer func() { r.end(); _ = r.client.Close() }()
	defer r.leave()
	if err := r.setUp(ctx); err != nil {
		return nil, err
	}
	return r.measure(ctx, before)
}

// reach dials each port once, so that a wrong address is told at once.
func reach(ctx context.Context, cfg Config) error {
	ports := map[string][]string{"resource tracker": cfg.Addresses.Tracker}
	if cfg.Kind != Heartbeats {
		ports["scheduler"], ports["client"] = cfg.Addresses.Scheduler, cfg.Addresses.Client
	}
	for _, name := range []string{"resource tracker", "scheduler", "client"} {
		var errs []error
		for _, a := range ports[name] {
			d := net.Dialer{Timeout: 3 * time.Second}
			c, err := d.DialContext(ctx, "tcp", a)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			_ = c.Close()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case len(errs) == len(ports[name]) && len(errs) > 0:
			return fmt.Errorf("%w at its %s port: %w", ErrUnreachable, name, errors.Join(errs...))
		case len(errs) > 0:
			cfg.Logger.Warn("replicas' ports cannot be reached", "port", name, "error", errors.Join(errs...))
		}
	}
	return nil
}

func (r *run) now() int64 { return int64(time.Since(r.epoch)) + 1 }

func (r *run) nodeMB() int64 { return r.cfg.MemoryMB * int64(r.cfg.NodeContainers) }

// nodeAt finds a node by its id.
func (r *run) nodeAt(host []byte, port uint64) *node {
	if port != uint64(r.cfg.NodePort) {
		return nil
	}
	return r.byID[string(host)]
}

// note keeps the last error for the result.
func (r *run) note(err error) {
	if r.ctx.Err() != nil {
		return
	}
	r.cfg.Logger.Debug("call", "error", err)
	r.mu.Lock()
	r.last = err
	r.mu.Unlock()
}

func (r *run) lastError() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return ""
	}
	return r.last.Error()
}

// fail ends the run.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = err
		close(r.broken)
	}
}

func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// pause waits on a goroutine of a caller's own.
func (r *run) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.ctx.Done():
	}
}

func (r *run) phase(format string, args ...any) {
	if r.cfg.OnPhase != nil {
		r.cfg.OnPhase(fmt.Sprintf(format, args...))
	}
}

// setUp registers nodes, then masters.
func (r *run) setUp(ctx context.Context) error {
	r.phase("registering %d nodes", r.cfg.Nodes)
	r.trunks = newTrunks(r)
	for i := range r.cfg.Nodes {
		n := newNode(r, i)
		r.all = append(r.all, n)
		r.byID[n.id.Host] = n
	}
	if err := r.taken(ctx); err != nil {
		return err
	}
	err := each(ctx, r.all, nodesAtOnce, func(n *node) error {
		ctx, cancel := context.WithTimeout(ctx, r.cfg.Patience)
		defer cancel()
		return n.register(ctx)
	})
	if err != nil || r.cfg.Kind == Heartbeats {
		return err
	}
	r.phase("registering %d masters", r.cfg.Masters)
	for i := range r.cfg.Masters {
		r.ams = append(r.ams, newMaster(r, i))
	}
	return each(ctx, r.ams, mastersAtOnce, func(m *master) error {
		ctx, cancel := context.WithTimeout(ctx, r.cfg.Patience)
		defer cancel()
		cl := newLink(r, r.cfg.Addresses.Client, m.number, ipc.Target{Protocol: clientProtocol, User: r.cfg.User})
		defer cl.close()
		if err := m.submit(ctx, &cl); err != nil {
			return err
		}
		return m.register(ctx)
	})
}

// taken refuses to take over a node that the cluster runs: registering it again would
// end what runs on it. Without the client's port nobody can be asked.
func (r *run) taken(ctx context.Context) error {
	if len(r.cfg.Addresses.Client) == 0 {
		return nil
	}
	cl := newLink(r, r.cfg.Addresses.Client, 0, ipc.Target{Protocol: clientProtocol, User: r.cfg.User})
	defer cl.close()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Patience)
	defer cancel()
	reply := &proto.GetClusterNodesResponseProto{}
	if err := cl.call(ctx, "getClusterNodes", &proto.GetClusterNodesRequestProto{NodeStates: []proto.NodeStateProto{proto.NodeStateProto_NS_NEW,
		proto.NodeStateProto_NS_RUNNING, proto.NodeStateProto_NS_UNHEALTHY, proto.NodeStateProto_NS_DECOMMISSIONING}}, reply); err != nil {
		return fmt.Errorf("list the cluster's nodes: %w", err)
	}
	for _, n := range reply.GetNodeReports() {
		if r.nodeAt([]byte(n.GetNodeId().GetHost()), uint64(n.GetNodeId().GetPort())) != nil {
			r.all = nil // they are not this run's to take away
			return fmt.Errorf("%w: %s:%d is one", ErrTaken, n.GetNodeId().GetHost(), n.GetNodeId().GetPort())
		}
	}
	return nil
}

// each does something with all of a list, so many at one time, until the first
// error.
func each[T any](ctx context.Context, list []T, atOnce int, do func(T) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(atOnce, len(list)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := do(list[i]); err != nil {
					stop(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// measure lets everybody go, and gives the figures of the measured span.
func (r *run) measure(ctx context.Context, before usage) (*Result, error) {
	stop := r.start()
	defer stop()
	r.phase("warming up for %s", r.cfg.Warmup)
	r.wait(ctx, r.cfg.Warmup)
	r.phase("measuring for %s", r.cfg.Duration)
	from, err := look(r.cfg.PIDs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProcess, err)
	}
	a := r.sample()
	r.measuring.Store(true)
	cut := make(chan struct{})
	points := r.watch(cut)
	whole := r.wait(ctx, r.cfg.Duration)
	r.measuring.Store(false)
	close(cut)
	b := r.sample()
	to, err := look(r.cfg.PIDs)
	if err != nil {
		return nil, fmt.Errorf("%w: a process ended in the measured span: %w", ErrProcess, err)
	}
	if err := r.failure(); err != nil {
		return nil, err
	}
	out := r.result(a, b)
	out.Began, out.Points = a.at, <-points
	out.usage(before, from, to)
	if whole && r.cfg.Kind != Heartbeats {
		r.drain(ctx)
	}
	out.Stopped, out.Faults = !whole, r.faults()
	return out, nil
}

// start opens the lanes; what it returns closes them.
func (r *run) start() (stop func()) {
	members := func(n int, at func(int) member) []member {
		out := make([]member, n)
		for i := range out {
			out[i] = at(i)
		}
		return out
	}
	r.nodes = newLane(members(len(r.all), func(i int) member { return r.all[i] }), r.cfg.Interval, r.cfg.Parallel, func() { r.late.Add(1) })
	r.masters = newLane(members(len(r.ams), func(i int) member { return r.ams[i] }), r.cfg.MasterInterval, r.cfg.Parallel, func() {})
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.nodes.run(ctx) })
	if len(r.ams) > 0 {
		wg.Go(func() { r.masters.run(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
		ctx, cancel := context.WithTimeout(r.ctx, 5*time.Second)
		defer cancel()
		r.astir = !r.masters.stop(ctx) || !r.nodes.stop(ctx)
	}
}

// wait lets time pass; false when the context ended, or the run failed.
func (r *run) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-r.broken:
	}
	return false
}

// drain asks for nothing more and waits for the ends of all containers. What is
// not told by then is missing.
func (r *run) drain(ctx context.Context) {
	r.phase("waiting for the ends of all containers")
	r.draining.Store(true)
	until := time.Now().Add(r.cfg.Drain)
	for {
		done, missing := true, 0
		for _, m := range r.ams {
			d, live := m.drained()
			done = done && d
			missing += live
		}
		switch {
		case done:
			return
		case time.Now().After(until):
			r.missing.Add(int64(missing))
			return
		case !r.wait(ctx, 20*time.Millisecond):
			return // stopped: what is not told may still come
		}
	}
}

// leave takes everything out of the cluster again, as far as it answers.
func (r *run) leave() {
	if r.astir {
		return // their connections are in use
	}
	r.phase("clearing away")
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Patience)
	defer cancel()
	_ = each(ctx, r.ams, mastersAtOnce, func(m *master) error {
		if m.link.target.Token == nil {
			return nil
		}
		if err := m.leave(ctx); err != nil {
			r.cfg.Logger.Warn("application not ended", "application", strconv.Itoa(int(m.app.GetId())), "error", err)
		}
		return nil
	})
	_ = each(ctx, r.all, nodesAtOnce, func(n *node) error {
		if n.link.conn == nil {
			return nil
		}
		if err := n.leave(ctx); err != nil {
			r.cfg.Logger.Warn("node not unregistered", "node", n.id, "error", err)
		}
		return nil
	})
}
