package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for most, want := range map[float64]string{0: "[0 0.5 1]", 1: "[0 0.5 1]", 3: "[0 1 2 3]", 7: "[0 2 4 6 8]", 90: "[0 50 100]", 4200: "[0 2000 4000 6000]", math.Inf(1): "[0 0.5 1]"} {
		if got := fmt.Sprint(roundTicks(most, 4)); got != want {
			t.Errorf("%v: %s, want %s", most, got, want)
		}
	}
}

func TestAxisStaysInside(t *testing.T) {
	for _, a := range []Axis{Linear(7), Shares(0.4), Times("", 86_400_000, func(int64) string { return "" }), Waits("", 5e6, func(int64) string { return "" }), Latencies(840), {}} {
		if a.at(-5) != 0 || a.at(1e18) != 1 {
			t.Errorf("%+v leaves its ends", a)
		}
		last := -1.0
		for _, v := range a.Ticks {
			if at := a.at(v); at <= last || at < 0 || at > 1 {
				t.Errorf("tick %v lies at %v after %v", v, at, last)
			} else {
				last = at
			}
		}
	}
	if got := Latencies(5000).text(3000); got != "3s" {
		t.Errorf("%q", got)
	}
	if got := Linear(0.2).text(0.15000000000000002); got != "0.15" {
		t.Errorf("%q", got)
	}
	if got := Shares(1).text(0.125); got != "12.5%" {
		t.Errorf("%q", got)
	}
}

// TestChartIsXML holds that whatever is drawn is well-formed and on the sheet.
func TestChartIsXML(t *testing.T) {
	for name, f := range map[string]Figure{
		"empty": Chart{Title: "<t>", Empty: "nothing & nobody"},
		"lines": Chart{Title: "t", Note: "n", X: Linear(10), Y: Linear(5), Marks: []Mark{{At: 2, Until: 4, Text: "<m>"}, {At: 99}},
			Lines: []Line{{Name: "a&b", Ink: Blue, Step: true, Fill: true, Points: []Point{{0, 1}, {5, 9}, {5, 2}, {20, 3}}}, {Name: "c", Ink: Grey, Dashed: true, Points: []Point{{1, 1}}}}},
		"ranges": Ranges{Title: "r", X: Linear(10), Rows: []Row{{Label: "<l>", Bars: []Bar{{Name: "x", Mid: 1, High: 5, Max: 20}, {Empty: true, Text: "none"}}}}},
	} {
		svg := string(f.SVG())
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, svg)
			}
			e, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range e.Attr {
				var v float64
				if n, _ := fmt.Sscanf(a.Value, "%g", &v); n == 1 && strings.HasPrefix(a.Name.Local, "x") && (v < 0 || v > wholeWidth) {
					t.Errorf("%s: %s=%q is off the sheet", name, a.Name.Local, a.Value)
				}
			}
		}
	}
}
