package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/workload/submit"
	"rmd/yarn"
)

// demand is the size of the load.
type demand struct {
	nodes, leaves, apps, perNode int
	beat                         time.Duration // between two calls of a node, and of an AM
	runs                         time.Duration // run time of a container, at least until its node's next heartbeat
}

// crowd is the load for measuring decisions per second: a thousand nodes, a hundred leaf queues, a
// thousand applications.
var crowd = demand{nodes: 1000, leaves: 100, apps: 1000, perNode: 64, beat: 100 * time.Millisecond}

// endless is a load through the public API that never ends. AMs always ask for containers, and
// nodes complete containers after their AM knows of them. A decision is an allocated or completed
// container. It counts when its reply has arrived.
type endless struct {
	demand
	t      testing.TB
	client *submit.Client
	nodes  map[yarn.NodeID]*endlessNode
	apps   []yarn.AttemptID
	stop   context.CancelFunc
	wg     sync.WaitGroup

	granted, completed, late atomic.Int64 // late: calls that took over a second
	took                     samples
}

type endlessNode struct {
	id      yarn.NodeID
	mu      sync.Mutex
	running []running
}

type running struct {
	id    yarn.ContainerID
	since time.Time
}

// samples has the durations of the most recent calls.
type samples struct {
	mu  sync.Mutex
	all []time.Duration
	n   int
}

const samplesKept = 1 << 16

func (s *samples) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < samplesKept {
		s.all = append(s.all, d)
	} else {
		s.all[s.n%samplesKept] = d
	}
	s.n++
}

// take returns the sorted samples and removes them.
func (s *samples) take() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.all
	s.all, s.n = nil, 0
	slices.Sort(out)
	return out
}

// paths returns the leaf queues of d, ten in each parent.
func (d demand) paths() []string {
	var out []string
	for i := range d.leaves {
		out = append(out, fmt.Sprintf("root.p%d.q%03d", i/10, i))
	}
	return out
}

// queues configures the queues of d, without limits that would slow the load down.
func (c *processes) queues(d demand) {
	c.t.Helper()
	// a queue can be removed only after it is stopped
	all := append(preset.QueuesFor(append(d.paths(), "root.online", "root.train", "root.batch", "root.adhoc")),
		capacity.Property{Name: capacity.Prefix + "per-node-heartbeat.maximum-offswitch-assignments", Value: "100"},
		capacity.Property{Name: capacity.Prefix + "maximum-applications", Value: "2000000000"},
		capacity.Property{Name: capacity.Prefix + "resource-calculator",
			Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})
	for _, p := range d.paths() {
		all = append(all, capacity.Property{Name: capacity.Prefix + p + ".user-limit-factor", Value: "100"})
	}
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, p := range all {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", p.Name, p.Value)
	}
	b.WriteString("</configuration>\n")
	file := filepath.Join(c.t.TempDir(), "capacity-scheduler.xml")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.done("conf", "apply", file, "--yes")
}

// endless registers the nodes and applications of d and starts them.
func (c *processes) endless(d demand) *endless {
	c.t.Helper()
	c.queues(d)
	cfg := submit.DefaultConfig()
	cfg.Addrs, cfg.Connections = c.addrs(), 2*len(c.all)
	way, err := submit.Open(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &endless{demand: d, t: c.t, client: way, nodes: map[yarn.NodeID]*endlessNode{}, stop: stop}
	c.t.Cleanup(e.end)
	e.register(ctx)
	e.begin(ctx)
	return e
}

// register creates the nodes and applications, many at the same time.
func (e *endless) register(ctx context.Context) {
	e.t.Helper()
	for i := range e.demand.nodes {
		id := yarn.NodeID{Host: fmt.Sprintf("n%05d", i), Port: 45454}
		e.nodes[id] = &endlessNode{id: id}
	}
	e.apps = make([]yarn.AttemptID, e.demand.apps)
	e.each(ctx, e.demand.nodes, func(i int) error {
		_, err := e.ask(ctx, &input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprintf("n%05d", i), Port: 45454}, Rack: "/r",
			Total: yarn.NewResource(int64(e.perNode)*1024, int64(e.perNode))})
		return err
	})
	paths := e.paths()
	e.each(ctx, e.demand.apps, func(i int) error {
		r, err := e.ask(ctx, &input.SubmitApplication{User: fmt.Sprint("u", i%50), Queue: paths[i%len(paths)],
			Unmanaged: true})
		if err != nil {
			return err
		}
		e.apps[i] = yarn.AttemptID{App: r.(*input.SubmitApplicationReply).ID, Attempt: 1}
		_, err = e.ask(ctx, &input.RegisterAttempt{Attempt: e.apps[i]})
		return err
	})
}

// each calls do for 0 to n-1, 64 at a time. Any error ends the test.
func (e *endless) each(ctx context.Context, n int, do func(i int) error) {
	e.t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					e.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if e.t.Failed() {
		e.t.FailNow()
	}
}

func (e *endless) ask(ctx context.Context, in input.Input) (input.Reply, error) {
	began := time.Now()
	r, err := e.client.Do(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%T: %w", in, err)
	}
	if f := r.Refused(); f != nil {
		return nil, fmt.Errorf("%T: %w", in, f)
	}
	took := time.Since(began)
	e.took.add(took)
	if took > time.Second {
		e.late.Add(1)
	}
	return r, nil
}

// begin starts all nodes and AMs, distributed over one interval.
func (e *endless) begin(ctx context.Context) {
	at := 0
	for _, n := range e.nodes {
		at++
		e.loop(ctx, at*int(e.beat)/len(e.nodes), func() error { return e.heartbeat(ctx, n) })
	}
	for i, id := range e.apps {
		m := &endlessMaster{id: id, wants: 1_000_000}
		e.loop(ctx, i*int(e.beat)/len(e.apps), func() error { return e.allocate(ctx, m) })
	}
}

// loop calls do once in every interval, or less often if do takes longer.
func (e *endless) loop(ctx context.Context, first int, do func() error) {
	e.wg.Go(func() {
		timer := time.NewTimer(time.Duration(first))
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			began := time.Now()
			if err := do(); err != nil {
				if ctx.Err() == nil {
					e.t.Error(err)
				}
				return
			}
			timer.Reset(e.beat - time.Since(began))
		}
	})
}

type endlessMaster struct {
	id       yarn.AttemptID
	response int32
	wants    int64
}

func (e *endless) allocate(ctx context.Context, m *endlessMaster) error {
	in := &input.Allocate{Attempt: m.id, Response: m.response}
	if m.wants > 0 {
		in.Asks = asks(m.wants, 1024)
	}
	reply, err := e.ask(ctx, in)
	if err != nil {
		return err
	}
	r := reply.(*input.AllocateReply)
	m.response, m.wants = r.Response, 0
	now := time.Now()
	for _, g := range r.Granted {
		n := e.nodes[g.Node]
		n.mu.Lock()
		n.running = append(n.running, running{g.Container, now})
		n.mu.Unlock()
	}
	e.granted.Add(int64(len(r.Granted)))
	return nil
}

func (e *endless) heartbeat(ctx context.Context, n *endlessNode) error {
	in := &input.NodeHeartbeat{ID: n.id}
	now := time.Now()
	n.mu.Lock()
	kept := n.running[:0]
	for _, r := range n.running {
		if now.Sub(r.since) < e.runs {
			kept = append(kept, r)
			continue
		}
		in.Statuses = append(in.Statuses, input.ContainerStatus{Container: r.id, State: yarn.ContainerCompleted})
	}
	n.running = kept
	n.mu.Unlock()
	if _, err := e.ask(ctx, in); err != nil {
		return err
	}
	e.completed.Add(int64(len(in.Statuses)))
	return nil
}

// decisions returns the number of decisions whose replies have arrived.
func (e *endless) decisions() int64 { return e.granted.Load() + e.completed.Load() }

func (e *endless) end() {
	e.stop()
	e.wg.Wait()
	_ = e.client.Close()
}
