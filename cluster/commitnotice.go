package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

const noticeSize = 24

// commitNotice says that an entry is committed. The leader of a term sends it.
type commitNotice struct{ term, index, entryTerm uint64 }

func (n commitNotice) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, noticeSize), n.term)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n.index), n.entryTerm)
}

func decodeCommitNotice(b []byte) (commitNotice, error) {
	if len(b) != noticeSize {
		return commitNotice{}, errors.New("malformed commit notice")
	}
	return commitNotice{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}, nil
}

// noticeBox keeps the newest notice until the entry that it names is here: the leader may know of a
// commit before the last follower has stored the entry.
type noticeBox struct {
	open atomic.Pointer[commitNotice]
	wake chan struct{} // holds one
}

func newNoticeBox() noticeBox { return noticeBox{wake: make(chan struct{}, 1)} }

// recheck has watchCommitNotices look at the open notice again, if there is one.
func (s *noticeBox) recheck() {
	if s.open.Load() == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// receiveCommitNotice takes a notice of the leader that this replica follows.
func (c *Cluster) receiveCommitNotice(_ context.Context, from string, req []byte) ([]byte, error) {
	n, err := decodeCommitNotice(req)
	if err != nil {
		return nil, err
	}
	in := c.current()
	if !c.follows(raft.ServerID(from)) || in.raft.CurrentTerm() != n.term || in.raft.CommitIndex() >= n.index {
		return nil, nil
	}
	c.notices.open.Store(&n)
	c.notices.recheck()
	return nil, nil
}

// Committed takes note of an index that the leader has answered a call with: it is committed. While
// entries follow each other the leader sends no notice. The next entry tells what is committed, but the
// leader writes it to its own disk before it sends it, and this replica writes it before it looks at
// the commit. A caller would wait for both.
//
// An entry of the current term at that index is the one that is committed: the leader of the term sent
// it, and has every entry in its log that was ever committed (section 5.4 of the Raft paper).
func (c *Cluster) Committed(index uint64) {
	in := c.current()
	term := in.raft.CurrentTerm()
	if in.raft.CommitIndex() >= index || in.raft.State() != raft.Follower {
		return
	}
	if last, _ := c.stores.Logs.Tail(); last >= index && !c.stores.Logs.Has(index, term) {
		return
	}
	c.notices.open.Store(&commitNotice{term: term, index: index, entryTerm: term})
	c.notices.recheck()
}

// watchCommitNotices acts on notices until the replica ends.
func (c *Cluster) watchCommitNotices() {
	for {
		select {
		case <-c.notices.wake:
			if n := c.notices.open.Load(); n != nil && c.commitTo(*n) {
				c.notices.open.CompareAndSwap(n, nil)
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// commitTo gives raft a notice as an ordinary request to append, without entries, behind the
// committed entry. It does so in the notice's term and with that entry in the log, so that
// everything before it is the leader's too. It says whether the notice is done with.
func (c *Cluster) commitTo(n commitNotice) bool {
	in := c.current()
	if in.raft.CurrentTerm() != n.term || in.raft.CommitIndex() >= n.index {
		return true
	}
	addr, sid := in.raft.LeaderWithID()
	if addr == "" || !c.stores.Logs.Has(n.index, n.entryTerm) {
		return false
	}
	header := c.header()
	header.ID, header.Addr = []byte(sid), c.network.EncodePeer(sid, addr)
	return c.transport.Inject(&raft.AppendEntriesRequest{RPCHeader: header, Term: n.term,
		PrevLogEntry: n.index, PrevLogTerm: n.entryTerm, LeaderCommitIndex: n.index}, c.ctx.Done())
}
