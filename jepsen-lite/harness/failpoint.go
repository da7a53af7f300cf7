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
	Point string        // internal/failpoint's name of the place
	After int           // which time it comes there, from 1
	Hold  time.Duration // 0: the process ends there
}

// String is the line that the process reads.
func (s FailpointAction) String() string {
	if s == (FailpointAction{}) {
		return "none"
	}
	return fmt.Sprintf("%s %d %s", s.Point, s.After, s.Hold)
}

// Reached is the line that a replica writes to its standard error there.
func (s FailpointAction) Reached() string { return "failpoint " + s.Point + " reached" }

// openStdin lets the process read failpoints from its standard input.
func (r *Replica) openStdin(cmd *exec.Cmd) (err error) {
	r.stdin = nil
	if r.cluster.cfg.Failpoints {
		r.stdin, err = cmd.StdinPipe()
	}
	return err
}

// send writes an action to the process; the lock is held.
func (r *Replica) send(s FailpointAction) error {
	if r.stdin == nil {
		return nil
	}
	_, err := io.WriteString(r.stdin, s.String()+"\n")
	return err
}

// SetFailpoint has the running process crash or wait at a failpoint; the zero FailpointAction takes an
// earlier one back.
func (r *Replica) SetFailpoint(s FailpointAction) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	r.note(s)
	return r.send(s)
}

// note keeps what an action means for the present run; the lock is held.
func (r *Replica) note(s FailpointAction) {
	if s.Point == "" {
		return
	}
	r.asked = r.asked || s.Hold == 0
	if info, err := os.Stat(r.logFile); err == nil {
		r.setAt = info.Size()
	}
}

// SetFailpointAtStart sets a failpoint that the next run has from its beginning.
func (r *Replica) SetFailpointAtStart(s FailpointAction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atStart = s
}

// Count is how often the present run has reached the failpoint of an action.
func (r *Replica) Count(s FailpointAction) int { return strings.Count(r.Said(1<<20), s.Reached()) }

// Reached says whether the present run has reached the failpoint of an action since the last one was
// set; before that it may have been there for another.
func (r *Replica) Reached(s FailpointAction) bool {
	r.mu.Lock()
	since := max(r.began, r.setAt)
	r.mu.Unlock()
	return strings.Contains(r.logged(since, 1<<20), s.Reached())
}
