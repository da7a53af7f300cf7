package trace

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// fullTraces returns the directory of the published traces. They are inputs of these tests, but not
// part of the project.
func fullTraces(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RMD_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "traces")
	}
	if _, err := os.Stat(filepath.Join(dir, "openb")); err != nil {
		t.Skip("no full traces: set RMD_TRACES to their directory")
	}
	return dir
}

func TestFullTraces(t *testing.T) {
	dir := fullTraces(t)
	for _, c := range []struct {
		file, format string
		rows, jobs   int
		containers   int
	}{
		{"openb/openb_pod_list_default.csv", FormatOpenB, 8152, 8152 - 897, 8152 - 897},
		{"openb/openb_pod_list_cpu050.csv", FormatOpenB, 7439, 0, 0},
		{"openb/openb_pod_list_gpuspec33.csv", FormatOpenB, 8152, 8152 - 897, 8152 - 897},
		{"openb/openb_pod_list_multigpu50.csv", FormatOpenB, 9061, 9061, 9061},
		{"swim/FB-2009_samples_24_times_1hr_0.tsv", FormatSWIM, 5894, 5894, 0},
		{"swim/FB-2009_samples_24_times_1hr_1.tsv", FormatSWIM, 6638, 6638, 0},
		{"swim/FB-2010_samples_24_times_1hr_0.tsv", FormatSWIM, 24442, 24442, 0},
		{"sls/2jobs2min-rumen-jh.json", FormatRumen, 2, 2, 192},
		{"sls/inputsls.json", FormatSLS, 2, 2, 5},
		{"sls/sls_dag.json", FormatSLS, 2, 2, 5},
		{"sls/syn.json", FormatSynth, 10, 10, 0},
		{"sls/syn_generic.json", FormatSynth, 10, 10, 0},
		{"sls/syn_stream.json", FormatSynth, 5, 5, 10},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			tr, err := Read(filepath.Join(dir, c.file), DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			want(t, "format", tr.Format, c.format)
			want(t, "rows", tr.Rows, c.rows)
			if c.jobs > 0 {
				want(t, "jobs", len(tr.Jobs), c.jobs)
			}
			if c.containers > 0 {
				want(t, "containers", containers(tr), c.containers)
			}
			sound(t, tr)
			t.Log(tr.Notes, tr.Queues)
		})
	}
}

func containers(tr *Trace) int {
	n := 0
	for _, j := range tr.Jobs {
		for _, g := range j.Tasks {
			n += g.Count
		}
	}
	return n
}

// TestFullSWIMMaps checks that the derivation gives the numbers of maps per job that the traces'
// page lists.
func TestFullSWIMMaps(t *testing.T) {
	dir := fullTraces(t)
	for file, expected := range map[string][5]int{
		"FB-2009_samples_24_times_1hr_0.tsv": {1, 5, 616, 56262, 205713},
		"FB-2009_samples_24_times_1hr_1.tsv": {1, 14, 694, 12504, 256051},
		"FB-2010_samples_24_times_1hr_0.tsv": {1, 228, 8300, 87307, 8084865},
	} {
		tr, err := Read(filepath.Join(dir, "swim", file), DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		var maps []int
		sum := 0
		for _, j := range tr.Jobs {
			maps = append(maps, j.Tasks[0].Count)
			sum += j.Tasks[0].Count
		}
		slices.Sort(maps)
		at := func(p float64) int { return maps[int(math.Ceil(p*float64(len(maps))))-1] }
		got := [5]int{at(0.5), at(0.9), at(0.99), maps[len(maps)-1], sum}
		if got[0] != expected[0] || got[1] != expected[1] || got[3] != expected[3] || got[4] != expected[4] ||
			math.Abs(float64(got[2]-expected[2])) > 0.02*float64(expected[2]) {
			t.Errorf("%s: p50, p90, p99, max, sum of the maps: got %v, want %v", file, got, expected)
		}
	}
}

func TestFullNodeLists(t *testing.T) {
	dir := fullTraces(t)
	for file, expected := range map[string]struct {
		n           int
		cores, gpus int64
	}{
		"openb/openb_node_list_all_node.csv": {1523, 125514, 6212},
		"sls/nodes.json":                     {20, 200, 0},
		"sls/nodes-with-resources.json":      {4, 38, 0},
	} {
		nodes, err := ReadNodes(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		var cores, gpus int64
		for _, n := range nodes {
			cores, gpus = cores+n.VCores, gpus+n.GPUs
		}
		if len(nodes) != expected.n || cores != expected.cores || gpus != expected.gpus {
			t.Errorf("%s: %d nodes, %d cores, %d GPUs; want %+v", file, len(nodes), cores, gpus, expected)
		}
	}
}
