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

// Config says who uses the cluster, and how much.
type Config struct {
	URLs     []string // of the replicas' REST ports
	Trackers []string // the replicas' ports for NodeManagers, host:port; none: nobody speaks Hadoop's wire
	TLS      *tls.Config
	Nodes    int
	// NodeManagers are those of the nodes that speak Hadoop's wire.
	NodeManagers int
	Masters      int
	Operators    int
	Readers      int
	Beat         time.Duration // of nodes and masters
	Pace         time.Duration // between two operations of an operator or a reader
	Patience     time.Duration // after which an outcome is unknown
	Seed         uint64
	// Note is told what is odd, for people; may be nil.
	Note func(format string, args ...any)
}

// DefaultConfig is a load that two cores carry beside three replicas.
func DefaultConfig() Config {
	return Config{Nodes: 6, NodeManagers: 2, Masters: 6, Operators: 2, Readers: 3, Beat: 100 * time.Millisecond, Pace: 100 * time.Millisecond, Patience: 20 * time.Second}
}

// Validate tells which field is out of its bounds.
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

// Counts is what the load has done.
type Counts struct {
	Asked, Acked, Refused, Unknown atomic.Int64
	Containers                     atomic.Int64 // given to masters
}

// Load is a running load.
type Load struct {
	cfg        Config
	rec        *history.Recorder
	client     *submit.Client
	http       *http.Client
	ctx        context.Context // of everybody
	stop       context.CancelFunc
	demand     context.Context // of those who ask for anything new
	stopDemand context.CancelFunc
	wg         sync.WaitGroup
	asking     sync.WaitGroup // those that end with demand
	Counts     Counts
	Prober     *Prober

	mu       sync.Mutex
	agents   map[yarn.NodeID]*agent
	beats    []*answers // of those that speak Hadoop's wire
	apps     []App      // every one acknowledged
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

// Queues are the leaf queues that applications go to.
var Queues = []string{"root.online", "root.train", "root.batch", "root.adhoc"}

// Start begins the load. It returns when its nodes and its prober are known to
// the cluster.
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
	l.http = &http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS, MaxIdleConnsPerHost: 8, IdleConnTimeout: 5 * time.Second}}
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

// StopDemand ends the clients that ask for anything new; nodes and the prober go on.
// It returns when the last operation of those has ended.
func (l *Load) StopDemand() {
	l.stopDemand()
	l.asking.Wait()
}

// Close ends everybody.
func (l *Load) Close() {
	l.stopDemand()
	l.stop()
	l.asking.Wait()
	l.wg.Wait()
	_ = l.client.Close() // it has nothing open any more
	l.http.CloseIdleConnections()
}

// Apps are the applications whose submission was acknowledged.
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

// errOver says that the load ends.
var errOver = errors.New("the load is over")

// ask brings an input in. ctx is whose end makes the outcome unknown; what ends
// by the caller's patience is unknown too.
func (l *Load) ask(in input.Input) (input.Reply, error) { return l.askBy(l.client.Do, in) }

// askBy does so by another way than the client.
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

// rest is the pause between two turns; false when ctx is over.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// jitter draws between half and one and a half of d.
func jitter(rng *rand.Rand, d time.Duration) time.Duration {
	return d/2 + time.Duration(rng.Int64N(int64(d)))
}
