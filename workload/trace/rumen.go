package trace

import "slices"

// readRumen reads Hadoop's Rumen format, with one object per job. As in the Scheduler Load
// Simulator, the last attempt of a task determines its run time and host, and reduces are requested
// when the maps are done.
func (r *reader) readRumen() error {
	c := rumenCount{hosts: map[string]bool{}}
	var at []int64 // submission of each job, in milliseconds since 1970
	err := newDocument(r.file, r.data).objects(func(o object) error {
		r.out.Rows++
		submitted := o.whole("submitTime", -1, 0, 1<<52)
		if submitted < 0 {
			o.fail("submitTime", "the job has no time of submission", "milliseconds since 1970")
		}
		if *o.err != nil {
			return *o.err
		}
		job, err := r.rumenJob(o, &c)
		if err != nil {
			return err
		}
		if len(job.Tasks) == 0 {
			c.empty++
			return nil
		}
		at = append(at, submitted)
		r.out.Jobs = append(r.out.Jobs, job)
		return nil
	})
	if err != nil {
		return err
	}
	first := int64(0)
	if len(at) > 0 {
		first = slices.Min(at)
	}
	for i := range r.out.Jobs {
		r.out.Jobs[i].Submit = millis(min(at[i]-first, maxMillis))
	}
	r.note("time 0 is the first submission; containers of jobMapMB and jobReduceMB, at least %d MiB, 1 vcore; reduces start after the maps", MinMemoryMB)
	if c.tasks > 0 {
		r.note("%d tasks without an attempt that ran are kept out", c.tasks)
	}
	if c.empty > 0 {
		r.note("%d jobs without a task that ran are kept out", c.empty)
	}
	r.nodesOrElse(nil, c.hosts)
	return nil
}

type rumenCount struct {
	tasks, empty int
	hosts        map[string]bool
}

func (r *reader) rumenJob(o object, c *rumenCount) (Job, error) {
	job := Job{
		Name:     o.name("jobID", ""),
		User:     o.name("user", "default"),
		Queue:    o.queue("queue"),
		Priority: rumenPriority(o),
	}
	maps := groupKey{memoryMB: max(o.whole("jobMapMB", -1, -1, maxMemoryMB), MinMemoryMB), vcores: 1,
		priority: slsMapPriority}
	reduces := groupKey{stage: 1, memoryMB: max(o.whole("jobReduceMB", -1, -1, maxMemoryMB), MinMemoryMB), vcores: 1,
		priority: slsReducePriority}
	list := rumenTasks(o.list("mapTasks"), maps, c)
	list = append(list, rumenTasks(o.list("reduceTasks"), reduces, c)...)
	job.Tasks = groupUp(list)
	return job, *o.err
}

func rumenTasks(tasks []object, key groupKey, c *rumenCount) []single {
	var out []single
	for _, t := range tasks {
		attempts := t.list("attempts")
		if len(attempts) == 0 {
			c.tasks++
			continue
		}
		last := attempts[len(attempts)-1]
		from := last.whole("startTime", -1, -1, 1<<52)
		to := last.whole("finishTime", -1, -1, 1<<52)
		if from < 0 || to <= from || to-from > maxMillis {
			c.tasks++
			continue
		}
		host := last.hostPath("hostName")
		if host != "" {
			c.hosts[host] = true
		}
		out = append(out, single{key: key, duration: millis(to - from), host: hostName(host)})
	}
	return out
}

// rumenPriority maps MapReduce's five names to YARN's priorities, where the normal priority is 0.
func rumenPriority(o object) int {
	switch name := o.text("priority", "NORMAL"); name {
	case "VERY_HIGH":
		return 2
	case "HIGH":
		return 1
	case "NORMAL", "LOW", "VERY_LOW", "DEFAULT", "UNDEFINED_PRIORITY":
		return 0
	default:
		return int(o.whole("priority", 0, 0, 1<<20)) // a number; otherwise an error
	}
}
