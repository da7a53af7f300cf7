package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// FailpointAction is what happens to a replica that reaches a failpoint of its own code: the process
// is killed there, or the goroutine that reached it waits.
type FailpointAction struct {
	Point string        // a name of package internal/failpoint
	After int           // the number of the visit at which it acts, from 1
	Hold  time.Duration // 0: the process is killed
}

// String returns the line that the process reads from its standard input.
func (s FailpointAction) String() string {
	if s == (FailpointAction{}) {
		return "none"
	}
	return fmt.Sprintf("%s %d %s", s.Point, s.After, s.Hold)
}

// Reached returns the line that a replica writes to its standard error at the failpoint.
func (s FailpointAction) Reached() string { return "failpoint " + s.Point + " reached" }

// openStdin creates a pipe to the standard input of the process, if failpoints are enabled.
func (r *Replica) openStdin(cmd *exec.Cmd) (err error) {
	r.stdin = nil
	if r.cluster.cfg.Failpoints {
		r.stdin, err = cmd.StdinPipe()
	}
	return err
}

// send writes an action to the process. The caller holds the lock.
func (r *Replica) send(s FailpointAction) error {
	if r.stdin == nil {
		return nil
	}
	_, err := io.WriteString(r.stdin, s.String()+"\n")
	return err
}

// SetFailpoint sets a failpoint of the running process. The zero FailpointAction removes an earlier
// one.
func (r *Replica) SetFailpoint(s FailpointAction) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	r.note(s)
	return r.send(s)
}

// note records an action for the present run. The caller holds the lock.
func (r *Replica) note(s FailpointAction) {
	if s.Point == "" {
		return
	}
	r.asked = r.asked || s.Hold == 0
	if info, err := os.Stat(r.logFile); err == nil {
		r.setAt = info.Size()
	}
}

// SetFailpointAtStart sets a failpoint that the next run has from its start.
func (r *Replica) SetFailpointAtStart(s FailpointAction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atStart = s
}

// Count returns how often the present run has reached the failpoint of an action.
func (r *Replica) Count(s FailpointAction) int { return strings.Count(r.Said(1<<20), s.Reached()) }

// Reached reports whether the present run has reached the failpoint of an action since the last
// SetFailpoint. Before that, it may have reached it for another action.
func (r *Replica) Reached(s FailpointAction) bool {
	r.mu.Lock()
	since := max(r.began, r.setAt)
	r.mu.Unlock()
	return strings.Contains(r.logged(since, 1<<20), s.Reached())
}
