package trace

import "time"

var rmdColumns = []string{"submit_s", "app", "user", "queue", "priority", "containers",
	"memory_mb", "vcores", "gpus", "duration_s"}

// readRMD reads the project's own format. Each line is an application with one group of equal
// containers.
func (r *reader) readRMD() error {
	t, err := openTable(r.file, r.data, rmdColumns, nil)
	if err != nil {
		return err
	}
	raised := 0
	for t.next() {
		job := Job{
			Submit: t.seconds("submit_s", "time of submission"), Name: t.name("app"), User: t.name("user"),
			Queue: t.queue("queue"), Priority: int(t.whole("priority", 0, 1<<20, "application priority")),
		}
		group := TaskGroup{
			Count:    int(t.whole("containers", 1, maxCount, "number of containers")),
			MemoryMB: t.whole("memory_mb", 0, maxMemoryMB, "MiB per container"),
			VCores:   t.whole("vcores", 1, maxUnits, "vcores per container"),
			GPUs:     t.whole("gpus", 0, maxUnits, "GPUs per container"),
			Duration: t.seconds("duration_s", "run time"),
			After:    -1,
		}
		if t.err == nil && group.Duration < time.Millisecond {
			t.fail("duration_s", t.raw("duration_s")+" is no run time", "at least 0.001")
		}
		if group.MemoryMB < MinMemoryMB {
			group.MemoryMB = MinMemoryMB
			raised++
		}
		job.Tasks = []TaskGroup{group}
		r.out.Jobs = append(r.out.Jobs, job)
	}
	r.out.Rows = t.rows
	r.noteRaised(raised)
	return t.err
}

func (r *reader) noteRaised(n int) {
	if n > 0 {
		r.note("memory raised to %d MiB for %d of the demands", MinMemoryMB, n)
	}
}
