package trace

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	openbDemand = []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
	openbTimes  = []string{"gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time"}
)

// A list of requests has no times. These constants determine them. The run times follow those
// observed in the whole cluster (median 616 s, a tenth below 73 s), without the long tail, as in
// the demo trace.
const (
	demandLoad   = 0.6
	demandMedian = 616.0 // seconds
	demandSigma  = 1.8   // of the logarithm
	demandLeast  = 4.0   // seconds
	demandMost   = 3600.0
)

// readOpenB reads a task list of the openb trace, with times (as observed) or without (requests
// only).
func (r *reader) readOpenB() error {
	t, err := openTable(r.file, r.data, openbDemand, openbTimes)
	if err != nil {
		return err
	}
	timed := slices.ContainsFunc(openbTimes, t.has) // all of them or none
	for _, col := range openbTimes {
		if timed && !t.has(col) {
			return &Error{r.file, 1, 1, col, "column missing in the header",
				"all of " + strings.Join(openbTimes, ",") + ", or none"}
		}
	}
	c := openbCount{}
	for t.next() {
		job, ran := r.openbRow(t, timed, &c)
		if ran {
			r.out.Jobs = append(r.out.Jobs, job)
		}
	}
	if t.err != nil {
		return t.err
	}
	if r.out.Rows = t.rows; t.rows == 0 {
		return nil // the caller refuses a trace without jobs
	}
	r.openbNotes(timed, c)
	if !timed {
		r.arriveByLoad()
	}
	return nil
}

type openbCount struct{ neverRan, shared, raised, specified, manyModels int }

func (r *reader) openbRow(t *table, timed bool, c *openbCount) (Job, bool) {
	milli := t.whole("cpu_milli", 0, maxUnits*1000, "thousandths of a CPU")
	group := TaskGroup{
		Count:    1,
		MemoryMB: t.whole("memory_mib", 0, maxMemoryMB, "MiB"),
		VCores:   max(1, (milli+999)/1000),
		GPUs:     t.whole("num_gpu", 0, maxUnits, "number of GPUs"),
		After:    -1,
	}
	if share := t.whole("gpu_milli", 0, 1000*maxUnits, "thousandths of a GPU"); group.GPUs == 1 && share < 1000 {
		c.shared++
	}
	job := Job{Name: t.name("name")}
	job.User = userOf(trailingNumber(job.Name, t.rows-1))
	job.Queue = openbQueue(group.GPUs, t.raw("qos"), timed)
	if timed {
		job.Submit = t.seconds("creation_time", "time of creation")
		if t.raw("scheduled_time") == "" || t.raw("deletion_time") == "" {
			c.neverRan++
			return job, false
		}
		group.Duration = t.seconds("deletion_time", "time of deletion") - t.seconds("scheduled_time", "time of the start")
		if group.Duration <= 0 {
			c.neverRan++
			return job, false
		}
	}
	if group.MemoryMB < MinMemoryMB {
		group.MemoryMB = MinMemoryMB
		c.raised++
	}
	group.Label = r.openbLabel(t.raw("gpu_spec"), c)
	job.Tasks = []TaskGroup{group}
	return job, true
}

// openbLabel returns the GPU model of a task as a label. A YARN ask has one label, so a choice of
// models is ignored.
func (r *reader) openbLabel(spec string, c *openbCount) string {
	if spec == "" {
		return ""
	}
	c.specified++
	if strings.Contains(spec, "|") {
		c.manyModels++
		return ""
	}
	if !r.opt.Labels {
		return ""
	}
	return strings.Clone(spec)
}

func openbQueue(gpus int64, qos string, timed bool) string {
	switch {
	case gpus >= 2:
		return "root.train"
	case qos == "LS", !timed && gpus == 1:
		return "root.online"
	case qos == "BE", !timed:
		return "root.batch"
	}
	return "root.adhoc"
}

func (r *reader) openbNotes(timed bool, c openbCount) {
	if timed {
		r.note("%d of %d tasks never ran and are kept out", c.neverRan, r.out.Rows)
		r.note(
			"run time: deletion − start; queue: 2 GPUs and more root.train, LS root.online, BE root.batch, others root.adhoc")
	} else {
		r.note("queue: 2 GPUs and more root.train, 1 root.online, none root.batch")
	}
	r.note("user: the task's number mod 8; cores rounded up")
	if c.shared > 0 {
		r.note("%d tasks that share one GPU take a whole one", c.shared)
	}
	r.noteRaised(c.raised)
	switch {
	case c.specified > 0 && !r.opt.Labels:
		r.note("the GPU models that %d tasks are bound to are not asked for", c.specified)
	case c.manyModels > 0:
		r.note("%d tasks that take one of several GPU models ask for no label", c.manyModels)
	}
}

// arriveByLoad generates the times of a list of requests. Run times have a log-normal distribution.
// Arrivals are spaced so that the tasks request demandLoad of the nodes' scarcest resource over the
// whole trace.
func (r *reader) arriveByLoad() {
	rng := rand.New(rand.NewPCG(r.seed(0), 0x6f70656e62))
	nodes, of := r.nodes, "the nodes given"
	if len(nodes) == 0 {
		nodes = []Node{{MemoryMB: 4 * 393216, VCores: 4 * 96, GPUs: 4 * 8}}
		of = "4 nodes of 96 cores, 384 GiB, 8 GPUs"
	}
	var have, want [3]float64
	for _, n := range nodes {
		for i, v := range [3]int64{n.MemoryMB, n.VCores, n.GPUs} {
			have[i] += float64(v)
		}
	}
	gaps := make([]float64, len(r.out.Jobs))
	sum := 0.0
	for i := range r.out.Jobs {
		g := &r.out.Jobs[i].Tasks[0]
		s := min(max(demandMedian*math.Exp(demandSigma*rng.NormFloat64()), demandLeast), demandMost)
		g.Duration = time.Duration(s*1000) * time.Millisecond
		for k, v := range [3]int64{g.MemoryMB, g.VCores, g.GPUs} {
			want[k] += float64(v) * s
		}
		gaps[i] = rng.ExpFloat64()
		sum += gaps[i]
	}
	span := 0.0 // seconds during which all jobs arrive
	for k := range want {
		if have[k] > 0 {
			span = max(span, want[k]/have[k]/demandLoad)
		}
	}
	span = min(span, maxSeconds)
	at := 0.0
	for i := range r.out.Jobs {
		r.out.Jobs[i].Submit = time.Duration(at / sum * span * float64(time.Second)).Truncate(time.Millisecond)
		at += gaps[i]
	}
	r.note("no times in the file: run times log-normal, median %.0f s, %.0f to %.0f s; random arrivals that offer %.0f %% of %s; seed %d",
		demandMedian, demandLeast, demandMost, demandLoad*100, of, r.seed(0))
}

// trailingNumber returns the number at the end of a name such as openb-pod-0061, or other.
func trailingNumber(name string, other int) int {
	digits := len(name)
	for digits > 0 && name[digits-1] >= '0' && name[digits-1] <= '9' {
		digits--
	}
	n, err := strconv.ParseUint(name[digits:], 10, 31)
	if err != nil {
		return other
	}
	return int(n)
}
