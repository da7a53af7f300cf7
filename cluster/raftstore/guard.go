package raftstore

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/exitcode"
)

// Guard protects the three stores. It records every write in flight, for the watchdog. At the first
// failed write, failed sync or damaged read it stops the replica, and from then on refuses every
// use of the stores (W9).
type Guard struct {
	cfg GuardConfig

	mu     sync.Mutex
	err    error
	code   int
	failed chan struct{} // closed at the first failure
	warned time.Time     // time of the last warning of a slow write
	nextOp uint64
	ops    map[uint64]time.Time // start of each write in flight

	shortage             error // the newest shortage error
	shortAt, shortLogged time.Time
	shortCount           uint64
}

// GuardConfig configures a Guard. Only Logger is required.
type GuardConfig struct {
	Logger hclog.Logger
	// OnFatal is called once, with the exit code of the first failure.
	OnFatal func(code int, err error)
	// OnWrite is called after each write with its duration.
	OnWrite func(took time.Duration)
	// SlowWrite is the duration above which a write causes a warning. 0 means no warning.
	SlowWrite time.Duration
}

// NewGuard returns a Guard without a failure.
func NewGuard(c GuardConfig) *Guard {
	return &Guard{cfg: c, failed: make(chan struct{}), ops: map[uint64]time.Time{}}
}

// slowPause is the least time between two warnings about a slow disk.
const slowPause = time.Minute

// Fail stops the replica. Only the first call has an effect: it calls OnFatal before it returns.
func (g *Guard) Fail(code int, err error) {
	g.mu.Lock()
	if g.err != nil {
		g.mu.Unlock()
		return
	}
	g.err, g.code = err, code
	close(g.failed)
	g.mu.Unlock()
	g.cfg.Logger.Error("replica must stop", "exit", code, "error", err)
	if g.cfg.OnFatal != nil {
		g.cfg.OnFatal(code, err)
	}
}

// FailWrite stops the replica because of a failed write, and says what to do.
func (g *Guard) FailWrite(err error) {
	g.Fail(exitcode.WriteFailed, fmt.Errorf("%w; %s", err, writeAdvice(err)))
}

// Failure returns the first failure, or nil.
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

// write runs f, one short write with its syncs, while the watchdog watches it. Any error is fatal:
// after a failed sync the content of the disk is unknown, and a second sync may succeed without
// writing anything.
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
	warn := g.cfg.SlowWrite > 0 && took > g.cfg.SlowWrite && time.Since(g.warned) > slowPause
	if warn {
		g.warned = time.Now()
	}
	g.mu.Unlock()
	if warn {
		g.cfg.Logger.Warn("a disk sync took longer than the election timeout, so leaders will change; use a faster disk or raise raft.election", "took", took, "election", g.cfg.SlowWrite)
	}
	if g.cfg.OnWrite != nil {
		g.cfg.OnWrite(took)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		g.FailWrite(err)
		return err
	}
	return g.Check() // after a failure meanwhile, raft must not count this write
}

// writeAdvice says what to do after a failed write. It never proposes to give up the data: the cause
// is outside of it.
func writeAdvice(err error) string {
	switch {
	case IsShortage(err):
		return "the system is out of memory or file descriptors; the disk is not damaged: start the replica again"
	case IsNoSpace(err):
		return "free space on this file system, or raise the quota, and start the replica again; keep its data"
	case errors.Is(err, syscall.EROFS):
		return "mount the file system writable, and start the replica again; keep its data"
	}
	return "check the disk and the log of the kernel, then run \"rmd check\", and start the replica again if it finds no fault; keep the data"
}

// OldestWrite returns the age of the oldest write in flight, or 0 if there is none.
func (g *Guard) OldestWrite(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var age time.Duration
	for _, t := range g.ops { // the order does not matter for a maximum
		age = max(age, now.Sub(t))
	}
	return age
}

// IsNoSpace reports whether err means that the file system or the quota is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Forgive subtracts d from the age of every write in flight.
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

// ExitCode returns the exit code of the first failure.
func (g *Guard) ExitCode() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.code
}
