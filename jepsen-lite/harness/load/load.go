package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rmd/jepsen-lite/history"
	"rmd/scheduler/input"
	"rmd/workload/submit"
	"rmd/yarn"
)

// Config describes the load.
type Config struct {
	URLs     []string // the URLs of the replicas' REST ports
	Trackers []string // the replicas' ports for NodeManagers, host:port; empty: no node speaks Hadoop's protocol
	TLS      *tls.Config
	Nodes    int
	// NodeManagers is the number of nodes that speak Hadoop's protocol, if there are Trackers.
	NodeManagers int
	Masters      int
	Operators    int
	Readers      int
	Beat         time.Duration // heartbeat interval of nodes and AMs
	Pace         time.Duration // pause between two operations of an operator or a reader
	Patience     time.Duration // after this time an outcome is unknown
	Seed         uint64
	// Note receives messages about unusual results. It may be nil.
	Note func(format string, args ...any)
}

// DefaultConfig returns a load that a machine with two cores can run beside three replicas.
func DefaultConfig() Config {
	return Config{Nodes: 6, NodeManagers: 2, Masters: 6, Operators: 2, Readers: 3, Beat: 100 * time.Millisecond,
		Pace: 100 * time.Millisecond, Patience: 20 * time.Second}
}

// Validate returns an error that names the first field with an invalid value.
func (c Config) Validate() error {
	switch {
	case len(c.URLs) == 0:
		return errors.New("load: no URL")
	case c.Nodes < 2 || c.Nodes > 1000 || c.Masters < 1 || c.Masters > 1000:
		return fmt.Errorf("load: %d nodes and %d masters; expected 2 to 1000, and 1 to 1000", c.Nodes, c.Masters)
	case c.NodeManagers < 0 || c.NodeManagers > c.Nodes:
		return fmt.Errorf("load: %d of %d nodes speak Hadoop's wire; expected 0 to all", c.NodeManagers, c.Nodes)
	case c.Operators < 0 || c.Operators > 100 || c.Readers < 0 || c.Readers > 100:
		return fmt.Errorf("load: %d operators and %d readers; expected 0 to 100", c.Operators, c.Readers)
	case c.Beat < time.Millisecond || c.Pace < time.Millisecond || c.Patience < time.Second:
		return fmt.Errorf("load: beat %s, pace %s, patience %s; expected 1ms, 1ms and 1s or more", c.Beat, c.Pace, c.Patience)
	}
	return nil
}

// Counts counts the calls of the load.
type Counts struct {
	Asked, Acked, Refused, Unknown atomic.Int64
	Containers                     atomic.Int64 // granted to AMs
}

// Load is a running load.
type Load struct {
	cfg        Config
	rec        *history.Recorder
	client     *submit.Client
	http       *http.Client
	ctx        context.Context // ends with the load
	stop       context.CancelFunc
	demand     context.Context // ends with StopDemand
	stopDemand context.CancelFunc
	wg         sync.WaitGroup
	asking     sync.WaitGroup // the goroutines that end with demand
	Counts     Counts
	Prober     *Prober

	mu       sync.Mutex
	agents   map[yarn.NodeID]*agent
	beats    []*answers // of the nodes that speak Hadoop's protocol
	apps     []App      // all acknowledged applications
	replicas []string

	violations []Violation
}

// App is an application whose submission was acknowledged.
type App struct {
	ID    string
	Name  string
	Queue string
	Key   string
}

// Queues are the leaf queues of the applications.
var Queues = []string{"root.online", "root.train", "root.batch", "root.adhoc"}

// Start starts the load. It returns when all nodes are registered and the prober's application is
// submitted.
func Start(ctx context.Context, cfg Config, rec *history.Recorder) (*Load, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d := submit.DefaultConfig()
	d.Addrs, d.TLS, d.Timeout, d.Connections = cfg.URLs, cfg.TLS, 6*time.Second, 8
	opened, err := submit.Open(d)
	if err != nil {
		return nil, err
	}
	l := &Load{cfg: cfg, rec: rec, client: opened, agents: map[yarn.NodeID]*agent{}, replicas: cfg.URLs}
	l.http = &http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS, MaxIdleConnsPerHost: 8,
		IdleConnTimeout: 5 * time.Second}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.demand, l.stopDemand = context.WithCancel(l.ctx)
	if err := l.begin(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Load) begin(ctx context.Context) error {
	for i := range l.cfg.Nodes {
		a := l.newAgent(i)
		if err := a.register(ctx); err != nil {
			return err
		}
		l.agents[a.id] = a
		l.wg.Go(a.run)
	}
	p, err := l.newProber(ctx)
	if err != nil {
		return err
	}
	l.Prober = p
	l.wg.Go(p.run)
	for i := range l.cfg.Masters {
		m := &masters{l: l, name: fmt.Sprintf("am%d", i), rng: l.random(100 + uint64(i))}
		l.asking.Go(m.run)
	}
	for i := range l.cfg.Operators {
		o := &operator{l: l, name: fmt.Sprintf("op%d", i), rng: l.random(200 + uint64(i))}
		l.asking.Go(o.run)
	}
	for i := range l.cfg.Readers {
		r := &reader{l: l, name: fmt.Sprintf("read%d", i), rng: l.random(300 + uint64(i))}
		l.asking.Go(r.run)
	}
	return nil
}

func (l *Load) random(who uint64) *rand.Rand { return rand.New(rand.NewPCG(l.cfg.Seed, who)) }

// StopDemand ends the AMs, operators and readers. It returns when their last operations have ended.
// The nodes and the prober continue.
func (l *Load) StopDemand() {
	l.stopDemand()
	l.asking.Wait()
}

// Close ends the load and waits for all goroutines.
func (l *Load) Close() {
	l.stopDemand()
	l.stop()
	l.asking.Wait()
	l.wg.Wait()
	_ = l.client.Close() // it has no open call
	l.http.CloseIdleConnections()
}

// Apps returns the applications whose submission was acknowledged.
func (l *Load) Apps() []App {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]App(nil), l.apps...)
}

func (l *Load) note(format string, args ...any) {
	if l.cfg.Note != nil {
		l.cfg.Note(format, args...)
	}
}

// errOver means that the load has ended.
var errOver = errors.New("the load is over")

// ask submits an input. The outcome is unknown if the load ends, or if there is no answer within
// Patience.
func (l *Load) ask(in input.Input) (input.Reply, error) { return l.askBy(l.client.Do, in) }

// askBy is ask with another function than client.Do.
func (l *Load) askBy(do func(context.Context, input.Input) (input.Reply, error), in input.Input) (input.Reply, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Patience)
	defer cancel()
	l.Counts.Asked.Add(1)
	reply, err := do(ctx, in)
	switch {
	case err != nil:
		l.Counts.Unknown.Add(1)
		if l.ctx.Err() != nil {
			return nil, errOver
		}
		return nil, err
	case reply.Refused() != nil:
		l.Counts.Refused.Add(1)
	default:
		l.Counts.Acked.Add(1)
	}
	return reply, nil
}

// sleep waits for d. It returns false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// jitter returns a random duration between d/2 and 3d/2.
func jitter(rng *rand.Rand, d time.Duration) time.Duration {
	return d/2 + time.Duration(rng.Int64N(int64(d)))
}
