package main

import "fmt"

// Exit codes, with the same meanings as those of rmd.
const (
	exitOK          = 0
	exitFailure     = 1 // the run could not start
	exitUsage       = 2
	exitNotFound    = 3 // no such scenario
	exitRefused     = 8 // the directory is not empty
	exitCheckFailed = 9
)

// failure is the error of a command: a stable code, one sentence that says what is wrong, and one
// that says what to do.
type failure struct {
	exit           int
	code, what, do string
}

func (f *failure) Error() string {
	s := f.code + ": " + f.what
	if f.do != "" {
		s += "; " + f.do
	}
	return s
}

func failed(exit int, code, do, format string, args ...any) *failure {
	return &failure{exit: exit, code: code, do: do, what: fmt.Sprintf(format, args...)}
}

func usagef(do, format string, args ...any) *failure {
	return failed(exitUsage, "USAGE", do, format, args...)
}

func filef(do, format string, args ...any) *failure {
	return failed(exitFailure, "FILE", do, format, args...)
}
