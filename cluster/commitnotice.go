package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

const noticeSize = 24

// commitNotice says that the entry at index, with the term entryTerm, is committed. The leader of
// term sends it.
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

// commitReceiver handles the commit notices of the leader that this replica follows.
type commitReceiver struct {
	*core
	access *access
	box    noticeBox
}

// noticeBox keeps the newest notice until this replica has stored the entry that the notice names.
// The leader may know of a commit before the slowest follower has stored the entry.
type noticeBox struct {
	open atomic.Pointer[commitNotice]
	wake chan struct{} // has room for one value
}

func newNoticeBox() noticeBox { return noticeBox{wake: make(chan struct{}, 1)} }

// recheck makes watchCommitNotices look at the open notice again, if there is one.
func (s *noticeBox) recheck() {
	if s.open.Load() == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// receiveCommitNotice stores a notice of the leader that this replica follows.
func (r *commitReceiver) receiveCommitNotice(_ context.Context, from string, req []byte) ([]byte, error) {
	n, err := decodeCommitNotice(req)
	if err != nil {
		return nil, err
	}
	in := r.current()
	if !r.access.follows(raft.ServerID(from)) || in.raft.CurrentTerm() != n.term || in.raft.CommitIndex() >= n.index {
		return nil, nil
	}
	r.box.open.Store(&n)
	r.box.recheck()
	return nil, nil
}

// Committed tells this replica that the entry at index is committed: the leader named this index in
// its answer to a forwarded call. The leader sends no commit notice while more proposals follow.
// The next entry carries the commit index, but both the leader and this replica write that entry to
// disk before this replica sees the commit index. Without Committed, a caller would wait for both
// writes.
//
// An entry of the current term at that index is the committed one: the leader of the term sent it,
// and the leader's log has every committed entry (section 5.4 of the Raft paper).
func (r *commitReceiver) Committed(index uint64) {
	in := r.current()
	term := in.raft.CurrentTerm()
	if in.raft.CommitIndex() >= index || in.raft.State() != raft.Follower {
		return
	}
	if last, _ := r.stores.Logs.Tail(); last >= index && !r.stores.Logs.Has(index, term) {
		return
	}
	r.box.open.Store(&commitNotice{term: term, index: index, entryTerm: term})
	r.box.recheck()
}

// watchCommitNotices handles notices until the cluster closes.
func (r *commitReceiver) watchCommitNotices() {
	for {
		select {
		case <-r.box.wake:
			if n := r.box.open.Load(); n != nil && r.commitTo(*n) {
				r.box.open.CompareAndSwap(n, nil)
			}
		case <-r.ctx.Done():
			return
		}
	}
}

// commitTo passes a notice to raft as an AppendEntries request without entries, whose previous
// entry is the committed one. It does so only in the notice's term and if the log has that entry,
// so that everything before the entry is the leader's too. It reports whether the notice is done.
func (r *commitReceiver) commitTo(n commitNotice) bool {
	in := r.current()
	if in.raft.CurrentTerm() != n.term || in.raft.CommitIndex() >= n.index {
		return true
	}
	addr, sid := in.raft.LeaderWithID()
	if addr == "" || !r.stores.Logs.Has(n.index, n.entryTerm) {
		return false
	}
	header := r.header()
	header.ID, header.Addr = []byte(sid), r.network.EncodePeer(sid, addr)
	return r.transport.Inject(&raft.AppendEntriesRequest{RPCHeader: header, Term: n.term,
		PrevLogEntry: n.index, PrevLogTerm: n.entryTerm, LeaderCommitIndex: n.index}, r.ctx.Done())
}
