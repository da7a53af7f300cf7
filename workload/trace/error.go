package trace

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBadTrace is what every *Error unwraps to: the content of a file is wrong.
	ErrBadTrace = errors.New("bad trace")
	// ErrUnknownFormat says that a format's name is none of ours, or that a file looks like none of them.
	ErrUnknownFormat = errors.New("unknown trace format")
)

// Error is a place in a file and what is wrong there.
type Error struct {
	File     string
	Line     int    // from 1
	Column   int    // in bytes, from 1
	Field    string // column name, or path of a JSON field; may be empty
	What     string
	Expected string
}

// Error gives file:line:column: field: what; expected what.
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

// Unwrap makes errors.Is(err, ErrBadTrace) hold.
func (e *Error) Unwrap() error { return ErrBadTrace }

// quote shows a wrong word without letting it fill the screen.
func quote(s string) string {
	const longest = 40
	if len(s) > longest {
		return fmt.Sprintf("%q…", s[:longest])
	}
	return fmt.Sprintf("%q", s)
}
