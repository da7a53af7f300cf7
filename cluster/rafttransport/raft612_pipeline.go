package rafttransport

import (
	"sync"

	"github.com/hashicorp/raft"
)

// AppendEntriesPipeline starts a pipeline unless muted.
func (tr *Transport) AppendEntriesPipeline(id raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	if tr.muted.Load() {
		return nil, errMuted
	}
	p, err := tr.Transport.AppendEntriesPipeline(id, to)
	if err != nil {
		return nil, err
	}
	return newPipeline(p, tr, id), nil
}

// hashicorp/raft #612 (v1.8.0, replication.go: pipelineDecode, pipelineSend).
//
// Library: it stops reading answers at the first one that refuses entries, and may send once more
// before it notices. Then it waits forever. The follower gets heartbeats but no entries, a deposed
// leader keeps sending heartbeats, and raft cannot be stopped or restarted in place.
// Guard: a pipeline ends itself with the first answer that refuses entries.
// Test: TestTrap612, with the library's pipeline and with this one.
// Delete when: TestTrap612 logs that the library's own pipeline no longer hangs.

// pipeline wraps a library pipeline. It passes on the answers up to the first one that refuses
// entries.
type pipeline struct {
	raft.AppendPipeline
	tr    *Transport
	id    raft.ServerID
	known ack // acknowledged before the first request
	out   chan raft.AppendFuture
	over  chan struct{}
	end   sync.Once
}

func newPipeline(inner raft.AppendPipeline, tr *Transport, id raft.ServerID) *pipeline {
	p := &pipeline{AppendPipeline: inner, tr: tr, id: id, known: tr.acks.last(id), out: make(chan raft.AppendFuture),
		over: make(chan struct{})}
	tr.wg.Go(p.answers)
	return p
}

// answers passes answers on until the pipeline ends.
func (p *pipeline) answers() {
	known := p.known
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			q := f.Request()
			if q.Term != known.term {
				known = ack{term: q.Term}
			}
			if p.tr.observeAnswer(p.id, q, f.Response(), known.index) {
				_ = p.Close()
				return
			}
			if f.Response().Success { // a pipeline answers its requests in order
				known.index = max(known.index, lastIndexOf(q))
			}
			last := !f.Response().Success || f.Response().Term > f.Request().Term
			select {
			case p.out <- f:
			case <-p.over:
				return
			}
			if last {
				_ = p.Close() // the sender gets an error
				return
			}
		case <-p.over:
			return
		}
	}
}

// Consumer returns the channel from which raft reads answers.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close ends the pipeline. It may be called more than once.
func (p *pipeline) Close() error {
	p.end.Do(func() { close(p.over) })
	return p.AppendPipeline.Close()
}

// AppendEntries sends entries. It fails if this replica is muted or no longer leads.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	switch {
	case p.tr.muted.Load():
		return nil, errMuted
	case p.tr.isDeposed(args):
		return nil, errDeposed
	}
	return p.AppendPipeline.AppendEntries(args, resp)
}
