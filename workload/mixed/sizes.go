package mixed

import (
	"fmt"
	"math"
	"time"

	"rmd/workload/trace"
)

// quantile is a point of a distribution: the share at of all tasks requests at most value.
type quantile struct{ at, value float64 }

// Requests of one production task: minimum, p10, p50, p90, p99. The less frequent, larger requests
// are the large jobs.
var (
	memoryMB = []quantile{{0, 1024}, {0.10, 5600}, {0.50, 41560}, {0.90, 58368}, {1, 125952}}
	vcores   = []quantile{{0, 1}, {0.10, 3.2}, {0.50, 11.3}, {0.90, 16.4}, {1, 32}}
)

const (
	noGPU = 1.0 / 6 // share of the small containers without a GPU: the smallest

	smallLeast, smallMost = 2.0, 20.0 // seconds
	largeLeast, largeMost = 5.0, 30.0 // seconds

	mapReduceShare = 0.1
)

// interpolate returns the value of a distribution at at, with linear interpolation.
func interpolate(points []quantile, at float64) float64 {
	for i := 1; i < len(points); i++ {
		if a, b := points[i-1], points[i]; at <= b.at {
			return a.value + (b.value-a.value)*(at-a.at)/(b.at-a.at)
		}
	}
	return points[len(points)-1].value
}

// runTime returns a random run time between two bounds. Short ones are more frequent.
func (g *Generator) runTime(least, most float64) time.Duration {
	return g.scaled(least * math.Pow(most/least, g.rng.Float64()))
}

func (g *Generator) user() string { return fmt.Sprintf("u%02d", 1+g.rng.IntN(8)) }

// smallJob returns a small job: a few equal containers, or sometimes maps and reduces.
func (g *Generator) smallJob() trace.Job {
	if g.rng.Float64() < mapReduceShare {
		return g.mapReduceJob()
	}
	at := g.rng.Float64()
	group := trace.TaskGroup{
		Count:    (1 + g.rng.IntN(3)) * g.fan,
		MemoryMB: int64(interpolate(memoryMB, at)) / 512 * 512,
		VCores:   int64(interpolate(vcores, at)),
		GPUs:     1,
		Duration: g.runTime(smallLeast, smallMost),
		Priority: 1,
		After:    -1,
	}
	queue := "root.online"
	switch draw := g.rng.Float64(); {
	case at < noGPU:
		group.GPUs = 0
		queue = "root.adhoc"
	case draw < 0.35:
		queue = "root.batch"
	case draw < 0.45:
		queue = "root.adhoc"
	}
	return trace.Job{User: g.user(), Queue: queue, Tasks: []trace.TaskGroup{group}}
}

// mapReduceJob returns a job without GPUs: many short maps, then a few longer reduces.
func (g *Generator) mapReduceJob() trace.Job {
	maps := trace.TaskGroup{Count: (3 + g.rng.IntN(6)) * g.fan, MemoryMB: 2048, VCores: 1,
		Duration: g.runTime(smallLeast, 5), Priority: 20, After: -1}
	reduces := trace.TaskGroup{Count: (1 + g.rng.IntN(2)) * g.fan, MemoryMB: 4096, VCores: 2,
		Duration: g.runTime(3, 10), Priority: 10, After: 0}
	return trace.Job{User: g.user(), Queue: "root.batch", Tasks: []trace.TaskGroup{maps, reduces}}
}

// largeJob returns a job whose containers need at least half a node.
func (g *Generator) largeJob() trace.Job {
	group := trace.TaskGroup{Count: 1, Duration: g.runTime(largeLeast, largeMost), Priority: 1, After: -1}
	switch draw := g.rng.Float64(); {
	case draw < 0.40:
		setGPUs(&group, 4)
	case draw < 0.55:
		setGPUs(&group, 6)
	default:
		setGPUs(&group, 8)
	}
	if group.GPUs == 4 && g.cfg.Nodes > 1 && g.rng.Float64() < 0.3 {
		group.Count = 2
	}
	return trace.Job{User: g.user(), Queue: "root.train", Tasks: []trace.TaskGroup{group}}
}

// setGPUs sets the size of a large container: 40,960 MiB and 11 cores per GPU. A container of a
// whole node thus leaves room for AMs.
func setGPUs(group *trace.TaskGroup, gpus int64) {
	group.GPUs, group.MemoryMB, group.VCores = gpus, 40960*gpus, 11*gpus
}
