package trace

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// readSynth reads a specification of the simulator's generator and generates jobs. For each job it
// draws a workload, a time and a class by weight, then the sizes of its tasks. The distributions
// are those of the simulator, but the random numbers differ from those of Java's generator. One
// seed therefore gives other jobs than in the simulator.
func (r *reader) readSynth() error {
	var spec *synth
	err := newDocument(r.file, r.data).objects(func(o object) error {
		if spec != nil {
			return o.doc.at(o.v.off, "", "a second object", "one specification in a file")
		}
		spec = newSynth(o)
		if spec.jobs > r.bound.jobs {
			o.fail("num_jobs", fmt.Sprintf("%d jobs", spec.jobs), fmt.Sprintf("at most %d", r.bound.jobs))
		}
		return *o.err
	})
	if err != nil {
		return err
	}
	if spec == nil {
		return &Error{File: r.file, Line: 1, Column: 1, What: "the file is empty", Expected: "a specification"}
	}
	seed := r.seed(spec.seed)
	rng := rand.New(rand.NewPCG(seed, 0x73796e7468))
	for i := range spec.jobs {
		if err := r.synthJob(spec, rng, i); err != nil {
			return err
		}
	}
	r.out.Rows = spec.jobs
	r.note("generated with seed %d; task times of 1000 and more are milliseconds, smaller ones seconds", seed)
	r.nodesOrElse(spec.nodes, nil)
	return nil
}

func (r *reader) synthJob(spec *synth, rng *rand.Rand, i int) error {
	w := spec.workloads[pick(rng, spec.workloads, func(w synthWorkload) float64 { return w.weight })]
	at := w.submission(rng)
	class := w.classes[pick(rng, w.classes, func(c synthClass) float64 { return c.weight })]
	job := Job{Submit: millis(at * 1000), Name: fmt.Sprintf("%s_%06d", class.name, i), User: class.user, Queue: w.queue}
	var list []single
	for _, t := range class.tasks {
		count := int(t.count.whole(rng, 0, maxCount))
		if !r.room(count) {
			return &Error{File: r.file, Line: 1, Column: 1, Field: "workloads", What: "the specification makes too many tasks",
				Expected: fmt.Sprintf("at most %d in all", r.bound.tasks)}
		}
		key := groupKey{stage: t.stage, priority: t.priority,
			memoryMB: t.memory.whole(rng, MinMemoryMB, maxMemoryMB), vcores: t.vcores.whole(rng, 1, maxUnits)}
		for range count {
			ms := t.time.draw(rng) * t.unit
			list = append(list, single{key: key, duration: millis(int64(min(max(ms, 1), maxMillis)))})
		}
	}
	if len(list) > 0 {
		job.Tasks = groupUp(list)
		r.out.Jobs = append(r.out.Jobs, job)
	}
	return nil
}

// synth is a parsed specification.
type synth struct {
	jobs      int
	seed      int64
	nodes     []Node
	workloads []synthWorkload
}

type synthWorkload struct {
	weight  float64
	queue   string
	classes []synthClass
	times   []synthTime
}

type synthTime struct {
	second int64
	weight float64
}

type synthClass struct {
	weight     float64
	name, user string
	tasks      []synthTask
}

type synthTask struct {
	stage, priority             int
	count, time, memory, vcores sample
	unit                        float64 // unit of time in milliseconds
}

// submission draws a bucket by weight, and a second between it and the next bucket.
func (w synthWorkload) submission(rng *rand.Rand) int64 {
	i := pick(rng, w.times, func(t synthTime) float64 { return t.weight })
	from := w.times[i].second
	if i+1 < len(w.times) && w.times[i+1].second > from {
		return from + rng.Int64N(w.times[i+1].second-from)
	}
	return from
}

// pick draws an index by weight.
func pick[T any](rng *rand.Rand, list []T, weight func(T) float64) int {
	total := 0.0
	for _, x := range list {
		total += weight(x)
	}
	mark := rng.Float64() * total
	for i, x := range list {
		if mark -= weight(x); mark < 0 {
			return i
		}
	}
	return len(list) - 1
}

// sample is a random number of the specification: constant, from a distribution, or one of several
// values.
type sample struct {
	mean, dev float64
	normal    bool // otherwise log-normal
	choices   []sampleChoice
}

type sampleChoice struct{ value, weight float64 }

func (s sample) draw(rng *rand.Rand) float64 {
	switch {
	case len(s.choices) > 0:
		return s.choices[pick(rng, s.choices, func(c sampleChoice) float64 { return c.weight })].value
	case s.dev <= 0 || s.mean <= 0:
		return s.mean
	case s.normal:
		return s.mean + s.dev*rng.NormFloat64()
	}
	variance := math.Log1p(s.dev * s.dev / (s.mean * s.mean))
	return math.Exp(math.Log(s.mean) - variance/2 + math.Sqrt(variance)*rng.NormFloat64())
}

func (s sample) whole(rng *rand.Rand, least, most int64) int64 {
	return int64(math.Round(min(max(s.draw(rng), float64(least)), float64(most))))
}

// typical returns the largest likely value. It determines the unit of a time.
func (s sample) typical() float64 {
	if len(s.choices) == 0 {
		return s.mean
	}
	return slices.MaxFunc(s.choices, func(a, b sampleChoice) int { return cmp.Compare(a.value, b.value) }).value
}
