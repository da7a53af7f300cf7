package cluster

import (
	"fmt"
	"time"

	"rmd/cluster/raftstore"
	"rmd/internal/exitcode"
)

// watchInterval is how often the disk is looked at; small against the limits it watches.
const watchInterval = 250 * time.Millisecond

// watchDisk looks at the age of writes until the cluster closes.
//
// A leader whose disk hangs would stay leader: raft's heartbeats do not touch the disk (hashicorp/raft
// #503), and its main loop, which could hand leadership over, is inside the write. So its entries and
// heartbeats are muted on the wire and a voter is told to stand at once; raft itself follows when the
// write returns.
//
// When this process itself stood still (SIGSTOP, a paused machine), the disk is
// not to blame: a tick that comes late takes its lateness off the writes' ages.
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
			c.guard.Fail(exitcode.DiskHung, fmt.Errorf("disk hung: one write takes %s already", age.Round(time.Second)))
			return
		case age >= c.cfg.HungGiveUp && !gaveUp:
			gaveUp = true
			c.log.Error("disk is slow: giving up leadership", "write_age", age)
			c.wire.Mute(true)
			c.abdicate()
		case age < c.cfg.HungGiveUp && gaveUp:
			gaveUp = false
			c.log.Info("disk writes return again")
			c.wire.Mute(false)
		}
	}
}

// watchSpace looks at the data directory and its free space, apart from watchDisk: on a hung disk the question may hang too.
func (c *Cluster) watchSpace() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		c.lookAtDir()
		c.lookAtSpace()
		select {
		case <-c.ctx.Done():
			return
		case <-t.C:
		}
	}
}

// lookAtDir ends a replica whose data directory was taken from under it: what it acknowledges would be on no
// disk after its process.
func (c *Cluster) lookAtDir() {
	if c.cfg.DataDir == "" {
		return
	}
	if err := c.dir.CheckInPlace(); err != nil {
		c.guard.Fail(exitcode.Store, fmt.Errorf("the data directory was removed, moved or unmounted while in use: %w", err))
	}
}

// lookAtSpace applies the reserve and the stop level.
func (c *Cluster) lookAtSpace() {
	if c.cfg.Options.FreeSpace == nil && c.cfg.DataDir == "" {
		return
	}
	free, err := c.free()
	if err != nil {
		c.log.Warn("free space is not known", "error", err)
		return
	}
	c.diskFree.Store(free)
	full := free < c.cfg.DiskStop
	if c.full.Swap(full) != full {
		c.wire.RefuseEntries(full)
		if full {
			c.log.Error("disk is full: writes are refused until there is space", "free", free, "stop_level", c.cfg.DiskStop)
		} else {
			c.log.Info("disk has space again", "free", free)
		}
	}
	if free < c.cfg.DiskReserve && c.IsLeader() {
		c.yieldForSpace(free)
	}
}

// free asks for the free space of the data directory.
func (c *Cluster) free() (uint64, error) {
	f := c.cfg.Options.FreeSpace
	if f == nil {
		f = raftstore.FreeSpace
	}
	return f(c.cfg.DataDir)
}

// yieldForSpace hands leadership to a voter with more room, when there is one: without, going on
// is better than handing over in circles.
func (c *Cluster) yieldForSpace(free uint64) {
	if c.yielding.Swap(true) {
		return
	}
	c.goRun(func() {
		defer c.yielding.Store(false)
		for _, m := range c.Members() {
			if m.Voter && !m.Leader && m.State == StateAlive && m.DiskFree >= c.cfg.DiskReserve && m.Lag <= transferLag {
				c.log.Warn("disk space below the reserve: giving up leadership", "free", free, "reserve", c.cfg.DiskReserve, "to", m.ID)
				if err := c.Transfer(m.ID); err != nil {
					c.log.Warn("leadership was not taken over", "to", m.ID, "error", err)
					continue
				}
				return
			}
		}
		if free < c.cfg.DiskStop {
			c.log.Error("disk space below the stop level, and no voter has room to lead", "free", free)
		}
	})
}
