package cluster

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

var (
	errMuted = errors.New("muted: this replica's disk hangs")
	errFull  = errors.New("this replica's disk is full")
)

// wire stands between raft and its transport, whatever that is. It outlives one raft instance: it has
// no Close, so a restart in place keeps it.
//
//   - It keeps no heartbeat handler (hashicorp/raft #695, see DESIGN.md), even if the transport would.
//   - It relays incoming requests, so that an election can be injected and entries be refused.
//   - It can be muted, so that followers leave a leader whose disk hangs.
//   - It answers for a snapshot of what is here already: the library would go back to it and clear the
//     log behind it, with entries that this replica has promised to keep.
//   - It cuts what a request tells of commits down to what the request proves.
//   - It calls again where the library kept a connection to a process that has ended.
//   - It sends no entries in the name of a leadership that has ended, and takes none.
//   - It has entries sent again as soon as a follower that was away is back.
//   - It lets a candidate be judged by its log when its promotion has not reached this replica.
type wire struct {
	raft.Transport
	out       chan raft.RPC
	done      chan struct{}
	muted     atomic.Bool
	full      atomic.Bool
	installs  func(index, term uint64) // before each successful snapshot install is answered
	holds     func(*raft.InstallSnapshotRequest) (term uint64, ok bool)
	behind    func(*raft.AppendEntriesRequest) *raft.SnapshotMeta
	shorten   func(*raft.AppendEntriesRequest) (*raft.AppendEntriesRequest, *raft.AppendEntriesResponse)
	vote      func(*raft.RequestVoteRequest) *raft.RequestVoteRequest
	preVote   func(*raft.RequestPreVoteRequest) *raft.RequestPreVoteResponse
	acks      *ackBook
	returns   returns
	may       func(cmd any) error // whether the sender of a request may send it
	verify    func(cmd any) error // whether replicas could apply what is in it
	introduce func(to raft.ServerAddress) bool
	serves    func(follower raft.ServerID, term uint64) bool
	leads     func(term uint64) bool
	forgot    func(raft.ServerID, amnesiaNotice) // a follower has lost what it acknowledged
	absences  *absences
	fast      bool // Options.HeartbeatFastPath
	wg        sync.WaitGroup
}

var (
	_ raft.Transport   = (*wire)(nil)
	_ raft.WithPreVote = (*wire)(nil)
)

func newWire(t raft.Transport, fast bool, c *Cluster) *wire {
	w := &wire{Transport: t, fast: fast, out: make(chan raft.RPC), done: make(chan struct{}), acks: newAckBook(),
		returns: returns{of: map[raft.ServerID]chan struct{}{}}, absences: newAbsences(hclog.NewNullLogger())}
	if c != nil {
		w.absences = newAbsences(c.log)
		w.installs, w.holds, w.behind, w.shorten, w.forgot = c.installed, c.holds, c.behind, c.shorten, c.tellForgetful
		w.vote, w.preVote, w.serves, w.leads = c.vote, c.preVote, c.serves, c.leads
		if c.peer != nil {
			w.may, w.verify, w.introduce = c.mayRaft, c.verifyReceived, c.introduce
		}
	}
	w.wg.Go(w.relay)
	return w
}

// SetHeartbeatHandler keeps nothing: heartbeats queue for raft's main loop like everything else.
func (w *wire) SetHeartbeatHandler(h func(raft.RPC)) {
	if w.fast {
		w.Transport.SetHeartbeatHandler(h)
	}
}

// Consumer is where raft reads requests.
func (w *wire) Consumer() <-chan raft.RPC { return w.out }

// relay passes requests on in order.
func (w *wire) relay() {
	for {
		select {
		case rpc := <-w.Transport.Consumer():
			w.pass(rpc)
		case <-w.done:
			return
		}
	}
}

// pass hands one request to raft, or refuses it here.
func (w *wire) pass(rpc raft.RPC) {
	if w.may != nil {
		err := w.may(rpc.Command)
		if err == nil {
			err = w.verify(rpc.Command)
		}
		if err != nil {
			if rpc.Reader != nil {
				_, _ = io.Copy(io.Discard, rpc.Reader)
			}
			rpc.Respond(nil, err)
			return
		}
	}
	switch cmd := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		if w.full.Load() && len(cmd.Entries) > 0 {
			rpc.Respond(nil, errFull)
			return
		}
		if ofLaterTerm(cmd) {
			rpc.Respond(nil, errDeposed)
			return
		}
		cmd = proven(cmd)
		rpc.Command = cmd
		if w.behind != nil && w.behind(cmd) != nil && w.settle(nil) {
			short, answer := w.shorten(cmd)
			if answer != nil {
				rpc.Respond(answer, nil)
				return
			}
			rpc.Command = short
		}
	case *raft.InstallSnapshotRequest:
		if w.full.Load() {
			_, _ = io.Copy(io.Discard, rpc.Reader)
			rpc.Respond(nil, errFull)
			return
		}
		if w.holds != nil && w.settle(nil) {
			if term, ok := w.holds(cmd); ok {
				_, _ = io.Copy(io.Discard, rpc.Reader)
				rpc.Respond(&raft.InstallSnapshotResponse{Term: term, Success: true}, nil)
				return
			}
		}
		rpc = w.follow(rpc, cmd)
	case *raft.RequestVoteRequest:
		if w.vote != nil {
			rpc.Command = w.vote(cmd)
		}
	case *raft.RequestPreVoteRequest:
		if w.preVote != nil {
			if answer := w.preVote(cmd); answer != nil {
				rpc.Respond(answer, nil)
				return
			}
		}
	}
	select {
	case w.out <- rpc:
	case <-w.done:
	}
}

// follow reports a snapshot install before the leader hears of it and sends more.
func (w *wire) follow(rpc raft.RPC, cmd *raft.InstallSnapshotRequest) raft.RPC {
	back, answer := rpc.RespChan, make(chan raft.RPCResponse, 1)
	rpc.RespChan = answer
	w.wg.Go(func() {
		select {
		case r := <-answer:
			if resp, ok := r.Response.(*raft.InstallSnapshotResponse); ok && r.Error == nil && resp.Success && w.installs != nil {
				w.installs(cmd.LastLogIndex, cmd.LastLogTerm)
			}
			back <- r
		case <-w.done:
		}
	})
	return rpc
}

// inject gives raft a request as if a peer had sent it. It says whether raft took it.
func (w *wire) inject(cmd any, stop <-chan struct{}) bool {
	r, ok := w.ask(cmd, stop)
	return ok && r.Error == nil
}

// nothing is no request: raft refuses it for want of a header, before it looks at anything else.
type nothing struct{}

// settle waits until raft has done with the request before. What a request is compared with would
// otherwise be what was here before that one: entries that raft is just storing would be taken for
// missing, and be cleared by a snapshot after they were acknowledged; entries that a snapshot is just
// clearing would be taken for kept, and be acknowledged.
func (w *wire) settle(stop <-chan struct{}) bool {
	_, ok := w.ask(nothing{}, stop)
	return ok
}

// ask hands raft a request of this replica's own and returns its answer.
func (w *wire) ask(cmd any, stop <-chan struct{}) (r raft.RPCResponse, ok bool) {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case w.out <- raft.RPC{Command: cmd, RespChan: answer}:
	case <-stop:
		return r, false
	case <-w.done:
		return r, false
	}
	select {
	case r = <-answer:
		return r, true
	case <-stop:
		return r, false
	case <-w.done:
		return r, false
	}
}

// close ends the relay; the transport is closed by its owner.
func (w *wire) close() {
	close(w.done)
	w.wg.Wait()
}

// mute stops, or lets again, what makes followers believe in this leader.
func (w *wire) mute(on bool) { w.muted.Store(on) }

// refuseEntries stops, or lets again, what needs disk space.
func (w *wire) refuseEntries(on bool) { w.full.Store(on) }

// AppendEntries sends entries or a heartbeat unless muted.
func (w *wire) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if w.muted.Load() {
		return errMuted
	}
	if w.deposed(args) {
		return errDeposed
	}
	back := w.returns.next(id)
	floor, ok := w.acks.floor(id, args.Term)
	if !ok {
		if !isHeartbeat(args) {
			w.wait(back, id, args.Term)
		}
		return errForgetful
	}
	call := func() error {
		return w.called(id, to, func() error { return w.Transport.AppendEntries(id, to, args, resp) })
	}
	err := call()
	for isFull(err) && w.pauseFor(id, args.Term, spacePoll) {
		err = call()
	}
	if err != nil {
		if !isHeartbeat(args) {
			w.wait(back, id, args.Term)
		}
		return err
	}
	w.returns.heard(id)
	if w.proof(id, args, resp, floor) {
		return errForgetful
	}
	return nil
}

// proof takes an answer in and says whether it proves that the follower has lost what it acknowledged, which was at
// least floor when it was asked.
func (w *wire) proof(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, floor uint64) bool {
	_, fine := w.acks.floor(id, args.Term)
	if !w.acks.judge(id, args, resp, floor) {
		return false
	}
	if w.forgot != nil && fine {
		w.forgot(id, amnesiaNotice{string(id), args.Term, floor, resp.LastLog})
	}
	return true
}

// AppendEntriesPipeline starts a pipeline that obeys mute too.
func (w *wire) AppendEntriesPipeline(id raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	if w.muted.Load() {
		return nil, errMuted
	}
	p, err := w.Transport.AppendEntriesPipeline(id, to)
	if err != nil {
		return nil, err
	}
	return newPipeline(p, w, id), nil
}

// pipeline ends itself with the first answer that refuses entries. The library stops reading answers there,
// and may send once more before it notices: it would wait for ever then (hashicorp/raft #612), the follower
// would hear heartbeats and get no entry, and raft would neither stop nor be restarted.
type pipeline struct {
	raft.AppendPipeline
	w     *wire
	id    raft.ServerID
	known ack // what was acknowledged before the first request
	out   chan raft.AppendFuture
	over  chan struct{}
	end   sync.Once
}

func newPipeline(inner raft.AppendPipeline, w *wire, id raft.ServerID) *pipeline {
	p := &pipeline{AppendPipeline: inner, w: w, id: id, known: w.acks.of(id), out: make(chan raft.AppendFuture), over: make(chan struct{})}
	w.wg.Go(p.answers)
	return p
}

// answers passes answers on, up to the one that is the last.
func (p *pipeline) answers() {
	known := p.known
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			q := f.Request()
			if q.Term != known.term {
				known = ack{term: q.Term}
			}
			if p.w.proof(p.id, q, f.Response(), known.index) {
				_ = p.Close()
				return
			}
			if f.Response().Success { // requests of one pipeline are answered in their order
				known.index = max(known.index, reach(q))
			}
			last := !f.Response().Success || f.Response().Term > f.Request().Term
			select {
			case p.out <- f:
			case <-p.over:
				return
			}
			if last {
				_ = p.Close() // whoever sends is told
				return
			}
		case <-p.over:
			return
		}
	}
}

// Consumer is where raft reads answers.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close ends the pipeline; it may be called again.
func (p *pipeline) Close() error {
	p.end.Do(func() { close(p.over) })
	return p.AppendPipeline.Close()
}

// AppendEntries sends entries unless muted.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	switch {
	case p.w.muted.Load():
		return nil, errMuted
	case p.w.deposed(args):
		return nil, errDeposed
	}
	return p.AppendPipeline.AppendEntries(args, resp)
}

// RequestPreVote asks whether an election could be won; every transport in use knows it.
func (w *wire) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if t, ok := w.Transport.(raft.WithPreVote); ok {
		return w.called(id, to, func() error { return t.RequestPreVote(id, to, args, resp) })
	}
	return errors.New("unexpected command") // raft counts such a peer as willing
}

// RequestVote asks for a vote.
func (w *wire) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return w.called(id, to, func() error { return w.Transport.RequestVote(id, to, args, resp) })
}

// TimeoutNow tells another voter to stand.
func (w *wire) TimeoutNow(id raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return w.again(to, func() error { return w.Transport.TimeoutNow(id, to, args, resp) })
}

// called makes a call and takes note of how it ended.
func (w *wire) called(id raft.ServerID, to raft.ServerAddress, call func() error) error {
	err := w.again(to, call)
	w.absences.called(id, to, err)
	return err
}

// connsKept is how many connections to a replica the library keeps for the next calls.
const connsKept = 3

// anew makes a call again when the connection that the library kept for it has ended. It does not see that the
// process at the other end is another one since: a candidate would miss that vote, and the survivors of a dead leader
// need each other's. Raft takes the same request twice as it takes it once.
func anew(call func() error) error {
	err := call()
	for tries := 0; tries < connsKept && connEnded(err); tries++ {
		err = call()
	}
	return err
}

// again is anew, and makes a call once more after the other side has refused this replica as no member and has then
// been shown its admission.
func (w *wire) again(to raft.ServerAddress, call func() error) error {
	err := anew(call)
	if refusedAsStranger(err) && w.introduce != nil && w.introduce(to) {
		err = anew(call)
	}
	return err
}

// connEnded goes by what is said: the library's codec keeps no more of the error of a read.
func connEnded(err error) bool {
	return err != nil && slices.ContainsFunc([]error{io.EOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed},
		func(end error) bool { return strings.HasSuffix(err.Error(), end.Error()) })
}
