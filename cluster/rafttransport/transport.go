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
	errMuted = errors.New("muted: this replica makes no progress and must not lead")
	// errDiskFull is recognized by its text on the other side, so the text is part of the protocol.
	errDiskFull = errors.New("this replica's disk is full")
)

// Transport relays raft's requests. Its methods may be called from any goroutine.
type Transport struct {
	raft.Transport
	replica   Replica
	log       Log
	snapshots Snapshots
	logger    hclog.Logger

	out   chan raft.RPC // requests for raft
	done  chan struct{} // closed by Stop
	wg    sync.WaitGroup
	muted atomic.Bool
	full  atomic.Bool // entries and snapshots are refused: the disk is full

	acks     *ackTracker
	wakeups  followerWakeups
	absences *absences
	answers  *answers
	fast     bool // Config.HeartbeatFastPath
}

var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
)

// Config configures a Transport.
type Config struct {
	Transport raft.Transport // carries the requests
	Replica   Replica
	Log       Log
	Snapshots Snapshots
	Logger    hclog.Logger
	// HeartbeatFastPath keeps raft's heartbeat handler, for a simulation that shows its effect.
	HeartbeatFastPath bool
}

// New returns a Transport. It relays requests after Start.
func New(c Config) *Transport {
	tr := &Transport{Transport: c.Transport, replica: c.Replica, log: c.Log, snapshots: c.Snapshots, logger: c.Logger,
		fast: c.HeartbeatFastPath,
		out:  make(chan raft.RPC), done: make(chan struct{}), acks: newAckTracker(),
		wakeups: followerWakeups{waiting: map[raft.ServerID]chan struct{}{}}, absences: newAbsences(c.Logger),
		answers: newAnswers(c.Logger)}
	return tr
}

// Start starts to relay requests, until Stop.
func (tr *Transport) Start() { tr.wg.Go(tr.relay) }

// Consumer returns the channel from which raft reads requests.
func (tr *Transport) Consumer() <-chan raft.RPC { return tr.out }

// relay relays requests in order.
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

// deliver passes a request to raft, or answers it.
func (tr *Transport) deliver(rpc raft.RPC) {
	if err := tr.replica.Authorize(rpc.Command); err != nil {
		if rpc.Reader != nil {
			_, _ = io.Copy(io.Discard, rpc.Reader)
		}
		rpc.Respond(nil, err)
		return
	}
	tr.answers.request(rpc.Command)
	rpc, answered := tr.judge(rpc)
	if answered {
		return
	}
	select {
	case tr.out <- rpc:
	case <-tr.done:
	}
}

// judge returns the request for raft, or reports that it has answered the request.
func (tr *Transport) judge(rpc raft.RPC) (forRaft raft.RPC, answered bool) {
	switch q := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		return tr.judgeAppend(rpc, q)
	case *raft.InstallSnapshotRequest:
		return tr.judgeInstall(rpc, q)
	case *raft.RequestVoteRequest:
		rpc.Command = tr.judgeVote(q)
	case *raft.TimeoutNowRequest:
		if tr.muted.Load() {
			rpc.Respond(nil, errMuted)
			return rpc, true
		}
	case *raft.RequestPreVoteRequest:
		if answer := tr.answerPreVote(q); answer != nil {
			rpc.Respond(answer, nil)
			return rpc, true
		}
	}
	return rpc, false
}

// judgeAppend handles entries and heartbeats.
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

// judgeInstall handles a snapshot.
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

// reportInstall calls SnapshotInstalled before the answer goes to the leader, since the leader then
// sends more entries.
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

// Inject passes a request to raft as if a peer had sent it. It reports whether raft accepted it.
func (tr *Transport) Inject(cmd any, stop <-chan struct{}) bool {
	r, ok := tr.askRaft(cmd, stop)
	return ok && r.Error == nil
}

// barrierProbe is not a Raft request. Raft refuses it because it has no header, before it looks at
// anything else.
type barrierProbe struct{}

// AwaitServed waits until raft has served every earlier request. A decision that depends on the log
// must use the log after those requests. Otherwise entries that raft is storing would count as
// missing, and a snapshot would clear them after they were acknowledged. Or entries that a snapshot
// is clearing would count as stored, and be acknowledged.
func (tr *Transport) AwaitServed(stop <-chan struct{}) bool {
	_, ok := tr.askRaft(barrierProbe{}, stop)
	return ok
}

// askRaft passes a request of this replica to raft and returns the answer.
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

// Stop ends the relay. It leaves the inner transport open; the caller that opened it must close it.
func (tr *Transport) Stop() {
	close(tr.done)
	tr.wg.Wait()
}

// Mute stops or resumes entries, heartbeats and requests for votes, so that another replica is
// elected if this one makes no progress. A muted replica refuses to campaign for another one.
func (tr *Transport) Mute(on bool) { tr.muted.Store(on) }

// Muted reports whether this replica is muted.
func (tr *Transport) Muted() bool { return tr.muted.Load() }

// RefuseEntries starts or stops refusing requests that need disk space: entries and snapshots.
func (tr *Transport) RefuseEntries(on bool) { tr.full.Store(on) }

// AppendEntries sends entries or a heartbeat. It fails if this replica is muted or no longer leads,
// or if the follower is quarantined. A failed call with entries returns only when the follower may
// answer again (awaitFollower).
func (tr *Transport) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
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
			tr.answers.observe(id, errQuarantined)
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

// observeAnswer records an answer. It reports whether the answer proves that the follower has lost
// entries. floor is what the follower had acknowledged before the request.
func (tr *Transport) observeAnswer(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
	floor uint64) bool {
	_, fine := tr.acks.floor(id, args.Term)
	if !tr.acks.observe(id, args, resp, floor) {
		if resp.Success && len(args.Entries) > 0 {
			tr.answers.stored(id)
		}
		return false
	}
	if fine {
		tr.replica.LogRolledBack(id, Rollback{ServerID: string(id), Term: args.Term, Acknowledged: floor, Last: resp.LastLog})
	}
	return true
}

// RequestPreVote asks whether this replica could win an election. It fails if this replica is muted.
// Every transport in use supports it.
func (tr *Transport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestPreVoteRequest,
	resp *raft.RequestPreVoteResponse) error {
	if tr.muted.Load() {
		return errMuted
	}
	if t, ok := tr.Transport.(raft.WithPreVote); ok {
		return tr.call(id, to, func() error { return t.RequestPreVote(id, to, args, resp) })
	}
	return errors.New("unexpected command") // raft treats this error as a granted pre-vote
}

// RequestVote requests a vote. It fails if this replica is muted.
func (tr *Transport) RequestVote(id raft.ServerID, to raft.ServerAddress, args *raft.RequestVoteRequest,
	resp *raft.RequestVoteResponse) error {
	if tr.muted.Load() {
		return errMuted
	}
	return tr.call(id, to, func() error { return tr.Transport.RequestVote(id, to, args, resp) })
}

// TimeoutNow tells another voter to start an election.
func (tr *Transport) TimeoutNow(id raft.ServerID, to raft.ServerAddress, args *raft.TimeoutNowRequest,
	resp *raft.TimeoutNowResponse) error {
	return tr.retryIntroduced(to, func() error { return tr.Transport.TimeoutNow(id, to, args, resp) })
}

// call makes a call and records whether it was answered.
func (tr *Transport) call(id raft.ServerID, to raft.ServerAddress, call func() error) error {
	err := tr.retryIntroduced(to, call)
	tr.absences.observe(id, to, err)
	tr.answers.observe(id, err)
	return err
}

// retryIntroduced makes a call. If the other replica refuses this one as a non-member, it shows
// this replica's admission and makes the call once more.
func (tr *Transport) retryIntroduced(to raft.ServerAddress, call func() error) error {
	err := retryStale(call)
	if isNotMember(err) && tr.replica.Introduce(to) {
		err = retryStale(call)
	}
	return err
}

// InstallSnapshot sends a snapshot.
func (tr *Transport) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader) error {
	back := tr.wakeups.returned(id)
	err := tr.Transport.InstallSnapshot(id, to, args, resp, data)
	tr.absences.observe(id, to, err)
	tr.answers.observe(id, err)
	if err != nil {
		tr.awaitFollower(back, id, args.Term)
	} else if resp.Success {
		tr.answers.stored(id)
	}
	return err
}

// isHeartbeat reports whether a request is a heartbeat, which the library sends separately from
// entries (replication.go, heartbeat).
func isHeartbeat(q *raft.AppendEntriesRequest) bool {
	return q.PrevLogEntry == 0 && len(q.Entries) == 0
}

// lastIndexOf returns the last index up to which the log of a follower that accepts a request
// equals the leader's.
func lastIndexOf(q *raft.AppendEntriesRequest) uint64 { return q.PrevLogEntry + uint64(len(q.Entries)) }
