package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/internal/exitcode"
)

type thing struct {
	ID    string `json:"id"`
	Count int    `json:"count"`
	Note  string `json:"note"`
}

var things = []thing{{"rm10", 5, "short"}, {"rm2", 11, strings.Repeat("long ", 20)}, {"rm1", 7, ""}}

var list = List[thing]{
	Name: func(t thing) string { return t.ID },
	Columns: []Column[thing]{
		{Head: "ID", Text: func(t thing) string { return t.ID }},
		{Head: "COUNT", Text: func(t thing) string { return Number(t.Count) }, Key: func(t thing) float64 {
			return float64(t.Count)
		}, Right: true},
		{Head: "NOTE", Text: func(t thing) string { return t.Note }, Shrink: true},
		{Head: "MORE", Text: func(t thing) string { return "m" }, Wide: true},
	},
}

func write(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := list.Write(&b, things, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTable(t *testing.T) {
	got := write(t, Options{Format: Table, Width: 40, Sort: "id"})
	want := "ID    COUNT  NOTE\nrm1       7  -\nrm2      11  long long lon…ng long long\nrm10      5  short\n"
	if got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(got, "\n") {
		if width(line) > 40 {
			t.Errorf("%q is wider than the terminal", line)
		}
	}
	if uncut := write(t, Options{Format: Table}); !strings.Contains(uncut, strings.TrimRight(things[1].Note, " ")) {
		t.Fatalf("cut though it is no terminal:\n%s", uncut)
	}
}

// TestWideFolds checks that -o wide on a terminal shows everything, in lines that end after a word.
func TestWideFolds(t *testing.T) {
	got := write(t, Options{Format: Wide, Width: 40, Filters: []string{"id=rm2"}})
	want := "ID   COUNT\n    NOTE\n    MORE\nrm2     11\n    long long long long long long long\n" +
		"    long long long long long long long\n    long long long long long long\n    m\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Format: Name, Sort: "-count"}, "rm2\nrm1\nrm10\n"},
		{Options{Format: Name, Filters: []string{"count!=7", "id~RM1"}}, "rm10\n"},
		{Options{Format: Wide, Columns: []string{"more", "id"}, Filters: []string{"id=rm1"}}, "MORE  ID\nm     rm1\n"},
		{Options{Format: Table, Quiet: true, Columns: []string{"id"}}, "rm10\nrm2\nrm1\n"},
		{Options{Format: Name, Filters: []string{"note=-"}}, "rm1\n"},
		{Options{Format: Name, Filters: []string{"note!=-"}}, "rm10\nrm2\n"},
		{Options{Format: JSONL, Filters: []string{"id=rm1"}}, `{"id":"rm1","count":7,"note":""}` + "\n"},
	} {
		if got := write(t, c.o); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.o, got, c.want)
		}
	}
}

func TestWrongShapes(t *testing.T) {
	for _, c := range []struct {
		o    Options
		text string
	}{
		{Options{Format: Table, Sort: "cuont"}, "did you mean count?"},
		{Options{Format: Table, Columns: []string{"nope"}}, "the columns are id, count, note, more"},
		{Options{Format: Table, Filters: []string{"id"}}, "is not a filter"},
	} {
		err := list.Write(&bytes.Buffer{}, things, c.o)
		if err == nil || !strings.Contains(err.Error(), c.text) || clierr.Code(err) != exitcode.Usage {
			t.Errorf("%+v: %v, want %q", c.o, err, c.text)
		}
	}
}

func TestDocument(t *testing.T) {
	doc := []byte(`{"b":1,"a":[{"x":"y"}],"later":true}`)
	var j, y bytes.Buffer
	if err := WriteDocument(&j, JSON, doc); err != nil {
		t.Fatal(err)
	}
	if err := WriteDocument(&y, YAML, doc); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"b\": 1,\n  \"a\": [\n    {\n      \"x\": \"y\"\n    }\n  ],\n  \"later\": true\n}\n"; j.String() != want {
		t.Errorf("json\n%s", j.String())
	}
	if want := "b: 1\na:\n- x: \"y\"\nlater: true\n"; y.String() != want {
		t.Errorf("yaml\n%s", y.String())
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(uint64(1234567)): "1,234,567", Count(-1234): "-1,234", Count(12): "12",
		Span(242 * time.Second): "4m02s", Span(350 * time.Millisecond): "350ms", Span(192 * time.Minute): "3h12m",
		Span(76 * time.Hour):       "3d04h",
		Digest("9f1c0000000000e2"): "9f1c…e2", Percent(41.4): "41%", Percent(2.25): "2.2%",
		Cut("application_1780000000000_0107", 16): "applicat…00_0107",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestFactsFold checks that long values go on below their beginnings, also those of several lines.
func TestFactsFold(t *testing.T) {
	var b bytes.Buffer
	facts := []Fact{{"id", "r41 of application_7"}, {"report", "a b\nthe disk is full\n"}}
	if err := WriteFacts(&b, facts, 20); err != nil {
		t.Fatal(err)
	}
	want := "id      r41 of\n        application_7\nreport  a b\n        the disk is\n        full\n"
	if b.String() != want {
		t.Errorf("facts:\n%s\nwant:\n%s", b.String(), want)
	}
}

// TestControlCharacters checks that text of other users cannot control the terminal.
func TestControlCharacters(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFacts(&b, []Fact{{"name", "a\x1b[2Jb\u009b31m\u202e"}, {"empty", ""}}, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.String() + oneLine("x\ny\x1b"); strings.ContainsAny(got, "\x1b\u009b\u202e") ||
		strings.Contains(got, "empty") {
		t.Errorf("written: %q, want no control characters and not the empty fact", got)
	}
}
