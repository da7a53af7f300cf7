package commits

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/local"
)

const noticeSize = 24

// Notice says that the entry at Index, with the term EntryTerm, is committed. The leader of
// Term sends it.
type Notice struct{ Term, Index, EntryTerm uint64 }

// Encode returns the bytes of the notice.
func (n Notice) Encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, noticeSize), n.Term)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n.Index), n.EntryTerm)
}

func decodeCommitNotice(b []byte) (Notice, error) {
	if len(b) != noticeSize {
		return Notice{}, errors.New("malformed commit notice")
	}
	return Notice{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}, nil
}

// Receiver handles the commit notices of the leader that this replica follows.
type Receiver struct {
	*local.Replica
	access *access.Rules
	Box    noticeBox
}

// noticeBox keeps the newest notice until this replica has stored the entry that the notice names.
// The leader may know of a commit before the slowest follower has stored the entry.
type noticeBox struct {
	Open atomic.Pointer[Notice]
	wake chan struct{} // has room for one value
}

// NewReceiver returns a Receiver without an open notice.
func NewReceiver(c *local.Replica, access *access.Rules) *Receiver {
	return &Receiver{Replica: c, access: access, Box: newNoticeBox()}
}

func newNoticeBox() noticeBox { return noticeBox{wake: make(chan struct{}, 1)} }

// recheck makes Receiver.Run look at the open notice again, if there is one.
func (s *noticeBox) recheck() {
	if s.Open.Load() == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Receive stores a notice of the leader that this replica follows.
func (r *Receiver) Receive(_ context.Context, from string, req []byte) ([]byte, error) {
	n, err := decodeCommitNotice(req)
	if err != nil {
		return nil, err
	}
	in := r.Current()
	if !r.access.Follows(raft.ServerID(from)) || in.Raft.CurrentTerm() != n.Term || in.Raft.CommitIndex() >= n.Index {
		return nil, nil
	}
	r.Box.Open.Store(&n)
	r.Box.recheck()
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
func (r *Receiver) Committed(index uint64) {
	in := r.Current()
	term := in.Raft.CurrentTerm()
	if in.Raft.CommitIndex() >= index || in.Raft.State() != raft.Follower {
		return
	}
	if last, _ := r.Stores.Logs.Tail(); last >= index && !r.Stores.Logs.Has(index, term) {
		return
	}
	r.Box.Open.Store(&Notice{Term: term, Index: index, EntryTerm: term})
	r.Box.recheck()
}

// Recheck looks at the open notice again, since more entries are stored.
func (r *Receiver) Recheck() { r.Box.recheck() }

// Run handles notices until the cluster closes.
func (r *Receiver) Run() {
	for {
		select {
		case <-r.Box.wake:
			if n := r.Box.Open.Load(); n != nil && r.CommitTo(*n) {
				r.Box.Open.CompareAndSwap(n, nil)
			}
		case <-r.Context.Done():
			return
		}
	}
}

// CommitTo passes a notice to raft as an AppendEntries request without entries, whose previous
// entry is the committed one. It does so only in the notice's term and if the log has that entry,
// so that everything before the entry is the leader's too. It reports whether the notice is done.
func (r *Receiver) CommitTo(n Notice) bool {
	in := r.Current()
	if in.Raft.CurrentTerm() != n.Term || in.Raft.CommitIndex() >= n.Index {
		return true
	}
	addr, sid := in.Raft.LeaderWithID()
	if addr == "" || !r.Stores.Logs.Has(n.Index, n.EntryTerm) {
		return false
	}
	header := r.Header()
	header.ID, header.Addr = []byte(sid), r.Network.EncodePeer(sid, addr)
	return r.Transport.Inject(&raft.AppendEntriesRequest{RPCHeader: header, Term: n.Term,
		PrevLogEntry: n.Index, PrevLogTerm: n.EntryTerm, LeaderCommitIndex: n.Index}, r.Context.Done())
}
