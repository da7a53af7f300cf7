package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Defaults of the Scheduler Load Simulator for containers, asks and nodes.
const (
	slsContainerMB    = 1024
	slsContainerCores = 1
	slsMapPriority    = 20
	slsReducePriority = 10
	slsNodeMB         = 10240
	slsNodeCores      = 10
	maxMillis         = maxSeconds * 1000
)

// readSLS reads the simulator's input format: one object per job, with the times of each task. As
// in the simulator, the start and end of a task determine only its run time, and reduces are
// requested when the maps are done.
func (r *reader) readSLS() error {
	hosts := map[string]bool{}
	var layout []Node
	err := newDocument(r.file, r.data).objects(func(o object) error {
		if o.has("num.nodes") {
			n := o.whole("num.nodes", 0, 1, 1_000_000)
			layout = gridNodes(int(n), int(o.whole("num.racks", 1, 1, max(n, 1))))
			return *o.err
		}
		r.out.Rows++
		return r.slsJob(o, hosts)
	})
	if err != nil {
		return err
	}
	r.note("container without a size: %d MiB, %d vcore; start and end of a task give its run time; reduces start after the maps",
		slsContainerMB, slsContainerCores)
	r.nodesOrElse(layout, hosts)
	return nil
}

func (r *reader) slsJob(o object, hosts map[string]bool) error {
	amType := o.text("am.type", o.text("yarn.sls.am.type", "mapreduce"))
	job := Job{
		Submit:   millis(o.whole("job.start.ms", 0, 0, maxMillis)),
		Name:     o.name("job.id", fmt.Sprintf("job_%d", r.out.Rows)),
		User:     o.name("job.user", "default"),
		Queue:    o.queue("job.queue.name"),
		Priority: int(o.whole("job.priority", 0, 0, 1<<20)),
	}
	label := o.text("job.label.expression", "")
	var list []single
	tasks := o.list("job.tasks")
	if len(tasks) == 0 {
		o.fail("job.tasks", "no task in the job", "an array of at least one")
	}
	for _, t := range tasks {
		s, count := r.slsTask(t, amType)
		s.key.label = label
		if *o.err != nil {
			return *o.err
		}
		if s.host != "" {
			hosts[t.hostPath("container.host")] = true
		}
		if !r.room(count) {
			t.fail("count", "too many tasks in the file", fmt.Sprintf("at most %d in all", r.bound.tasks))
			return *o.err
		}
		list = append(list, slices.Repeat([]single{s}, count)...)
	}
	copies := int(max(1, o.whole("job.count", 1, 0, maxCount)))
	if len(r.out.Jobs)+copies > r.bound.jobs {
		o.fail("job.count", "too many jobs in the file", fmt.Sprintf("at most %d in all", r.bound.jobs))
	}
	if *o.err != nil {
		return *o.err
	}
	job.Tasks = groupUp(list)
	for i := range copies {
		next := job
		if i > 0 {
			next.Name = fmt.Sprintf("%s-%d", job.Name, i+1)
		}
		r.out.Jobs = append(r.out.Jobs, next)
	}
	return nil
}

func (r *reader) slsTask(t object, amType string) (single, int) {
	const unset = -1
	s := single{host: hostName(t.hostPath("container.host"))}
	s.key = groupKey{
		memoryMB: t.whole("container.memory-mb", slsContainerMB, 1, maxMemoryMB),
		vcores:   t.whole("container.vcores", slsContainerCores, 1, maxUnits),
		gpus:     t.whole("container.yarn.io/gpu", 0, 0, maxUnits),
		priority: int(t.whole("container.priority", slsMapPriority, 0, 1<<20)),
		delay:    millis(max(0, t.whole("container.request.delay", 0, -maxMillis, maxMillis))),
	}
	if amType == "mapreduce" && t.text("container.type", "map") == "reduce" {
		s.key.stage = 1
	}
	length := t.whole("container.duration.ms", t.whole("duration.ms", unset, unset, maxMillis), unset, maxMillis)
	from := t.whole("container.start.ms", unset, unset, maxMillis)
	to := t.whole("container.end.ms", unset, unset, maxMillis)
	switch {
	case length != unset:
		if length <= 0 {
			t.fail("duration.ms", "a task that takes no time", "at least 1 ms")
		}
	case from == unset || to == unset:
		t.fail("container.end.ms", "the task has no run time", "duration.ms, or container.start.ms and container.end.ms")
	case to <= from:
		t.fail("container.end.ms", "the task ends when or before it starts", "more than container.start.ms")
	default:
		length = to - from
	}
	s.duration = millis(length)
	return s, int(max(1, t.whole("count", 1, 0, maxCount)))
}

// room counts n more tasks with their own run time or host. It returns false if the file has too
// many.
func (r *reader) room(n int) bool {
	if n > r.bound.tasks-r.tasks {
		return false
	}
	r.tasks += n
	return true
}

// nodesOrElse uses the nodes of the file, or the hosts that it names, if the caller named no nodes.
func (r *reader) nodesOrElse(layout []Node, hosts map[string]bool) {
	if len(r.nodes) > 0 {
		return
	}
	if len(layout) == 0 {
		for _, path := range sortedKeys(hosts) {
			rack := path[:strings.LastIndexByte(path, '/')+1]
			rack = "/" + strings.Trim(rack, "/")
			if rack == "/" {
				rack = "/default-rack"
			}
			layout = append(layout, Node{Name: hostName(path), Rack: rack, MemoryMB: slsNodeMB, VCores: slsNodeCores})
		}
		layout = slices.CompactFunc(layout, func(a, b Node) bool { return a.Name == b.Name })
	}
	if len(layout) > 0 {
		r.out.Nodes = layout
		r.note("%d nodes as the trace names them, each %d MiB and %d vcores", len(layout), slsNodeMB, slsNodeCores)
	}
}

// gridNodes returns n nodes, distributed over the racks in turn.
func gridNodes(n, racks int) []Node {
	out := make([]Node, 0, n)
	for i := range n {
		out = append(out, Node{Name: fmt.Sprintf("node%d", i), Rack: fmt.Sprintf("/rack%d", i%max(racks, 1)),
			MemoryMB: slsNodeMB, VCores: slsNodeCores})
	}
	return out
}

// hostName returns the last part of a path such as /default-rack/node1.
func hostName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
