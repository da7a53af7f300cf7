package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// measured returns a measurement of half a minute in which the cluster loses its leader twice.
func measured() *Bench {
	b := &Bench{Title: "Benchmark: containers by Hadoop's wire",
		Lead: "1,000 NodeManagers and 100 ApplicationMasters against three replicas on one machine.",
		Unit: "containers", Timed: "from the ask to the answer that holds the container",
		Keys: []Fact{{Name: "containers a second", Value: "2,140"}, {Name: "p99 of commits", Value: "8.1 ms"},
			{Name: "longest without a leader", Value: "1,204 ms"}},
		Facts: []Fact{{Name: "heartbeats", Value: "31,204", Note: "no errors"}},
		Elections: []Election{{At: 9 * time.Second, Took: 1204 * time.Millisecond, From: "rm1", To: "rm2", Term: 3},
			{At: 21 * time.Second, Took: 480 * time.Millisecond, From: "rm2", To: "rm<3>", Term: 4}}}
	r := rand.New(rand.NewSource(1))
	for i := range 60 {
		t := Tick{At: time.Duration(i) * 500 * time.Millisecond, Length: 500 * time.Millisecond,
			Done: int64(1000 + r.Intn(120)),
			P50:  2*time.Millisecond + time.Duration(r.Intn(400))*time.Microsecond,
			P99:  7*time.Millisecond + time.Duration(r.Intn(3000))*time.Microsecond}
		t.Max = t.P99 + 2*time.Millisecond
		if i == 18 || i == 19 || i == 42 {
			t.Done, t.Errors, t.P99, t.Max = int64(60*(i%2)), 12, 900*time.Millisecond, 1204*time.Millisecond
		}
		b.Points = append(b.Points, t)
	}
	return b
}

func TestBenchPage(t *testing.T) {
	var b bytes.Buffer
	check(t, WriteBenchHTML(&b, Head{Version: "1.0.0", Date: "2026-01-02"}, measured()))
	page := b.String()
	wellFormed(t, page)
	for _, want := range []string{"election at 9s: rm1 to rm2, 1204 ms without a leader", "There were 2.",
		"containers a second", "99 % at most", "errors a second",
		"from the ask to the answer that holds the container", "rm&lt;3&gt;", "Made by rmd 1.0.0 on 2026-01-02"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(page, "rm<3>") {
		t.Error("a name is not escaped")
	}
	if n := strings.Count(page, `<g class="mark">`); n != 4 {
		t.Errorf("%d marks; two elections on two pictures want 4", n)
	}
	keep(t, "bench.html", page)
	if err := WriteBenchHTML(&b, Head{}, &Bench{}); !errors.Is(err, ErrNoSeries) {
		t.Errorf("a measurement of nothing: %v", err)
	}
}

func TestBenchJSON(t *testing.T) {
	var b bytes.Buffer
	check(t, WriteBenchJSON(&b, measured()))
	var back Bench
	check(t, json.Unmarshal(b.Bytes(), &back))
	if !reflect.DeepEqual(&back, measured()) {
		t.Error("what is read is not what was written")
	}
}

func TestTickPerSecond(t *testing.T) {
	for _, c := range []struct {
		tick Tick
		want float64
	}{{Tick{Length: 500 * time.Millisecond, Done: 10}, 20}, {Tick{Done: 10}, 0}} {
		if got := c.tick.PerSecond(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.tick, got, c.want)
		}
	}
}

// keep writes a page to the directory in RMD_KEEP, so that a developer can look at it.
func keep(t *testing.T, name, page string) {
	t.Helper()
	if dir := os.Getenv("RMD_KEEP"); dir != "" {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644))
		t.Log("kept", filepath.Join(dir, name))
	}
}
