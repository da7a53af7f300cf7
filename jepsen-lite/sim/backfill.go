package sim

import (
	"fmt"

	"rmd/yarn"
)

// Containers that borrow the idle room of reserved nodes.

// backfillOf sets the keys of backfill. Only declared lifetimes say when a node will have room, so with
// them asks also look for the node that has it first.
func (w *world) backfillOf(set func(k, v string)) {
	set(prefix+"root.backfill", w.opt.backfill)
	if w.opt.backfill == "declared" {
		set(prefix+"reservation.node", "earliest")
	}
}

// lifetime is the tag in which two of three applications declare how long their containers run. Many of
// these declarations are wrong.
func (w *world) lifetime(n int) []string {
	if w.opt.backfill == "" || n%3 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%sseconds=%d", yarn.LifetimeTag, 1+n%9)}
}
