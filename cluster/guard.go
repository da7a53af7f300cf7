package cluster

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// guard stands round the three stores. It knows every write in flight (for the watchdog), it turns
// the first failed write, sync or damaged read into the end of this replica, and it lets nobody use
// the stores afterwards.
type guard struct {
	log     hclog.Logger
	onFatal func(code int, err error)
	observe func(time.Duration) // told how long each write took, nil: nobody asks

	mu     sync.Mutex
	err    error
	code   int
	failed chan struct{} // closed with the first failure
	slow   time.Duration // a write above it is worth a warning, 0 for none
	warned time.Time
	nextOp uint64
	ops    map[uint64]time.Time // begin of each write in flight

	shortage             error // the newest one
	shortAt, shortLogged time.Time
	shortCount           uint64
}

func newGuard(log hclog.Logger, onFatal func(int, error), observe func(time.Duration)) *guard {
	return &guard{log: log, onFatal: onFatal, observe: observe, failed: make(chan struct{}), ops: map[uint64]time.Time{}}
}

// slowPause is the least time between two warnings of a slow disk.
const slowPause = time.Minute

// fail ends the replica: the first call wins and tells the owner at once, before it returns.
func (g *guard) fail(code int, err error) {
	g.mu.Lock()
	if g.err != nil {
		g.mu.Unlock()
		return
	}
	g.err, g.code = err, code
	close(g.failed)
	g.mu.Unlock()
	g.log.Error("replica must stop", "exit", code, "error", err)
	if g.onFatal != nil {
		g.onFatal(code, err)
	}
}

// failure returns the first failure, nil while all is well.
func (g *guard) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// check returns ErrPoisoned after the first failure.
func (g *guard) check() error {
	if err := g.failure(); err != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	return nil
}

// write runs one short write with its syncs, under the eye of the watchdog. Any error is fatal: after
// a failed sync nobody can say what the disk holds, and a second sync would lie.
func (g *guard) write(what string, f func() error) error {
	if err := g.check(); err != nil {
		return err
	}
	start := time.Now()
	g.mu.Lock()
	g.nextOp++
	op := g.nextOp
	g.ops[op] = start
	g.mu.Unlock()
	err := f()
	g.mu.Lock()
	delete(g.ops, op)
	took := time.Since(start)
	warn := g.slow > 0 && took > g.slow && time.Since(g.warned) > slowPause
	if warn {
		g.warned = time.Now()
	}
	g.mu.Unlock()
	if warn {
		g.log.Warn("a disk sync took longer than the election timeout: leaders will be lost; raise raft.election", "took", took, "election", g.slow)
	}
	if g.observe != nil {
		g.observe(took)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		if isShortage(err) {
			err = fmt.Errorf("%w: the system is out of memory or file descriptors; the disk is not damaged", err)
		}
		g.fail(ExitStore, err)
		return err
	}
	return g.check() // fatal meanwhile: do not let raft count this write
}

// oldest returns the age of the oldest write in flight, 0 for none.
func (g *guard) oldest(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var age time.Duration
	for _, t := range g.ops { // the order does not matter for a maximum
		age = max(age, now.Sub(t))
	}
	return age
}

// halt ends the calling goroutine, which is one of raft's. The library answers a failed StoreLogs by
// stepping down and using the store on, and a failed read by a panic; both are worse than stopping
// here. In the product OnFatal has already ended the process.
func (g *guard) halt() {
	runtime.Goexit()
}

// noSpace says that err is a full file system.
func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// forgive takes time off the age of every write in flight.
func (g *guard) forgive(d time.Duration, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for op, t := range g.ops { // the order does not matter
		if t = t.Add(d); t.After(now) {
			t = now
		}
		g.ops[op] = t
	}
}

// exitCode is the code of the first failure.
func (g *guard) exitCode() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.code
}
