package settings

import (
	"fmt"

	"rmd/yarn"
)

// Containers that borrow the free room of reserved nodes.

// LifetimeTag returns the tag in which two of three applications declare how long their containers
// run. Many of these declarations are wrong.
func (o Cluster) LifetimeTag(n int) []string {
	if o.Backfill == "" || n%3 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%sseconds=%d", yarn.LifetimeTag, 1+n%9)}
}
