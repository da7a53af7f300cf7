package cluster

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// lines collects what is logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// with are the lines with one of some texts.
func (l *lines) with(texts ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range strings.Split(l.b.String(), "\n") {
		for _, t := range texts {
			if strings.Contains(line, t) {
				out = append(out, line)
				break
			}
		}
	}
	return out
}

func (l *lines) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: l})
}

// TestAbsenceIsTold: at growing intervals, with a count, and once more at the end.
func TestAbsenceIsTold(t *testing.T) {
	var l lines
	now := time.Unix(1000, 0)
	a := newAbsences(l.logger())
	a.now = func() time.Time { return now }
	call := func(err error, times int, every time.Duration) {
		for range times {
			a.called("rm2.x", "127.0.0.1:1", err)
			now = now.Add(every)
		}
	}
	gone := errors.New("connection refused")
	call(nil, 3, time.Second)
	call(gone, 36000, 100*time.Millisecond) // an hour
	if got := l.with("does not answer"); len(got) != 11 {
		t.Errorf("%d lines in an hour:\n%s", len(got), strings.Join(got, "\n"))
	} else if !strings.Contains(got[0], "calls=1 ") || !strings.Contains(got[1], "for=10s calls=101 ") || !strings.Contains(got[2], "for=30s") {
		t.Errorf("the first lines are\n%s", strings.Join(got[:3], "\n"))
	}
	call(errFull, 1, 0) // a refusal is an answer
	if got := l.with("answers again"); len(got) != 1 || !strings.Contains(got[0], "after=1h0m0s calls=36000") {
		t.Errorf("the return: %q", got)
	}
	before := len(l.with("rm2"))
	for range 40 { // it comes and goes
		call(gone, 1, time.Second)
		call(nil, 1, time.Second)
	}
	if got := len(l.with("rm2")) - before; got > 2*8 {
		t.Errorf("%d lines about a replica that came and went 40 times in 80 s", got)
	}
}

// TestUnreachableReplicaIsLoggedOnce: the library's own lines about calls that fail are not shown beside it.
func TestUnreachableReplicaIsLoggedOnce(t *testing.T) {
	var l lines
	rs := trio(t, func(c *Config) { fastTimers(c); c.Logger = l.logger() })
	inStep(t, rs, put(t, rs, 2))
	lead := leader(t, rs)
	victim := without(rs, lead)[0]
	id := victim.c.Identity().ServerID()
	victim.kill()
	failed := func() (n uint64) {
		for _, r := range without(rs, victim) { // whoever leads
			a := r.c.wire.absences
			a.mu.Lock()
			if x := a.absent[id]; x != nil {
				n = max(n, x.calls)
			}
			a.mu.Unlock()
		}
		return n
	}
	eventually(t, patience, "many calls fail", func() bool { return failed() > 30 })
	about := l.with("failed to appendEntries to", "failed to heartbeat to", "failed to contact:", "failed to make requestVote RPC", "does not answer")
	if len(about) < 1 || len(about) > 4 { // one or two of each survivor
		t.Errorf("%d lines:\n%s", len(about), strings.Join(about, "\n"))
	}
	victim.start()
	eventually(t, patience, "its return is told", func() bool { return len(l.with("a replica answers again: replica="+victim.id)) > 0 })
}

// TestCallMessages: the library still has these messages, as far as a dead follower makes it log them.
func TestCallMessages(t *testing.T) {
	var l lines
	quiet := raftLogger{l.logger()}
	for m := range callMessages {
		quiet.Error(m)
		quiet.Warn(m)
		quiet.Info(m)
	}
	quiet.Error("another", "peer", raft.Server{ID: "x"})
	if got := l.with("[ERROR]", "[WARN]", "[INFO]"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
