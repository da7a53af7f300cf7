package raftstore

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// A shortage is an error that is not caused by the disk: the process or the machine has no file
// descriptors or memory left, or the call was interrupted. Nothing was written or lost, so the call
// can be repeated.

// IsShortage reports whether an error is a shortage.
func IsShortage(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

const (
	// shortagePause is the pause before the first retry. It doubles with each retry, up to
	// shortagePauseMax.
	shortagePause    = 20 * time.Millisecond
	shortagePauseMax = time.Second
	// shortageShown is how long a shortage is shown after it last occurred.
	shortageShown = time.Minute
)

// ReportShortage records a shortage for the log and for the status.
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
		g.cfg.Logger.Error("the system has no file descriptors or memory left; the disk is not damaged; trying again",
			"error", err, "count", count)
	}
}

// ShortageText describes a shortage that occurred within shortageShown, or returns "".
func (g *Guard) ShortageText() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shortage == nil || time.Since(g.shortAt) > shortageShown {
		return ""
	}
	return g.shortage.Error()
}

// RetryShortage repeats f until it returns anything but a shortage, or this replica has failed.
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
