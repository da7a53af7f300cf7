package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

const noticeSize = 24

// notice says that an entry is committed, in the words of the leader of a term.
type notice struct{ term, index, entryTerm uint64 }

func (n notice) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, noticeSize), n.term)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, n.index), n.entryTerm)
}

func decodeNotice(b []byte) (notice, error) {
	if len(b) != noticeSize {
		return notice{}, errors.New("malformed notice of a commit")
	}
	return notice{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}, nil
}

// notices keeps the newest notice until the entry that it names is here: the leader may know of a commit before
// the last follower has stored the entry.
type notices struct {
	open atomic.Pointer[notice]
	wake chan struct{} // holds one
}

func newNotices() notices { return notices{wake: make(chan struct{}, 1)} }

// look has the open notice looked at again, if there is one.
func (s *notices) look() {
	if s.open.Load() == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// committedThere takes a notice of the leader that this replica follows.
func (c *Cluster) committedThere(_ context.Context, from string, req []byte) ([]byte, error) {
	n, err := decodeNotice(req)
	if err != nil {
		return nil, err
	}
	in := c.current()
	if !c.follows(raft.ServerID(from)) || in.raft.CurrentTerm() != n.term || in.raft.CommitIndex() >= n.index {
		return nil, nil
	}
	c.notices.open.Store(&n)
	c.notices.look()
	return nil, nil
}

// watchNotices acts on notices until the replica ends.
func (c *Cluster) watchNotices() {
	for {
		select {
		case <-c.notices.wake:
			if n := c.notices.open.Load(); n != nil && c.follow(*n) {
				c.notices.open.CompareAndSwap(n, nil)
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// follow gives raft a notice as what it is, an ordinary request to append, without entries, behind the committed
// one. It does so in the notice's term and with that entry in the log, so that all before it is the leader's too.
// It says whether the notice is done with.
func (c *Cluster) follow(n notice) bool {
	in := c.current()
	if in.raft.CurrentTerm() != n.term || in.raft.CommitIndex() >= n.index {
		return true
	}
	addr, sid := in.raft.LeaderWithID()
	if addr == "" || !c.stores.Logs.Has(n.index, n.entryTerm) {
		return false
	}
	header := c.header()
	header.ID, header.Addr = []byte(sid), c.trans.EncodePeer(sid, addr)
	return c.wire.Inject(&raft.AppendEntriesRequest{RPCHeader: header, Term: n.term,
		PrevLogEntry: n.index, PrevLogTerm: n.entryTerm, LeaderCommitIndex: n.index}, c.ctx.Done())
}
