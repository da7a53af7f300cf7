package command

import (
	"strings"
	"testing"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

func TestErrorsAreFoldedOnATerminal(t *testing.T) {
	var b strings.Builder
	s := verb.Streams{Err: &b, ErrTerminal: true, Width: 30}
	if code := writeError(s, clierr.New(clierr.CodeFile, "do that",
		"something is wrong with a file")); code != exitcode.Failure {
		t.Errorf("exit %d", code)
	}
	if want := "rmd: FILE: something is wrong\n     with a file; do that\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
