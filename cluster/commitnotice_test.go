package cluster

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestCommitReachesFollowers gives raft no occasion of its own to tell followers
// what is committed: they hear of it by notices.
func TestCommitReachesFollowers(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Options.CommitTimeout = time.Hour })
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

// store has a follower store one more entry of a term behind a previous one, in the name of its leader
// and without a commit.
func store(t *testing.T, l, f *replica, prev, prevTerm, term uint64) {
	header := l.c.header()
	header.ID = []byte(l.c.Identity().ServerID())
	f.c.transport.Inject(&raft.AppendEntriesRequest{RPCHeader: header, Term: f.c.Term(), PrevLogEntry: prev, PrevLogTerm: prevTerm,
		Entries: []*raft.Log{{Index: prev + 1, Term: term, Type: raft.LogNoop}}}, t.Context().Done())
}

// TestCommitNoticesThatAreRefused gives a follower notices of what it does not have, of
// other terms and from others than the leader: its commit index stays.
func TestCommitNoticesThatAreRefused(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Options.CommitTimeout = time.Hour })
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	f := follower(rs, l)
	// an entry that is in the follower's log and not committed: raft is asked to store one more
	last, lastTerm := f.c.stores.Logs.Tail()
	term := f.c.Term()
	from := string(l.c.Identity().ServerID())
	store(t, l, f, last, lastTerm, term)
	if at, _ := f.c.stores.Logs.Tail(); at != last+1 {
		t.Fatalf("the follower's log ends at %d, want %d", at, last+1)
	}
	before := f.c.CommitIndex()
	for what, n := range map[string]struct {
		from string
		commitNotice
	}{
		"an older term":     {from, commitNotice{term - 1, last + 1, term}},
		"a later term":      {from, commitNotice{term + 1, last + 1, term}},
		"not the leader":    {"rm9", commitNotice{term, last + 1, term}},
		"another entry":     {from, commitNotice{term, last + 1, term - 1}},
		"an entry to come":  {from, commitNotice{term, last + 2, term}},
		"what is committed": {from, commitNotice{term, before, lastTerm}},
	} {
		if _, err := f.c.receiveCommitNotice(t.Context(), n.from, n.encode()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if open := f.c.notices.open.Load(); open != nil && f.c.commitTo(*open) {
			t.Errorf("%s is done with", what)
		}
		if at := f.c.CommitIndex(); at != before {
			t.Fatalf("%s: the commit index went from %d to %d", what, before, at)
		}
	}
	if _, err := f.c.receiveCommitNotice(t.Context(), from, binary.BigEndian.AppendUint64(nil, 1)); err == nil {
		t.Error("a short notice is taken")
	}
	if _, err := f.c.receiveCommitNotice(t.Context(), from, commitNotice{term, last + 1, term}.encode()); err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, "a true notice commits the entry", func() bool { return f.c.CommitIndex() == last+1 })
}

// TestCommittedByAnAnswer has a follower learn of a commit from an answer of the leader: an entry of the
// current term is committed, one of an earlier term is not, and one that is not here yet is when it
// comes.
func TestCommittedByAnAnswer(t *testing.T) {
	t.Parallel()
	rs := trio(t, func(c *Config) { c.Options.CommitTimeout = time.Hour })
	inStep(t, rs, put(t, rs, 3))
	l := leader(t, rs)
	f := follower(rs, l)
	last, lastTerm := f.c.stores.Logs.Tail()
	term := f.c.Term()
	store(t, l, f, last, lastTerm, term-1) // the log of an earlier leader
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
	eventually(t, patience, "an answer commits an entry that comes after it", func() bool { return f.c.CommitIndex() == last+2 })
}
