package trace

import "time"

var swimColumns = []string{"job", "submit_s", "gap_s", "map_input_bytes", "shuffle_bytes", "output_bytes"}

// SWIM has only bytes. These rates determine containers and run times. The notes of a trace list
// them.
const (
	swimBlockBytes  = 128 << 20 // input of one map
	swimReduceBytes = 1 << 30   // shuffled to one reduce
	swimRate        = 16 << 20  // bytes per second that one container reads and writes
	swimStart       = 5 * time.Second
	swimLongest     = time.Hour
	swimMapMB       = 1024
	swimReduceMB    = 2048
	swimMaxBytes    = 1 << 53
	swimAdhocMaps   = 10 // jobs with more maps go to root.batch
	swimMapPriority = 20
	swimReducePrio  = 10
)

// readSWIM reads a SWIM sample: six tab-separated fields without a header.
func (r *reader) readSWIM() error {
	t := openBare(r.file, r.data, '\t', swimColumns)
	cut := 0
	for t.next() {
		job := Job{Name: t.name("job"), Submit: t.seconds("submit_s", "time of submission")}
		t.seconds("gap_s", "time since the job before")
		input := t.whole("map_input_bytes", 0, swimMaxBytes, "bytes")
		shuffle := t.whole("shuffle_bytes", 0, swimMaxBytes, "bytes")
		output := t.whole("output_bytes", 0, swimMaxBytes, "bytes")
		maps := max(1, ceil(input, swimBlockBytes))
		mapBytes := ceil(input, maps)
		if shuffle == 0 {
			mapBytes += ceil(output, maps) // without a shuffle, the maps write the output
		}
		job.Tasks = append(job.Tasks, TaskGroup{Count: int(maps), MemoryMB: swimMapMB, VCores: 1,
			Duration: swimTime(mapBytes, &cut), Priority: swimMapPriority, After: -1})
		if shuffle > 0 {
			reduces := ceil(shuffle, swimReduceBytes)
			job.Tasks = append(job.Tasks, TaskGroup{Count: int(reduces), MemoryMB: swimReduceMB, VCores: 1,
				Duration: swimTime(ceil(shuffle, reduces)+ceil(output, reduces), &cut), Priority: swimReducePrio, After: 0})
		}
		job.User, job.Queue = userOf(t.rows-1), "root.adhoc"
		if maps > swimAdhocMaps {
			job.Queue = "root.batch"
		}
		r.out.Jobs = append(r.out.Jobs, job)
	}
	r.out.Rows = t.rows
	r.note("derived from bytes: a map for each 128 MiB of input (%d MiB, 1 vcore), a reduce for each GiB shuffled (%d MiB, 1 vcore)",
		swimMapMB, swimReduceMB)
	r.note("run time: %v + bytes read and written at 16 MiB/s, at most %v (%d groups cut); reduces start after the maps",
		swimStart, swimLongest, cut)
	r.note("queue: up to %d maps root.adhoc, more root.batch; user: line mod 8", swimAdhocMaps)
	return t.err
}

// swimTime returns the run time of a container that processes bytes, to the millisecond.
func swimTime(bytes int64, cut *int) time.Duration {
	if bytes/swimRate >= int64(swimLongest/time.Second) {
		*cut++
		return swimLongest
	}
	return swimStart + time.Duration(bytes*1000/swimRate)*time.Millisecond
}

func ceil(n, by int64) int64 { return (n + by - 1) / by }
