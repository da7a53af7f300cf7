package rafttransport

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

var (
	errMuted = errors.New("muted: this replica's disk hangs")
	// errDiskFull is recognized by its text on the other side: the text is part of the wire.
	errDiskFull = errors.New("this replica's disk is full")
)

// Transport relays raft's requests. Its methods may be called from any goroutine.
type Transport struct {
	raft.Transport
	replica   Replica
	log       Log
	snapshots Snapshots
	logger    hclog.Logger

	out   chan raft.RPC // to raft
	done  chan struct{} // closed by Stop
	wg    sync.WaitGroup
	muted atomic.Bool
	full  atomic.Bool // entries are refused: the disk is full

	acks     *ackTracker
	wakeups  followerWakeups
	absences *absences
	fast     bool // Config.HeartbeatFastPath
}

var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
)

// Config is what a transport is made of.
type Config struct {
	Transport raft.Transport // carries the requests
	Replica   Replica
	Log       Log
	Snapshots Snapshots
	Logger    hclog.Logger
	// HeartbeatFastPath keeps raft's heartbeat handler, for a simulation that shows what it does.
	HeartbeatFastPath bool
}

// New returns a transport that relays from Start on.
func New(c Config) *Transport {
	tr := &Transport{Transport: c.Transport, replica: c.Replica, log: c.Log, snapshots: c.Snapshots, logger: c.Logger, fast: c.HeartbeatFastPath,
		out: make(chan raft.RPC), done: make(chan struct{}), acks: newAckTracker(),
		wakeups: followerWakeups{waiting: map[raft.ServerID]chan struct{}{}}, absences: newAbsences(c.Logger)}
	return tr
}

// Start relays requests until Stop.
func (tr *Transport) Start() { tr.wg.Go(tr.relay) }

// Consumer is where raft reads requests.
func (tr *Transport) Consumer() <-chan raft.RPC { return tr.out }

// relay passes requests on in order.
func (tr *Transport) relay() {
	for {
		select {
		case rpc := <-tr.Transport.Consumer():
			tr.deliver(rpc)
		case <-tr.done:
			return
		}
	}
}

// deliver hands one request to raft, or answers it here.
func (tr *Transport) deliver(rpc raft.RPC) {
	if err := tr.replica.Authorize(rpc.Command); err != nil {
		if rpc.Reader != nil {
			_, _ = io.Copy(io.Discard, rpc.Reader)
		}
		rpc.Respond(nil, err)
		return
	}
	rpc, answered := tr.judge(rpc)
	if answered {
		return
	}
	select {
	case tr.out <- rpc:
	case <-tr.done:
	}
}

// judge returns the request as raft may see it, or says that it was answered.
func (tr *Transport) judge(rpc raft.RPC) (forRaft raft.RPC, answered bool) {
	switch q := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		return tr.judgeAppend(rpc, q)
	case *raft.InstallSnapshotRequest:
		return tr.judgeInstall(rpc, q)
	case *raft.RequestVoteRequest:
		rpc.Command = tr.judgeVote(q)
	case *raft.RequestPreVoteRequest:
		if answer := tr.answerPreVote(q); answer != nil {
			rpc.Respond(answer, nil)
			return rpc, true
		}
	}
	return rpc, false
}

// judgeAppend judges entries and heartbeats.
func (tr *Transport) judgeAppend(rpc raft.RPC, q *raft.AppendEntriesRequest) (forRaft raft.RPC, answered bool) {
	switch {
	case tr.full.Load() && len(q.Entries) > 0:
		rpc.Respond(nil, errDiskFull)
		return rpc, true
	case hasLaterTerm(q):
		rpc.Respond(nil, errDeposed)
		return rpc, true
	}
	q = limitCommit(q)
	if tr.precedesSnapshot(q) != nil && tr.AwaitServed(nil) {
		var answer *raft.AppendEntriesResponse
		if q, answer = tr.trimAppend(q); answer != nil {
			rpc.Respond(answer, nil)
			return rpc, true
		}
	}
	rpc.Command = q
	return rpc, false
}

// judgeInstall judges a snapshot.
func (tr *Transport) judgeInstall(rpc raft.RPC, q *raft.InstallSnapshotRequest) (forRaft raft.RPC, answered bool) {
	if tr.full.Load() {
		_, _ = io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(nil, errDiskFull)
		return rpc, true
	}
	if tr.AwaitServed(nil) {
		if term, ok := tr.coversSnapshot(q); ok {
			_, _ = io.Copy(io.Discard, rpc.Reader)
			rpc.Respond(&raft.InstallSnapshotResponse{Term: term, Success: true}, nil)
			return rpc, true
		}
	}
	return tr.reportInstall(rpc, q), false
}

// reportInstall reports an installed snapshot before the answer goes to the leader, which sends
// more then.
func (tr *Transport) reportInstall(rpc raft.RPC, cmd *raft.InstallSnapshotRequest) raft.RPC {
	back, answer := rpc.RespChan, make(chan raft.RPCResponse, 1)
	rpc.RespChan = answer
	tr.wg.Go(func() {
		select {
		case r := <-answer:
			if resp, ok := r.Response.(*raft.InstallSnapshotResponse); ok && r.Error == nil && resp.Success {
				tr.replica.SnapshotInstalled(cmd.LastLogIndex, cmd.LastLogTerm)
			}
			back <- r
		case <-tr.done:
		}
	})
	return rpc
}

// Inject gives raft a request as if a peer had sent it. It says whether raft took it.
func (tr *Transport) Inject(cmd any, stop <-chan struct{}) bool {
	r, ok := tr.askRaft(cmd, stop)
	return ok && r.Error == nil
}

// barrierProbe is no request of Raft's: raft refuses it for want of a header, before it looks at
// anything else.
type barrierProbe struct{}

// AwaitServed waits until raft has served every request before this call. A request that is judged
// by the log must be judged by the log after those: otherwise entries that raft is storing would be
// taken for missing, and a snapshot would clear them after they were acknowledged; or entries that
// a snapshot is clearing would be taken for stored, and be acknowledged.
func (tr *Transport) AwaitServed(stop <-chan struct{}) bool {
	_, ok := tr.askRaft(barrierProbe{}, stop)
	return ok
}

// askRaft hands raft a request of this replica's own and returns its answer.
func (tr *Transport) askRaft(cmd any, stop <-chan struct{}) (r raft.RPCResponse, ok bool) {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case tr.out <- raft.RPC{Command: cmd, RespChan: answer}:
	case <-stop:
		return r, false
	case <-tr.done:
		return r, false
	}
	select {
	case r = <-answer:
		return r, true
	case <-stop:
		return r, false
	case <-tr.done:
		return r, false
	}
}

// Stop ends the relay. It leaves the inner transport open; the caller that opened it closes it.
func (tr *Transport) Stop() {
	close(tr.done)
	tr.wg.Wait()
}

// Mute stops or resumes entries and heartbeats, so that followers leave a leader whose disk hangs.
func (tr *Transport) Mute(on bool) { tr.muted.Store(on) }

// Muted says whether this replica is muted.
func (tr *Transport) Muted() bool { return tr.muted.Load() }

// RefuseEntries starts or stops refusing what needs disk space: entries and snapshots.
func (tr *Transport) RefuseEntries(on bool) { tr.full.Store(on) }

// AppendEntries sends entries or a heartbeat unless muted.
func (tr *Transport) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if tr.muted.Load() {
		return errMuted
	}
	if tr.isDeposed(args) {
		return errDeposed
	}
	back := tr.wakeups.returned(id)
	floor, ok := tr.acks.floor(id, args.Term)
	if !ok {
		if !isHeartbeat(args) {
			tr.awaitFollower(back, id, args.Term)
		}
		return errQuarantined
	}
	call := func() error {
		return tr.call(id, to, func() error { return tr.Transport.AppendEntries(id, to, args, resp) })
	}
	err := call()
	for isDiskFull(err) && tr.mayRetryAfter(id, args.Term, fullDiskPoll) {
		err = call()
	}
	if err != nil {
		if !isHeartbeat(args) {
			tr.awaitFollower(back, id, args.Term)
		}
		return err
	}
	tr.wakeups.wake(id)
	if tr.observeAnswer(id, args, resp, floor) {
		return errQuarantined
	}
	return nil
}

// observeAnswer takes an answer in. It says whether the answer proves that the follower has lost
// entries: it had acknowledged at least floor when it was asked.
func (tr *Transport) observeAnswer(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, floor uint64) bool {
	_, fine := tr.acks.floor(id, args.Term)
	if !tr.acks.observe(id, args, resp, floor) {
		return false
	}
	if fine {
		tr.replica.LogRolledBack(id, Rollback{ServerID: string(id), Term: args.Term, Acknowledged: floor, Last: resp.LastLog})
	}
	return true
}

// RequestPreVote asks whether an election could be won; every transport in use knows it.
func (tr *Transport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if t, ok := tr.Transport.(raft.WithPreVote); ok {
		return tr.call(id, to, func() error { return t.RequestPreVote(id, to, args, resp) })
	}
	return errors.New("unexpected command") // raft counts such a peer as willing
}

// RequestVote asks for a vote.
func (tr *Transport) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return tr.call(id, to, func() error { return tr.Transport.RequestVote(id, to, args, resp) })
}

// TimeoutNow tells another voter to start an election.
func (tr *Transport) TimeoutNow(id raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return tr.retryIntroduced(to, func() error { return tr.Transport.TimeoutNow(id, to, args, resp) })
}

// call makes a call and observes whether it was answered.
func (tr *Transport) call(id raft.ServerID, to raft.ServerAddress, call func() error) error {
	err := tr.retryIntroduced(to, call)
	tr.absences.observe(id, to, err)
	return err
}

// retryIntroduced makes a call. When the other replica refuses this one as no member, it shows its
// admission and makes the call once more.
func (tr *Transport) retryIntroduced(to raft.ServerAddress, call func() error) error {
	err := retryStale(call)
	if isNotMember(err) && tr.replica.Introduce(to) {
		err = retryStale(call)
	}
	return err
}

// InstallSnapshot sends a snapshot.
func (tr *Transport) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	back := tr.wakeups.returned(id)
	err := tr.Transport.InstallSnapshot(id, to, args, resp, data)
	tr.absences.observe(id, to, err)
	if err != nil {
		tr.awaitFollower(back, id, args.Term)
	}
	return err
}

// isHeartbeat says whether a request is one of those that the library sends beside the entries
// (replication.go, heartbeat).
func isHeartbeat(q *raft.AppendEntriesRequest) bool {
	return q.PrevLogEntry == 0 && len(q.Entries) == 0
}

// lastIndexOf is the index up to which a follower that takes a request has the same log as its
// leader.
func lastIndexOf(q *raft.AppendEntriesRequest) uint64 { return q.PrevLogEntry + uint64(len(q.Entries)) }
