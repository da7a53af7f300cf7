package output

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

const (
	gap       = 2  // spaces between columns
	shrinkMin = 8  // minimum width of a column that is cut
	nameLeast = 24 // Least of columns without one: room for most names

	foldIndent = 4 // before the rest of a row that is folded

	nothing = "-" // shown for an empty value
)

// writeTable formats the cells and prints them as a table.
func writeTable[T any](w io.Writer, columns []Column[T], things []T, o Options) error {
	limit, folded := o.Width, 0
	if o.Format == Wide {
		limit, folded = 0, o.Width // -o wide cuts nothing; a terminal would wrap its lines inside words
	}
	var lost []string // heads of columns that the width omits or cuts
	if limit > 0 && len(o.Columns) == 0 {
		all := columns
		columns = fitting(all, things, limit)
		for _, c := range all {
			i := slices.IndexFunc(columns, func(k Column[T]) bool { return k.Head == c.Head })
			if i < 0 || slices.ContainsFunc(things, func(t T) bool { return columns[i].Text(t) != c.Text(t) }) {
				lost = append(lost, c.Head)
			}
		}
	}
	rows := make([][]string, 0, len(things)+1)
	if !o.Quiet {
		heads := make([]string, len(columns))
		for i, c := range columns {
			heads[i] = strings.ToUpper(c.Head)
		}
		rows = append(rows, heads)
	}
	for _, t := range things {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = oneLine(c.Text(t))
		}
		rows = append(rows, row)
	}
	shapes := make([]shape, len(columns))
	for i, c := range columns {
		shapes[i] = shape{right: c.Right, end: c.End}
		if c.Shrink {
			shapes[i].least, shapes[i].declared = cmp.Or(c.Least, nameLeast), c.Least > 0
		}
	}
	cut, err := layOut(w, rows, shapes, limit, folded)
	for i, c := range columns {
		if cut[i] && !slices.Contains(lost, c.Head) {
			lost = append(lost, c.Head)
		}
	}
	if len(lost) > 0 && o.Note != nil && err == nil {
		o.Note(fmt.Sprintf("%d columns have no room for all of %s; -o wide shows everything", limit,
			strings.Join(lost, ", ")))
	}
	return err
}

// fitting takes the short texts, and then removes spare columns, until the others fit at their least
// width.
func fitting[T any](columns []Column[T], things []T, limit int) []Column[T] {
	columns = slices.Clone(columns)
	for short := false; ; {
		total := gap * (len(columns) - 1)
		spare := -1
		for i, c := range columns {
			w := width(c.Head)
			for _, t := range things {
				w = max(w, width(oneLine(c.Text(t))))
			}
			if c.Shrink {
				w = min(w, cmp.Or(c.Least, nameLeast))
			}
			if total += w; c.Spare > 0 && (spare < 0 || c.Spare >= columns[spare].Spare) {
				spare = i
			}
		}
		switch {
		case total <= limit || short && spare < 0:
			return columns
		case short:
			columns = slices.Delete(columns, spare, spare+1)
			continue
		}
		for i, c := range columns {
			if c.Short != nil {
				columns[i].Text = c.Short(things)
			}
		}
		short = true
	}
}

// oneLine returns s as the text of a cell.
func oneLine(s string) string {
	if s == "" {
		return nothing
	}
	return strings.ReplaceAll(Printable(s), "\n", " ")
}

// shape is how the cells of a column are printed.
type shape struct {
	right bool // aligned to the right
	end   bool // cut at the end
	least int  // the width to which they may be cut; 0: not at all
	// declared says that the column itself names its least width. It keeps it longer than others.
	declared bool
}

// layOut prints rows of equal length as columns, in lines of at most folded characters (0: any). It
// returns which columns it has cut.
func layOut(w io.Writer, rows [][]string, shapes []shape, limit, folded int) (cut []bool, err error) {
	cut = make([]bool, len(shapes))
	if len(rows) == 0 {
		return cut, nil
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], width(cell))
		}
	}
	fit(widths, shapes, limit)
	b := bufio.NewWriter(w)
	for _, row := range rows {
		var line strings.Builder
		end := func() {
			text := strings.TrimRight(line.String(), " ")
			if folded > 0 {
				text = Fold(text, folded, foldIndent) // a column may be wider than a line
			}
			b.WriteString(text + "\n")
			line.Reset()
		}
		at := 0 // where the cell begins in its line
		for i, cell := range row {
			if folded > 0 && i > 0 && at+widths[i] > folded {
				end()
				line.WriteString(strings.Repeat(" ", foldIndent))
				at = foldIndent
			}
			at += widths[i] + gap
			cut[i] = cut[i] || width(cell) > widths[i]
			if shapes[i].end {
				cell = CutEnd(cell, widths[i])
			} else {
				cell = Cut(cell, widths[i])
			}
			pad := strings.Repeat(" ", widths[i]-width(cell))
			switch {
			case shapes[i].right:
				line.WriteString(pad + cell)
			default:
				line.WriteString(cell + pad)
			}
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", gap))
			}
		}
		end()
	}
	return cut, b.Flush()
}

// fit reduces the widths of columns that may shrink, the widest first, until the line fits the
// limit. Where their least widths do not fit, as no spare column is left, they shrink below them.
func fit(widths []int, shapes []shape, limit int) {
	if limit <= 0 {
		return
	}
	least := make([]int, len(shapes))
	for i, s := range shapes {
		least[i] = s.least
	}
	shrinkTo(widths, least, limit)
	for _, declared := range []bool{false, true} {
		for i, s := range shapes {
			if s.declared == declared {
				least[i] = min(least[i], shrinkMin)
			}
		}
		shrinkTo(widths, least, limit)
	}
}

func shrinkTo(widths, least []int, limit int) {
	total := gap * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	for ; total > limit; total-- {
		widest := -1
		for i, n := range widths {
			if least[i] > 0 && n > least[i] && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// Cut shortens a string to n characters. It replaces the middle with an ellipsis, because both ends
// of an identifier matter.
func Cut(s string, n int) string {
	if width(s) <= n {
		return s
	}
	r := []rune(s)
	if n < 4 {
		return string(r[:max(n, 0)])
	}
	tail := (n - 1) / 2
	return string(r[:n-1-tail]) + "…" + string(r[len(r)-tail:])
}

// AmountLeast is the width of a cell that has room for an amount of three resources.
const AmountLeast = 30

// CutEnd shortens a string to n characters. It keeps the beginning up to the end of a word, and ends
// with an ellipsis. It does not end with a number, which says something else without its unit.
func CutEnd(s string, n int) string {
	if width(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	r := []rune(s)
	words := strings.Fields(string(r[:n-1]))
	if len(words) > 0 && r[n-1] != ' ' && r[n-2] != ' ' {
		words = words[:len(words)-1] // a part of a word
	}
	for len(words) > 0 {
		last := words[len(words)-1]
		if last != "·" && strings.Trim(last, "0123456789.,") != "" {
			return strings.Join(words, " ") + "…"
		}
		words = words[:len(words)-1]
	}
	return string(r[:n-1]) + "…"
}

// Fold breaks a line at spaces. It does not break words.
func Fold(line string, most, indent int) string {
	pad := strings.Repeat(" ", indent)
	var out []string
	for width(line) > most {
		r := []rune(line)
		cut := most
		for cut > indent && r[cut] != ' ' {
			cut--
		}
		if cut <= indent {
			break // one long word
		}
		out = append(out, strings.TrimRight(string(r[:cut]), " "))
		line = pad + strings.TrimLeft(string(r[cut:]), " ")
	}
	return strings.Join(append(out, line), "\n")
}

// Fact is one line of a description: a name and a value.
type Fact struct{ Name, Value string }

// WriteFacts prints one fact per line. It omits facts without a value, and folds lines longer than
// limit, unless that is 0.
func WriteFacts(w io.Writer, facts []Fact, limit int) error {
	most := 0
	for _, f := range facts {
		if f.Value != "" {
			most = max(most, width(f.Name))
		}
	}
	b := bufio.NewWriter(w)
	for _, f := range facts {
		if f.Value == "" {
			continue
		}
		lead := f.Name + strings.Repeat(" ", most-width(f.Name)+gap)
		for line := range strings.SplitSeq(strings.TrimRight(Printable(f.Value), "\n"), "\n") {
			if line = lead + line; limit > 0 {
				line = Fold(line, limit, most+gap)
			}
			b.WriteString(line + "\n")
			lead = strings.Repeat(" ", most+gap)
		}
	}
	return b.Flush()
}

// Printable replaces control characters, except line breaks, and characters that change the writing
// direction. Text of other users therefore cannot control the terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}
