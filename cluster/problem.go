package cluster

import (
	"fmt"
	"strings"
	"time"
)

// Problem describes what an operator should fix on this replica, or returns "".
func (c *Cluster) Problem() string {
	var all []string
	if c.full.Load() {
		all = append(all, fmt.Sprintf("disk full: %s free, writes are refused below disk.stop, %s", mebibytes(c.diskFree.Load()), mebibytes(c.cfg.DiskStop)))
	}
	if t := c.guard.ShortageText(); t != "" {
		all = append(all, "file descriptors or memory exhausted: "+t)
	}
	if age, why := c.progress.worst(); age >= c.stallLimit()/2 {
		all = append(all, fmt.Sprintf("no progress for %s: %s", age.Round(time.Second), why))
	}
	if t := c.stepDownText(); t != "" {
		all = append(all, t)
	}
	if c.cfg.Problem != nil {
		if t := c.cfg.Problem(); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, "; ")
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
