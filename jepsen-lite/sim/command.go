package sim

import (
	"time"

	"rmd/jepsen-lite/sim/network"
	"rmd/jepsen-lite/sim/owner"
)

// current returns the process of the calling goroutine, or nil for goroutines of the load, the
// faults and the checker.
func current() *process {
	l, _ := owner.Current().(*process)
	return l
}

// commandMax is how long an operator waits for a command. It is longer than rmd's own limits. It is
// finite, because a command such as a snapshot takes as long as the disk hangs.
const commandMax = 30 * time.Second

// snapshot makes a process take a snapshot, as its operator would.
func (l *process) snapshot() error { return l.command(l.cluster.Snapshot) }

// command runs a command in a process, as its admin port would. It returns errLost after
// commandMax.
func (l *process) command(f func() error) error {
	done := make(chan error, 1)
	go func() {
		l.owner.MarkGoroutine()
		done <- f()
	}()
	t := time.NewTimer(commandMax)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return network.ErrLost
	}
}
