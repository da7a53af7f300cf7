package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"rmd/internal/exitcode"
)

// diskSpace reacts to the free space of the data directory.
type diskSpace struct {
	*core
	survey      *survey
	changes     *changes
	handingOver atomic.Bool // a leadership transfer because of low disk space is in progress
}

// watchSpace checks the data directory and its free space every second. It is separate from
// watchDisk because these checks may block on a hung disk.
func (d *diskSpace) watchSpace() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		d.lookAtDir()
		d.lookAtSpace()
		select {
		case <-d.ctx.Done():
			return
		case <-t.C:
		}
	}
}

// lookAtDir stops a replica whose data directory was removed, moved or unmounted. What such a
// replica acknowledges would be lost when its process ends.
func (d *diskSpace) lookAtDir() {
	if d.cfg.DataDir == "" {
		return
	}
	if err := d.dir.CheckInPlace(); err != nil {
		d.guard.Fail(exitcode.Store, fmt.Errorf("the data directory was removed, moved or unmounted while in use: %w", err))
	}
}

// lookAtSpace applies DiskReserve and DiskStop.
func (d *diskSpace) lookAtSpace() {
	if d.cfg.Options.FreeSpace == nil && d.cfg.DataDir == "" {
		return
	}
	free, err := d.free()
	if failing := d.jobs.diskSpace.Failing(); d.jobs.diskSpace.Done(err) != nil {
		if !failing {
			d.log.Warn("cannot read the free space", "error", err)
		}
		return
	}
	d.diskFree.Store(free)
	full := free < d.cfg.DiskStop
	if d.full.Swap(full) != full {
		d.transport.RefuseEntries(full)
		if full {
			d.log.Error("disk is full: refusing writes until there is space", "free", free, "stop_level", d.cfg.DiskStop)
		} else {
			d.log.Info("disk has space again", "free", free)
		}
	}
	if free < d.cfg.DiskReserve && d.IsLeader() {
		d.handOverForSpace(free)
	}
}

// handOverForSpace transfers leadership to a voter with more free space, if there is one. Without
// one, this replica keeps leadership: transfers would only go in circles.
func (d *diskSpace) handOverForSpace(free uint64) {
	if d.handingOver.Swap(true) {
		return
	}
	d.goRun(func() {
		defer d.handingOver.Store(false)
		for _, m := range d.survey.Members() {
			if m.Voter && !m.Leader && m.State == StateAlive && m.DiskFree >= d.cfg.DiskReserve && m.Lag <= transferLag {
				d.log.Warn("disk space below the reserve: transferring leadership", "free", free, "reserve", d.cfg.DiskReserve, "to", m.ID)
				if err := d.changes.Transfer(m.ID); err != nil {
					d.log.Warn("leadership transfer failed", "to", m.ID, "error", err)
					continue
				}
				return
			}
		}
		if free < d.cfg.DiskStop {
			d.log.Error("disk space below the stop level, and no voter has room to lead", "free", free)
		}
	})
}
