package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"rmd/cluster/local"
	"rmd/internal/exitcode"
)

// diskSpace reacts to the free space of the data directory.
type diskSpace struct {
	*local.Replica
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
		case <-d.Context.Done():
			return
		case <-t.C:
		}
	}
}

// lookAtDir stops a replica whose data directory was removed, moved or unmounted. What such a
// replica acknowledges would be lost when its process ends.
func (d *diskSpace) lookAtDir() {
	if d.Config.DataDir == "" {
		return
	}
	if err := d.Dir.CheckInPlace(); err != nil {
		d.Guard.Fail(exitcode.Store, fmt.Errorf("the data directory was removed, moved or unmounted while in use: %w", err))
	}
}

// lookAtSpace applies DiskReserve and DiskStop.
func (d *diskSpace) lookAtSpace() {
	if d.Config.Options.FreeSpace == nil && d.Config.DataDir == "" {
		return
	}
	free, err := d.Free()
	if failing := d.Jobs.DiskSpace.Failing(); d.Jobs.DiskSpace.Done(err) != nil {
		if !failing {
			d.Log.Warn("cannot read the free space", "error", err)
		}
		return
	}
	d.DiskFree.Store(free)
	full := free < d.Config.DiskStop
	if d.Full.Swap(full) != full {
		d.Transport.RefuseEntries(full)
		if full {
			d.Log.Error("disk is full: refusing writes until there is space", "free", free, "stop_level", d.Config.DiskStop)
		} else {
			d.Log.Info("disk has space again", "free", free)
		}
	}
	if free < d.Config.DiskReserve && d.IsLeader() {
		d.handOverForSpace(free)
	}
}

// handOverForSpace transfers leadership to a voter with more free space, if there is one. Without
// one, this replica keeps leadership: transfers would only go in circles.
func (d *diskSpace) handOverForSpace(free uint64) {
	if d.handingOver.Swap(true) {
		return
	}
	d.Go(func() {
		defer d.handingOver.Store(false)
		for _, m := range d.survey.Members() {
			if m.Voter && !m.Leader && m.State == StateAlive && m.DiskFree >= d.Config.DiskReserve && m.Lag <= transferLag {
				d.Log.Warn("disk space below the reserve: transferring leadership", "free", free, "reserve",
					d.Config.DiskReserve, "to", m.ID)
				if err := d.changes.Transfer(m.ID); err != nil {
					d.Log.Warn("leadership transfer failed", "to", m.ID, "error", err)
					continue
				}
				return
			}
		}
		if free < d.Config.DiskStop {
			d.Log.Error("disk space below the stop level, and no voter has room to lead", "free", free)
		}
	})
}
