package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Limits of single numbers in a trace. Sums over a whole trace are far below 64 bits.
const (
	maxMemoryMB = 1 << 30 // a pebibyte
	maxUnits    = 1 << 20 // vcores, GPUs
	maxCount    = 100_000_000
	maxSeconds  = 1_000_000_000 // 31 years
	maxNameLen  = 255
)

// table iterates over the rows of a CSV or TSV file. After the first error, which err keeps, all
// reads return zero values.
type table struct {
	file  string
	csv   *csv.Reader
	names []string
	index map[string]int
	row   []string
	rows  int
	err   error
}

// openTable reads the header. It must have the columns of wanted in any order, and may have those
// of extra.
func openTable(file string, data []byte, wanted, extra []string) (*table, error) {
	t := newTable(file, data, ',')
	head, err := t.csv.Read()
	if err != nil {
		return nil, t.csvError(err)
	}
	for i, name := range head {
		name = strings.TrimSpace(name)
		line, col := t.csv.FieldPos(i)
		if !slices.Contains(wanted, name) && !slices.Contains(extra, name) {
			return nil, &Error{file, line, col, name, "unknown column",
				"columns " + strings.Join(append(slices.Clone(wanted), extra...), ",")}
		}
		if _, twice := t.index[name]; twice {
			return nil, &Error{file, line, col, name, "column named twice", "each column once"}
		}
		t.index[name] = i
	}
	for _, name := range wanted {
		if _, ok := t.index[name]; !ok {
			return nil, &Error{file, 1, 1, name, "column missing in the header", "columns " + strings.Join(wanted, ",")}
		}
	}
	t.names = slices.Clone(head)
	return t, nil
}

// openBare opens a file without a header.
func openBare(file string, data []byte, comma rune, names []string) *table {
	t := newTable(file, data, comma)
	t.names = names
	for i, name := range names {
		t.index[name] = i
	}
	return t
}

func newTable(file string, data []byte, comma rune) *table {
	t := &table{file: file, csv: csv.NewReader(bytes.NewReader(data)), index: map[string]int{}}
	t.csv.Comma = comma
	t.csv.FieldsPerRecord = -1
	t.csv.ReuseRecord = true
	return t
}

// next moves to the next row. It returns false at the end and after an error.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	row, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return false
	}
	if err != nil {
		t.err = t.csvError(err)
		return false
	}
	t.row = row
	t.rows++
	if len(row) != len(t.names) {
		line, _ := t.csv.FieldPos(0)
		t.err = &Error{t.file, line, 1, "", fmt.Sprintf("%d fields in this line", len(row)),
			fmt.Sprintf("%d: %s", len(t.names), strings.Join(t.names, ","))}
		return false
	}
	return true
}

func (t *table) csvError(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return &Error{t.file, p.Line, max(p.Column, 1), "", p.Err.Error(), "plain CSV"}
	}
	if errors.Is(err, io.EOF) {
		return &Error{t.file, 1, 1, "", "the file is empty", "a header line"}
	}
	return fmt.Errorf("read %s: %w", t.file, err)
}

func (t *table) has(name string) bool { _, ok := t.index[name]; return ok }

// fail reports a field of the row as wrong. Only the first report is kept.
func (t *table) fail(name, what, expected string) {
	if t.err != nil {
		return
	}
	line, col := t.csv.FieldPos(t.index[name])
	t.err = &Error{t.file, line, col, name, what, expected}
}

// raw returns the field without surrounding spaces.
func (t *table) raw(name string) string {
	i, ok := t.index[name]
	if !ok || i >= len(t.row) {
		return ""
	}
	return strings.TrimSpace(t.row[i])
}

// name reads the name of something.
func (t *table) name(col string) string {
	s := t.raw(col)
	if why := badName(s); why != "" {
		t.fail(col, why, fmt.Sprintf("a name of 1 to %d printable characters", maxNameLen))
	}
	return strings.Clone(s)
}

func (t *table) queue(col string) string {
	s := queuePath(t.raw(col))
	if why := badQueue(s); why != "" {
		t.fail(col, why, "a queue path such as root.train")
	}
	return s
}

// whole reads an integer within bounds.
func (t *table) whole(col string, least, most int64, meaning string) int64 {
	s := t.raw(col)
	n, err := strconv.ParseInt(s, 10, 64)
	expected := fmt.Sprintf("%s, a whole number from %d to %d", meaning, least, most)
	switch {
	case s == "":
		t.fail(col, "empty", expected)
	case err != nil:
		t.fail(col, quote(s)+" is not a whole number", expected)
	case n < least || n > most:
		t.fail(col, fmt.Sprintf("%d is out of range", n), expected)
	default:
		return n
	}
	return 0
}

// seconds reads a time in seconds, which may have a fraction, with a precision of a millisecond.
func (t *table) seconds(col, meaning string) time.Duration {
	s := t.raw(col)
	f, err := strconv.ParseFloat(s, 64)
	expected := fmt.Sprintf("%s in seconds, from 0 to %d", meaning, maxSeconds)
	switch {
	case s == "":
		t.fail(col, "empty", expected)
	case err != nil || math.IsNaN(f):
		t.fail(col, quote(s)+" is not a number", expected)
	case f < 0 || f > maxSeconds:
		t.fail(col, s+" is out of range", expected)
	default:
		return time.Duration(math.Round(f*1000)) * time.Millisecond
	}
	return 0
}

func badName(s string) string {
	switch {
	case s == "":
		return "empty"
	case len(s) > maxNameLen:
		return fmt.Sprintf("%d characters long", len(s))
	case strings.ContainsFunc(s, func(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) }):
		return quote(s) + " has characters that do not print"
	}
	return ""
}

func badQueue(path string) string {
	if why := badName(path); why != "" {
		return why
	}
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || strings.ContainsFunc(part, unicode.IsSpace) {
			return quote(path) + " is not a queue path"
		}
	}
	return ""
}
