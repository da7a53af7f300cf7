package cluster

import (
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/internal/exitcode"
)

// hashicorp/raft #503 (v1.8.0, replication.go: heartbeat; raft.go: dispatchLogs).
//
// Library: heartbeats do not touch the disk, so a leader whose write does not return stays leader.
// Its main loop, which could transfer leadership, is blocked by the write.
// Guard: after Config.HungGiveUp this replica sends no more entries and heartbeats, and tells the
// voter with the longest log to start an election. Raft itself follows when the write returns. After
// Config.HungExit the replica stops.
// Test: TestTrap503, TestSlowDiskComesBack; in jepsen-lite/sim TestTrap503, TestTrap503Library.
// Delete when: a leader steps down while a write does not return; TestTrap503Library fails then.

// watchInterval is the time between two checks of the disk. It is small compared to HungGiveUp.
const watchInterval = 250 * time.Millisecond

// watchDisk checks the age of writes until the cluster closes. If this process itself was stopped
// (SIGSTOP, a paused machine), the disk is not at fault: the delay of a late tick is subtracted
// from the age of the writes.
func (c *Cluster) watchDisk() {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	var gaveUp bool
	looked := time.Now()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
		now := time.Now()
		if late := now.Sub(looked) - watchInterval; late > watchInterval {
			c.guard.Forgive(late, now)
		}
		looked = now
		age := c.guard.OldestWrite(now)
		switch {
		case age >= c.cfg.HungExit:
			c.guard.Fail(exitcode.DiskHung, fmt.Errorf("disk hung: a write has not returned for %s", age.Round(time.Second)))
			return
		case age >= c.cfg.HungGiveUp && !gaveUp:
			gaveUp = true
			c.log.Error("disk is slow: transferring leadership", "write_age", age)
			c.transport.Mute(true)
			c.giveUpLeadership()
		case age < c.cfg.HungGiveUp && gaveUp:
			gaveUp = false
			c.log.Info("disk writes return again")
			c.transport.Mute(false)
		}
	}
}

// giveUpLeadership tells the voter with the longest log to start an election. It bypasses raft,
// whose main loop may be blocked by a write.
func (c *Cluster) giveUpLeadership() {
	in := c.current()
	if in.raft.State() != raft.Leader {
		return
	}
	c.goRun(func() {
		self := c.Identity().ServerID()
		var best raft.Server
		var bestLast uint64
		for _, s := range voters(c.configuration()) {
			if s.ID == self {
				continue
			}
			last := c.succession.StatusOf(s.ID).LastIndex
			if best.ID == "" || last > bestLast {
				best, bestLast = s, last
			}
		}
		if best.ID == "" {
			return
		}
		if err := c.succession.RequestElection(best); err != nil {
			c.log.Warn("cannot tell a voter to start an election", "replica", best.ID, "error", err)
		}
	})
}
