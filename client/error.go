package client

import (
	"errors"
	"fmt"

	"rmd/api"
)

// Codes of the errors of this package. A refusal of a replica is an *api.Error.
const (
	CodeFailed    = "FAILED"
	CodeUsage     = "USAGE"
	CodeFile      = "FILE"
	CodeNoReplica = "NO_REPLICA" // no replica could be reached
	CodeTimedOut  = "TIMED_OUT"
	CodeUntrusted = "UNTRUSTED" // the two sides do not agree on TLS or on a CA
)

// Error says why a request has no answer. It has a stable code, one sentence on what happened and
// one on what to do.
type Error struct {
	Code string
	What string
	Do   string
	Err  error // the cause; may be nil
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Code + ": " + e.What
	if e.Do != "" {
		s += "; " + e.Do
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func newError(code, do, format string, args ...any) *Error {
	return &Error{Code: code, What: fmt.Sprintf(format, args...), Do: do}
}

func usagef(do, format string, args ...any) *Error { return newError(CodeUsage, do, format, args...) }

// CodeOf is the code of an error of this package or of a refusal, such as NO_SUCH_APPLICATION;
// "" for any other error.
func CodeOf(err error) string {
	var own *Error
	var refusal *api.Error
	switch {
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, &refusal):
		return refusal.Code
	}
	return ""
}
