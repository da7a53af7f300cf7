package virtual

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/scheduler/input"
	"rmd/snapshot"
)

// options are what a seed draws of the cluster itself.
type options struct {
	replicas      int
	eager         bool
	dominant      bool
	inFlight      int
	snapshotAfter uint64
	trailing      uint64
	yields        bool // Raft's goroutines are held back where they log
	lazyCancel    bool
	queues        []queue
}

type queue struct{ name, capacity string }

func plainOptions() options {
	return options{replicas: 3, inFlight: 1, snapshotAfter: 8192, trailing: 2048, lazyCancel: true, queues: []queue{{"a", "100"}}}
}

// world is one simulated cluster. It is made inside a bubble.
type world struct {
	t     *testing.T
	opt   options
	net   *network
	check *checker
	log   hclog.Logger
	rs    []*replica
	trap  atomic.Pointer[func(id string, entry []byte)] // called before each proposal

	mu    sync.Mutex
	rng   *rand.Rand
	slow  map[string]time.Duration // how long one replica takes to apply an entry
	thaws []func()
}

func newWorld(t *testing.T, seed int64, opt options) *world {
	w := &world{t: t, opt: opt, net: newNetwork(seed + 1), check: newChecker(), rng: rand.New(rand.NewSource(seed + 2)), slow: map[string]time.Duration{}}
	w.check.dominant = opt.dominant
	w.log = hclog.NewNullLogger()
	if os.Getenv("RMD_TEST_LOG") != "" {
		w.log = hclog.New(&hclog.LoggerOptions{Name: "virtual", Level: hclog.Info, Output: os.Stderr, TimeFormat: "05.000"})
	}
	if opt.yields {
		w.log = yielding{w.log, &yielder{rng: rand.New(rand.NewSource(seed + 3))}}
	}
	for i := range opt.replicas {
		w.rs = append(w.rs, &replica{w: w, id: string(rune('a' + i)), disk: newDisk(seed + 10 + int64(i))})
	}
	return w
}

// boot starts all replicas and gives the cluster its first queues.
func (w *world) boot() {
	var conf raft.Configuration
	for _, r := range w.rs {
		if err := r.start(); err != nil {
			w.t.Fatal(err)
		}
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(r.id + ".0"), Address: raft.ServerAddress(r.id)})
	}
	if err := w.rs[0].life.cluster.Bootstrap(conf); err != nil {
		w.t.Fatal(err)
	}
	w.do(&input.InitCluster{ClusterID: "virtual", ClusterTimestamp: 1_000_000, Properties: w.properties(),
		Entropy: []byte("thirty-two bytes that never vary")})
}

const prefix = "yarn.scheduler.capacity."

func (w *world) properties() []input.Property {
	var props []input.Property
	set := func(k, v string) { props = append(props, input.Property{Name: k, Value: v}) }
	names := ""
	for i, q := range w.opt.queues {
		if i > 0 {
			names += ","
		}
		names += q.name
		set(prefix+"root."+q.name+".capacity", q.capacity)
		set(prefix+"root."+q.name+".maximum-capacity", "100")
		set(prefix+"root."+q.name+".user-limit-factor", "10")
	}
	set(prefix+"root.queues", names)
	set(prefix+"maximum-am-resource-percent", "1")
	if w.opt.lazyCancel {
		set(prefix+"reservation.eager-cancel", "false")
	}
	if w.opt.dominant {
		set(prefix+"resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	return props
}

// do has an input planned, asking one replica after another until it is answered;
// a refusal fails the test.
func (w *world) do(in input.Input) input.Reply {
	w.t.Helper()
	c := &caller{w: w, name: "test", rng: rand.New(rand.NewSource(1))}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reply, ok := c.call(ctx, input.Request{Input: in})
	if !ok {
		w.t.Fatalf("%T is not answered within a minute\n%s", in, w.check.report())
	}
	if f := reply.Refused(); f != nil {
		w.t.Fatalf("%T: %v", in, f)
	}
	return reply
}

// leader waits for a replica in office that is none of those left out.
func (w *world) leader(within time.Duration, not ...*replica) *replica {
	w.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	next:
		for _, r := range w.rs {
			for _, n := range not {
				if n == r {
					continue next
				}
			}
			if l, up := r.now(); up && l.cluster.IsLeader() {
				if _, ok := l.seq.Leading(); ok {
					return r
				}
			}
		}
	}
	w.t.Fatalf("no leader within %s\n%s", within, w.check.report())
	return nil
}

// inStep waits until all running replicas have applied what the leader has.
func (w *world) inStep(within time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		head, same := uint64(0), true
		for i, r := range w.rs {
			l, _ := r.now()
			at, _ := l.machine.Applied()
			same = same && (i == 0 || at == head)
			head = max(head, at)
		}
		if same && head == w.check.head() {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("replicas are not in step within %s: %s\n%s", within, w.where(), w.check.report())
		}
	}
}

// where tells how far each replica is.
func (w *world) where() string {
	out := ""
	for _, r := range w.rs {
		l, up := r.now()
		at, term := l.machine.Applied()
		out += fmt.Sprintf("%s up %v applied %d of term %d (raft: %d, term %d, leads %v); ", r.id, up, at, term, l.cluster.AppliedIndex(), l.cluster.Term(), l.cluster.IsLeader())
	}
	return out
}

// freeze stops a replica as SIGSTOP does, as far as others can see: nothing comes
// in or goes out and nothing is written.
func (w *world) freeze(r *replica) {
	l, _ := r.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thaws = append(w.thaws, l.host.freeze(), l.disk.freeze())
}

func (w *world) thaw() {
	w.mu.Lock()
	thaws := w.thaws
	w.thaws = nil
	w.mu.Unlock()
	for _, f := range thaws {
		f()
	}
}

// slowDown makes a replica take its time to apply.
func (w *world) slowDown(id string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow[id] = d
}

func (w *world) delayApply(id string) {
	w.mu.Lock()
	d := w.slow[id]
	if d > 0 {
		d = time.Duration(w.rng.Int63n(int64(d)))
	}
	w.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
}

// drawn is a time below d.
func (w *world) drawn(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int63n(int64(d)))
}

// heal takes every fault away and starts what is down.
func (w *world) heal() {
	w.net.heal()
	w.thaw()
	w.mu.Lock()
	clear(w.slow)
	w.mu.Unlock()
	for _, r := range w.rs {
		if _, up := r.now(); !up {
			if err := r.start(); err != nil {
				w.t.Fatalf("%v\n%s", err, w.check.report())
			}
		}
	}
}

// finish compares all replicas with each other and with the books, then ends them.
func (w *world) finish() {
	w.inStep(time.Minute)
	var first [32]byte
	for i, r := range w.rs {
		l, _ := r.now()
		st, index := l.machine.Fork()
		w.check.compare(r.id, st, index)
		w.check.acknowledged(r.id, st)
		if err := st.Check(); err != nil {
			w.check.fail("state of %s at %d: %v", r.id, index, err)
		}
		if sum := snapshot.Sum(st); i == 0 {
			first = sum
		} else if sum != first {
			other, _ := w.rs[0].now()
			base, _ := other.machine.Fork()
			w.check.fail("contents of %s and %s differ at %d: %v", w.rs[0].id, r.id, index, snapshot.Diff(base, st))
		}
	}
	w.stop()
}

// stop ends all processes and lets late timers run out.
func (w *world) stop() {
	w.thaw()
	for _, r := range w.rs {
		r.crash()
		if r.ended != nil {
			<-r.ended
		}
	}
	time.Sleep(time.Minute)
}

// yielder holds goroutines of the library back in the windows where they race.
type yielder struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (y *yielder) yield() {
	y.mu.Lock()
	var d time.Duration
	if y.rng.Intn(4) == 0 {
		d = time.Duration(y.rng.Intn(20)) * time.Millisecond
		if y.rng.Intn(20) == 0 {
			d = time.Duration(y.rng.Intn(500)) * time.Millisecond
		}
	}
	y.mu.Unlock()
	if d > 0 {
		time.Sleep(d)
	}
}

// yielding is our own code's logger; only the one it names "raft" yields, since
// that library holds no lock while it logs.
type yielding struct {
	hclog.Logger
	y *yielder
}

// Named implements hclog.Logger.
func (l yielding) Named(n string) hclog.Logger {
	if n == "raft" {
		return raftLogger(l)
	}
	return yielding{l.Logger.Named(n), l.y}
}

type raftLogger struct {
	hclog.Logger
	y *yielder
}

func (l raftLogger) Trace(string, ...any)      { l.y.yield() }
func (l raftLogger) Debug(string, ...any)      { l.y.yield() }
func (l raftLogger) Info(string, ...any)       { l.y.yield() }
func (l raftLogger) Warn(string, ...any)       { l.y.yield() }
func (l raftLogger) Error(string, ...any)      { l.y.yield() }
func (l raftLogger) With(...any) hclog.Logger  { return l }
func (l raftLogger) Named(string) hclog.Logger { return l }
func (raftLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(io.Discard, "", 0)
}
