package mixed

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rmd/workload/trace"
)

// Generator generates applications. It is not safe for concurrent use.
type Generator struct {
	cfg     Config
	rng     *rand.Rand
	opening []trace.Job
	small   stream
	large   stream
	fan     int // factor on containers per small job: a large cluster gets larger jobs instead of thousands per second
	count   int
}

// stream is one of the two streams of arrivals.
type stream struct {
	next time.Duration
	gap  float64 // mean seconds between two jobs, without TimeScale
}

// New returns a generator of the default workload for a number of nodes, at least one.
func New(seed int64, nodes int) *Generator {
	cfg := DefaultConfig()
	cfg.Seed, cfg.Nodes = seed, max(nodes, 1)
	return generator(cfg)
}

// NewWith returns a generator with a configuration.
func NewWith(cfg Config) (*Generator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return generator(cfg), nil
}

const (
	largeShare = 0.5 // share of the requested GPU time
	wideNodes  = 40  // from this number of nodes on, jobs have more containers
	meterDraws = 20_000
)

func generator(cfg Config) *Generator {
	g := &Generator{cfg: cfg, fan: 1 + cfg.Nodes/wideNodes}
	// The mean work of a job determines the gaps of the streams. It is measured with a separate
	// random sequence, so that a change of the sizes cannot change the load.
	g.rng = rand.New(rand.NewPCG(1, 1))
	rate := cfg.Load * float64(cfg.Nodes*NodeGPUs) // GPU seconds per second
	g.small.gap = g.meanWork(g.smallJob) / (rate * (1 - largeShare))
	g.large.gap = g.meanWork(g.largeJob) / (rate * largeShare)

	g.rng = rand.New(rand.NewPCG(uint64(cfg.Seed), 0x6d69786564))
	g.opening = g.openingJobs()
	g.small.next = g.scaled(openingEnd)
	g.large.next = g.scaled(openingEnd + g.large.gap*g.rng.Float64())
	return g
}

func (g *Generator) meanWork(job func() trace.Job) float64 {
	sum := 0.0
	for range meterDraws {
		sum += Work(job())
	}
	return sum / meterDraws / g.cfg.TimeScale
}

// Work returns the total GPU time of a job in seconds.
func Work(job trace.Job) float64 {
	sum := 0.0
	for _, t := range job.Tasks {
		sum += float64(t.GPUs) * float64(t.Count) * t.Duration.Seconds()
	}
	return sum
}

// Next returns the next application. Submit never decreases.
func (g *Generator) Next() trace.Job {
	var job trace.Job
	switch {
	case len(g.opening) > 0:
		job, g.opening = g.opening[0], g.opening[1:]
	case g.large.next < g.small.next:
		job = g.largeJob()
		job.Submit = g.large.next
		// Large jobs arrive more regularly than at random, so that they are never missing for long.
		g.large.next += g.scaled(g.large.gap * (0.5 + g.rng.Float64()))
	default:
		job = g.smallJob()
		job.Submit = g.small.next
		g.small.next += g.scaled(g.small.gap * g.rng.ExpFloat64())
	}
	g.count++
	job.Name = fmt.Sprintf("mixed-%06d", g.count)
	return job
}

const (
	openingLarge = 0.8 // seconds: arrival of the first large job
	openingEnd   = 2.0 // seconds: beginning of the two streams
)

// openingJobs returns small containers for three quarters of the GPUs, followed by large jobs. The
// large jobs need more than the free quarter, wherever the free GPUs are.
func (g *Generator) openingJobs() []trace.Job {
	var out []trace.Job
	for left := g.cfg.Nodes * NodeGPUs * 3 / 4; left > 0; {
		job := g.smallJob()
		group := &job.Tasks[0]
		group.Count, group.GPUs = min(left, 2*g.fan), 1
		group.MemoryMB, group.VCores = min(group.MemoryMB, NodeMemoryMB/NodeGPUs), min(group.VCores, NodeVCores/NodeGPUs-1)
		group.Duration = g.runTime(2.5, 6)
		job.Tasks = job.Tasks[:1]
		job.Submit = g.scaled(0.6 * g.rng.Float64())
		left -= group.Count
		out = append(out, job)
	}
	slices.SortStableFunc(out, func(a, b trace.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	for i := range g.cfg.Nodes/2 + 1 {
		job := g.largeJob()
		// Containers of a whole and of half a node alternate.
		setGPUs(&job.Tasks[0], []int64{8, 4}[i%2])
		job.Tasks[0].Count = 1
		job.Tasks[0].Duration = g.runTime(largeLeast, 10)
		job.Submit = g.scaled(openingLarge + (openingEnd-openingLarge)*float64(i)/float64(g.cfg.Nodes/2+1))
		out = append(out, job)
	}
	return out
}

func (g *Generator) scaled(seconds float64) time.Duration {
	return time.Duration(seconds * g.cfg.TimeScale * float64(time.Second)).Truncate(time.Millisecond)
}
