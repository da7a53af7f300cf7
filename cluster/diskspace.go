package cluster

import (
	"fmt"
	"time"

	"rmd/cluster/raftstore"
	"rmd/internal/exitcode"
)

// watchSpace checks the data directory and its free space every second. It is separate from
// watchDisk because these checks may block on a hung disk.
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

// lookAtDir stops a replica whose data directory was removed, moved or unmounted. What such a
// replica acknowledges would be lost when its process ends.
func (c *Cluster) lookAtDir() {
	if c.cfg.DataDir == "" {
		return
	}
	if err := c.dir.CheckInPlace(); err != nil {
		c.guard.Fail(exitcode.Store, fmt.Errorf("the data directory was removed, moved or unmounted while in use: %w", err))
	}
}

// lookAtSpace applies DiskReserve and DiskStop.
func (c *Cluster) lookAtSpace() {
	if c.cfg.Options.FreeSpace == nil && c.cfg.DataDir == "" {
		return
	}
	free, err := c.free()
	if failing := c.jobs.diskSpace.Failing(); c.jobs.diskSpace.Done(err) != nil {
		if !failing {
			c.log.Warn("cannot read the free space", "error", err)
		}
		return
	}
	c.diskFree.Store(free)
	full := free < c.cfg.DiskStop
	if c.full.Swap(full) != full {
		c.transport.RefuseEntries(full)
		if full {
			c.log.Error("disk is full: refusing writes until there is space", "free", free, "stop_level", c.cfg.DiskStop)
		} else {
			c.log.Info("disk has space again", "free", free)
		}
	}
	if free < c.cfg.DiskReserve && c.IsLeader() {
		c.handOverForSpace(free)
	}
}

// free returns the free space of the data directory in bytes.
func (c *Cluster) free() (uint64, error) {
	f := c.cfg.Options.FreeSpace
	if f == nil {
		f = raftstore.FreeSpace
	}
	return f(c.cfg.DataDir)
}

// handOverForSpace transfers leadership to a voter with more free space, if there is one. Without
// one, this replica keeps leadership: transfers would only go in circles.
func (c *Cluster) handOverForSpace(free uint64) {
	if c.handingOver.Swap(true) {
		return
	}
	c.goRun(func() {
		defer c.handingOver.Store(false)
		for _, m := range c.Members() {
			if m.Voter && !m.Leader && m.State == StateAlive && m.DiskFree >= c.cfg.DiskReserve && m.Lag <= transferLag {
				c.log.Warn("disk space below the reserve: transferring leadership", "free", free, "reserve", c.cfg.DiskReserve, "to", m.ID)
				if err := c.Transfer(m.ID); err != nil {
					c.log.Warn("leadership transfer failed", "to", m.ID, "error", err)
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
