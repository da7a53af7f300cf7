package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"

	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// autopilotRunner runs raft-autopilot while this replica leads. Autopilot judges health, promotes non-voters
// that joined as future voters and, if configured, removes dead replicas.
type autopilotRunner struct {
	*local.Replica
	survey  *survey
	changes *changes
	ap      *autopilot.Autopilot
	want    chan bool   // the newest value: whether this replica leads
	failed  atomic.Bool // a change has failed since the last round

	removing atomic.Bool // a dead replica is being removed

	mu    sync.Mutex
	seen  map[raft.ServerID]time.Time
	infos map[raft.ServerID]info
	state *autopilot.State
}

// Health is autopilot's judgment. Only the leader has one.
type Health struct {
	Known            bool           `json:"known"`
	Healthy          bool           `json:"healthy"`
	FailureTolerance int            `json:"failure_tolerance"`
	Servers          []ServerHealth `json:"servers"`
}

// ServerHealth is autopilot's judgment of one replica.
type ServerHealth struct {
	ID          string        `json:"id"`
	Healthy     bool          `json:"healthy"`
	StableSince time.Time     `json:"stable_since"`
	LastContact time.Duration `json:"last_contact"`
	LastIndex   uint64        `json:"last_index"`
}

func newAutopilotRunner(c *local.Replica, survey *survey, changes *changes) *autopilotRunner {
	p := &autopilotRunner{Replica: c, survey: survey, changes: changes, want: make(chan bool, 1),
		seen: map[raft.ServerID]time.Time{}}
	p.ap = autopilot.New(autopilotRaft{p}, p, autopilot.WithLogger(c.Log),
		autopilot.WithPromoter(promoter{StablePromoter: &autopilot.StablePromoter{}, p: p}),
		autopilot.WithUpdateInterval(c.Config.Autopilot.Interval),
		autopilot.WithReconcileInterval(c.Config.Autopilot.Interval))
	return p
}

// follow tells autopilot whether this replica leads.
func (p *autopilotRunner) follow(leads bool) {
	select {
	case <-p.want:
	default:
	}
	select {
	case p.want <- leads:
	default:
	}
}

// run starts autopilot when this replica becomes leader, and stops it when leadership ends.
func (p *autopilotRunner) run() {
	on := false
	for {
		select {
		case leads := <-p.want:
			if leads && !on {
				p.forget()
				p.ap.Start(p.Context)
			} else if !leads && on {
				<-p.ap.Stop()
				_ = p.Jobs.Autopilot.Done(nil) // it is the next leader's
			}
			on = leads
		case <-p.Context.Done():
			if on {
				<-p.ap.Stop()
			}
			return
		}
	}
}

// forget drops the observations of an earlier leadership.
func (p *autopilotRunner) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.seen)
	p.state = nil
}

// AutopilotConfig returns the settings in force.
func (c *Cluster) AutopilotConfig() AutopilotConfig { return c.core.AutopilotSettings() }

// CheckAutopilot returns a refusal if settings are out of range. It ignores Interval.
func (c *changes) CheckAutopilot(conf AutopilotConfig) error {
	conf.Interval = c.Config.Autopilot.Interval
	if err := conf.Validate(); err != nil {
		return refusal.New(refusal.OutOfRange, "see \"rmd autopilot get\"", "%v", err)
	}
	return nil
}

// Health returns autopilot's judgment. Known is false on followers and shortly after an election.
func (c *Cluster) Health() Health { return c.autopilot.health() }

func (p *autopilotRunner) health() Health {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil || !p.IsLeader() {
		return Health{}
	}
	h := Health{Known: true, Healthy: p.state.Healthy, FailureTolerance: p.state.FailureTolerance}
	for _, s := range p.Configuration().Servers {
		if v := p.state.Servers[s.ID]; v != nil {
			id, _ := identity.Split(s.ID)
			h.Servers = append(h.Servers, ServerHealth{ID: id, Healthy: v.Health.Healthy, StableSince: v.Health.StableSince,
				LastContact: v.Stats.LastContact, LastIndex: v.Stats.LastIndex})
		}
	}
	return h
}

// AutopilotConfig returns the settings in the library's form.
func (p *autopilotRunner) AutopilotConfig() *autopilot.Config {
	a := p.AutopilotSettings()
	return &autopilot.Config{CleanupDeadServers: a.CleanupDeadServers, LastContactThreshold: a.LastContactThreshold,
		MaxTrailingLogs: a.MaxTrailingLogs, MinQuorum: a.MinQuorum, ServerStabilizationTime: a.ServerStabilizationTime}
}

// changed records the outcome of a change. It returns err.
func (p *autopilotRunner) changed(err error) error {
	if err != nil {
		p.failed.Store(true)
	}
	return p.Jobs.Autopilot.Done(err)
}

// NotifyState stores the newest judgment. A round without a failed change is a success.
func (p *autopilotRunner) NotifyState(s *autopilot.State) {
	if !p.failed.Swap(false) {
		_ = p.changed(nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
}

// KnownServers asks all members, once per round. A member that does not answer counts as alive
// until DeadServerLastContactThreshold has passed, so that a reboot does not remove it.
func (p *autopilotRunner) KnownServers() map[raft.ServerID]*autopilot.Server {
	conf := p.Configuration()
	infos := p.survey.askAll(conf)
	self := p.Identity().ServerID()
	dead := p.AutopilotSettings().DeadServerLastContactThreshold
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.infos = infos
	out := map[raft.ServerID]*autopilot.Server{}
	for _, s := range conf.Servers {
		id, _ := identity.Split(s.ID)
		if _, ok := infos[s.ID]; ok || p.seen[s.ID].IsZero() {
			p.seen[s.ID] = now
		}
		status := autopilot.NodeAlive
		if now.Sub(p.seen[s.ID]) > dead {
			status = autopilot.NodeFailed
		}
		out[s.ID] = &autopilot.Server{ID: s.ID, Name: id, Address: s.Address, NodeStatus: status, NodeType: nodeType(s),
			Version: infos[s.ID].Version, RaftVersion: raft.ProtocolVersionMax, IsLeader: s.ID == self}
	}
	return out
}

// nodeType returns the type from which the library counts the voters, for min_quorum and for the
// number of voters that it may remove. The library's own promoter sets it only in the state that it
// shows.
func nodeType(s raft.Server) autopilot.NodeType {
	if s.Suffrage == raft.Voter {
		return autopilot.NodeVoter
	}
	return ""
}

// FetchServerStats returns the answers of the round in the library's form.
func (p *autopilotRunner) FetchServerStats(_ context.Context,
	servers map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[raft.ServerID]*autopilot.ServerStats{}
	for id := range servers {
		if i, ok := p.infos[id]; ok {
			out[id] = &autopilot.ServerStats{LastContact: i.LastContact, LastTerm: i.LastTerm, LastIndex: i.LastIndex}
		} else {
			out[id] = &autopilot.ServerStats{LastContact: -1}
		}
	}
	return out
}

// RemoveFailedServer removes a dead replica. The library has already checked the quorum. While a
// removal runs, it ignores further calls: the library repeats them in its next round, with the
// membership of that time.
func (p *autopilotRunner) RemoveFailedServer(s *autopilot.Server) {
	if !p.removing.CompareAndSwap(false, true) {
		return
	}
	p.Go(func() {
		defer p.removing.Store(false)
		p.Log.Info("autopilot removes a dead replica", "replica", s.Name)
		if err := p.changed(p.changes.Remove(string(s.ID), false)); err != nil {
			p.Log.Warn("cannot remove a dead replica", "replica", s.Name, "error", err)
		}
	})
}

// promoter promotes only replicas that joined as future voters, and always waits for the
// stabilization time. The library's promoter skips this time right after an election.
type promoter struct {
	*autopilot.StablePromoter
	p *autopilotRunner
}

// CalculatePromotionsAndDemotions returns the replicas to promote.
func (r promoter) CalculatePromotionsAndDemotions(conf *autopilot.Config,
	state *autopilot.State) autopilot.RaftChanges {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	var changes autopilot.RaftChanges
	room := ReplicasMax - len(state.Voters)
	for _, s := range r.p.Configuration().Servers { // in the order of the membership, which is the same on all replicas
		v := state.Servers[s.ID]
		if v == nil || v.State != autopilot.RaftNonVoter || room <= 0 || r.p.infos[s.ID].Identity.Role != identity.RoleVoter {
			continue
		}
		if v.Health.IsStable(time.Now(), conf.ServerStabilizationTime) {
			changes.Promotions = append(changes.Promotions, s.ID)
			room--
		}
	}
	return changes
}

// autopilotRaft passes the library's calls on to the running raft, which a restart in place replaces.
type autopilotRaft struct{ c *autopilotRunner }

func (r autopilotRaft) AddNonvoter(id raft.ServerID, a raft.ServerAddress, prev uint64,
	t time.Duration) raft.IndexFuture {
	return r.c.Current().Raft.AddNonvoter(id, a, prev, t)
}

// AddVoter promotes a replica after it has asked the replica again. The library decides on answers
// of the previous round, and an operator may have demoted the replica since.
func (r autopilotRaft) AddVoter(id raft.ServerID, a raft.ServerAddress, prev uint64, _ time.Duration) raft.IndexFuture {
	r.c.changes.one.Lock()
	defer r.c.changes.one.Unlock()
	s, ok := servers.Find(r.c.Configuration(), string(id))
	if !ok || s.Suffrage == raft.Voter {
		return pastFuture{}
	}
	if i, ok := r.c.survey.askAll(raft.Configuration{Servers: []raft.Server{s}})[id]; !ok ||
		i.Identity.Role != identity.RoleVoter {
		return pastFuture{}
	}
	r.c.Log.Info("autopilot promotes a replica", "replica", id)
	f := r.bounded(r.c.Current(),
		func(in *local.Instance) raft.IndexFuture { return in.Raft.AddVoter(id, a, prev, protocol.AdminTimeout) })
	return pastFuture{r.c.changed(f.Error())}
}

// pastFuture is the future of a change that has ended.
type pastFuture struct{ err error }

// Error returns the outcome of the change.
func (f pastFuture) Error() error { return f.err }

// Index returns 0: the index is not known.
func (pastFuture) Index() uint64 { return 0 }

// DemoteVoter bounds the library's call with protocol.AdminTimeout.
func (r autopilotRaft) DemoteVoter(id raft.ServerID, prev uint64, t time.Duration) raft.IndexFuture {
	return r.bounded(r.c.Current(),
		func(in *local.Instance) raft.IndexFuture { return in.Raft.DemoteVoter(id, prev, protocol.AdminTimeout) })
}

// RemoveServer bounds the library's call with protocol.AdminTimeout.
func (r autopilotRaft) RemoveServer(id raft.ServerID, prev uint64, t time.Duration) raft.IndexFuture {
	return r.bounded(r.c.Current(), func(in *local.Instance) raft.IndexFuture {
		return in.Raft.RemoveServer(id, prev, protocol.AdminTimeout)
	})
}

// bounded returns a future that ends with the cluster, or after protocol.AdminTimeout.
func (r autopilotRaft) bounded(in *local.Instance, f func(*local.Instance) raft.IndexFuture) raft.IndexFuture {
	return boundFuture{f(in), in, r.c.Context}
}

type boundFuture struct {
	raft.IndexFuture
	in  *local.Instance
	ctx context.Context
}

// Error waits for the outcome.
func (f boundFuture) Error() error {
	ctx, cancel := context.WithTimeout(f.ctx, protocol.AdminTimeout)
	defer cancel()
	return f.in.Await(ctx, f.IndexFuture)
}

func (r autopilotRaft) LastIndex() uint64 { return r.c.LastIndex() }

func (r autopilotRaft) Leader() raft.ServerAddress { return r.c.Current().Raft.Leader() }

func (r autopilotRaft) GetConfiguration() raft.ConfigurationFuture {
	return r.c.Current().Raft.GetConfiguration()
}

func (r autopilotRaft) Stats() map[string]string { return r.c.Current().Raft.Stats() }

func (r autopilotRaft) LeadershipTransferToServer(id raft.ServerID, a raft.ServerAddress) raft.Future {
	return r.c.Current().Raft.LeadershipTransferToServer(id, a)
}

func (r autopilotRaft) State() raft.RaftState { return r.c.Current().Raft.State() }
