package clierr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"rmd/api"
	"rmd/client"
	"rmd/cluster/refusal"
	"rmd/internal/exitcode"
	"rmd/scheduler/input"
)

func TestCodeAndText(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, exitcode.OK, ""},
		{errors.New("it broke"), exitcode.Failure, "rmd: FAILED: it broke\n"},
		{Usagef("do this", "wrong %s", "word"), exitcode.Usage, "rmd: USAGE: wrong word; do this\n"},
		{fmt.Errorf("wrapped: %w", &api.Error{Code: "NO_SUCH_APPLICATION", Message: "no x", Remedy: "look", Status: 404}),
			exitcode.NotFound, "rmd: NO_SUCH_APPLICATION: no x; look\n"},
		{&api.Error{Code: "WOULD_LOSE_QUORUM", Message: "no", Status: 409, Details: []string{"a", "b"}}, exitcode.Refused,
			"rmd: WOULD_LOSE_QUORUM: no\n     a\n     b\n"},
		{&api.Error{Code: "A_CODE_OF_LATER", Message: "no", Status: 412}, exitcode.Refused, "rmd: A_CODE_OF_LATER: no\n"},
		{&api.Error{Code: "A_CODE_OF_LATER", Message: "no", Status: 500}, exitcode.Failure, "rmd: A_CODE_OF_LATER: no\n"},
		{&api.Error{Code: "NO_LEADER", Message: "no", Status: 503}, exitcode.NoLeader, "rmd: NO_LEADER: no\n"},
		{&api.Error{Code: "TIMED_OUT", Message: "no", Status: 504}, exitcode.TimedOut, "rmd: TIMED_OUT: no\n"},
		{&api.Error{Code: "NOT_ALLOWED", Message: "no", Status: 403}, exitcode.NotAllowed, "rmd: NOT_ALLOWED: no\n"},
		{&api.Error{Code: "HTTP_404", Message: "no", Status: 404}, exitcode.NotFound, "rmd: HTTP_404: no\n"},
		{&client.Error{Code: client.CodeNoReplica, What: "no", Do: "start one"}, exitcode.NoLeader,
			"rmd: NO_REPLICA: no; start one\n"},
		{fmt.Errorf("wrapped: %w", &client.Error{Code: client.CodeTimedOut, What: "no answer"}), exitcode.TimedOut,
			"rmd: TIMED_OUT: no answer\n"},
		{&client.Error{Code: client.CodeUntrusted, What: "no"}, exitcode.NotAllowed, "rmd: UNTRUSTED: no\n"},
		{errors.Join(&client.Error{Code: client.CodeUsage, What: "a", Do: "b"},
			&client.Error{Code: client.CodeUsage, What: "c"}), exitcode.Usage, "rmd: USAGE: a; b\n"},
		{&refusal.Refusal{Code: refusal.NotCaughtUp, What: "late", Do: "wait"}, exitcode.Refused,
			"rmd: NOT_CAUGHT_UP: late; wait\n"},
		{input.Refusef(input.VersionConflict, "again", "old"), exitcode.Refused, "rmd: VERSION_CONFLICT: old; again\n"},
		{fmt.Errorf("open: %w", &exitcode.Error{Code: 73, Err: errors.New("out")}), 73, "rmd: FAILED: open: out\n"},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, exitcode.Usage,
			"rmd: FILE: open x: file does not exist\n"},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, exitcode.Failure,
			"rmd: FILE: open x: permission denied\n"},
		{context.DeadlineExceeded, exitcode.TimedOut, "rmd: TIMED_OUT: no answer in time; raise --timeout\n"},
	} {
		var b bytes.Buffer
		if got := Write(&b, c.err); got != c.code || b.String() != c.text {
			t.Errorf("%v: exit %d %q, want %d %q", c.err, got, b.String(), c.code, c.text)
		}
	}
}

// TestExitCodeRange checks that every exit code in byCode is between 1 and 9.
func TestExitCodeRange(t *testing.T) {
	for code, n := range byCode {
		if n < exitcode.Failure || n > exitcode.CheckFailed || n == exitcode.Ended {
			t.Errorf("%s has exit code %d", code, n)
		}
	}
}
