package trace

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBadTrace means that the content of a file is wrong. Every *Error unwraps to it.
	ErrBadTrace = errors.New("bad trace")
	// ErrUnknownFormat means that the name of a format is unknown, or that a file has none of the
	// known formats.
	ErrUnknownFormat = errors.New("unknown trace format")
)

// Error is a fault at a place in a file.
type Error struct {
	File     string
	Line     int    // from 1
	Column   int    // in bytes, from 1
	Field    string // column name, or path of a JSON field; may be empty
	What     string
	Expected string
}

// Error returns "file:line:column: field: what; expected what".
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.What)
	if e.Expected != "" {
		b.WriteString("; expected " + e.Expected)
	}
	return b.String()
}

// Unwrap returns ErrBadTrace.
func (e *Error) Unwrap() error { return ErrBadTrace }

// quote quotes a wrong word and shortens a long one.
func quote(s string) string {
	const longest = 40
	if len(s) > longest {
		return fmt.Sprintf("%q…", s[:longest])
	}
	return fmt.Sprintf("%q", s)
}
