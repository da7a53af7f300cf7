package logsim

import (
	"slices"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger"
	"rmd/jepsen-lite/tokenlog"
	"rmd/yarn"
)

// rollback forgets the entries after an index. The container ids in them must never be used again.
func (c *checker) rollback(index uint64) {
	lost := c.seen[index:]
	c.seen = c.seen[:index:index]
	for _, id := range c.follow(slices.Concat(c.seen, lost), index) {
		c.lostIDs[id] = true
	}
	c.follow(c.seen, index)
	for i := range c.snaps { // the order of the map does not matter
		if i > index {
			delete(c.snaps, i)
		}
	}
	for i := range c.skips { // the order of the map does not matter
		if i > index {
			delete(c.skips, i)
		}
	}
	for id, t := range c.granted { // the order of the map does not matter
		t.resyncs += 1_000_000 // an AM may receive the same grant again
		c.granted[id] = t
	}
	clear(c.told)
}

// follow builds a new ledger from a log and returns the container ids in the entries after an
// index.
func (c *checker) follow(log []record, after uint64) (given []yarn.ContainerID) {
	c.ledger, c.tokens = ledger.New().UniqueNames(), new(tokenlog.Judge)
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
		if err == nil && !rec.skipped {
			c.tokens.Batch(b.Events) // it was judged when it came
		}
		if index > after {
			given = append(given, c.ledger.Given()...)
		}
	}
	return given
}
