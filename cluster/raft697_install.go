package cluster

import "github.com/hashicorp/raft"

// drop has the log that ends with an entry dropped by a restart in place. A log that ends otherwise by then is
// another: it was cleared by a snapshot, and holds what was acknowledged since.
func (c *Cluster) drop(tail raft.Log) {
	if !c.dropping.CompareAndSwap(false, true) {
		return
	}
	c.divergent.Store(&tail)
	c.goRun(func() {
		defer c.dropping.Store(false)
		c.restart("the log behind the snapshot is divergent (hashicorp/raft #697)")
	})
}

// toDrop says, once, whether the log is the one to be dropped.
func (c *Cluster) toDrop() bool {
	tail := c.divergent.Swap(nil)
	last, term := c.stores.Logs.Tail()
	return tail != nil && tail.Index == last && tail.Term == term
}
