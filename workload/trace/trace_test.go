package trace

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const second = time.Second

func readSample(t *testing.T, file string, opt Options) *Trace {
	t.Helper()
	tr, err := Read(filepath.Join("testdata", file), opt)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func hasNote(t *testing.T, tr *Trace, part string) {
	t.Helper()
	if !slices.ContainsFunc(tr.Notes, func(n string) bool { return strings.Contains(n, part) }) {
		t.Errorf("no note with %q in %q", part, tr.Notes)
	}
}

func TestRMD(t *testing.T) {
	tr := readSample(t, "rmd.csv", DefaultOptions())
	want(t, "format", tr.Format, FormatRMD)
	want(t, "queues", tr.Queues, []string{"root.batch", "root.train"})
	want(t, "rows", tr.Rows, 3)
	want(t, "jobs", tr.Jobs, []Job{
		{Name: "first", User: "u01", Queue: "root.batch",
			Tasks: []TaskGroup{{Count: 1, MemoryMB: 30517, VCores: 8, GPUs: 1, Duration: 1607 * second, After: -1}}},
		{Name: "second", User: "u01", Queue: "root.batch",
			Tasks: []TaskGroup{{Count: 1, MemoryMB: 1024, VCores: 1, Duration: second / 2, After: -1}}},
		{Submit: 30 * second, Name: "late", User: "u02", Queue: "root.train", Priority: 1,
			Tasks: []TaskGroup{{Count: 2, MemoryMB: 327680, VCores: 88, GPUs: 8, Duration: 120 * second, After: -1}}},
	})
	hasNote(t, tr, "raised to 1024 MiB for 1")
}

func TestLoadSqueezesArrivalsOnly(t *testing.T) {
	plain := readSample(t, "rmd.csv", DefaultOptions())
	fast := readSample(t, "rmd.csv", Options{Load: 4, Limit: 3})
	want(t, "submit", fast.Jobs[2].Submit, 7500*time.Millisecond)
	for i := range plain.Jobs {
		want(t, "tasks", fast.Jobs[i].Tasks, plain.Jobs[i].Tasks)
	}
	two := readSample(t, "rmd.csv", Options{Limit: 2})
	want(t, "limited", len(two.Jobs), 2)
	want(t, "queues of the jobs left", two.Queues, []string{"root.batch"})
	hasNote(t, two, "first 2 of 3")
}

func TestOpenB(t *testing.T) {
	tr := readSample(t, "openb.csv", Options{Nodes: "testdata/openb-nodes.csv"})
	want(t, "jobs", tr.Jobs, []Job{
		{Submit: 50 * second, Name: "pod-0009", User: "u02", Queue: "root.train",
			Tasks: []TaskGroup{{Count: 1, MemoryMB: 262144, VCores: 64, GPUs: 4, Duration: 5 * second, After: -1}}},
		{Submit: 70 * second, Name: "pod-0010", User: "u03", Queue: "root.adhoc",
			Tasks: []TaskGroup{{Count: 1, MemoryMB: 2048, VCores: 1, Duration: 10 * second, After: -1}}},
		{Submit: 100 * second, Name: "pod-0008", User: "u01", Queue: "root.online",
			Tasks: []TaskGroup{{Count: 1, MemoryMB: 1024, VCores: 4, GPUs: 1, Duration: 590 * second, After: -1}}},
	})
	want(t, "nodes", tr.Nodes, []Node{
		{Name: "node-0", Rack: "/rack-1", MemoryMB: 262144, VCores: 32},
		{Name: "node-1", Rack: "/rack-1", MemoryMB: 393216, VCores: 96, GPUs: 8},
	})
	hasNote(t, tr, "2 of 5 tasks never ran")
	hasNote(t, tr, "raised to 1024 MiB for 1")
	hasNote(t, tr, "2 tasks are bound to are not asked for")

	labelled := readSample(t, "openb.csv", Options{Nodes: "testdata/openb-nodes.csv", Labels: true})
	want(t, "label of a task", labelled.Jobs[2].Tasks[0].Label, "T4")
	want(t, "no label for a choice", labelled.Jobs[0].Tasks[0].Label, "")
	want(t, "label of a node", labelled.Nodes[1].Labels, []string{"G2"})
}

func TestOpenBDemandsArriveByLoad(t *testing.T) {
	a := readSample(t, "openb-demand.csv", Options{Seed: 5, Nodes: "testdata/nodes.csv"})
	b := readSample(t, "openb-demand.csv", Options{Seed: 5, Nodes: "testdata/nodes.csv"})
	c := readSample(t, "openb-demand.csv", Options{Seed: 6, Nodes: "testdata/nodes.csv"})
	want(t, "same seed", a.Jobs, b.Jobs)
	if reflect.DeepEqual(a.Jobs, c.Jobs) {
		t.Error("another seed gives the same jobs")
	}
	want(t, "first arrival", a.Jobs[0].Submit, 0)
	want(t, "queues", a.Queues, []string{"root.batch", "root.online", "root.train"})
	for _, j := range a.Jobs {
		if d := j.Tasks[0].Duration; d < 4*second || d > 3600*second {
			t.Errorf("%s runs %v", j.Name, d)
		}
	}
	hasNote(t, a, "no times in the file")
	hasNote(t, a, "the nodes given; seed 5")
}

func TestSWIM(t *testing.T) {
	tr := readSample(t, "swim.tsv", DefaultOptions())
	ms := time.Millisecond
	want(t, "format", tr.Format, FormatSWIM)
	// job0: 256 MiB and one byte need 3 maps. Each reads a third and writes a third of 1 MiB: 85.67
	// MiB at 16 MiB/s.
	want(t, "job0", tr.Jobs[0], Job{Submit: 10 * second, Name: "job0", User: "u01", Queue: "root.adhoc",
		Tasks: []TaskGroup{{Count: 3, MemoryMB: 1024, VCores: 1, Duration: 5*second + 5354*ms, Priority: 20, After: -1}}})
	// job1: 1.5 GiB need 12 maps of 128 MiB. 2 GiB need 2 reduces of 1 GiB that write 0.5 GiB each.
	want(t, "job1", tr.Jobs[1], Job{Submit: 12 * second, Name: "job1", User: "u02", Queue: "root.batch",
		Tasks: []TaskGroup{
			{Count: 12, MemoryMB: 1024, VCores: 1, Duration: 13 * second, Priority: 20, After: -1},
			{Count: 2, MemoryMB: 2048, VCores: 1, Duration: 101 * second, Priority: 10, After: 0}}})
	want(t, "job2", tr.Jobs[2].Tasks, []TaskGroup{
		{Count: 1, MemoryMB: 1024, VCores: 1, Duration: 5 * second, Priority: 20, After: -1}})
	hasNote(t, tr, "at 16 MiB/s")
}

func TestRumen(t *testing.T) {
	tr := readSample(t, "rumen.json", DefaultOptions())
	want(t, "jobs", tr.Jobs, []Job{
		{Name: "job_1_0001", User: "amy", Queue: "root.q1", Tasks: []TaskGroup{
			{Count: 1, MemoryMB: 1024, VCores: 1, Duration: 5 * time.Millisecond, Priority: 20,
				Hosts: []string{"h1"}, After: -1}}},
		{Submit: second / 2, Name: "job_1_0002", User: "bob", Queue: "root.q2", Priority: 1, Tasks: []TaskGroup{
			{Count: 2, MemoryMB: 1024, VCores: 1, Duration: 3 * second, Durations: []time.Duration{2 * second, 4 * second},
				Priority: 20, Hosts: []string{"h1", "h2"}, After: -1},
			{Count: 1, MemoryMB: 3000, VCores: 1, Duration: second, Priority: 10, Hosts: []string{"h1"}, After: 0}}},
	})
	want(t, "nodes", tr.Nodes, []Node{{Name: "h1", Rack: "/r", MemoryMB: 10240, VCores: 10},
		{Name: "h2", Rack: "/r", MemoryMB: 10240, VCores: 10}})
	hasNote(t, tr, "1 tasks without an attempt")
}

func TestSLS(t *testing.T) {
	tr := readSample(t, "sls.json", DefaultOptions())
	dag := []TaskGroup{
		{Count: 1, MemoryMB: 1024, VCores: 2, GPUs: 1, Duration: 400 * time.Millisecond, Priority: 20,
			Delay: 1500 * time.Millisecond, After: -1},
		{Count: 1, MemoryMB: 1024, VCores: 1, Duration: 400 * time.Millisecond, Priority: 20, After: -1},
	}
	want(t, "jobs", tr.Jobs, []Job{
		{Name: "job_2", User: "default", Queue: "root.q2", Tasks: dag},
		{Name: "job_2-2", User: "default", Queue: "root.q2", Tasks: dag},
		{Submit: 2 * second, Name: "job_1", User: "amy", Queue: "root.q1", Tasks: []TaskGroup{
			{Count: 3, MemoryMB: 1024, VCores: 1, Duration: 2333 * time.Millisecond,
				Durations: []time.Duration{second, 3 * second, 3 * second},
				Priority:  20, Hosts: []string{"node1", "node2", "node2"}, After: -1},
			{Count: 1, MemoryMB: 2048, VCores: 1, Duration: 700 * time.Millisecond, Priority: 10, After: 0}}},
	})
	want(t, "nodes", len(tr.Nodes), 3)
	want(t, "rack of the third", tr.Nodes[2].Rack, "/rack0")
}

func TestSynth(t *testing.T) {
	tr := readSample(t, "synth.json", DefaultOptions())
	want(t, "jobs", len(tr.Jobs), 50)
	want(t, "again", readSample(t, "synth.json", DefaultOptions()).Jobs, tr.Jobs)
	if reflect.DeepEqual(readSample(t, "synth.json", Options{Seed: 9}).Jobs, tr.Jobs) {
		t.Error("another seed gives the same jobs")
	}
	maps, mapSeconds := 0, 0.0
	for _, j := range tr.Jobs {
		if j.Submit < 10*second || j.Submit >= 60*second {
			t.Errorf("%s at %v, outside the only bucket with a weight", j.Name, j.Submit)
		}
		want(t, "reduces", j.Tasks[1], TaskGroup{Count: 2, MemoryMB: 4096, VCores: 2, Duration: 20 * second,
			Priority: 10, After: 0})
		maps += j.Tasks[0].Count
		for _, d := range j.Tasks[0].Durations {
			mapSeconds += d.Seconds()
		}
	}
	if mean := float64(maps) / 50; math.Abs(mean-5) > 0.6 {
		t.Errorf("%.2f maps a job on average, want about 5", mean)
	}
	if mean := mapSeconds / float64(maps); math.Abs(mean-10) > 1 {
		t.Errorf("maps run %.2f s on average, want about 10", mean)
	}
	want(t, "nodes", len(tr.Nodes), 4)
	hasNote(t, tr, "seed 2")
}

func TestSynthOldForm(t *testing.T) {
	tr := readSample(t, "synth-old.json", DefaultOptions())
	want(t, "jobs", len(tr.Jobs), 3)
	g := tr.Jobs[0].Tasks
	want(t, "groups: a job without reduces", len(g), 1)
	want(t, "maps", []int64{int64(g[0].Count), g[0].MemoryMB, g[0].VCores, int64(g[0].Duration.Round(second) / second)},
		[]int64{5, 1536, 1, 10})
}

func TestNodeLists(t *testing.T) {
	for file, expected := range map[string][]Node{
		"nodes.csv": {{Name: "sim-01", Rack: "/rack1", MemoryMB: 393216, VCores: 96, GPUs: 8},
			{Name: "sim-02", Rack: "/rack2", MemoryMB: 262144, VCores: 32, Labels: []string{"cpu", "big"}}},
		"sls-nodes.json": {{Name: "node1", Rack: "/rack1", MemoryMB: 2048, VCores: 6, GPUs: 2},
			{Name: "node2", Rack: "/rack1", MemoryMB: 10240, VCores: 10, Labels: []string{"label1", "label2"}},
			{Name: "node3", Rack: "/rack2", MemoryMB: 10240, VCores: 10},
			{Name: "rack2-node2", Rack: "/rack2", MemoryMB: 10240, VCores: 10}},
	} {
		got, err := ReadNodes(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		want(t, file, got, expected)
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, o := range []Options{{Format: "xml"}, {Load: -1}, {Load: math.NaN()}, {Load: math.Inf(1)}, {Limit: -1}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	if _, err := Read("testdata/rmd.csv", Options{Format: "xml"}); !errors.Is(err, ErrUnknownFormat) {
		t.Errorf("Read with format xml: %v, want %v", err, ErrUnknownFormat)
	}
	if _, err := Read("testdata", Options{}); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("Read of a directory: %v, want an error that says directory", err)
	}
}

// TestEqualTasks checks that the trace of equal small tasks offers what it is made for: tasks of one
// core that use 60 to 70 % of 100 equal nodes for three hours, with the applications' masters.
func TestEqualTasks(t *testing.T) {
	tr := readSample(t, "equal-tasks.json", Options{})
	nodes, err := ReadNodes(filepath.Join("testdata", "equal-tasks-nodes.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var cores, tasks, seconds float64
	for _, n := range nodes {
		if n.MemoryMB != 65536 || n.VCores != 16 || n.GPUs != 0 {
			t.Errorf("node %+v", n)
		}
		cores += float64(n.VCores)
	}
	for _, j := range tr.Jobs {
		longest := time.Duration(0)
		for _, g := range j.Tasks {
			if g.VCores != 1 || g.MemoryMB < 2048 || g.MemoryMB > 4096 {
				t.Fatalf("%s has %+v", j.Name, g)
			}
			for _, d := range g.Durations {
				tasks++
				seconds += d.Seconds()
				longest = max(longest, d)
			}
		}
		seconds += longest.Seconds() // of the master, at least
	}
	span := tr.Jobs[len(tr.Jobs)-1].Submit
	if load := seconds / cores / span.Seconds(); len(nodes) != 100 || span < 179*time.Minute || load < 0.6 || load > 0.7 {
		t.Errorf("%d nodes, %s, load %.2f", len(nodes), span, load)
	}
	if mean := tasks / float64(len(tr.Jobs)); mean < 30 || mean > 40 {
		t.Errorf("%.1f tasks in an application", mean)
	}
}

// TestGenerated checks that the generated traces follow their seed, and that most of their jobs are
// small and a few large.
func TestGenerated(t *testing.T) {
	for name := range generators {
		first, err := Read(name, Options{Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Read(name, Options{Seed: 7})
		other, _ := Read(name, Options{Seed: 8})
		if !reflect.DeepEqual(first, again) || reflect.DeepEqual(first.Jobs, other.Jobs) {
			t.Errorf("%s does not follow its seed", name)
		}
		small, large := 0, 0
		for i := range first.Jobs {
			g := first.Jobs[i].Tasks[0]
			node := first.Nodes[0]
			if g.MemoryMB > node.MemoryMB || g.VCores > node.VCores || g.GPUs > node.GPUs || g.Duration <= 0 || g.Count < 1 {
				t.Fatalf("%s: job %d is %+v, a node %+v", name, i, g, node)
			}
			small += int(1 / max(int64(g.Count), g.GPUs, 1))
			if int64(g.Count)*max(g.GPUs, 1) >= 16 {
				large++
			}
		}
		if n := len(first.Jobs); small < n/3 || large == 0 || large > n/5 {
			t.Errorf("%s: %d of %d jobs are small, %d large", name, small, n, large)
		}
	}
}
