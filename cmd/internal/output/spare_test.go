package output

import (
	"bytes"
	"strings"
	"testing"
)

// TestSpareColumns checks that a spare column is shown if it fits at its minimum width, or if
// --columns names it.
func TestSpareColumns(t *testing.T) {
	list := List[string]{Columns: []Column[string]{
		{Head: "ID", Text: func(s string) string { return s }},
		{Head: "NAME", Text: func(string) string { return "a-long-name" }, Shrink: true, Spare: true},
		{Head: "WHY", Text: func(string) string { return "there is no room for it" }, Shrink: true, Spare: true},
	}}
	for width, want := range map[int]string{0: "ID NAME WHY", 60: "ID NAME WHY", 40: "ID NAME WHY",
		39: "ID NAME", 29: "ID"} {
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
		{Head: "NAME", Text: func(string) string { return "a-name" }, Spare: true},
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
