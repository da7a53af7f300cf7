package trace

import (
	"fmt"
	"math"
	"strconv"
)

const (
	maxWeight = 1e9
	maxSample = 1e12
)

// newSynth reads the fields of the specification. o keeps the first error.
func newSynth(o object) *synth {
	s := &synth{
		jobs: int(o.whole("num_jobs", 0, 0, maxCount)),
		seed: o.whole("rand_seed", 0, math.MinInt64, math.MaxInt64),
	}
	if s.jobs == 0 {
		o.fail("num_jobs", "no job to generate", "at least 1")
	}
	nodes := o.whole("num_nodes", 0, 0, 1_000_000)
	perRack := max(1, o.whole("nodes_per_rack", 1, 0, 1_000_000))
	s.nodes = gridNodes(int(nodes), int(max(1, nodes/perRack)))
	for _, w := range o.list("workloads") {
		s.workloads = append(s.workloads, newSynthWorkload(w))
	}
	if len(s.workloads) == 0 {
		o.fail("workloads", "no workload", "an array of at least one")
	}
	return s
}

func newSynthWorkload(o object) synthWorkload {
	w := synthWorkload{weight: o.number("workload_weight", 0, 0, maxWeight), queue: o.queue("queue_name")}
	for _, c := range o.list("job_classes") {
		w.classes = append(w.classes, newSynthClass(c))
	}
	for _, t := range o.list("time_distribution") {
		w.times = append(w.times, synthTime{t.whole("time", 0, 0, maxSeconds), t.number("weight", 0, 0, maxWeight)})
	}
	if len(w.classes) == 0 {
		o.fail("job_classes", "no job class", "an array of at least one")
	}
	if len(w.times) == 0 {
		o.fail("time_distribution", "no times of submission", "an array of at least one")
	}
	return w
}

func newSynthClass(o object) synthClass {
	c := synthClass{weight: o.number("class_weight", 0, 0, maxWeight), name: o.name("class_name", "class"),
		user: o.name("user_name", "default")}
	mapreduce := o.text("type", "mapreduce") == "mapreduce"
	if !o.has("tasks") {
		c.tasks = []synthTask{oldTask(o, "map", "m", 0, slsMapPriority), oldTask(o, "reduce", "r", 1, slsReducePriority)}
		return c
	}
	for _, t := range o.list("tasks") {
		task := synthTask{
			priority: int(t.whole("priority", 0, 0, 1<<20)),
			count:    newSample(t, "count"), time: newSample(t, "time"),
			memory: newSample(t, "max_memory"), vcores: newSample(t, "max_vcores"),
		}
		if mapreduce && t.text("type", "map") == "reduce" {
			task.stage = 1
		}
		task.unit = 1000
		if task.time.typical() >= 1000 {
			task.unit = 1
		}
		c.tasks = append(c.tasks, task)
	}
	return c
}

// oldTask reads the older form, in which fields of the class describe the maps and the reduces.
func oldTask(o object, long, short string, stage, priority int) synthTask {
	pair := func(stem string) sample {
		return sample{mean: o.number(stem+"_avg", 0, 0, maxSample), dev: oldDev(o, stem)}
	}
	return synthTask{stage: stage, priority: priority, count: pair(short + "tasks"), time: pair(short + "time"),
		memory: pair(long + "_max_memory"), vcores: pair(long + "_max_vcores"), unit: 1000}
}

// oldDev returns a deviation. Without one, it is a sixth of the mean, as in the simulator.
func oldDev(o object, stem string) float64 {
	if dev := o.number(stem+"_stddev", 0, 0, maxSample); dev > 0 {
		return dev
	}
	return o.number(stem+"_avg", 0, 0, maxSample) / 6
}

// newSample reads {"val"}, {"val","std","dist"} or {"discrete","weights"}.
func newSample(parent object, key string) sample {
	const expected = `{"val": N}, {"val": N, "std": N} or {"discrete": [N, …], "weights": [N, …]}`
	f, ok := parent.v.fields[key]
	if !ok || f.kind != 'o' {
		what := "missing"
		if ok {
			what = f.String()
		}
		parent.fail(key, what, expected)
		return sample{}
	}
	o := object{parent.doc, f, parent.join(key), parent.err}
	if !o.has("val") {
		return newChoices(o, expected)
	}
	s := sample{mean: o.number("val", 0, 0, maxSample)}
	if o.has("std") {
		if s.dev = o.number("std", 0, 0, maxSample); s.dev == 0 {
			s.dev = s.mean / 6
		}
	}
	switch dist := o.text("dist", "LOGNORM"); dist {
	case "LOGNORM":
	case "NORM":
		s.normal = true
	default:
		o.fail("dist", quote(dist), "LOGNORM or NORM")
	}
	return s
}

func newChoices(o object, expected string) sample {
	values, weights := numbers(o, "discrete"), numbers(o, "weights")
	if len(values) == 0 {
		o.fail("discrete", "neither a value nor a choice", expected)
		return sample{}
	}
	if weights != nil && len(weights) != len(values) {
		o.fail("weights", fmt.Sprintf("%d weights", len(weights)), fmt.Sprintf("%d, one for each choice", len(values)))
		return sample{}
	}
	var s sample
	for i, v := range values {
		c := sampleChoice{value: v, weight: 1}
		if weights != nil {
			c.weight = weights[i]
		}
		s.choices = append(s.choices, c)
	}
	return s
}

// numbers reads an array of numbers, which may be written as strings.
func numbers(o object, key string) []float64 {
	if !o.has(key) {
		return nil
	}
	f := o.v.fields[key]
	if f.kind != 'a' {
		o.fail(key, f.String(), "an array of numbers")
		return nil
	}
	var out []float64
	for _, v := range f.list {
		n, err := strconv.ParseFloat(v.text, 64)
		if err != nil || math.IsNaN(n) || n < 0 || n > maxSample {
			o.fail(key, v.String()+" in the array", fmt.Sprintf("numbers from 0 to %g", maxSample))
			return nil
		}
		out = append(out, n)
	}
	return out
}
