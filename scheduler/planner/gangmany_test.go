package planner

import (
	"testing"
	"time"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestManyGangs checks that a heartbeat takes about eight times as long with eight times as many
// waiting gangs, not 64 times. Any user may submit gangs that can never start.
func TestManyGangs(t *testing.T) {
	took := func(gangs int) time.Duration {
		f := newFloor(t, 2, 4<<10)
		f.p.setEager(false)
		for range gangs {
			f.start("root.a", "priority=1,count=4", 4, yarn.NewResource(3<<10, 1))
		}
		best := time.Hour
		for range 5 {
			f.now += 1000
			began := time.Now()
			f.do(&input.NodeHeartbeat{ID: f.nodes[0]})
			best = min(best, time.Since(began))
		}
		return best
	}
	if few, many := took(250), took(2000); many > 30*few {
		t.Errorf("a heartbeat takes %v with 250 gangs, %v with 2,000", few, many)
	}
}
