package rafttransport

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// TestAbsenceIsLogged checks that an absence is logged at growing intervals with the number of
// calls, and that its end is logged.
func TestAbsenceIsLogged(t *testing.T) {
	var l lines
	now := time.Unix(1000, 0)
	a := newAbsences(l.logger())
	a.now = func() time.Time { return now }
	call := func(err error, times int, every time.Duration) {
		for range times {
			a.observe("rm2.x", "127.0.0.1:1", err)
			now = now.Add(every)
		}
	}
	gone := errors.New("connection refused")
	call(nil, 3, time.Second)
	call(gone, 36000, 100*time.Millisecond) // one hour
	if got := l.with("does not answer"); len(got) != 11 {
		t.Errorf("%d lines in an hour:\n%s", len(got), strings.Join(got, "\n"))
	} else if !strings.Contains(got[0], "calls=1 ") || !strings.Contains(got[1], "for=10s calls=101 ") ||
		!strings.Contains(got[2], "for=30s") {
		t.Errorf("the first lines are\n%s", strings.Join(got[:3], "\n"))
	}
	call(errDiskFull, 1, 0) // this refusal counts as an answer
	if got := l.with("answers again"); len(got) != 1 || !strings.Contains(got[0], "after=1h0m0s calls=36000") {
		t.Errorf("the return: %q", got)
	}
	before := len(l.with("rm2"))
	for range 40 { // the replica often disappears and returns
		call(gone, 1, time.Second)
		call(nil, 1, time.Second)
	}
	if got := len(l.with("rm2")) - before; got > 2*8 {
		t.Errorf("%d lines about a replica that came and went 40 times in 80 s", got)
	}
}

// TestCallMessages checks that the library's messages about failed calls are logged at debug level
// only, and that others keep their level.
func TestCallMessages(t *testing.T) {
	var l lines
	quiet := NewLibraryLogger(l.logger())
	for m := range callMessages {
		quiet.Error(m)
		quiet.Warn(m)
		quiet.Info(m)
	}
	quiet.Error("another", "peer", raft.Server{ID: "x"})
	if got := l.with("[ERROR]", "[WARN]", "[INFO]"); len(got) != 1 {
		t.Errorf("lines above debug: %q, want only the one that is not about a call", got)
	}
}

// TestRepeatedMessages checks that a message that the library repeats for an hour is logged with the
// number of omitted ones at growing intervals, that others are not affected, and that it counts as
// new after a while.
func TestRepeatedMessages(t *testing.T) {
	var l lines
	now := time.Unix(1000, 0)
	log := NewLibraryLogger(l.logger())
	log.repeats.now = func() time.Time { return now }
	for range 3600 {
		log.Warn("Election timeout reached, restarting election")
		log.Info("pre-vote campaign failed", "term", 3)
		now = now.Add(time.Second)
	}
	log.Info("another")
	for _, msg := range []string{"Election timeout", "pre-vote campaign failed"} {
		got := l.with(msg)
		if n := len(got); n < repeatBurst+8 || n > repeatBurst+12 {
			t.Errorf("%d lines in an hour:\n%s", n, strings.Join(got, "\n"))
			continue
		}
		told := repeatBurst
		for _, line := range got[repeatBurst:] {
			var n int
			if _, omitted, ok := strings.Cut(line, "omitted="); ok {
				n, _ = strconv.Atoi(omitted)
			}
			told += n + 1
		}
		if told < 3000 {
			t.Errorf("the lines tell of %d messages of 3600:\n%s", told, strings.Join(got, "\n"))
		}
	}
	if got := l.with("another"); len(got) != 1 {
		t.Errorf("another message: %q", got)
	}
	now = now.Add(2 * repeatForget)
	before := len(l.with("Election timeout"))
	for range 3 {
		log.Warn("Election timeout reached, restarting election")
	}
	got := l.with("Election timeout")[before:]
	if len(got) != 3 || !strings.Contains(got[0], "omitted=") {
		t.Errorf("after a while: %q, want three lines, and the first with the number of omitted ones", got)
	}
}

// lines collects log lines.
type lines struct{ bytes.Buffer }

func (l *lines) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: l})
}

// with returns the lines that contain one of the texts.
func (l *lines) with(texts ...string) (out []string) {
	for _, line := range strings.Split(l.String(), "\n") {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			out = append(out, line)
		}
	}
	return out
}
