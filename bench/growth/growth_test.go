package main

import (
	"bytes"
	"strings"
	"testing"
)

var grown = measured{
	kind: kind{what: "Nodes", sizes: []int{1000, 100_000},
		figures: []figure{{"ns/event", "one event"}, {"restore-ms", "a restore"}}},
	values: []map[string]float64{
		{"ns/event": 700, "restore-ms": 2},
		{"ns/event": 700, "restore-ms": 200},
	},
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	grown.print(&out)
	const want = `Nodes
          SIZE       ns/event     restore-ms
         1,000            700              2
       100,000            700            200
      GROWS AS         n^0.00         n^1.00

`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}

// TestPage checks that the axes cover all values, so that each line lies inside its chart.
func TestPage(t *testing.T) {
	var out bytes.Buffer
	if err := page([]measured{grown}).Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a restore", "grows as n^1.00", ">100k<"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if a := decades([]float64{700, 700}); a.Min != 100 || a.Max != 1000 {
		t.Errorf("axis from %v to %v", a.Min, a.Max)
	}
	if a := decades([]float64{100, 100}); a.Min >= a.Max {
		t.Errorf("axis from %v to %v", a.Min, a.Max)
	}
}

// TestKinds checks that each kind has at least two sizes, a benchmark time and figures.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		if len(k.sizes) < 2 || len(k.figures) == 0 || !strings.HasSuffix(k.time(k.sizes[0]), "x") {
			t.Errorf("kind %s: sizes %v, figures %v; want two sizes, a figure, and a time that ends in x",
				k.name, k.sizes, k.figures)
		}
	}
}
