package main

import "fmt"

// kind is one dimension of a cluster, with the sizes to measure.
type kind struct {
	name, what string
	pkg, bench string
	time       func(size int) string
	sizes      []int
	figures    []figure
}

// figure is a value that a benchmark reports for a size.
type figure struct{ unit, what string }

// ofState lists what fsm's benchmark reports about a replica's state.
var ofState = []figure{
	{"bytes/object", "memory of one object"},
	{"ns/event", "one event applied"},
	{"fork-ms", "the pause of a snapshot"},
	{"snapshot-ms", "a snapshot encoded, without its disk"},
	{"restore-ms", "a snapshot restored"},
}

// ofPlanner lists what the planner's benchmark reports.
var ofPlanner = []figure{
	{"ns/decision", "one container allocated or completed"},
	{"ns/input", "one heartbeat or call"},
	{"new-leader-ms", "a new leader begins to plan"},
}

func once(int) string { return "1x" }

// times returns a benchmark time of n heartbeats for every size.
func times(n int) func(int) string { return func(int) string { return fmt.Sprintf("%dx", n) } }

// laps returns a benchmark time of n heartbeats per node.
func laps(n int) func(int) string {
	return func(nodes int) string { return fmt.Sprintf("%dx", n*nodes) }
}

var kinds = []kind{
	{"containers", "Containers, on 50,000 nodes", "./fsm", "BenchmarkGrowth", once,
		[]int{1_000_000, 2_000_000, 5_000_000, 10_000_000}, ofState},
	{"nodes", "Nodes", "./fsm", "BenchmarkGrowth", once, []int{1000, 10_000, 50_000, 100_000}, ofState},
	{"queues", "Queues", "./fsm", "BenchmarkGrowth", once, []int{100, 1000, 10_000}, ofState},
	{"ended", "Applications that have ended", "./fsm", "BenchmarkGrowth", once,
		[]int{10_000, 100_000, 1_000_000}, ofState},
	{"nodes", "Planner: nodes, with 100 leaf queues and 1,000 applications", "./scheduler/planner", "BenchmarkPlanGrowth",
		laps(4), []int{1000, 10_000, 50_000}, ofPlanner},
	{"queues", "Planner: leaf queues, with 1,000 nodes and 10,000 applications", "./scheduler/planner",
		"BenchmarkPlanGrowth", times(10_000), []int{100, 1000, 9999}, ofPlanner},
	{"applications", "Planner: applications, with 1,000 nodes and 100 leaf queues", "./scheduler/planner",
		"BenchmarkPlanGrowth", times(10_000), []int{1000, 10_000, 100_000}, ofPlanner},
	{"apps", "The page of applications", "./transport/http", "BenchmarkPage", times(100),
		[]int{200, 10_000, 100_000, 1_000_000}, []figure{{"ns/op", "one page after a change"}}},
}
