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
	statusWait    = 10 * time.Millisecond // for the others' status
	voteWait      = 60 * time.Millisecond // for votes to be counted, and for the status of a majority
	stagger       = 20 * time.Millisecond // between the ranks
	retryPause    = 15 * time.Millisecond
	slowestFactor = 16              // how many times longer later tries may take
	freshness     = 2 * time.Second // a status that is older does not count
)

// Replica is what a Succession asks about its own replica.
type Replica interface {
	Term() uint64
	State() raft.RaftState
	// LeaderID is the configured id of the leader that this replica follows, "" for none.
	// RaftLeader is raft's own word, which may be a replica that is no member here.
	LeaderID() string
	RaftLeader() raft.ServerID
	LastContact() time.Time
	Configuration() raft.Configuration
	// Tail is where the log ends.
	Tail() (index, term uint64)
	// StateIndex is the highest index whose effect is in the state.
	StateIndex() uint64
	// Header is raft's header of a request made here.
	Header() raft.RPCHeader
}

// Transport gives raft requests of this replica's own. *rafttransport.Transport is one.
type Transport interface {
	Inject(request any, stop <-chan struct{}) bool
	AwaitServed(stop <-chan struct{}) bool
}

// Caller asks another replica to start an election. Every raft.Transport is one.
type Caller interface {
	TimeoutNow(id raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest, a *raft.TimeoutNowResponse) error
}

// Peers exchanges status with the other replicas. *peer.Server of transport/peer is one.
type Peers interface {
	// LastStatus is what a replica told last, and when it arrived. StatusChanged is closed when the
	// next status of any replica arrives.
	LastStatus(id string) ([]byte, time.Time)
	StatusChanged() <-chan struct{}
	// SendStatus sends this replica's status at once.
	SendStatus()
}

// Config is what a Succession is made of.
type Config struct {
	Server    raft.ServerID // this replica
	Heartbeat time.Duration
	Replica   Replica
	Transport Transport
	Caller    Caller
	Peers     Peers // nil in a simulation without liveness connections
	Logger    hclog.Logger
	// Go runs a function beside the caller; the owner waits for it when it closes.
	Go func(func())
	// OnSuccessor is called with how long it took from the proof to the next known leader.
	OnSuccessor func(took time.Duration)
}

// Succession watches for the leader's death. Its methods may be called from any goroutine.
type Succession struct {
	cfg Config
	id  string // of this replica, as configured
	ctx context.Context

	mu         sync.Mutex
	electing   bool      // the search for a successor is under way
	deadTerm   uint64    // of the leader that is dead, 0 for none
	answered   time.Time // when status was last sent because another one believes the leader dead
	votingTerm uint64    // highest term in which another one asked for this replica's vote
	votingAt   time.Time
}

// New returns a Succession that ends with ctx.
func New(ctx context.Context, c Config) *Succession {
	id, _ := identity.Split(c.Server)
	return &Succession{cfg: c, id: id, ctx: ctx}
}

// VoteRequested records that another replica asks for a vote. Raft's term shows it only once raft
// has synced its answer.
func (s *Succession) VoteRequested(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term > s.votingTerm {
		s.votingTerm, s.votingAt = term, time.Now()
	}
}

// isVoting says whether another replica asked a moment ago for a vote in a later term: to campaign
// now would depose it.
func (s *Succession) isVoting(term uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.votingTerm > term && time.Since(s.votingAt) < stagger
}

// Status is this replica's status for the others.
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
		p.HearsLeader = p.DeadLeaderTerm == 0 && !electing && s.cfg.Replica.RaftLeader() != "" && time.Since(s.cfg.Replica.LastContact()) < s.cfg.Heartbeat
	}
	return p
}

// StatusOf is what another replica told last.
func (s *Succession) StatusOf(server raft.ServerID) PeerStatus {
	if s.cfg.Peers == nil {
		return PeerStatus{}
	}
	id, _ := identity.Split(server)
	p, _, _ := s.lastStatus(id)
	return p
}

// lastStatus is what another replica told last, and when it arrived.
func (s *Succession) lastStatus(id string) (p PeerStatus, at time.Time, ok bool) {
	b, at := s.cfg.Peers.LastStatus(id)
	p, ok = DecodeStatus(b)
	return p, at, ok
}

// ProcessDead is called with proof that a replica's process has ended. Only a voter that follows
// this replica as its leader acts on it.
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

// isVoter says whether this replica votes.
func (s *Succession) isVoter() bool {
	return slices.ContainsFunc(s.cfg.Replica.Configuration().Servers, func(v raft.Server) bool {
		return v.ID == s.cfg.Server && v.Suffrage == raft.Voter
	})
}

// LeadershipChanged takes in each leadership that raft knows.
func (s *Succession) LeadershipChanged(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term > s.deadTerm {
		s.deadTerm = 0
	}
}

// electSuccessor tries to make this replica the successor of a dead leader, or sees another one
// become it. Safety is raft's own: each try is an ordinary election.
func (s *Succession) electSuccessor(leader string, term uint64) {
	start := time.Now()
	defer func() {
		s.mu.Lock()
		s.electing = false
		s.mu.Unlock()
	}()
	s.cfg.Logger.Warn("the leader's process is dead: campaigning without waiting for timeouts", "leader", leader, "term", term)
	s.announceDeath(term)
	s.awaitStatus(leader, term, start)
	// What a try is given doubles with each that came to nothing: on a machine or disk that needs
	// longer for a vote than the first one waits, the survivors would end each other's elections
	// until the search is over.
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
		if s.peerSeesLeader(leader, term, start) { // until it tells otherwise, which is most often a moment later
			s.awaitChange(changed, retryPause)
			continue
		}
		before, ranking := s.cfg.Replica.Term(), s.ranking(leader, term)
		mine := slices.Index(ranking, s.id)
		if s.awaitNewLeader(term, slower*time.Duration(mine)*stagger) {
			continue
		}
		switch {
		case s.cfg.Replica.Term() != before || s.isVoting(before): // another one campaigns
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

// announceDeath tells the others that the leader of a term is dead, and where this log ends for
// good: what the leader has sent is stored first. Otherwise each survivor could compare its own log
// as it is with the others' as they were before the last entry, and take its own for the longest.
func (s *Succession) announceDeath(term uint64) {
	s.cfg.Transport.AwaitServed(s.ctx.Done())
	s.mu.Lock()
	s.deadTerm = term
	s.mu.Unlock()
	s.cfg.Peers.SendStatus()
}

// retractDeath believes again in a leader that has told, since the proof, that it leads in this
// very term: the proof was of an earlier process of it, or a firewall's. Otherwise this replica
// would call it dead until the next term.
func (s *Succession) retractDeath(term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadTerm == term {
		s.deadTerm = 0
	}
}

// hasNewLeader says that somebody leads after the dead leader; that may be the same replica,
// started again. Raft forgets the old leader before it raises the term.
func (s *Succession) hasNewLeader(term uint64) bool {
	if s.cfg.Replica.Term() <= term {
		return false
	}
	return s.cfg.Replica.LeaderID() != "" || s.cfg.Replica.State() == raft.Leader
}

// peerSeesLeader says that another voter has told, since the proof, that it still hears this
// leader: then the proof may be a firewall's, and raft's own timers decide.
func (s *Succession) peerSeesLeader(leader string, term uint64, start time.Time) bool {
	return slices.ContainsFunc(s.otherVoters(leader), func(id string) bool { return s.hearsLeaderSince(id, term, start) })
}

// hearsLeaderSince says that a replica has told, since the proof, that it leads in a term or hears
// that term's leader.
func (s *Succession) hearsLeaderSince(id string, term uint64, start time.Time) bool {
	p, at, ok := s.lastStatus(id)
	return ok && at.After(start) && p.HearsLeader && p.Term == term
}

// AnswerDoubts runs until the Succession ends. It answers those who believe the leader dead while
// this replica still hears it.
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

// answerDoubt sends this replica's status, at most once per retryPause.
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
