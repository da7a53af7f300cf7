package network

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pipelineMax is how many requests may be under way, as in the library's own transport.
const pipelineMax = 2

// pipeline sends AppendEntries requests without waiting for answers. Requests and answers stay in
// order, as on one connection. A lost message ends the pipeline.
type pipeline struct {
	h      *Host
	to     string
	sent   chan *appending
	onward chan *appending
	done   chan raft.AppendFuture
	stop   chan struct{}
	once   sync.Once
}

var _ raft.AppendPipeline = (*pipeline)(nil)

// appending is one request of a pipeline.
type appending struct {
	q      request
	start  time.Time
	args   *raft.AppendEntriesRequest
	resp   *raft.AppendEntriesResponse
	p      *Host
	conn   <-chan struct{}
	answer chan raft.RPCResponse
	over   chan struct{}
	err    error
}

var _ raft.AppendFuture = (*appending)(nil)

// Error implements raft.Future.
func (a *appending) Error() error { <-a.over; return a.err }

// Start implements raft.AppendFuture.
func (a *appending) Start() time.Time { return a.start }

// Request implements raft.AppendFuture.
func (a *appending) Request() *raft.AppendEntriesRequest { return a.args }

// Response implements raft.AppendFuture.
func (a *appending) Response() *raft.AppendEntriesResponse { return a.resp }

func newPipeline(h *Host, to string) *pipeline {
	p := &pipeline{h: h, to: to, sent: make(chan *appending, pipelineMax), onward: make(chan *appending, pipelineMax),
		done: make(chan raft.AppendFuture, pipelineMax), stop: make(chan struct{})}
	go p.send()
	go p.receive()
	return p
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	q, err := copied(args, new(raft.AppendEntriesRequest), nil)
	if err != nil {
		return nil, err
	}
	a := &appending{q: q, start: time.Now(), args: args, resp: resp, answer: make(chan raft.RPCResponse, 1),
		over: make(chan struct{})}
	select { // a closed pipeline may still have room in p.sent
	case <-p.stop:
		return nil, raft.ErrPipelineShutdown
	default:
	}
	select {
	case p.sent <- a:
		return a, nil
	case <-p.stop:
		return nil, raft.ErrPipelineShutdown
	case <-p.h.down:
		return nil, raft.ErrPipelineShutdown
	}
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.done }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.stop) })
	return nil
}

var errClosed = errors.New("the pipeline is closed")

// send transports the requests in order.
func (p *pipeline) send() {
	for {
		var a *appending
		select {
		case a = <-p.sent:
		case <-p.stop:
			return
		case <-p.h.down:
			return
		}
		a.err = p.deliver(a)
		select {
		case p.onward <- a:
		case <-p.stop:
			return
		case <-p.h.down:
			return
		}
	}
}

func (p *pipeline) deliver(a *appending) error {
	if a.p = p.h.net.find(p.to); a.p == nil {
		time.Sleep(time.Millisecond)
		return errRefused
	}
	if err := p.h.helloRaft(a.p, a.q.msg); err != nil {
		return err
	}
	a.conn = p.h.net.conn(p.h.id, p.to)
	if ok, _ := p.h.net.travel(p.h, a.p, a.q.size); !ok {
		return ErrLost
	}
	select {
	case a.p.ch <- a.q.rpc(a.answer):
		return nil
	case <-a.conn:
		return errReset
	case <-a.p.down:
		return errReset
	case <-p.stop:
		return errClosed
	}
}

// receive transports the answers in order.
func (p *pipeline) receive() {
	for {
		var a *appending
		select {
		case a = <-p.onward:
		case <-p.stop:
			return
		case <-p.h.down:
			return
		}
		if a.err == nil {
			a.err = p.await(a)
		} else if errors.Is(a.err, ErrLost) { // the sender notices a lost request only by its timeout
			p.pause(messageTimeout)
		}
		close(a.over)
		select {
		case p.done <- a:
		case <-p.stop:
			return
		case <-p.h.down:
			return
		}
		if a.err != nil {
			_ = p.Close()
			return
		}
	}
}

func (p *pipeline) await(a *appending) error {
	end := time.NewTimer(messageTimeout)
	defer end.Stop()
	select {
	case r := <-a.answer:
		return p.h.sendAnswer(a.p, a.q, r, a.resp, end.C, a.conn)
	case <-end.C:
		return ErrLost
	case <-a.conn:
		return errReset
	case <-a.p.down:
		return errReset
	case <-p.stop:
		return errClosed
	}
}

func (p *pipeline) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.stop:
	case <-p.h.down:
	}
}
