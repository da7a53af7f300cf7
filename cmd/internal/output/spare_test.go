package output

import (
	"bytes"
	"strings"
	"testing"
)

// TestSpareColumns checks that a spare column is shown if it fits at its least width, or if
// --columns names it, and that those with the highest rank go first.
func TestSpareColumns(t *testing.T) {
	list := List[string]{Columns: []Column[string]{
		{Head: "ID", Text: func(s string) string { return s }},
		{Head: "NAME", Text: func(string) string { return "a-long-name" }, Shrink: true, Spare: 2},
		{Head: "WHY", Text: func(string) string { return "there is no room for it" }, Shrink: true, Least: 8, Spare: 1},
		{Head: "USER", Text: func(string) string { return "ann" }, Shrink: true, Spare: 2},
	}}
	for width, want := range map[int]string{0: "ID NAME WHY USER", 60: "ID NAME WHY USER", 49: "ID NAME WHY USER",
		48: "ID NAME WHY", 42: "ID WHY", 29: "ID"} {
		var b bytes.Buffer
		if err := list.Write(&b, []string{"12345678901234567890"}, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(b.String(), "\n")
		if got := strings.Join(strings.Fields(head), " "); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	var b bytes.Buffer
	if err := list.Write(&b, []string{"12345678901234567890"}, Options{Width: 20, Columns: []string{"why"}}); err != nil ||
		!strings.HasPrefix(b.String(), "WHY") {
		t.Errorf("Write of the spare column WHY: %v, %q; want no error and output that begins with WHY", err, b.String())
	}
}

// TestWidthSaysWhatItCuts checks that a table names the columns that the terminal has no room for,
// and says nothing if it shows everything.
func TestWidthSaysWhatItCuts(t *testing.T) {
	list := List[string]{Columns: []Column[string]{
		{Head: "ID", Text: func(s string) string { return s }},
		{Head: "NAME", Text: func(string) string { return "a-name" }, Spare: 1},
		{Head: "WHY", Text: func(string) string { return "a sentence that is longer than its column" }, Shrink: true},
	}}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Width: 40}, "40 columns have no room for all of WHY; -o wide shows everything"},
		{Options{Width: 20}, "20 columns have no room for all of NAME, WHY; -o wide shows everything"},
		{Options{Width: 20, Columns: []string{"why"}}, "20 columns have no room for all of WHY; -o wide shows everything"},
		{Options{Width: 100}, ""}, {Options{}, ""}, {Options{Width: 20, Format: Wide}, ""},
		{Options{Width: 20, Format: JSONL}, ""},
	} {
		said := ""
		c.o.Note = func(text string) { said += text }
		if err := list.Write(&bytes.Buffer{}, []string{"1234"}, c.o); err != nil || said != c.want {
			t.Errorf("Write(%d columns, -o %s) says %q (error %v), want %q", c.o.Width, c.o.Format, said, err, c.want)
		}
	}
}

// TestCutEnd checks that a cut of a sentence or an amount keeps whole words, and no number without
// its unit.
func TestCutEnd(t *testing.T) {
	const amount = "281 GiB · 40 vc · 3 gpu"
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{amount, 23, amount}, {amount, 22, "281 GiB · 40 vc…"}, {amount, 16, "281 GiB · 40 vc…"},
		{amount, 15, "281 GiB…"}, {amount, 8, "281 GiB…"}, {"no room for it", 13, "no room for…"},
		{"no room for it", 12, "no room for…"}, {"no room for it", 11, "no room…"}, {"unreachable", 8, "unreach…"},
		{"unreachable", 1, "…"}, {"unreachable", 0, ""},
	} {
		if got := CutEnd(c.text, c.n); got != c.want {
			t.Errorf("CutEnd(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

// TestAmountsStayWhole checks that an amount is cut only if no spare column is left, and then at its
// end.
func TestAmountsStayWhole(t *testing.T) {
	list := List[string]{Columns: []Column[string]{
		{Head: "ID", Text: func(s string) string { return s }, Shrink: true},
		{Head: "USED", Text: func(string) string { return "281 GiB · 40 vc · 3 gpu" }, Shrink: true, End: true,
			Least: AmountLeast},
		{Head: "KIND", Text: func(string) string { return "leaf" }, Spare: 1},
	}}
	for width, want := range map[int]string{
		41: "ID        USED                     KIND\nroot.a.b  281 GiB · 40 vc · 3 gpu  leaf\n",
		33: "ID        USED\nroot.a.b  281 GiB · 40 vc · 3 gpu\n",
		32: "ID        USED\nroot.a.b  281 GiB · 40 vc…\n",
		20: "ID        USED\nroot.a.b  281 GiB…\n",
	} {
		var b bytes.Buffer
		if err := list.Write(&b, []string{"root.a.b"}, Options{Width: width}); err != nil || b.String() != want {
			t.Errorf("%d columns (error %v):\n%s\nwant\n%s", width, err, b.String(), want)
		}
	}
}
