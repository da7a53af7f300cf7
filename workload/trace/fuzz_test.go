package trace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func readFile(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// fuzz checks that any bytes give a valid trace or an error with a place, and never a panic.
func fuzz(f *testing.F, format string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(readFile(f, s)))
	}
	small := bounds{jobs: 1000, tasks: 2000}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := decode("f", data, nil, Options{Format: format, Load: 1.5}, small)
		if err != nil {
			if !errors.Is(err, ErrBadTrace) && !errors.Is(err, ErrUnknownFormat) {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		sound(t, tr)
	})
}

// sound checks the properties of every valid trace.
func sound(t *testing.T, tr *Trace) {
	t.Helper()
	before := time.Duration(0)
	for _, j := range tr.Jobs {
		if j.Submit < before || j.Name == "" || j.User == "" || badQueue(j.Queue) != "" || len(j.Tasks) == 0 {
			t.Fatalf("job makes no sense: %+v", j)
		}
		before = j.Submit
		for i, g := range j.Tasks {
			if g.Count < 1 || g.MemoryMB < 1 || g.VCores < 1 || g.GPUs < 0 || g.Duration <= 0 || g.Delay < 0 || g.After < -1 ||
				g.After >= i {
				t.Fatalf("group of %s makes no sense: %+v", j.Name, g)
			}
			if n := len(g.Durations); n != 0 && n != g.Count {
				t.Fatalf("%d run times for %d containers", n, g.Count)
			}
			if n := len(g.Hosts); n > 1 && n != g.Count {
				t.Fatalf("%d hosts for %d containers", n, g.Count)
			}
		}
	}
}

func FuzzRMD(f *testing.F)   { fuzz(f, FormatRMD, "rmd.csv") }
func FuzzOpenB(f *testing.F) { fuzz(f, FormatOpenB, "openb.csv", "openb-demand.csv") }
func FuzzSWIM(f *testing.F)  { fuzz(f, FormatSWIM, "swim.tsv") }
func FuzzRumen(f *testing.F) { fuzz(f, FormatRumen, "rumen.json") }
func FuzzSLS(f *testing.F)   { fuzz(f, FormatSLS, "sls.json") }
func FuzzSynth(f *testing.F) { fuzz(f, FormatSynth, "synth.json", "synth-old.json") }
func FuzzAuto(f *testing.F)  { fuzz(f, FormatAuto, "rmd.csv", "sls.json", "rumen.json") }

func FuzzNodes(f *testing.F) {
	for _, s := range []string{"nodes.csv", "openb-nodes.csv", "sls-nodes.json"} {
		f.Add([]byte(readFile(f, s)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := decodeNodes("f", data, true)
		if (err == nil) != (len(nodes) > 0) {
			t.Fatalf("%d nodes and %v", len(nodes), err)
		}
	})
}
