package planner

import (
	"testing"

	"rmd/internal/growth"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestManyGangs checks that the time for a heartbeat does not grow with the square of the waiting
// gangs. Any user may submit gangs that can never start.
func TestManyGangs(t *testing.T) {
	f := newFloor(t, 2, 4<<10)
	f.p.setEager(false)
	for range 30_000 {
		f.start("root.a", "priority=1,count=4", 4, yarn.NewResource(3<<10, 1))
	}
	growth.InTime(t, "a heartbeat with 30,000 gangs", func() {
		for range 100 {
			f.now += 1000
			f.do(&input.NodeHeartbeat{ID: f.nodes[0]})
		}
	})
}
