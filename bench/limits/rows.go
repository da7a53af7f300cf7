package main

import (
	"fmt"
	"slices"

	"rmd/internal/quantile"
)

// figure is a value that a benchmark reports in one unit.
type figure struct {
	pkg, bench, unit string
	time             string // -benchtime
	// times is a unit of rmd's benchmark by which the figure is multiplied. Empty means 1.
	times string
	// same means that rmd's own benchmark reports the figure in the same run.
	same bool
}

// row is one kind of work. Its limit is the sum of some figures.
type row struct {
	work  string
	rmd   figure
	limit []figure
	more  bool // larger values are better
	// pass lists the units of rmd's benchmark that the limit's benchmark needs.
	pass []string
	of   string // description of the limit
}

const (
	limitsPkg  = "./bench/limits"
	localPkg   = "./cmd/rmd/internal/local"
	programPkg = "./cmd/rmd"
	ipcPkg     = "./transport/hadoop/ipc"
)

var rows = []row{
	{work: "commit on an idle cluster", rmd: figure{pkg: localPkg, bench: "BenchmarkAsk", unit: "ns/op", time: "2000x"},
		limit: []figure{{pkg: limitsPkg, bench: "BenchmarkSyncs", unit: "ns/op", time: "2s"}},
		of:    "two synced writes of a page: the leader's, then a follower's"},
	{work: "durable decisions, three processes", more: true,
		rmd:   figure{pkg: localPkg, bench: "BenchmarkDecisionsApart", unit: "decisions/s", time: "5s"},
		limit: []figure{{pkg: limitsPkg, bench: "BenchmarkBolt", unit: "decisions/s", time: "2s"}},
		pass:  []string{"decisions/entry"},
		of:    "one raft-boltdb store, entries of as many decisions"},
	{work: "idle heartbeat of a NodeManager, CPU",
		rmd:   figure{pkg: programPkg, bench: "BenchmarkHadoopHeartbeats", unit: "cpu-µs/heartbeat", time: "1x"},
		limit: []figure{{pkg: ipcPkg, bench: "BenchmarkFloor/inflight=32", unit: "cpu-µs/msg", time: "200000x"}},
		of:    "bare epoll_wait, read and write of the same messages"},
	{work: "container's life by Hadoop's protocols, CPU",
		rmd: figure{pkg: programPkg, bench: "BenchmarkHadoopContainers", unit: "cpu-µs/container", time: "1x"},
		limit: []figure{{pkg: limitsPkg, bench: "BenchmarkMessages", unit: "µs/container", time: "1s"},
			{pkg: ipcPkg, bench: "BenchmarkFloor/inflight=32", unit: "cpu-µs/msg", time: "200000x",
				times: "messages/container"}},
		of: "its messages decoded, encoded, and sent over bare sockets"},
	{work: "heartbeat that reports ends, at full load",
		rmd:   figure{pkg: programPkg, bench: "BenchmarkHadoopReports", unit: "ms/report", time: "1x"},
		limit: []figure{{unit: "ms/commit", same: true}},
		of:    "a commit of the same run, from proposal to applied"},
	{work: "planner, per decision", rmd: figure{pkg: "./scheduler/planner", bench: "BenchmarkPlan$",
		unit: "ns/decision", time: "2s"},
		limit: []figure{{pkg: "./fsm", bench: "BenchmarkApply", unit: "ns/event", time: "2s"}},
		of:    "a follower that decodes and applies the event"},
	{work: "fork, 1,000,000 containers", rmd: figure{pkg: "./fsm", bench: "BenchmarkFork", unit: "ns/op", time: "1s"},
		limit: []figure{{pkg: limitsPkg, bench: "BenchmarkCopy", unit: "ns/op", time: "1s"}}, pass: []string{"B/op"},
		of: "a copy of as many bytes"},
	{work: "snapshot to disk, 1,000,000 containers", more: true,
		rmd:   figure{pkg: "./fsm", bench: "BenchmarkPersist", unit: "MB/s", time: "2x"},
		limit: []figure{{pkg: limitsPkg, bench: "BenchmarkDisk", unit: "MB/s", time: "2x"}},
		of:    "a synced file"},
	{work: "restore, 1,000,000 containers", more: true,
		rmd:   figure{pkg: "./fsm", bench: "BenchmarkRestore", unit: "MB/s", time: "2x"},
		limit: []figure{{pkg: limitsPkg, bench: "BenchmarkMemory", unit: "MB/s", time: "1s"}},
		of:    "a copy in memory"},
	{work: "page of applications, 100,000 of them",
		rmd:   figure{pkg: "./transport/http", bench: "BenchmarkPage/apps=100000", unit: "ns/op", time: "200x"},
		limit: []figure{{pkg: "./transport/http", bench: "BenchmarkPage/apps=200", unit: "ns/op", time: "200x"}},
		of:    "the same page of 200: to render as many rows"},
}

// measured has the values of a row, one per round.
type measured struct{ rmd, limit []float64 }

var heading = fmt.Sprintf(layout, "WORK", "RMD", "LIMIT", "UNIT", "TIMES", "RANGE", "THE LIMIT IS")

const layout = "%-44s%10s%10s  %-17s%6s  %-15s%s\n"

// line formats a row: the medians of both, and by how many times the limit is better, as the median
// and the range of the rounds.
func (r row) line(m measured) string {
	ratios := make([]float64, len(m.rmd))
	for i := range ratios {
		if ratios[i] = m.rmd[i] / m.limit[i]; r.more {
			ratios[i] = m.limit[i] / m.rmd[i]
		}
	}
	slices.Sort(ratios)
	return fmt.Sprintf(layout, r.work, amount(median(m.rmd)), amount(median(m.limit)), r.rmd.unit,
		fmt.Sprintf("%.3g", median(ratios)),
		fmt.Sprintf("%.3g to %.3g", ratios[0], ratios[len(ratios)-1]), r.of)
}

func median(v []float64) float64 { return quantile.Of(slices.Sorted(slices.Values(v)), 0.5) }

// amount formats a value with four significant figures.
func amount(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
