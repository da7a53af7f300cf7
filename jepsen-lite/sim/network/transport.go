package network

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

var (
	_ raft.Transport   = (*Host)(nil)
	_ raft.WithPreVote = (*Host)(nil)
)

// handle is shared, because a codec caches what it learns of the types.
var handle = &codec.MsgpackHandle{}

// recode copies a message and returns its size. It encodes and decodes most messages. AppendEntries
// requests and their answers are nearly all messages, so it copies them field by field, with
// everything that they point to.
func recode(dst, src any) (int, error) {
	switch src := src.(type) {
	case *raft.AppendEntriesRequest:
		return copyAppend(dst.(*raft.AppendEntriesRequest), src), nil
	case *raft.AppendEntriesResponse:
		if to, ok := dst.(*raft.AppendEntriesResponse); ok {
			*to = *src
			to.ID, to.Addr = bytes.Clone(src.ID), bytes.Clone(src.Addr)
			return appendBytes, nil
		}
	}
	var b []byte
	if err := codec.NewEncoderBytes(&b, handle).Encode(src); err != nil {
		return 0, err
	}
	return len(b), codec.NewDecoderBytes(b, handle).Decode(dst)
}

// Sizes on the network: of an AppendEntries request, and of each of its entries without its data.
const (
	appendBytes = 120
	entryBytes  = 64
)

func copyAppend(to, from *raft.AppendEntriesRequest) (size int) {
	*to = *from
	to.ID, to.Addr = bytes.Clone(from.ID), bytes.Clone(from.Addr)
	//lint:ignore SA1019 the library still sends it
	to.Leader = bytes.Clone(from.Leader)
	size = appendBytes
	if len(from.Entries) == 0 {
		return size
	}
	logs := make([]raft.Log, len(from.Entries))
	to.Entries = make([]*raft.Log, len(logs))
	for i, l := range from.Entries {
		logs[i] = *l
		logs[i].Data, logs[i].Extensions = bytes.Clone(l.Data), bytes.Clone(l.Extensions)
		to.Entries[i] = &logs[i]
		size += entryBytes + len(l.Data)
	}
	return size
}

// request is one of Raft's requests on its way.
type request struct {
	msg  any
	data []byte // of a snapshot
	size int
}

// copied returns a copy of a message for the other side.
func copied(in, msg any, data []byte) (request, error) {
	size, err := recode(msg, in)
	return request{msg, data, size + len(data)}, err
}

func (q request) rpc(answer chan raft.RPCResponse) raft.RPC {
	r := raft.RPC{Command: q.msg, RespChan: answer}
	if q.data != nil {
		r.Reader = bytes.NewReader(q.data)
	}
	return r
}

// ask sends one of Raft's requests and waits for the answer.
func (h *Host) ask(to string, in, msg, out any, data []byte) error {
	h.net.mu.Lock()
	patience, hang, denied := h.net.patience, h.net.hang, h.net.denied
	h.net.mu.Unlock()
	end := time.NewTimer(patience)
	defer end.Stop()
	q, err := copied(in, msg, data)
	if err != nil {
		return err
	}
	if hang != nil && hang(msg) {
		<-h.down
		return ErrLost
	}
	p := h.net.find(to)
	if p == nil || denied != nil && denied(to, msg) {
		time.Sleep(time.Millisecond)
		return errRefused
	}
	if err := h.helloRaft(p, q.msg); err != nil {
		time.Sleep(time.Millisecond)
		return err
	}
	conn := h.net.conn(h.id, to)
	arrives, twice := h.net.travel(h, p, q.size)
	if !arrives {
		return h.timeout(end.C, conn)
	}
	if twice {
		if second, err := copied(in, fresh(msg), data); err == nil { // copies now, because raft reuses its message
			go h.deliverCopy(p, second)
		}
	}
	answer := make(chan raft.RPCResponse, 1)
	if !p.quick(q, answer) {
		select {
		case p.ch <- q.rpc(answer):
		case <-end.C:
			return ErrLost
		case <-conn:
			return errReset
		case <-p.down:
			return errReset
		}
	}
	select {
	case r := <-answer:
		return h.sendAnswer(p, q, r, out, end.C, conn)
	case <-end.C:
		return ErrLost
	case <-conn:
		return errReset
	case <-p.down:
		return errReset
	}
}

// sendAnswer transports the answer back.
func (h *Host) sendAnswer(p *Host, q request, r raft.RPCResponse, out any, end <-chan time.Time,
	conn <-chan struct{}) error {
	p.voted(q.msg, r)
	if ok, _ := h.net.travel(p, h, 64); !ok {
		return h.timeout(end, conn)
	}
	if r.Error != nil {
		return errors.New(r.Error.Error())
	}
	_, err := recode(out, r.Response)
	return err
}

// voted reports a vote that this host has granted, whether or not the answer arrives.
func (h *Host) voted(msg any, r raft.RPCResponse) {
	q, ok := msg.(*raft.RequestVoteRequest)
	if !ok || h.running.Err() != nil {
		return
	}
	a, ok := r.Response.(*raft.RequestVoteResponse)
	h.net.mu.Lock()
	tell := h.net.OnVote
	h.net.mu.Unlock()
	if ok && a.Granted && tell != nil {
		server, _ := h.identity()
		tell(q.Term, server, string(q.ID))
	}
}

// deliverCopy delivers a doubled request. Its answer is dropped.
func (h *Host) deliverCopy(p *Host, q request) {
	if ok, _ := h.net.travel(h, p, q.size); !ok {
		return
	}
	answer := make(chan raft.RPCResponse, 1)
	select {
	case p.ch <- q.rpc(answer):
	case <-p.down:
		return
	}
	select {
	case r := <-answer:
		p.voted(q.msg, r)
	case <-p.down:
	}
}

// fresh returns an empty message of the same type.
func fresh(msg any) any {
	switch msg.(type) {
	case *raft.AppendEntriesRequest:
		return new(raft.AppendEntriesRequest)
	case *raft.RequestVoteRequest:
		return new(raft.RequestVoteRequest)
	case *raft.RequestPreVoteRequest:
		return new(raft.RequestPreVoteRequest)
	case *raft.InstallSnapshotRequest:
		return new(raft.InstallSnapshotRequest)
	}
	return new(raft.TimeoutNowRequest)
}

// quick does the same as the library's transport with a heartbeat if a handler is set: the message
// bypasses Raft's main loop. It reports whether it did so.
func (h *Host) quick(q request, answer chan raft.RPCResponse) bool {
	a, ok := q.msg.(*raft.AppendEntriesRequest)
	if !ok || a.Term == 0 || a.PrevLogEntry != 0 || a.PrevLogTerm != 0 || len(a.Entries) != 0 || a.LeaderCommitIndex != 0 {
		return false
	}
	h.mu.Lock()
	beat := h.beat
	h.mu.Unlock()
	if beat == nil {
		return false
	}
	go func() {
		h.owner.MarkGoroutine()
		beat(q.rpc(answer))
	}()
	return true
}

func (h *Host) timeout(end <-chan time.Time, conn <-chan struct{}) error {
	select {
	case <-end:
	case <-conn:
		return errReset
	case <-h.down:
	}
	return ErrLost
}

// Deliver gives a message to Raft at once, as if it had been on its way since long ago.
func (h *Host) Deliver(rpc raft.RPC) { h.ch <- rpc }

// Consumer implements raft.Transport.
func (h *Host) Consumer() <-chan raft.RPC { return h.ch }

// LocalAddr implements raft.Transport.
func (h *Host) LocalAddr() raft.ServerAddress { return raft.ServerAddress(h.id) }

// AppendEntriesPipeline implements raft.Transport. Without pipelines, Raft sends one request after
// the other.
func (h *Host) AppendEntriesPipeline(_ raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	if !h.net.Pipelined {
		return nil, raft.ErrPipelineReplicationNotSupported
	}
	return newPipeline(h, string(to)), nil
}

// AppendEntries implements raft.Transport.
func (h *Host) AppendEntries(_ raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest,
	a *raft.AppendEntriesResponse) error {
	return h.ask(string(to), q, new(raft.AppendEntriesRequest), a, nil)
}

// RequestVote implements raft.Transport.
func (h *Host) RequestVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest,
	a *raft.RequestVoteResponse) error {
	return h.ask(string(to), q, new(raft.RequestVoteRequest), a, nil)
}

// RequestPreVote implements raft.WithPreVote.
func (h *Host) RequestPreVote(_ raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest,
	a *raft.RequestPreVoteResponse) error {
	return h.ask(string(to), q, new(raft.RequestPreVoteRequest), a, nil)
}

// InstallSnapshot implements raft.Transport.
func (h *Host) InstallSnapshot(_ raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest,
	a *raft.InstallSnapshotResponse, data io.Reader) error {
	b, err := io.ReadAll(data)
	if err != nil {
		return err
	}
	h.net.mu.Lock()
	h.net.installs++
	h.net.install, h.net.data = q, b
	h.net.mu.Unlock()
	err = h.ask(string(to), q, new(raft.InstallSnapshotRequest), a, b)
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.net.installed = append(h.net.installed,
		fmt.Sprintf("%s to %s of index %d: %v, %v", h.id, to, q.LastLogIndex, a.Success, err))
	return err
}

// TimeoutNow implements raft.Transport.
func (h *Host) TimeoutNow(_ raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest,
	a *raft.TimeoutNowResponse) error {
	return h.ask(string(to), q, new(raft.TimeoutNowRequest), a, nil)
}

// EncodePeer implements raft.Transport.
func (h *Host) EncodePeer(_ raft.ServerID, a raft.ServerAddress) []byte { return []byte(a) }

// DecodePeer implements raft.Transport.
func (h *Host) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler implements raft.Transport. rmd sets a handler only with HeartbeatFastPath,
// which turns its guard off.
func (h *Host) SetHeartbeatHandler(f func(raft.RPC)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beat = f
}
