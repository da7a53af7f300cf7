package hadoop

import (
	"cmp"
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
	// ErrUnreachable means that no replica accepts connections.
	ErrUnreachable = errors.New("no replica's port can be reached")
	// ErrTaken means that the cluster already has nodes with the names of this load.
	ErrTaken = errors.New("the cluster runs nodes of these names already")
	// ErrProcess means that the use of a process cannot be read.
	ErrProcess = errors.New("process cannot be looked at")
)

// Numbers of nodes and masters that are set up or removed at the same time.
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
	ctx    context.Context // ends after the run, not when the run is stopped
	end    context.CancelFunc

	counters
	measured
	draining atomic.Bool

	shared  []*sharedConn
	all     []*node
	byID    map[string]*node
	ams     []*master
	nodes   *pacer
	masters *pacer

	mu     sync.Mutex
	last   error
	fault  error // an error that makes the result meaningless
	broken chan struct{}

	astir bool // calls were still in flight when the pacers were closed
}

// Run loads a cluster and returns the measured result. If the context ends during the measurement,
// the result is for the time until then.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	before, err := readUsage(cfg.PIDs)
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
	k.Logger, k.Protection = cfg.Logger, cmp.Or(cfg.Protection, k.Protection)
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

// reach dials each port once, so that a wrong address is reported immediately.
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

// nodeAt returns the node with an id, or nil.
func (r *run) nodeAt(host []byte, port uint64) *node {
	if port != uint64(r.cfg.NodePort) {
		return nil
	}
	return r.byID[string(host)]
}

// note records the last error for the result.
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

// pause sleeps for d or until the run ends.
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

// setUp registers the nodes, then the masters.
func (r *run) setUp(ctx context.Context) error {
	r.phase("registering %d nodes", r.cfg.Nodes)
	r.shared = newSharedConns(r)
	for i := range r.cfg.Nodes {
		n := newNode(r, i)
		r.all = append(r.all, n)
		r.byID[n.id.Host] = n
	}
	if err := r.checkUnused(ctx); err != nil {
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
		cl := clientConn(r, m.number)
		defer cl.close()
		if err := m.submit(ctx, &cl); err != nil {
			return err
		}
		return m.register(ctx)
	})
}

// checkUnused returns an error if the cluster already runs a node of this load, because registering
// it again would end its containers. Without the client port it cannot check.
func (r *run) checkUnused(ctx context.Context) error {
	if len(r.cfg.Addresses.Client) == 0 {
		return nil
	}
	cl := clientConn(r, 0)
	defer cl.close()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Patience)
	defer cancel()
	reply := &proto.GetClusterNodesResponseProto{}
	if err := cl.call(ctx, "getClusterNodes",
		&proto.GetClusterNodesRequestProto{NodeStates: []proto.NodeStateProto{proto.NodeStateProto_NS_NEW,
			proto.NodeStateProto_NS_RUNNING, proto.NodeStateProto_NS_UNHEALTHY, proto.NodeStateProto_NS_DECOMMISSIONING}},
		reply); err != nil {
		return fmt.Errorf("list the cluster's nodes: %w", err)
	}
	for _, n := range reply.GetNodeReports() {
		if r.nodeAt([]byte(n.GetNodeId().GetHost()), uint64(n.GetNodeId().GetPort())) != nil {
			r.all = nil // leave must not unregister them
			return fmt.Errorf("%w: %s:%d is one", ErrTaken, n.GetNodeId().GetHost(), n.GetNodeId().GetPort())
		}
	}
	return nil
}

// each calls do for all elements of a list, atOnce at the same time, until the first error.
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

// measure runs the load and returns the result of the measurement.
func (r *run) measure(ctx context.Context, before usage) (*Result, error) {
	stop := r.start()
	defer stop()
	r.phase("warming up for %s", r.cfg.Warmup)
	r.wait(ctx, r.cfg.Warmup)
	r.phase("measuring for %s", r.cfg.Duration)
	from, err := readUsage(r.cfg.PIDs)
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
	to, err := readUsage(r.cfg.PIDs)
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

// start starts the pacers. The function that it returns stops them.
func (r *run) start() (stop func()) {
	members := func(n int, at func(int) member) []member {
		out := make([]member, n)
		for i := range out {
			out[i] = at(i)
		}
		return out
	}
	r.nodes = newPacer(members(len(r.all), func(i int) member { return r.all[i] }), r.cfg.Interval, r.cfg.Parallel,
		func() { r.late.Add(1) })
	r.masters = newPacer(members(len(r.ams), func(i int) member { return r.ams[i] }), r.cfg.MasterInterval,
		r.cfg.Parallel, func() {})
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
		masters, nodes := r.masters.stop(ctx), r.nodes.stop(ctx)
		r.astir = !masters || !nodes
	}
}

// wait waits for d. It returns false if the context ends or the run fails first.
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

// drain sends no more asks and waits for the ends of all containers. Containers that are not
// reported as completed in time count as missing.
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
			return // stopped: the missing reports might still arrive
		}
	}
}

// leave removes applications and nodes from the cluster, if it answers.
func (r *run) leave() {
	if r.astir {
		return // the connections are in use
	}
	r.phase("clearing away")
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Patience)
	defer cancel()
	_ = each(ctx, r.ams, mastersAtOnce, func(m *master) error {
		if m.replica.target.Token == nil {
			return nil
		}
		if err := m.leave(ctx); err != nil {
			r.cfg.Logger.Warn("application not ended", "application", strconv.Itoa(int(m.app.GetId())), "error", err)
		}
		return nil
	})
	_ = each(ctx, r.all, nodesAtOnce, func(n *node) error {
		if n.replica.conn == nil {
			return nil
		}
		if err := n.leave(ctx); err != nil {
			r.cfg.Logger.Warn("node not unregistered", "node", n.id, "error", err)
		}
		return nil
	})
}
