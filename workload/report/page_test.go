package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"rmd/internal/plot"
)

// played returns a small run: a large container that waits, and small ones that do not.
func played(t *testing.T, wait int64) *Summary {
	t.Helper()
	c := NewCollector(node)
	check(t, c.Asked("big", "root.a", node, 0))
	check(t, c.Asked("small", "root.a", Resource{MemoryMB: 1024, VCores: 1}, 1000))
	check(t, c.Allocated("small", 1000))
	check(t, c.Asked("never", "root.a", node, 5000))
	check(t, c.Allocated("big", wait))
	check(t, c.Tick(Sample{AtMillis: 0, Capacity: node}))
	check(t, c.Tick(Sample{AtMillis: wait, Capacity: node, Used: node}))
	c.End(4 * 3600_000)
	c.Describe(Run{Apps: 3, Nodes: 1, Seed: 7, TraceMillis: 3600_000})
	s := c.Summary()
	s.Reservations = Outcomes{Made: 5, Fulfilled: 2, Cancelled: 3, Causes: map[string]int64{"NODE_LOST": 3}}
	s.Series.Counts = []Count{{AtMillis: 0, Made: 1}, {AtMillis: wait, Made: 5, Fulfilled: 2, Cancelled: 3}}
	return s
}

func TestPage(t *testing.T) {
	with, without := played(t, 3600_000), played(t, 7200_000)
	var b bytes.Buffer
	check(t, WriteHTML(&b, Head{Source: "a<b>.csv", Version: "1"}, with, without))
	page := b.String()
	wellFormed(t, page)
	for _, want := range []string{"Replay of a&lt;b&gt;.csv", "It was run twice", "Waits by container size",
		"a whole node", "1h/", ", 1 never", "Used, with reservations", "Used, without reservations",
		"Reservations held, with reservations", "5 made, 2 fulfilled, 3 cancelled in all", "cancelled by NODE_LOST",
		"without: 4h"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	b.Reset()
	check(t, WriteHTML(&b, Head{Source: "x"}, with, nil))
	if one := b.String(); strings.Contains(one, "ithout reservations") || !strings.Contains(one, "this run") {
		t.Error("one run alone speaks of two")
	}
	wellFormed(t, b.String())
	if err := WriteHTML(&b, Head{}, with, &Summary{}); !errors.Is(err, ErrNoSeries) {
		t.Errorf("without a series: %v", err)
	}
}

var outside = regexp.MustCompile(`(?i)(src|href|url)\s*[=(]\s*["']?(https?:|//)|<script|@import`)

// wellFormed checks that a page is valid, and that it loads and executes nothing.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	if m := outside.FindString(page); m != "" {
		t.Errorf("the page is not whole in itself: %s", m)
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") || strings.Contains(page, "%!") {
		t.Error("a number is none")
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	pictures := 0
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the page does not parse: %v", err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "svg" {
			pictures++
		}
	}
	if pictures < 2 {
		t.Errorf("%d pictures", pictures)
	}
}

func TestAveraged(t *testing.T) {
	// 0 until 500, then 2. The buckets have 1000/260 → 4 ms, so the middle one has both values.
	points := averaged([]step{{0, 0}, {501, 2}}, 1000)
	if len(points) != 250 {
		t.Fatalf("%d points", len(points))
	}
	for _, p := range points {
		want := 0.0
		switch {
		case p.X == 500:
			want = 1.5
		case p.X > 500:
			want = 2
		}
		if p.Y != want {
			t.Errorf("at %v: %v, want %v", p.X, p.Y, want)
		}
	}
	if averaged(nil, 10) != nil || averaged([]step{{0, 1}}, 0) != nil {
		t.Error("points of nothing")
	}
	mean := 0.0
	all := averaged([]step{{0, 1}, {10, 3}, {10, 5}, {700, 0}}, 1000)
	for _, p := range all {
		mean += p.Y / float64(len(all))
	}
	if want := (10*1.0 + 690*5) / 1000; mean < want-1e-9 || mean > want+1e-9 {
		t.Errorf("the average of all is %v, want %v", mean, want)
	}
}

func TestWaitingOverTime(t *testing.T) {
	all := []Container{{AskedMillis: 0, AllocatedMillis: 500}, {AskedMillis: 250, AllocatedMillis: Unset},
		{AskedMillis: 0, AllocatedMillis: 1000, Large: true}}
	points := waitingOverTime(all, 1000, func(k Container) bool { return !k.Large })
	at := func(ms float64) float64 {
		for _, p := range points {
			if p.X == ms {
				return p.Y
			}
		}
		t.Fatalf("no point at %v", ms)
		return 0
	}
	if at(100) != 1 || at(300) != 2 || at(800) != 1 {
		t.Errorf("%v %v %v; want 1 2 1", at(100), at(300), at(800))
	}
}

func TestDistributionIsMonotonous(t *testing.T) {
	s := played(t, 3600_000)
	before := plot.Point{}
	points := s.Series.distribution(s.EndMillis, 1e9, func(Container) bool { return true })
	for _, p := range points {
		if p.X < before.X || p.Y < before.Y {
			t.Errorf("%v after %v", p, before)
		}
		before = p
	}
	if before.Y != 1 {
		t.Errorf("it ends at %v", before)
	}
}
