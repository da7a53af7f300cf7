package raftstore

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// A shortage is an error that says nothing of the disk: the process or the machine is out of file
// descriptors or memory, or the call was interrupted. Nothing was written or lost, so what failed
// is tried again.

// IsShortage says whether an error is one.
func IsShortage(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

const (
	// shortagePause is how long what failed waits before it is tried again; the pause doubles up to
	// shortagePauseMax.
	shortagePause    = 20 * time.Millisecond
	shortagePauseMax = time.Second
	// shortageShown is how long a shortage is shown after it was met last.
	shortageShown = time.Minute
)

// ReportShortage notes a shortage, for the log and for status.
func (g *Guard) ReportShortage(err error) {
	g.mu.Lock()
	g.shortCount++
	quiet := time.Since(g.shortLogged) < shortagePauseMax*10
	if !quiet {
		g.shortLogged = time.Now()
	}
	g.shortage, g.shortAt = err, time.Now()
	count := g.shortCount
	g.mu.Unlock()
	if !quiet {
		g.cfg.Logger.Error("the system has no file descriptors or memory left; the disk is not damaged; trying again", "error", err, "count", count)
	}
}

// ShortageText describes a shortage that was met in the last minute, "" for none.
func (g *Guard) ShortageText() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shortage == nil || time.Since(g.shortAt) > shortageShown {
		return ""
	}
	return g.shortage.Error()
}

// RetryShortage calls f until it meets no shortage any more, or this replica has failed.
func (g *Guard) RetryShortage(what string, f func() error) error {
	for pause := shortagePause; ; pause = min(2*pause, shortagePauseMax) {
		err := f()
		if !IsShortage(err) {
			return err
		}
		g.ReportShortage(fmt.Errorf("%s: %w", what, err))
		select {
		case <-time.After(pause):
		case <-g.failed:
			return err
		}
	}
}
