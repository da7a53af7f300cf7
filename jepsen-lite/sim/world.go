package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/fsm/event"
	"rmd/internal/failpoint"
	"rmd/jepsen-lite/sim/checker"
	"rmd/jepsen-lite/sim/disk"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/network"
	"rmd/jepsen-lite/sim/settings"
	"rmd/jepsen-lite/sim/yield"
	"rmd/scheduler/input"
	"rmd/snapshot"
)

// world is one simulated cluster. It is created inside a bubble of testing/synctest.
type world struct {
	t             testing.TB
	seed          int64
	opt           settings.Cluster
	net           *network.Network
	check         *checker.Checker
	yield         *yield.Yielder
	beforePropose atomic.Pointer[func(id string, entry []byte)]         // called before each proposal
	atLog         atomic.Pointer[func(id, message string)]              // called where raft logs
	armed         atomic.Pointer[func(l *process, name failpoint.Name)] // called at each failpoint
	ctx           context.Context                                       // ends with the world
	cancel        context.CancelFunc
	ops           sync.WaitGroup // running operations of operators

	operators atomic.Int32 // number of operations that are changing the membership

	mu        sync.Mutex
	rng       *rand.Rand
	calls     int                      // number of calls of do
	newest    uint32                   // feature level of the newest installed program
	rs        []*replica               // members and former members
	slow      map[string]time.Duration // by replica: delay of each applied entry
	thaws     []func()
	gaveUp    []operation // operations that ran out of time
	replacing *replica    // a replica with a lost disk that has not returned under another identity yet
	exits     map[int]int
	hits      map[failpoint.Name]int
}

func newWorld(t testing.TB, seed int64, opt settings.Cluster) *world {
	w := &world{t: t, seed: seed, opt: opt, net: network.New(seed + 1), check: checker.New(opt.Kerberos),
		rng:  rand.New(rand.NewSource(seed + 2)),
		slow: map[string]time.Duration{}, newest: event.Level, exits: map[int]int{}, hits: map[failpoint.Name]int{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.yield = yield.New(seed+3, opt.Yields)
	w.net.OnVote, w.net.Pipelined = w.check.Voted, opt.Pipelined
	for i := range opt.Replicas {
		w.rs = append(w.rs, w.newReplica(string(rune('a'+i))))
	}
	w.found()
	return w
}

// found tells the first replicas whose cluster they will be, as raft.bootstrap_expect does.
func (w *world) found() {
	var known []string
	for _, r := range w.rs {
		known = append(known, string(r.disk.Identity().ServerID()))
	}
	for _, r := range w.rs {
		who := r.disk.Identity()
		who.ClusterID, who.Role, who.Trust.Known = "virtual", cluster.RoleVoter, known
		_ = r.disk.Keep(who) // a disk in memory always keeps it
	}
}

// newReplica creates a replica with an empty disk, without starting it.
func (w *world) newReplica(id string) *replica {
	r := &replica{w: w, id: id, level: w.newest}
	r.disk = w.emptyDisk(r)
	return r
}

// emptyDisk returns a new disk. A process on it has a new incarnation, and belongs to no cluster.
func (w *world) emptyDisk(r *replica) *disk.Disk {
	who := cluster.Identity{ID: r.id, Incarnation: fmt.Sprint(r.born), ClusterName: "virtual"}
	r.born++
	return disk.New(w.seed+10+int64(r.id[0])*100+int64(r.born), who)
}

// boot starts all replicas and gives the cluster its first queues.
func (w *world) boot() {
	var conf raft.Configuration
	for _, r := range w.members() {
		if err := r.start(); err != nil {
			w.t.Fatal(err)
		}
		conf.Servers = append(conf.Servers, raft.Server{ID: raft.ServerID(r.id + ".0"), Address: raft.ServerAddress(r.id)})
	}
	if err := w.rs[0].process.cluster.Bootstrap(conf); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	if err := w.rs[0].process.server.AwaitLeader(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// plan plans an input. It asks one replica after another until one answers. A refusal fails the
// test.
func (w *world) plan(in input.Input) input.Reply {
	w.t.Helper()
	w.calls++
	c := load.NewCaller(w, fmt.Sprintf("test%d", w.calls), rand.New(rand.NewSource(1)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req := input.Request{Input: in}
	if _, ok := in.(*input.SubmitApplication); ok {
		req = c.Keyed(in)
	}
	reply, ok := c.Call(ctx, req)
	if !ok {
		w.t.Fatalf("%T is not answered within a minute\n%s", in, w.check.Report())
	}
	if f := reply.Refused(); f != nil && f.Reason != input.AlreadyDone { // by an earlier try whose answer was lost
		w.t.Fatalf("%T: %v", in, f)
	}
	return reply
}

// members returns the replicas that have not left for good.
func (w *world) members() []*replica {
	w.mu.Lock()
	all := slices.Clone(w.rs)
	w.mu.Unlock()
	return slices.DeleteFunc(all, func(r *replica) bool { return r.locked(func(r *replica) bool { return r.out }) })
}

// leading returns the replica that plans, except for those in not; nil for none.
func (w *world) leading(not ...*replica) *replica {
	for _, r := range w.members() {
		if slices.Contains(not, r) {
			continue
		}
		if l, up := r.currentProcess(); up && l.cluster.IsLeader() {
			if _, ok := l.server.Leading(); ok {
				return r
			}
		}
	}
	return nil
}

// await waits for a replica that plans. It returns nil if there is none in time.
func (w *world) await(within time.Duration, not ...*replica) *replica {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r := w.leading(not...); r != nil {
			return r
		}
	}
	return nil
}

// leader is await, but fails the test if there is no leader in time.
func (w *world) leader(within time.Duration, not ...*replica) *replica {
	w.t.Helper()
	r := w.await(within, not...)
	if r == nil {
		w.t.Fatalf("no leader within %s\n%s", within, w.check.Report())
	}
	return r
}

// inStep waits until all members run and have applied the newest entry. It reports whether they did
// in time.
func (w *world) inStep(within time.Duration) bool {
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		head, same := w.check.Head(), true
		for _, r := range w.members() {
			l, up := r.currentProcess()
			if !up {
				same = false
				break
			}
			at, _ := l.machine.Applied()
			same = same && at == head
		}
		if same {
			return true
		}
		if time.Now().After(end) {
			w.check.Fail("L2: replicas are not in step within %s: %s", within, w.describeProgress())
			return false
		}
	}
}

// describeProgress describes how far each replica is.
func (w *world) describeProgress() string {
	out := ""
	for _, r := range w.members() {
		l, up := r.currentProcess()
		if l == nil {
			out += r.id + " never ran; "
			continue
		}
		at, term := l.machine.Applied()
		out += fmt.Sprintf("%s up %v applied %d of term %d (raft: %d, term %d, leads %v); ", r.id, up, at, term,
			l.cluster.AppliedIndex(), l.cluster.Term(), l.cluster.IsLeader())
	}
	return out
}

// freeze simulates SIGSTOP: the replica sends, receives and writes nothing.
func (w *world) freeze(r *replica) {
	l, _ := r.currentProcess()
	w.addThaws(l.host.Freeze(), l.disk.Freeze())
}

// addThaws records how to end a fault.
func (w *world) addThaws(thaws ...func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.thaws = append(w.thaws, thaws...)
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

// slowDown delays each entry that a replica applies.
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

// drawn returns a random time below d.
func (w *world) drawn(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int63n(int64(d)))
}

// entropy returns random bytes for keys. They are the same in each run of a seed.
func (w *world) entropy() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := make([]byte, 32)
	w.rng.Read(b)
	return b
}

// exited counts a process that stopped by itself.
func (w *world) exited(id string, code int, err error) {
	w.mu.Lock()
	w.exits[code]++
	w.mu.Unlock()
	w.check.Note("%s ends with code %d: %v", id, code, err)
}

// heal ends every fault and starts stopped replicas.
func (w *world) heal() {
	w.net.Heal()
	w.thaw()
	w.mu.Lock()
	clear(w.slow)
	w.mu.Unlock()
	w.armed.Store(nil)
	for _, r := range w.members() {
		r.set(func(r *replica) { r.disk.Repair() })
		if err := r.start(); err != nil && !errors.Is(err, errDisk) {
			w.check.Fail("start: %v", err)
		}
		if r.locked((*replica).unusable) {
			w.replace(r)
		}
	}
}

// finish compares all replicas with each other and with the ledger, then ends them.
func (w *world) finish() {
	if w.inStep(time.Minute) {
		var base *replica
		var first [32]byte
		for _, r := range w.members() {
			l, _ := r.currentProcess()
			st, index := l.machine.Fork()
			w.check.Compare(r.id, st, index)
			w.check.Acknowledged(r.id, st)
			if err := st.Check(); err != nil {
				w.check.Fail("S9: state of %s at %d: %v", r.id, index, err)
			}
			if sum := snapshot.Sum(st); base == nil {
				base, first = r, sum
			} else if sum != first {
				other, _ := base.currentProcess()
				was, _ := other.machine.Fork()
				w.check.Fail("S1: contents of %s and %s differ at %d: %v", base.id, r.id, index, snapshot.Diff(was, st))
			}
		}
	}
	w.stop()
}

// stop ends all processes and waits for late timers.
func (w *world) stop() {
	w.cancel()
	w.net.Heal()
	w.thaw()
	w.armed.Store(nil)
	w.atLog.Store(nil)
	w.yield.Set(0)
	for _, r := range w.members() {
		r.crash()
	}
	w.ops.Wait()
	w.mu.Lock()
	all := slices.Clone(w.rs)
	w.mu.Unlock()
	for _, r := range all {
		r.crash()
		r.mu.Lock()
		ended := r.ended
		r.mu.Unlock()
		if !awaitEnd(ended) {
			w.check.Fail("%s does not end", r.id)
		}
	}
	time.Sleep(time.Minute)
}
