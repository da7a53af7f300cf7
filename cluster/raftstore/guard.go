package raftstore

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/exitcode"
)

// Guard stands round the three stores. It knows every write in flight (for the watchdog), it turns
// the first failed write, sync or damaged read into the end of this replica, and it lets nobody use
// the stores afterwards.
type Guard struct {
	log     hclog.Logger
	onFatal func(code int, err error)
	observe func(time.Duration) // told how long each write took, nil: nobody asks

	mu        sync.Mutex
	err       error
	code      int
	failed    chan struct{} // closed with the first failure
	SlowWrite time.Duration // a write above it is worth a warning, 0 for none
	warned    time.Time
	nextOp    uint64
	ops       map[uint64]time.Time // begin of each write in flight

	shortage             error // the newest one
	shortAt, shortLogged time.Time
	shortCount           uint64
}

func NewGuard(log hclog.Logger, onFatal func(int, error), observe func(time.Duration)) *Guard {
	return &Guard{log: log, onFatal: onFatal, observe: observe, failed: make(chan struct{}), ops: map[uint64]time.Time{}}
}

// slowPause is the least time between two warnings of a slow disk.
const slowPause = time.Minute

// Fail ends the replica: the first call wins and tells the owner at once, before it returns.
func (g *Guard) Fail(code int, err error) {
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

// Failure returns the first failure, nil while all is well.
func (g *Guard) Failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Check returns ErrPoisoned after the first failure.
func (g *Guard) Check() error {
	if err := g.Failure(); err != nil {
		return fmt.Errorf("%w: %w", ErrPoisoned, err)
	}
	return nil
}

// write runs one short write with its syncs, under the eye of the watchdog. Any error is fatal: after
// a failed sync nobody can say what the disk holds, and a second sync would lie.
func (g *Guard) write(what string, f func() error) error {
	if err := g.Check(); err != nil {
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
	warn := g.SlowWrite > 0 && took > g.SlowWrite && time.Since(g.warned) > slowPause
	if warn {
		g.warned = time.Now()
	}
	g.mu.Unlock()
	if warn {
		g.log.Warn("a disk sync took longer than the election timeout: leaders will be lost; raise raft.election", "took", took, "election", g.SlowWrite)
	}
	if g.observe != nil {
		g.observe(took)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		if IsShortage(err) {
			err = fmt.Errorf("%w: the system is out of memory or file descriptors; the disk is not damaged", err)
		}
		g.Fail(exitcode.Store, err)
		return err
	}
	return g.Check() // fatal meanwhile: do not let raft count this write
}

// OldestWrite returns the age of the oldest write in flight, 0 for none.
func (g *Guard) OldestWrite(now time.Time) time.Duration {
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
func (g *Guard) halt() {
	runtime.Goexit()
}

// IsNoSpace says that err is a full file system.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Forgive takes time off the age of every write in flight.
func (g *Guard) Forgive(d time.Duration, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for op, t := range g.ops { // the order does not matter
		if t = t.Add(d); t.After(now) {
			t = now
		}
		g.ops[op] = t
	}
}

// ExitCode is the code of the first failure.
func (g *Guard) ExitCode() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.code
}
