package disk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
)

// TestDeletedEntryNotRevived checks that a bit flip in a deleted entry whose deletion is not
// durable yet does not make the entry visible again.
func TestDeletedEntryNotRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(1, cluster.Identity{})
		var logs []*raft.Log
		for i := uint64(1); i <= 20; i++ {
			logs = append(logs, &raft.Log{Index: i, Data: []byte("an entry")})
		}
		if err := d.StoreLogs(logs); err != nil {
			t.Fatal(err)
		}
		thaw := d.Freeze()
		go func() { _ = d.DeleteRange(1, 19) }()
		synctest.Wait()
		for range 20 {
			if !d.RotLog() {
				t.Fatal("nothing to damage")
			}
		}
		thaw()
		if n := len(d.seen.logs); n != 1 {
			t.Errorf("%d entries are there, 1 was kept", n)
		}
	})
}

// TestWriteEndsAfterDiskRepair checks that a write that began while the disk was slow ends soon
// after the repair.
func TestWriteEndsAfterDiskRepair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(1, cluster.Identity{})
		d.SetFaults(func(f *Faults) { f.Slow = 1_000_000 })
		done := make(chan struct{})
		go func() { defer close(done); d.syncDelay() }()
		time.Sleep(time.Minute)
		select {
		case <-done:
			t.Fatal("the slow write has ended")
		default:
		}
		d.Repair()
		begin := time.Now()
		<-done
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it went on for %v", took)
		}
	})
}
