package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// The traces that this package generates from a seed. They have the shape of published clusters,
// not their data: many small jobs and few huge ones, run times with a long tail, and more work at
// noon than at night, when lines are short.
const (
	// GoogleLike has CPU jobs in three classes of urgency, as Google's traces of 2011 and 2019: most
	// jobs have one task, and one in a hundred has hundreds of them.
	GoogleLike = "google-like"
	// PhillyLike has GPU jobs of five teams, as Microsoft's Philly: most use one GPU, for minutes,
	// and one in ten uses whole nodes, for up to days.
	PhillyLike = "philly-like"
)

// generator describes a generated trace.
type generator struct {
	nodes     Node // each of them
	count     int  // of nodes
	jobs      int
	days      int
	queues    []string
	weights   []float64 // of queues: their shares of the jobs
	programs  int       // in each queue; jobs of one program have similar run times
	median    float64   // run time of a program's tasks in seconds
	spread    float64   // standard deviation of the logarithm of programs' medians
	within    float64   // the same of the run times of one program
	longest   float64   // run time in seconds
	generated func(rng *rand.Rand, seconds func() float64) TaskGroup
}

var generators = map[string]generator{
	GoogleLike: {nodes: Node{MemoryMB: 128 << 10, VCores: 32}, count: 6, jobs: 4000, days: 2,
		queues: []string{"root.production", "root.batch", "root.free"}, weights: []float64{1, 4, 2},
		programs: 60, median: 100, spread: 1.2, within: 0.7, longest: 6 * 3600, generated: googleTasks},
	PhillyLike: {nodes: Node{MemoryMB: 384 << 10, VCores: 48, GPUs: 8}, count: 12, jobs: 2000, days: 4,
		queues: []string{"root.vc1", "root.vc2", "root.vc3", "root.vc4", "root.vc5"}, weights: []float64{8, 4, 3, 2, 1},
		programs: 40, median: 800, spread: 1.4, within: 1, longest: 3 * 24 * 3600, generated: phillyTasks},
}

func googleTasks(rng *rand.Rand, seconds func() float64) TaskGroup {
	g := TaskGroup{Count: int(min(math.Pow(1-rng.Float64(), -1/1.1), 400)), MemoryMB: MinMemoryMB << rng.IntN(4),
		VCores: 1 + int64(rng.IntN(3))}
	g.durations(seconds)
	return g
}

func phillyTasks(rng *rand.Rand, seconds func() float64) TaskGroup {
	g := TaskGroup{Count: 1, GPUs: 1}
	switch x := rng.Float64(); {
	case x < 0.05: // whole nodes
		g.Count, g.GPUs = 1<<rng.IntN(3), 8
	case x < 0.25:
		g.GPUs = 2 << rng.IntN(3)
	}
	g.MemoryMB, g.VCores = g.GPUs*32<<10, g.GPUs*4
	g.Duration = wholeSeconds(seconds())
	return g
}

// durations draws a run time for each container.
func (g *TaskGroup) durations(seconds func() float64) {
	sum := time.Duration(0)
	for range g.Count {
		g.Durations = append(g.Durations, wholeSeconds(seconds()))
		sum += g.Durations[len(g.Durations)-1]
	}
	g.Duration = sum / time.Duration(g.Count)
}

func wholeSeconds(s float64) time.Duration { return time.Duration(math.Ceil(s)) * time.Second }

// generate generates the trace of a name. Each job belongs to a program, whose name and user it
// has; the run times of a program vary less than those of all.
func (r *reader) generate(name string) {
	g, seed := generators[name], r.seed(0)
	rng := rand.New(rand.NewPCG(seed, 0x67656e))
	medians := make([]float64, len(g.queues)*g.programs)
	for i := range medians {
		medians[i] = g.median * math.Exp(g.spread*rng.NormFloat64())
	}
	for range g.jobs {
		q := pick(rng, g.weights, func(w float64) float64 { return w })
		program := q*g.programs + int(float64(g.programs)*rng.Float64()*rng.Float64()) // some run often
		tasks := g.generated(rng, func() float64 {
			return min(medians[program]*math.Exp(g.within*rng.NormFloat64()), g.longest)
		})
		tasks.Priority, tasks.After = 1, -1
		r.out.Jobs = append(r.out.Jobs, Job{Submit: g.arrival(rng),
			Name: fmt.Sprintf("program-%c", 'a'+program%26) + fmt.Sprintf("%c", 'a'+program/26),
			User: userOf(program), Queue: g.queues[q], Tasks: []TaskGroup{tasks}})
	}
	for i := range g.count {
		n := g.nodes
		n.Name, n.Rack = fmt.Sprintf("%s-%02d", name, i+1), fmt.Sprintf("/rack-%d", i/4+1)
		r.out.Nodes = append(r.out.Nodes, n)
	}
	r.out.Rows = g.jobs
	r.note("generated with seed %d", seed)
}

// arrival draws a time in a day on which three jobs arrive at noon for each one at midnight.
func (g *generator) arrival(rng *rand.Rand) time.Duration {
	for {
		day := rng.Float64()
		if rng.Float64() < (2-math.Cos(2*math.Pi*day))/3 {
			return millis(int64((float64(rng.IntN(g.days)) + day) * 24 * 3600 * 1000))
		}
	}
}
