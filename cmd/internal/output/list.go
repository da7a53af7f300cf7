package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"rmd/cmd/internal/clierr"
	"rmd/internal/nearest"
)

// Column is one column of a list of T.
type Column[T any] struct {
	Head   string
	Text   func(T) string
	Key    func(T) float64 // sort key; nil sorts by Text
	Wide   bool            // shown only with -o wide or --columns
	Right  bool            // right-aligned, for numbers
	Shrink bool            // may be cut to fit a terminal, in the middle or as End says
	End    bool            // is cut at its end, after a word: for sentences and amounts
	Least  int             // the width that a cut leaves while a spare column can go instead; 0: 24
	// Short returns a shorter text for the rows of a table, for a terminal that is too narrow for Text.
	Short func([]T) func(T) string
	Spare int // omitted if the terminal is too narrow, the highest first, unless --columns names it; 0: never
}

// List describes how objects of one type are shown.
type List[T any] struct {
	Columns []Column[T]
	Name    func(T) string // the identifier, for -o name
	Empty   string         // message on stderr when there are no objects
}

// Options are the flags that control how a list is shown.
type Options struct {
	Format  Format
	Columns []string // by head, in this order
	Sort    string   // a head; "-head" sorts in descending order
	Filters []string // head=value, head!=value, head~part
	Width   int      // of the terminal; 0 cuts nothing
	Quiet   bool     // print no heads
	// Note takes a sentence that says what the width has cut, and where to read it; nil: nobody reads it.
	Note func(string)
}

// Shaped reports whether the options select, sort or filter.
func (o Options) Shaped() bool { return len(o.Columns) > 0 || o.Sort != "" || len(o.Filters) > 0 }

// Write prints the list in table, wide, jsonl or name form.
func (l List[T]) Write(w io.Writer, things []T, o Options) error {
	things, err := l.shape(things, o)
	if err != nil {
		return err
	}
	switch o.Format {
	case Name:
		for _, t := range things {
			if _, err := fmt.Fprintln(w, l.Name(t)); err != nil {
				return err
			}
		}
		return nil
	case JSONL:
		for _, t := range things {
			if err := WriteLine(w, t); err != nil {
				return err
			}
		}
		return nil
	}
	columns, err := l.choose(o)
	if err != nil {
		return err
	}
	return writeTable(w, columns, things, o)
}

// Heads returns the names of all columns in lower case.
func (l List[T]) Heads() []string {
	out := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		out[i] = strings.ToLower(c.Head)
	}
	return out
}

func (l List[T]) column(head string) (Column[T], error) {
	for _, c := range l.Columns {
		if strings.EqualFold(c.Head, head) {
			return c, nil
		}
	}
	do := "the columns are " + strings.Join(l.Heads(), ", ")
	if n := nearest.Name(head, l.Heads()); n != "" {
		do = "did you mean " + n + "? " + do
	}
	return Column[T]{}, clierr.Usagef(do, "there is no column %q", head)
}

// choose returns the columns to show.
func (l List[T]) choose(o Options) ([]Column[T], error) {
	var out []Column[T]
	for _, head := range o.Columns {
		c, err := l.column(head)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, c := range l.Columns {
		if !c.Wide || o.Format == Wide {
			out = append(out, c)
		}
	}
	return out, nil
}

// shape returns the objects that pass the filters, sorted.
func (l List[T]) shape(things []T, o Options) ([]T, error) {
	out := slices.Clone(things)
	for _, f := range o.Filters {
		keep, err := l.filter(f)
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(t T) bool { return !keep(t) })
	}
	if o.Sort == "" {
		return out, nil
	}
	head, down := strings.CutPrefix(o.Sort, "-")
	c, err := l.column(head)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b T) int {
		n := c.compare(a, b)
		if down {
			n = -n
		}
		return n
	})
	return out, nil
}

func (c Column[T]) compare(a, b T) int {
	if c.Key != nil {
		x, y := c.Key(a), c.Key(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return Natural(c.Text(a), c.Text(b))
}

// filter parses head=value, head!=value or head~part. It ignores case.
func (l List[T]) filter(text string) (func(T) bool, error) {
	i := strings.IndexAny(text, "=!~")
	if i <= 0 || text[i] == '!' && !strings.HasPrefix(text[i:], "!=") {
		return nil, clierr.Usagef("write --filter column=value, column!=value or column~part", "%q is not a filter", text)
	}
	op := text[i : i+1]
	if op == "!" {
		op = "!="
	}
	want := strings.ToLower(text[i+len(op):])
	c, err := l.column(strings.TrimSpace(text[:i]))
	if err != nil {
		return nil, err
	}
	if want == nothing && op != "~" {
		want = "" // compare with the text that the table shows
	}
	return func(t T) bool {
		have := strings.ToLower(c.Text(t))
		switch op {
		case "=":
			return have == want
		case "!=":
			return have != want
		}
		return strings.Contains(have, want)
	}, nil
}

// Natural compares two strings and treats digits in them as numbers: rm2 is before rm10.
func Natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if len(m) != len(n) {
				return len(m) - len(n)
			}
			if c := strings.Compare(m, n); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func width(s string) int { return utf8.RuneCountInString(s) }
