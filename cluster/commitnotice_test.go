package cluster

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/commits"
	"rmd/cluster/protocol"
)

// patientPeer is a Peer whose commit notices have as much time as they need. A notice that takes too long
// is lost, and nothing sends another one while CommitTimeout is long.
type patientPeer struct{ Peer }

func (p patientPeer) Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error) {
	if method == protocol.Committed {
		ctx = context.WithoutCancel(ctx)
	}
	return p.Peer.Call(ctx, addr, method, req)
}

// TestCommitReachesFollowers checks that followers learn of commits by notices. CommitTimeout is so
// long that raft itself does not tell them.
func TestCommitReachesFollowers(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Options.CommitTimeout, c.Peer = time.Hour, patientPeer{c.Peer} })
	for range 20 {
		index := put(t, rs, 1)
		for _, r := range rs {
			eventually(t, patience, r.id+" applies the only entry", func() bool { return r.c.AppliedIndex() >= index })
		}
	}
	next := leader(t, rs)
	if err := next.c.Transfer(""); err != nil {
		t.Fatal(err)
	}
	inStep(t, rs, put(t, rs, 3))
}

// store makes a follower store one entry after a previous one. The request names the follower's
// leader and does not commit the entry.
func store(t *testing.T, l, f *replica, prev, prevTerm, term uint64) {
	header := l.c.core.Header()
	header.ID = []byte(l.c.Identity().ServerID())
	f.c.core.Transport.Inject(&raft.AppendEntriesRequest{RPCHeader: header, Term: f.c.Term(), PrevLogEntry: prev,
		PrevLogTerm: prevTerm,
		Entries:     []*raft.Log{{Index: prev + 1, Term: term, Type: raft.LogNoop}}}, t.Context().Done())
}

// TestCommitNoticesThatAreRefused sends a follower notices about entries that it does not have, of
// other terms, and from replicas other than the leader. Its commit index must not change.
func TestCommitNoticesThatAreRefused(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Options.CommitTimeout = time.Hour })
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	f := follower(rs, l)
	// store an uncommitted entry in the follower's log
	last, lastTerm := f.c.core.Stores.Logs.Tail()
	term := f.c.Term()
	from := string(l.c.Identity().ServerID())
	store(t, l, f, last, lastTerm, term)
	if at, _ := f.c.core.Stores.Logs.Tail(); at != last+1 {
		t.Fatalf("the follower's log ends at %d, want %d", at, last+1)
	}
	before := f.c.CommitIndex()
	for what, n := range map[string]struct {
		from string
		commits.Notice
	}{
		"an older term":     {from, commits.Notice{Term: term - 1, Index: last + 1, EntryTerm: term}},
		"a later term":      {from, commits.Notice{Term: term + 1, Index: last + 1, EntryTerm: term}},
		"not the leader":    {"rm9", commits.Notice{Term: term, Index: last + 1, EntryTerm: term}},
		"another entry":     {from, commits.Notice{Term: term, Index: last + 1, EntryTerm: term - 1}},
		"an entry to come":  {from, commits.Notice{Term: term, Index: last + 2, EntryTerm: term}},
		"what is committed": {from, commits.Notice{Term: term, Index: before, EntryTerm: lastTerm}},
	} {
		if _, err := f.c.notices.Receive(t.Context(), n.from, n.Encode()); err != nil {
			t.Errorf("Receive, %s: %v, want no error", what, err)
		}
		if open := f.c.notices.Box.Open.Load(); open != nil && f.c.notices.CommitTo(*open) {
			t.Errorf("%s is done with", what)
		}
		if at := f.c.CommitIndex(); at != before {
			t.Fatalf("%s: the commit index went from %d to %d", what, before, at)
		}
	}
	if _, err := f.c.notices.Receive(t.Context(), from, binary.BigEndian.AppendUint64(nil, 1)); err == nil {
		t.Error("a short notice is taken")
	}
	if _, err := f.c.notices.Receive(t.Context(), from,
		commits.Notice{Term: term, Index: last + 1, EntryTerm: term}.Encode()); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "a true notice commits the entry", func() bool { return f.c.CommitIndex() == last+1 })
}

// TestCommittedEntryTerm checks Committed: an entry of the current term becomes committed, an entry
// of an earlier term does not, and a missing entry becomes committed when it arrives.
func TestCommittedEntryTerm(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Options.CommitTimeout = time.Hour })
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	f := follower(rs, l)
	last, lastTerm := f.c.core.Stores.Logs.Tail()
	term := f.c.Term()
	store(t, l, f, last, lastTerm, term-1) // as from an earlier leader
	f.c.Committed(last + 1)
	time.Sleep(50 * time.Millisecond)
	if at := f.c.CommitIndex(); at != last {
		t.Fatalf("an entry of an earlier term is committed: the index went from %d to %d", last, at)
	}
	store(t, l, f, last, lastTerm, term)
	f.c.Committed(last + 1)
	eventually(t, patience, "an answer commits the entry", func() bool { return f.c.CommitIndex() == last+1 })
	f.c.Committed(last + 2)
	store(t, l, f, last+1, term, term)
	eventually(t, patience, "an answer commits an entry that comes after it",
		func() bool { return f.c.CommitIndex() == last+2 })
}
