package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var node = Resource{MemoryMB: 1000, VCores: 10, GPUs: 8}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// one returns a collector with a small history whose results can be computed by hand.
func one(t *testing.T) *Collector {
	c := NewCollector(node)
	// Waits of the small containers: 0, 0, 1000, 3000 ms. Waits of the large containers: 10,000 and
	// 15,000 ms; the latter is unserved at the end (20,000).
	for _, x := range []struct {
		id, queue        string
		size             Resource
		asked, got, done int64
	}{
		{"a", "root.b", Resource{100, 1, 0}, 0, 0, 5000},
		{"b", "root.b", Resource{100, 1, 1}, 0, 0, Unset},
		{"c", "root.a", Resource{499, 4, 3}, 1000, 2000, Unset},
		{"d", "root.a", Resource{100, 1, 0}, 1000, 4000, 9000},
		{"e", "root.a", Resource{100, 5, 0}, 2000, 12000, Unset}, // half the vcores: large
		{"f", "root.b", Resource{100, 1, 8}, 5000, Unset, Unset},
	} {
		check(t, c.Asked(x.id, x.queue, x.size, x.asked))
		if x.got != Unset {
			check(t, c.Allocated(x.id, x.got))
		}
		if x.done != Unset {
			check(t, c.Finished(x.id, x.done))
		}
	}
	return c
}

func TestWaits(t *testing.T) {
	c := one(t)
	c.End(20000)
	s := c.Summary()
	if want := (Waits{Containers: 4, P50Millis: 0, P95Millis: 3000, MaxMillis: 3000, MeanMillis: 1000}); s.Small != want {
		t.Errorf("small: got %+v, want %+v", s.Small, want)
	}
	if want := (Waits{Containers: 2, Unserved: 1, P50Millis: 10000, P95Millis: 15000, MaxMillis: 15000,
		MeanMillis: 12500}); s.Large != want {
		t.Errorf("large: got %+v, want %+v", s.Large, want)
	}
	want := []QueueWaits{
		{"root.a", Waits{Containers: 3, P50Millis: 3000, P95Millis: 10000, MaxMillis: 10000, MeanMillis: 14000.0 / 3}},
		{"root.b", Waits{Containers: 3, Unserved: 1, P50Millis: 0, P95Millis: 15000, MaxMillis: 15000, MeanMillis: 5000}},
	}
	if !reflect.DeepEqual(s.Queues, want) {
		t.Errorf("queues: got %+v, want %+v", s.Queues, want)
	}
	if s.EndMillis != 20000 {
		t.Errorf("end at %d", s.EndMillis)
	}
}

func TestSharesAreWeightedByTime(t *testing.T) {
	c := NewCollector(node)
	cluster := Resource{2000, 20, 16}
	check(t, c.Tick(Sample{AtMillis: 0, Capacity: cluster}))
	check(t, c.Tick(Sample{AtMillis: 1000, Capacity: cluster, Used: Resource{9, 9, 9}}))
	// The same time again: this sample replaces the first, and is valid for 3 s.
	check(t, c.Tick(Sample{AtMillis: 1000, Capacity: cluster, Used: Resource{1000, 5, 16},
		ReservedIdle: Resource{200, 10, 4}}))
	// Then half the cluster is gone for 1 s.
	check(t, c.Tick(Sample{AtMillis: 4000, Capacity: node, Used: Resource{1000, 0, 0}, ReservedIdle: Resource{0, 0, 2}}))
	c.End(5000)
	s := c.Summary()
	near(t, "memory used", s.Utilization.Memory, (3*1000+1000)/float64(4*2000+1000))
	near(t, "vcores used", s.Utilization.VCores, 15.0/90)
	near(t, "gpus used", s.Utilization.GPUs, 48.0/72)
	near(t, "memory reserved and idle", s.ReservedIdle.Memory, 600.0/9000)
	near(t, "dominant share reserved and idle", s.ReservedIdle.Dominant, (3*0.5+1*0.25)/5)
}

func TestSummaryOfOneSample(t *testing.T) {
	c := NewCollector(node)
	check(t, c.Tick(Sample{AtMillis: 7, Capacity: node, Used: Resource{250, 5, 2}}))
	s := c.Summary()
	near(t, "memory", s.Utilization.Memory, 0.25)
	near(t, "dominant", s.Utilization.Dominant, 0.5)
}

func TestEmptyRun(t *testing.T) {
	s := NewCollector(Resource{}).Summary()
	if s.Large != (Waits{}) || s.Utilization != (Shares{}) {
		t.Errorf("Summary of an empty run: large %+v, utilization %+v, want zeros", s.Large, s.Utilization)
	}
	var b bytes.Buffer
	check(t, WriteText(&b, s, nil))
	check(t, WriteJSON(&b, s, nil))
	if err := WriteText(&b, nil, nil); err == nil {
		t.Error("no run is reported")
	}
}

func TestOutOfOrder(t *testing.T) {
	c := one(t)
	check(t, c.Tick(Sample{AtMillis: 50}))
	for what, err := range map[string]error{
		"asked twice":              c.Asked("a", "q", node, 0),
		"allocated unasked":        c.Allocated("z", 0),
		"allocated twice":          c.Allocated("a", 10),
		"allocated before the ask": c.Allocated("f", 4999),
		"finished unallocated":     c.Finished("f", 9000),
		"finished twice":           c.Finished("a", 6000),
		"finished before":          c.Finished("c", 1),
		"sample before":            c.Tick(Sample{AtMillis: 49}),
	} {
		if !errors.Is(err, ErrOutOfOrder) {
			t.Errorf("%s: %v, want %v", what, err, ErrOutOfOrder)
		}
	}
	if got := c.Containers()[5]; got.AllocatedMillis != Unset {
		t.Errorf("a refused word changed %+v", got)
	}
}

// example returns the runs that the manual shows.
func example() (with, without *Summary) {
	const m, h = 60_000, 3_600_000
	with = &Summary{
		Run:   Run{Apps: 1192, Nodes: 4, Seed: 1, TraceMillis: 24 * h, Elapsed: 1500 * time.Millisecond},
		Large: Waits{Containers: 54, P50Millis: 11 * m, P95Millis: 71 * m, MaxMillis: 73 * m, MeanMillis: 1_191_000},
		Small: Waits{Containers: 1138, P95Millis: 25 * m, MaxMillis: 61 * m, MeanMillis: 430_000},
		Reservations: Outcomes{Made: 470, Fulfilled: 54, Cancelled: 416,
			Causes: map[string]int64{"allocated elsewhere": 400, "application ended": 8, "node lost": 8}},
		Utilization:  Shares{Memory: 0.44, VCores: 0.49, GPUs: 0.53},
		ReservedIdle: Shares{Memory: 0.019, Dominant: 0.084},
	}
	without = &Summary{
		Run: Run{Elapsed: 1600 * time.Millisecond},
		Large: Waits{Containers: 54, Unserved: 1, P50Millis: 17 * m, P95Millis: 234 * m, MaxMillis: 256 * m,
			MeanMillis: 4_146_000},
		Small:       Waits{Containers: 1138, MaxMillis: 198_000, MeanMillis: 2000},
		Utilization: Shares{Memory: 0.44, VCores: 0.49, GPUs: 0.53},
	}
	return with, without
}

func TestWriteText(t *testing.T) {
	with, without := example()
	var b bytes.Buffer
	check(t, WriteText(&b, with, without))
	want := strings.TrimPrefix(`
replayed 1192 apps, 24h of trace, in 3.1s (4 nodes, seed 1)
                        WITH              WITHOUT
large wait p50/p95      11m/1h11m         17m/3h54m
small wait p50/p95      0s/25m            0s/0s
large wait mean/max     20m/1h13m         1h09m/4h16m
small wait mean/max     7m10s/1h01m       2s/3m18s
containers large/small  54/1138           54/1138
still waiting           0/0               1/0
used gpu/vcore/memory   53%/49%/44%       53%/49%/44%
reserved idle dom./mem. 8.4%/1.9%         0%/0%
reservations made 470   fulfilled 54   cancelled 416
  cancelled by: allocated elsewhere 400, application ended 8, node lost 8
`, "\n")
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	check(t, WriteText(&b, with, nil))
	if got := b.String(); strings.Contains(got, "WITH") || !strings.Contains(got, "in 1.5s") ||
		!strings.Contains(got, "small wait p50/p95      0s/25m\n") {
		t.Errorf("one run alone:\n%s", got)
	}
}

// TestTextFits checks that no line has more than 80 columns, whatever the values and the names of
// causes.
func TestTextFits(t *testing.T) {
	huge := Waits{Containers: 99_999_999, Unserved: 99_999_999, P50Millis: math.MaxInt64 / 2, P95Millis: math.MaxInt64 / 2,
		MaxMillis: math.MaxInt64 / 2, MeanMillis: 1e15}
	s := &Summary{
		Run:   Run{Apps: 9_999_999, Nodes: 99_999, Seed: math.MaxInt64, TraceMillis: 1e12, Elapsed: 1e15},
		Large: huge, Small: huge, Utilization: Shares{1, 1, 1, 1}, ReservedIdle: Shares{1, 1, 1, 1},
		Reservations: Outcomes{Made: 99_999_999, Moved: 99_999_999, Fulfilled: 99_999_999, Cancelled: 99_999_999,
			Causes: map[string]int64{}},
	}
	for i := range 12 {
		s.Reservations.Causes[strings.Repeat("cause ", 1+i*2)] = int64(i) * 1e12
	}
	var b bytes.Buffer
	check(t, WriteText(&b, s, s))
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	with, without := example()
	var b bytes.Buffer
	check(t, WriteJSON(&b, with, without))
	var back struct{ With, Without *Summary }
	check(t, json.Unmarshal(b.Bytes(), &back))
	if !reflect.DeepEqual(back.With, with) || !reflect.DeepEqual(back.Without, without) {
		t.Errorf("what is read is not what was written:\n%s", b.String())
	}
	if !strings.Contains(b.String(), `"p95Millis": 4260000`) {
		t.Errorf("times are not raw:\n%s", b.String())
	}
}

func TestReservationOutcomes(t *testing.T) {
	c := NewCollector(node)
	for range 5 {
		c.ReservationMade()
	}
	c.ReservationMoved()
	c.ReservationFulfilled()
	c.ReservationFulfilled()
	c.ReservationCancelled("node lost")
	c.ReservationCancelled("allocated elsewhere")
	c.ReservationCancelled("allocated elsewhere")
	got := c.Summary().Reservations
	want := Outcomes{Made: 5, Moved: 1, Fulfilled: 2, Cancelled: 3,
		Causes: map[string]int64{"node lost": 1, "allocated elsewhere": 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.ReservationCancelled("node lost")
	if got.Causes["node lost"] != 1 {
		t.Error("a summary changes after it was taken")
	}
}

func TestDuration(t *testing.T) {
	for millis, want := range map[int64]string{
		0: "0s", 1: "1ms", 999: "999ms", 1000: "1s", 3100: "3.1s", 9949: "9.9s", 9950: "10s", 42_400: "42s",
		59_499: "59s", 59_500: "1m",
		242_000: "4m02s", 599_499: "9m59s", 599_500: "10m", 1_500_000: "25m", 3_569_999: "59m", 3_570_000: "1h",
		4_260_000:  "1h11m",
		86_400_000: "24h", 172_770_000: "2d", 273_600_000: "3d04h", -5000: "-5s",
	} {
		if got := Duration(millis); got != want {
			t.Errorf("%d ms: got %s, want %s", millis, got, want)
		}
	}
	_ = Duration(math.MinInt64)
	_ = Duration(math.MaxInt64)
}
