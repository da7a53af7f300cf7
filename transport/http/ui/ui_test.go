package ui

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	"rmd/api"
	"rmd/internal/thousands"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/format"
)

func TestAmountText(t *testing.T) {
	for want, got := range map[string]string{
		"320\u00a0GiB\u00a0· 88\u00a0vc": format.Whole("320 GiB · 88 vc"), "384 GiB": format.KindValue(api.MemoryMB, 384<<10),
		"88":      format.KindValue(api.VCores, 88),
		"184,201": format.Number(184_201), "-1,000": format.Number(-1000), "7": format.Number(7),
		"1 node": thousands.Count(1, "node"), "2,000 nodes": thousands.Count(2000, "node"),
		"320 GiB · 88 vc · 8 gpu": format.Amount(api.Resource{"yarn.io/gpu": 8, "vcores": 88, "memory-mb": 320 << 10}),
		"33 vc":                   format.Amount(api.Resource{"vcores": 33, "memory-mb": 0}),
		"–":                       format.Amount(api.Resource{"vcores": 0}),
		"4m 02s":                  format.Span(242_000), "3h 12m": format.Span(11_520_000), "12 ms": format.Span(12),
		"2d 01h": format.Span(176_400_000), "59 s": format.Span(59_999),
		"node too small": format.Word("NODE_TOO_SMALL"), "…_0107": format.ShortID("application_1780000000000_0107"),
		"…_0107_01_000002": format.ContainerShort("container_e05_1780000000000_0107_01_000002"),
		"9f1c…00e2":        format.ShortDigest("9f1c0000000000e2"), "41%": format.Percent(41.2), "1.9%": format.Percent(1.94),
		"0%": format.Percent(0),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := string(format.When(1_780_000_135_000)); !strings.HasSuffix(got,
		`<span class="date">2026-05-28 </span>20:28:55<span class="zone"> UTC</span></time>`) {
		t.Errorf("the time %s, want its date and its zone", got)
	}
	if format.WebURL("javascript:alert(1)") != "" || format.WebURL("//host/x") != "" ||
		format.WebURL("http://am:1/x") == "" {
		t.Error("which addresses may be followed")
	}
}

func TestBarStaysWithinItsWhole(t *testing.T) {
	b := bar.New(10).Add(6, "used", "").Add(8, "reserved", "").Add(3, "pending", "").Add(-1, "used", "").Limit(25, "most",
		"").Done("text")
	if len(b.Parts) != 2 || b.Parts[0].W != "600.0" || b.Parts[1].X != "600.0" || b.Parts[1].W != "400.0" ||
		b.Marks[0].X != "1000.0" {
		t.Errorf("bar of 6, 8 and 3 in 10 = %+v, want parts of 600 and 400 and the mark at 1000", b)
	}
	if b := bar.New(0).Add(5, "used", "").Done(""); len(b.Parts) != 1 || b.Parts[0].W != "1000.0" {
		t.Errorf("a whole of nothing: %+v", b)
	}
}

// TestBarEscapesWhatItSays checks that a bar escapes its texts.
func TestBarEscapesWhatItSays(t *testing.T) {
	got := string(bar.New(10).Add(6, "used", `</title>"'&`).Link(`/ui/apps/x"><b>`).Add(2, "reserved", "r").Limit(5,
		"most", "<m>").Done(`a"b`).SVG())
	for _, bad := range []string{`</title>"'`, `"><b>`, "<m>", `a"b"`} {
		if strings.Contains(got, bad) {
			t.Errorf("%s is in %s", bad, got)
		}
	}
	for _, want := range []string{`aria-label="a&#34;b"`, `fill="url(#hatch)"`,
		`<rect class="used" x="0.0" width="600.0" height="24">`, `x1="500.0"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// TestTopAgreesWithSorting pages through rows with many equal keys, and compares the pages with the
// sorted list of all rows.
func TestTopAgreesWithSorting(t *testing.T) {
	const n = 1000
	for _, desc := range []bool{false, true} {
		var after cursor
		var got []row[int]
		for {
			k := top[int]{most: 7, desc: desc}
			for i := range uint64(n) {
				id := (i*7919)%n + 1
				k.add(position{key: int64(id % 13), id: id}, 0, after)
			}
			rows, next := k.page()
			got = append(got, rows...)
			if k.all != n {
				t.Fatalf("%d rows passed", k.all)
			}
			if next == "" {
				break
			}
			q := query{q: url.Values{"after": {next}}}
			var err error
			if after, err = q.cursor(); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != n {
			t.Fatalf("%d rows, want %d", len(got), n)
		}
		for i := 1; i < n; i++ {
			if c := comparePositions(got[i-1].position, got[i].position); (desc && c <= 0) || (!desc && c >= 0) {
				t.Fatalf("rows %d and %d are out of order: %v %v", i-1, i, got[i-1], got[i])
			}
		}
	}
}

func TestConfigurationTextRoundTrip(t *testing.T) {
	in := map[string]string{"a.b": "1", "c": "x = y", "empty": ""}
	out, err := confProperties("# remark\r\n\n" + strings.ReplaceAll(confText(in), "\n", "\r\n"))
	if err != nil || len(out) != 3 || out["a.b"] != "1" || out["c"] != "x = y" || out["empty"] != "" {
		t.Errorf("confProperties(confText(%v)) = %v, %v, want the same properties", in, out, err)
	}
}

func TestEnoughContainers(t *testing.T) {
	gib := func(n int64) api.Container { return api.Container{Size: api.Resource{"memory-mb": n << 10}} }
	missing := api.Resource{"memory-mb": 10 << 10}
	if n := enough(missing, []api.Container{gib(6), gib(3), gib(2)}); n != 3 {
		t.Errorf("enough for 10 GiB of 6, 3 and 2 GiB = %d, want 3", n)
	}
	if n := enough(missing, []api.Container{gib(6)}); n != 0 {
		t.Errorf("%d, though all do not do", n)
	}
}

func TestConfigReportsAllErrors(t *testing.T) {
	err := Config{}.Validate()
	for _, want := range []string{"Guard", "API", "Status", "Logger", "Tick", "Heartbeat", "MaxStreams", "MaxBodyBytes",
		"PageRows", "SharedPages", "RenderShare"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named: %v", want, err)
		}
	}
}

// TestKindsThatNoNodeHas checks that a resource kind that no node has is not shown. Memory and
// vcores are always shown.
func TestKindsThatNoNodeHas(t *testing.T) {
	total := api.Resource{"yarn.io/gpu": 0, "acme.com/fpga": 2, "vcores": 0, "memory-mb": 0}
	var kinds []string
	for _, u := range bar.Usages(api.Figures{Total: total}) {
		kinds = append(kinds, format.KindName(u.Kind))
	}
	if got := strings.Join(kinds, " "); got != "memory vcores fpga" {
		t.Errorf("shown are %q", got)
	}
}

// TestPageKnowsSilence checks that the page waits for the live stream as long as other clients do.
func TestPageKnowsSilence(t *testing.T) {
	js, err := os.ReadFile("static/rmd.js")
	if want := fmt.Sprintf("const SILENCE = %d;", api.StreamSilence.Milliseconds()); err != nil ||
		!strings.Contains(string(js), want) {
		t.Errorf("rmd.js has no %q (%v)", want, err)
	}
}

// TestPagesOf checks that a link to another replica keeps the scheme, if that replica serves it.
func TestPagesOf(t *testing.T) {
	both := api.Member{HTTPAddress: "h:1", HTTPSAddress: "h:2"}
	for _, c := range []struct {
		of     api.Member
		secure bool
		want   string
	}{
		{both, false, "http://h:1"}, {both, true, "https://h:2"}, {api.Member{HTTPAddress: "h:1"}, true, "http://h:1"},
		{api.Member{HTTPSAddress: "h:2"}, false, "https://h:2"}, {api.Member{}, true, ""},
	} {
		if got := pagesOf(c.of, c.secure); got != c.want {
			t.Errorf("pagesOf(%v, secure %v) = %q, want %q", c.of, c.secure, got, c.want)
		}
	}
}

// TestFormsStandBesideALogin checks that every page with a form for changes has the link to log in that
// guests see in the place of the form.
func TestFormsStandBesideALogin(t *testing.T) {
	for _, name := range append(Pages(), "parts") {
		text, err := fs.ReadFile(Templates(), name+".html")
		if err != nil {
			t.Fatal(err)
		}
		before, _, changes := strings.Cut(string(text), `method="post"`)
		if changes && !strings.Contains(before, `{{template "login"}}`) {
			t.Errorf("%s.html has a form for changes, and no link to log in before it", name)
		}
	}
}
