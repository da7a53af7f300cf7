package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for most, want := range map[float64]string{0: "[0 0.5 1]", 1: "[0 0.5 1]", 3: "[0 1 2 3]", 7: "[0 2 4 6 8]",
		90: "[0 50 100]", 4200: "[0 2000 4000 6000]", math.Inf(1): "[0 0.5 1]"} {
		if got := fmt.Sprint(roundTicks(most, 4)); got != want {
			t.Errorf("%v: %s, want %s", most, got, want)
		}
	}
}

func TestAxisStaysInside(t *testing.T) {
	for _, a := range []Axis{Linear(7), Shares(0.4), Times("", 86_400_000, func(int64) string { return "" }),
		Waits("", 5e6, func(int64) string { return "" }), Latencies(840), {}} {
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
		t.Errorf("Latencies(5000).text(3000) = %q, want \"3s\"", got)
	}
	if got := Linear(0.2).text(0.15000000000000002); got != "0.15" {
		t.Errorf("Linear(0.2).text(0.15000000000000002) = %q, want \"0.15\"", got)
	}
	if got := Shares(1).text(0.125); got != "12.5%" {
		t.Errorf("Shares(1).text(0.125) = %q, want \"12.5%%\"", got)
	}
}

// TestTicksDoNotTouch checks that the texts of a low chart's axis do not overlap: if there is no
// room for two, one is omitted.
func TestTicksDoNotTouch(t *testing.T) {
	y := regexp.MustCompile(`<text class="tick" x="46.0" y="([0-9.]+)"`)
	for _, most := range []float64{800, 70_000, 4e6, 9e7, 5e8} {
		svg := string(Chart{Title: "t", X: Linear(10),
			Y: Waits("", most, func(millis int64) string { return fmt.Sprint(millis) }), Lines: []Line{{Name: "a"}},
			Height: 160}.SVG())
		found := y.FindAllStringSubmatch(svg, -1)
		if len(found) < 2 || !strings.Contains(svg, ">0</text>") {
			t.Fatalf("up to %v: %d texts", most, len(found))
		}
		last := math.Inf(1)
		for _, m := range found {
			at, _ := strconv.ParseFloat(m[1], 64)
			if last-at < 12 { // the height of a text
				t.Errorf("up to %v: texts at %v and %v", most, last, at)
			}
			last = at
		}
	}
}

// TestChartIsXML checks that every chart is well-formed and inside of its area.
func TestChartIsXML(t *testing.T) {
	for name, f := range map[string]Figure{
		"empty": Chart{Title: "<t>", Empty: "nothing & nobody"},
		"lines": Chart{Title: "t", Note: "n", X: Linear(10), Y: Linear(5),
			Marks: []Mark{{At: 2, Until: 4, Text: "<m>"}, {At: 99}},
			Lines: []Line{{Name: "a&b", Ink: Blue, Step: true, Fill: true, Points: []Point{{0, 1}, {5, 9}, {5, 2}, {20, 3}}},
				{Name: "c", Ink: Gray, Dashed: true, Points: []Point{{1, 1}}}}},
		"ranges": Ranges{Title: "r", X: Linear(10),
			Rows: []Row{{Label: "<l>", Bars: []Bar{{Name: "x", Mid: 1, High: 5, Max: 20}, {Empty: true, Text: "none"}}}}},
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
				if n, _ := fmt.Sscanf(a.Value, "%g", &v); n == 1 && strings.HasPrefix(a.Name.Local, "x") &&
					(v < 0 || v > wholeWidth) {
					t.Errorf("%s: %s=%q is off the sheet", name, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// TestLineHasGaps checks that a gap is not drawn, and that a single value between two gaps is
// visible.
func TestLineHasGaps(t *testing.T) {
	nan := math.NaN()
	l := Line{Ink: Blue, Fill: true, Points: []Point{{0, nan}, {1, 1}, {2, 1}, {3, nan}, {4, nan}, {5, 2}, {6, nan}}}
	svg := string(Chart{X: Linear(10), Y: Linear(5), Lines: []Line{l}}.SVG())
	if strings.Contains(svg, "NaN") {
		t.Error("a gap is drawn as a number")
	}
	if n := strings.Count(svg, `<path class="fill`); n != 2 {
		t.Errorf("%d parts are filled, not 2", n)
	}
	_, d, _ := strings.Cut(svg, `<path class="line blue" d="`)
	d, _, _ = strings.Cut(d, `"`)
	if strings.Count(d, "M") != 2 || !strings.Contains(d, "H") {
		t.Errorf("the line is %s", d)
	}
	if svg := string(Chart{Lines: []Line{{Ink: Blue, Points: []Point{{1, nan}}}}}.SVG()); strings.Contains(svg,
		`class="line`) {
		t.Errorf("a line of gaps is drawn: %s", svg)
	}
}

func TestClock(t *testing.T) {
	const at = 1780000000000 // 20:26:40
	for span, want := range map[float64]string{3_600_000: "[20:30 20:45 21:00 21:15]", 300_000: "[20:28 20:30]",
		60_000: "[20:26:45 20:27:00 20:27:15 20:27:30]"} {
		a := Clock(at, at+span)
		var got []string
		for _, v := range a.Ticks {
			got = append(got, a.text(v))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v ms: %v, want %s", span, got, want)
		}
	}
}
