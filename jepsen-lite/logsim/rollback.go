package logsim

import (
	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger"
)

// rollback forgets what came after an index. Container ids handed out since then
// must never be handed out again.
func (c *checker) rollback(index uint64) {
	lost := c.seen[index:]
	c.seen = c.seen[:index:index]
	c.books = newBooks(c.w.opt.Dominant)
	for _, rec := range c.seen {
		c.refollow(rec, false)
	}
	for _, rec := range lost {
		c.refollow(rec, true)
	}
	c.books, c.model = newBooks(c.w.opt.Dominant), ledger.New()
	for i, rec := range c.seen {
		c.refollow(rec, false)
		if b, err := event.Decode(rec.data); err == nil {
			if err := c.model.Batch(uint64(i+1), rec.term, b); err != nil {
				c.fail("S1", "the replay model cannot follow: %v", err)
			}
		}
	}
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
	for id, t := range c.told { // all of them: the order is harmless
		t.resyncs += 1_000_000 // what was told may be told again
		c.told[id] = t
	}
}

// refollow enters an old entry into the present books and perhaps burns the
// ids that it hands out.
func (c *checker) refollow(rec record, burn bool) {
	if rec.skipped {
		return
	}
	b, err := event.Decode(rec.data)
	if err != nil {
		return
	}
	for _, e := range b.Events {
		if v := c.books.follow(e); v != nil {
			c.fail(v.invariant, "%s", v.text)
			return
		}
		if !burn {
			continue
		}
		switch e := e.(type) {
		case *event.ContainerAllocated:
			c.burnt[c.idOf(e.App, e.Number)] = true
		case *event.ReservationMade:
			c.burnt[c.idOf(e.App, e.Number)] = true
		}
	}
}
