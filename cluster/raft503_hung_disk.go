package cluster

import (
	"fmt"
	"time"

	"rmd/cluster/local"
	"rmd/internal/exitcode"
)

// hashicorp/raft #503 (v1.8.0, replication.go: heartbeat; raft.go: dispatchLogs).
//
// Library: heartbeats do not touch the disk, so a leader whose write does not return stays leader.
// Its main loop, which could transfer leadership, is blocked by the write.
// Guard: a leader whose write has taken Config.HungGiveUp steps down (stepdown.go). Raft itself
// follows when the write returns. After Config.HungExit the replica stops.
// Test: TestTrap503, TestSlowDiskComesBack; in jepsen-lite/sim TestTrap503, TestTrap503Library.
// Delete when: a leader steps down while a write does not return; TestTrap503Library fails then.

// watchDisk checks the age of writes until the cluster closes. If this process itself was stopped
// (SIGSTOP, a paused machine), the disk is not at fault: the delay of a late tick is subtracted
// from the age of the writes.
func (s *stepDowns) watchDisk() {
	s.Watch(func(now time.Time, passed time.Duration) (goOn bool) {
		if late := passed - local.WatchInterval; late > local.WatchInterval {
			s.Guard.Forgive(late, now)
		}
		age := s.Guard.OldestWrite(now)
		if age >= s.Config.HungExit {
			s.Guard.Fail(exitcode.DiskHung, fmt.Errorf("disk hung: a write has not returned for %s", age.Round(time.Second)))
		}
		return age < s.Config.HungExit
	})
}
