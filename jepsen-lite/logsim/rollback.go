package logsim

import (
	"slices"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger"
	"rmd/yarn"
)

// rollback forgets what came after an index. Container ids handed out since then
// must never be handed out again.
func (c *checker) rollback(index uint64) {
	lost := c.seen[index:]
	c.seen = c.seen[:index:index]
	for _, id := range c.follow(slices.Concat(c.seen, lost), index) {
		c.lostIDs[id] = true
	}
	c.follow(c.seen, index)
	for i := range c.snaps { // all of them: the order is harmless
		if i > index {
			delete(c.snaps, i)
		}
	}
	for i := range c.skips { // all of them: the order is harmless
		if i > index {
			delete(c.skips, i)
		}
	}
	for id, t := range c.granted { // all of them: the order is harmless
		t.resyncs += 1_000_000 // what an AM was told it may be told again
		c.granted[id] = t
	}
	clear(c.told)
}

// follow has a new ledger follow a log, and returns the container ids that it gives after an index.
func (c *checker) follow(log []record, after uint64) (given []yarn.ContainerID) {
	c.ledger = ledger.New().UniqueNames()
	for i, rec := range log {
		index := uint64(i + 1)
		b, err := event.Decode(rec.data)
		if err == nil {
			err = c.ledger.Batch(index, rec.term, b)
		}
		if err != nil {
			c.fail("S1", "the ledger cannot follow index %d: %v", index, err)
			return given
		}
		if index > after {
			given = append(given, c.ledger.Given()...)
		}
	}
	return given
}
