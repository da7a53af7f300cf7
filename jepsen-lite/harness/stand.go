package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Stand is what happens to a replica that comes to a named place in its own code:
// it is gone there, or whoever came there is held up.
type Stand struct {
	Point string        // internal/point's name of the place
	After int           // which time it comes there, from 1
	Hold  time.Duration // 0: the process ends there
}

// String is what the process is told.
func (s Stand) String() string {
	if s == (Stand{}) {
		return "none"
	}
	return fmt.Sprintf("%s %d %s", s.Point, s.After, s.Hold)
}

// Reached is what a replica says on its standard error at the place.
func (s Stand) Reached() string { return "point " + s.Point + " reached" }

// listen gives a process ears for stands.
func (r *Replica) listen(cmd *exec.Cmd) (err error) {
	r.orders = nil
	if r.cluster.cfg.Points {
		r.orders, err = cmd.StdinPipe()
	}
	return err
}

// tell writes a stand to the process; the lock is held.
func (r *Replica) tell(s Stand) error {
	if r.orders == nil {
		return nil
	}
	_, err := io.WriteString(r.orders, s.String()+"\n")
	return err
}

// Stand has the running process crash or wait at a place; the zero Stand takes an
// earlier one back.
func (r *Replica) Stand(s Stand) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	r.note(s)
	return r.tell(s)
}

// note keeps what a stand means for the present run; the lock is held.
func (r *Replica) note(s Stand) {
	if s.Point == "" {
		return
	}
	r.asked = r.asked || s.Hold == 0
	if info, err := os.Stat(r.logFile); err == nil {
		r.stood = info.Size()
	}
}

// StandFirst has the next run told so before it begins.
func (r *Replica) StandFirst(s Stand) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = s
}

// Count is how often the present run has come to the place of a stand.
func (r *Replica) Count(s Stand) int { return strings.Count(r.Said(1<<20), s.Reached()) }

// Reached says whether the present run has come to the place of a stand since it was
// told of the last one; before that it may have been there for another.
func (r *Replica) Reached(s Stand) bool {
	r.mu.Lock()
	since := max(r.began, r.stood)
	r.mu.Unlock()
	return strings.Contains(r.logged(since, 1<<20), s.Reached())
}
