package cluster

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// lines collects log lines.
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

// with returns the lines that contain one of the texts.
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

// TestUnreachableReplicaIsLoggedOnce checks that few lines are logged about an unreachable replica,
// and that the library's own lines about failed calls are suppressed.
func TestUnreachableReplicaIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var l lines
	var calls atomic.Uint64
	rs := trio(t, func(c *Config) { fastTimers(c); c.Logger, c.Peer = l.logger(), countingPeer{c.Peer, &calls} })
	inStep(t, rs, put(t, rs, 2))
	lead := leader(t, rs)
	victim, term := without(rs, lead)[0], lead.c.Term()
	victim.kill()
	calls.Store(0)
	eventually(t, patience, "many calls fail", func() bool { return calls.Load() > 30 })
	about := l.with("failed to appendEntries to", "failed to heartbeat to", "failed to contact:",
		"failed to make requestVote RPC", "does not answer")
	elections := int(lead.c.Term() - term)            // on a busy machine; each new leader begins to count
	if len(about) < 1 || len(about) > 4+2*elections { // one or two from each survivor
		t.Errorf("%d lines:\n%s", len(about), strings.Join(about, "\n"))
	}
	victim.start()
	eventually(t, patience, "its return is told",
		func() bool { return len(l.with("a replica answers again: replica="+victim.id)) > 0 })
}

// countingPeer counts failed AppendEntries calls.
type countingPeer struct {
	Peer
	failed *atomic.Uint64
}

// Transport wraps the library's transport.
func (p countingPeer) Transport(timeout time.Duration, logger hclog.Logger) raft.Transport {
	t := p.Peer.Transport(timeout, logger)
	return countingTransport{t, t.(raft.WithPreVote), t.(raft.WithClose), p.failed}
}

type countingTransport struct {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
	failed *atomic.Uint64
}

// AppendEntries counts failed calls.
func (t countingTransport) AppendEntries(id raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest,
	a *raft.AppendEntriesResponse) error {
	err := t.Transport.AppendEntries(id, to, q, a)
	if err != nil {
		t.failed.Add(1)
	}
	return err
}
