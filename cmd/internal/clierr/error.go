package clierr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"rmd/api"
	"rmd/client"
	"rmd/cluster"
	"rmd/cluster/refusal"
	"rmd/internal/exitcode"
	"rmd/scheduler/input"
)

// Error is the error of a command: a stable code, one sentence that says what is wrong, and one
// that says what to do.
type Error struct {
	Code    string
	What    string
	Do      string
	Details []string
	Exit    int   // 0: determined by Code
	Err     error // the cause, for errors.Is; may be nil
}

// Error returns the text after "rmd: ".
func (e *Error) Error() string {
	s := e.Code + ": " + e.What
	if e.Do != "" {
		s += "; " + e.Do
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an Error with a formatted What. An error among args is its cause.
func New(code, do, format string, args ...any) *Error {
	e := &Error{Code: code, What: fmt.Sprintf(format, args...), Do: do}
	for _, a := range args {
		if cause, ok := a.(error); ok {
			e.Err = cause
		}
	}
	return e
}

// Usagef returns an Error for wrong usage. do says what correct usage is.
func Usagef(do, format string, args ...any) *Error { return New(CodeUsage, do, format, args...) }

// From converts any error to an Error.
func From(err error) *Error {
	var own *Error
	var asked *client.Error
	var doc *api.Error
	var refused *refusal.Refusal
	var fatal *exitcode.Error
	var fault *input.Refusal
	var path *fs.PathError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &asked):
		return &Error{Code: asked.Code, What: asked.What, Do: asked.Do, Err: err}
	case errors.As(err, &doc):
		return &Error{Code: doc.Code, What: doc.Message, Do: doc.Remedy, Details: doc.Details,
			Exit: ForCode(doc.Code, doc.Status), Err: err}
	case errors.As(err, &fatal):
		return &Error{Code: CodeFailed, What: err.Error(), Exit: fatal.Code, Err: err}
	case errors.As(err, &refused):
		return &Error{Code: string(refused.Code), What: refused.What, Do: refused.Do, Err: err}
	case errors.As(err, &fault):
		return &Error{Code: string(fault.Reason), What: fault.What, Do: fault.Do, Details: fault.Details, Err: err}
	case errors.Is(err, cluster.ErrInUse):
		return &Error{Code: "IN_USE", What: err.Error(), Do: "stop the replica that runs on it first", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeStopped, What: "stopped before the command was done", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeTimedOut, What: "no answer in time", Do: "raise --timeout", Err: err}
	case errors.As(err, &path):
		return &Error{Code: CodeFile, What: err.Error(), Err: err}
	}
	return &Error{Code: CodeFailed, What: err.Error(), Err: err}
}

// Code returns the exit code of an error. It returns exitcode.OK for nil.
func Code(err error) int {
	if err == nil {
		return exitcode.OK
	}
	e := From(err)
	if e.Exit != 0 {
		return e.Exit
	}
	if e.Code == CodeFile && errors.Is(e, fs.ErrNotExist) {
		return exitcode.Usage // the user named a file that is not there
	}
	return ForCode(e.Code, 0)
}

// Write writes the error in readable form and returns its exit code. w is usually stderr.
func Write(w io.Writer, err error) int {
	if err == nil {
		return exitcode.OK
	}
	e := From(err)
	lines := strings.Split(strings.TrimRight(e.Error(), "\n"), "\n")
	fmt.Fprintln(w, "rmd: "+strings.Join(lines, "\n     "))
	for _, d := range e.Details {
		fmt.Fprintln(w, "     "+d)
	}
	return Code(err)
}
