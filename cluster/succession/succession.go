package succession

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
)

const (
	statusWait    = 10 * time.Millisecond // wait for the others' status
	voteWait      = 60 * time.Millisecond // wait until votes are counted, and for the status of a majority
	stagger       = 20 * time.Millisecond // what a replica leaves to one that may be dead
	retryPause    = 15 * time.Millisecond
	slowestFactor = 16              // limit of the factor by which later tries take longer
	freshness     = 2 * time.Second // an older status does not count
)

// Replica gives a Succession access to its own replica.
type Replica interface {
	Term() uint64
	State() raft.RaftState
	// LeaderID returns the configured id of the leader that this replica follows, "" for none.
	// RaftLeader returns raft's leader, which may be a replica that is not a member here.
	LeaderID() string
	RaftLeader() raft.ServerID
	LastContact() time.Time
	Configuration() raft.Configuration
	// Tail returns the index and the term of the last log entry.
	Tail() (index, term uint64)
	// StateIndex returns the highest index whose effect is in the state.
	StateIndex() uint64
	// Header returns raft's header for a request of this replica.
	Header() raft.RPCHeader
}

// Transport passes requests of this replica itself to raft. *rafttransport.Transport implements it.
type Transport interface {
	Inject(request any, stop <-chan struct{}) bool
	AwaitServed(stop <-chan struct{}) bool
}

// Caller asks another replica to start an election. Every raft.Transport implements it.
type Caller interface {
	TimeoutNow(id raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest, a *raft.TimeoutNowResponse) error
}

// Peers exchanges statuses with the other replicas. *peer.Server of transport/peer implements it.
type Peers interface {
	// LastStatus returns the last status of a replica and when it arrived. StatusChanged returns a
	// channel that is closed when the next status of any replica arrives.
	LastStatus(id string) ([]byte, time.Time)
	StatusChanged() <-chan struct{}
	// SendStatus sends this replica's status immediately.
	SendStatus()
}

// Config configures a Succession.
type Config struct {
	Server    raft.ServerID // this replica
	Heartbeat time.Duration
	Replica   Replica
	Transport Transport
	Caller    Caller
	Peers     Peers // nil in a simulation without liveness connections
	Logger    hclog.Logger
	// Go runs a function in a goroutine for which the owner waits when it closes.
	Go func(func())
	// OnSuccessor is called with the time from the proof of death until the next leader is known.
	OnSuccessor func(took time.Duration)
}

// Succession detects the leader's death and starts an election. Its methods may be called from any
// goroutine.
type Succession struct {
	cfg Config
	id  string // the configured id of this replica
	ctx context.Context

	mu         sync.Mutex
	electing   bool      // electSuccessor is running
	deadTerm   uint64    // term of the dead leader, 0 for none
	answered   time.Time // when the status was last sent because another replica believes the leader dead
	votingTerm uint64    // highest term in which another replica requested this replica's vote
	votingAt   time.Time
}

// New returns a Succession that ends with ctx.
func New(ctx context.Context, c Config) *Succession {
	id, _ := identity.Split(c.Server)
	return &Succession{cfg: c, id: id, ctx: ctx}
}

// VoteRequested records that another replica requests a vote in a term. Raft's own term shows this
// only after raft has synced its answer.
func (s *Succession) VoteRequested(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term > s.votingTerm {
		s.votingTerm, s.votingAt = term, time.Now()
	}
}

// isVoting reports whether another replica requested a vote in a later term a moment ago. A
// campaign now would depose that replica.
func (s *Succession) isVoting(term uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.votingTerm > term && time.Since(s.votingAt) < stagger
}

// Status returns this replica's status.
func (s *Succession) Status() PeerStatus {
	last, lastTerm := s.cfg.Replica.Tail()
	p := PeerStatus{Term: s.cfg.Replica.Term(), LastTerm: lastTerm, LastIndex: last, Applied: s.cfg.Replica.StateIndex()}
	s.mu.Lock()
	electing := s.electing
	if s.deadTerm == p.Term {
		p.DeadLeaderTerm = s.deadTerm
	}
	s.mu.Unlock()
	switch s.cfg.Replica.State() {
	case raft.Leader:
		p.HearsLeader = true
	case raft.Follower:
		p.HearsLeader = p.DeadLeaderTerm == 0 && !electing && s.cfg.Replica.RaftLeader() != "" &&
			time.Since(s.cfg.Replica.LastContact()) < s.cfg.Heartbeat
	}
	return p
}

// StatusOf returns the last status of another replica, or the zero value.
func (s *Succession) StatusOf(server raft.ServerID) PeerStatus {
	if s.cfg.Peers == nil {
		return PeerStatus{}
	}
	id, _ := identity.Split(server)
	p, _, _ := s.lastStatus(id)
	return p
}

// HeardAt returns when the last status of another replica arrived, or zero.
func (s *Succession) HeardAt(server raft.ServerID) time.Time {
	if s.cfg.Peers == nil {
		return time.Time{}
	}
	id, _ := identity.Split(server)
	_, at, _ := s.lastStatus(id)
	return at
}

// lastStatus returns the last status of another replica and when it arrived.
func (s *Succession) lastStatus(id string) (p PeerStatus, at time.Time, ok bool) {
	b, at := s.cfg.Peers.LastStatus(id)
	p, ok = DecodeStatus(b)
	return p, at, ok
}

// ProcessDead is called with proof that a replica's process has ended. This replica acts on it only
// if it is a voter and follows that replica as its leader.
func (s *Succession) ProcessDead(id string) {
	term := s.cfg.Replica.Term()
	if s.cfg.Replica.LeaderID() != id || s.cfg.Replica.State() != raft.Follower || !s.isVoter() {
		return
	}
	s.mu.Lock()
	electing := s.electing
	s.electing = true
	s.mu.Unlock()
	if !electing {
		s.cfg.Go(func() { s.electSuccessor(id, term) })
	}
}

// isVoter reports whether this replica is a voter.
func (s *Succession) isVoter() bool {
	return slices.ContainsFunc(s.cfg.Replica.Configuration().Servers, func(v raft.Server) bool {
		return v.ID == s.cfg.Server && v.Suffrage == raft.Voter
	})
}

// LeadershipChanged is called with the term of each new leadership.
func (s *Succession) LeadershipChanged(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term > s.deadTerm {
		s.deadTerm = 0
	}
}

// electSuccessor tries to make this replica the successor of a dead leader, until there is a new
// leader. Safety is Raft's: each try is an ordinary election.
func (s *Succession) electSuccessor(leader string, term uint64) {
	start := time.Now()
	defer func() {
		s.mu.Lock()
		s.electing = false
		s.mu.Unlock()
	}()
	s.cfg.Logger.Warn("the leader's process is dead: campaigning without waiting for timeouts", "leader",
		leader, "term", term)
	s.announceDeath(term)
	s.awaitStatus(leader, term, start)
	// The time for a try doubles after each failed try. On a slow machine or disk a vote may take
	// longer than voteWait. Without doubling, the survivors would interrupt each other's elections
	// until the search ends.
	slower := time.Duration(1)
	for deadline := start.Add(3 * s.cfg.Heartbeat); time.Now().Before(deadline) && s.ctx.Err() == nil; {
		changed := s.cfg.Peers.StatusChanged()
		if s.hasNewLeader(term) {
			s.cfg.OnSuccessor(time.Since(start))
			return
		}
		if s.hearsLeaderSince(leader, term, start) {
			s.retractDeath(term)
			return
		}
		if s.peerSeesLeader(leader, term, start) { // until its status changes, mostly a moment later
			s.awaitChange(changed, retryPause)
			continue
		}
		before, ranking := s.cfg.Replica.Term(), s.ranking(leader, term)
		mine := slices.Index(ranking, s.id)
		if s.awaitNewLeader(term, slower*s.turn(ranking[:mine], term)) {
			continue
		}
		switch {
		case s.cfg.Replica.Term() != before || s.isVoting(before): // another replica campaigns
		case mine > 0 && slower > 1:
			s.requestElectionOf(ranking[0])
		default:
			s.Campaign()
		}
		if !s.awaitNewLeader(term, slower*voteWait) {
			s.pause(slower * (retryPause + rand.N(2*retryPause)))
			slower = min(2*slower, slowestFactor)
		}
	}
}

// announceDeath tells the others that the leader of a term is dead, and where this log ends. It
// first waits until everything that the leader has sent is stored, so that this end is final.
// Otherwise each survivor might compare its current log with the others' older ones, and take its
// own for the longest.
func (s *Succession) announceDeath(term uint64) {
	s.cfg.Transport.AwaitServed(s.ctx.Done())
	s.mu.Lock()
	s.deadTerm = term
	s.mu.Unlock()
	s.cfg.Peers.SendStatus()
}

// retractDeath withdraws the death of a leader that has reported, since the proof, that it leads in
// this term: a firewall or an earlier process of that replica caused the proof. Without
// retractDeath this replica would call the leader dead until the next term.
func (s *Succession) retractDeath(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadTerm == term {
		s.deadTerm = 0
	}
}

// hasNewLeader reports whether there is a leader in a later term. It may be the same replica after
// a restart. Raft forgets the old leader before it raises the term.
func (s *Succession) hasNewLeader(term uint64) bool {
	if s.cfg.Replica.Term() <= term {
		return false
	}
	return s.cfg.Replica.LeaderID() != "" || s.cfg.Replica.State() == raft.Leader
}

// peerSeesLeader reports whether another voter has reported, since the proof, that it still hears
// this leader. Then a firewall may have caused the proof, and raft's own timers decide.
func (s *Succession) peerSeesLeader(leader string, term uint64, start time.Time) bool {
	return slices.ContainsFunc(s.otherVoters(leader), func(id string) bool { return s.hearsLeaderSince(id, term, start) })
}

// hearsLeaderSince reports whether a replica has reported, since the proof, that it leads in a term
// or hears that term's leader.
func (s *Succession) hearsLeaderSince(id string, term uint64, start time.Time) bool {
	p, at, ok := s.lastStatus(id)
	return ok && at.After(start) && p.HearsLeader && p.Term == term
}

// AnswerDoubts runs until the Succession ends. It sends this replica's status to replicas that
// believe the leader dead while this replica still hears it.
func (s *Succession) AnswerDoubts() {
	for {
		changed := s.cfg.Peers.StatusChanged()
		s.answerDoubt()
		select {
		case <-changed:
		case <-s.ctx.Done():
			return
		}
	}
}

// answerDoubt sends the status if another replica doubts the leader, at most once per retryPause.
func (s *Succession) answerDoubt() {
	term := s.cfg.Replica.Term()
	for _, v := range s.cfg.Replica.Configuration().Servers {
		if s.StatusOf(v.ID).DeadLeaderTerm != term || term == 0 {
			continue
		}
		hears := s.Status().HearsLeader
		s.mu.Lock()
		due := hears && time.Since(s.answered) >= retryPause
		if due {
			s.answered = time.Now()
		}
		s.mu.Unlock()
		if due {
			s.cfg.Peers.SendStatus()
		}
		return
	}
}
