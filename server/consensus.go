package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rmd/api"
	"rmd/cluster"
	"rmd/scheduler/capacity"
	"rmd/transport/http/problem"
)

// consensus implements v1.Consensus.
type consensus struct{ r *Replica }

// Leader implements v1.Consensus.
func (c consensus) Leader() (id, address string) { return c.r.cluster.Leader() }

// Role implements v1.Consensus.
func (c consensus) Role() string {
	switch {
	case c.r.cluster.IsLeader():
		return "leader"
	default:
		if id, _ := c.r.cluster.Leader(); id == "" {
			return "candidate"
		}
		return "follower"
	}
}

// Term implements v1.Consensus.
func (c consensus) Term() uint64 { return c.r.cluster.Term() }

// Ready implements v1.Consensus.
func (c consensus) Ready() (ok bool, why string) {
	if c.r.cluster.IsLeader() {
		if _, ok := c.r.seq.Leading(); !ok {
			return false, "this replica leads and does not plan yet"
		}
		return true, ""
	}
	return c.r.ready.verdict()
}

// Problem implements v1.Consensus.
func (c consensus) Problem() string { return c.r.cluster.Problem() }

// Warning implements v1.Consensus.
func (c consensus) Warning() string { return c.r.cluster.Warning() }

// Jobs implements v1.Consensus.
func (c consensus) Jobs() []api.Job {
	var out []api.Job
	for _, s := range c.r.jobs.Status() {
		out = append(out, api.Job{Name: string(s.Name), Does: s.Does, Runs: s.Runs, Failures: s.Failures, InARow: s.InARow,
			SuccessMillis: millis(s.Success), FailureMillis: millis(s.Failure), Error: s.Err, Problem: s.Problem})
	}
	return out
}

// millis returns a time in Unix milliseconds, or 0 for the zero time.
func millis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// Staleness implements v1.Consensus.
func (c consensus) Staleness() time.Duration {
	if c.r.cluster.IsLeader() {
		return 0
	}
	at := c.r.cluster.LastContact()
	if at.IsZero() {
		return -1
	}
	return time.Since(at)
}

// ReadIndex implements v1.Consensus.
func (c consensus) ReadIndex(ctx context.Context) (uint64, error) { return c.r.cluster.ReadIndex(ctx) }

// NoState implements v1.Consensus.
func (c consensus) NoState() *api.Error {
	k := c.r.cluster
	waits := k.Awaits()
	switch why := c.r.seeding.refusal(); {
	case why != nil:
		return why
	case waits != "":
		return problem.AwaitsExpected(c.r.opt.Config.Raft.BootstrapExpect, waits)
	case !k.IsMember():
		return problem.NotInitialized()
	}
	return problem.UnknownCommit(fmt.Sprintf("replica %s is a member of cluster %s", c.r.ID(), k.ClusterID()))
}

// Missing implements v1.Consensus.
func (c consensus) Missing() string { return api.Missing(c.r.cluster.Absent()) }

// Members implements v1.Consensus.
func (c consensus) Members(ctx context.Context) ([]api.Member, error) {
	members := c.r.cluster.Members()
	out := make([]api.Member, 0, len(members))
	for _, m := range members {
		contact := m.LastContact.Milliseconds()
		if m.LastContact < 0 {
			contact = -1
		}
		out = append(out, api.Member{ID: m.ID, Incarnation: m.Incarnation, Address: m.Address, Voter: m.Voter,
			Pending: m.Pending, Leader: m.Leader,
			Role: m.Role, State: m.State, Term: m.Term, Commit: m.Commit, Applied: m.Applied, LastIndex: m.LastIndex, Lag: m.Lag,
			LastContactMillis: contact, Version: m.Version, Level: m.Level, DiskFree: m.DiskFree, DiskFull: m.Full,
			Problem: m.Problem,
			Warning: m.Warning, Stalled: m.Stalled, Unreached: m.Unreached})
	}
	for id, a := range c.r.aboutAll(ctx, members) { // each address has its own place, so the order does not matter
		for i := range out {
			if out[i].ID == id {
				out[i].HTTPAddress, out[i].HTTPSAddress, out[i].Ports, out[i].Files, out[i].Witness = a.HTTP, a.HTTPS, a.Ports,
					a.Files, a.Witness
			}
		}
	}
	c.addDigests(ctx, out)
	return out, nil
}

// addDigests adds the digests of the replicas at one index. Replicas that do not answer have none.
func (c consensus) addDigests(ctx context.Context, members []api.Member) {
	reports, err := c.r.cluster.CompareDigests(ctx)
	if err != nil {
		return
	}
	for i := range members {
		for _, d := range reports {
			if d.ID == members[i].ID && d.Known {
				members[i].Digest, members[i].DigestIndex = d.Digest, d.Index
			}
		}
	}
}

// LeaderSince implements v1.Consensus. The leader knows it, also if this replica started later.
func (c consensus) LeaderSince(ctx context.Context) int64 {
	id, addr := c.Leader()
	term := c.Term()
	if id == "" {
		return 0
	}
	if a, err := c.r.ask(ctx, addr, question{Op: opLeads}); err == nil && a.Led == term {
		return a.LedMillis
	}
	if f := c.LastFailover(); f != nil && f.NewLeader == id && f.Term == term {
		return f.AtMillis
	}
	return 0
}

// LastFailover implements v1.Consensus.
func (c consensus) LastFailover() *api.Failover {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	return c.r.failover.last
}

// Failovers implements v1.Consensus.
func (c consensus) Failovers() []api.Failover {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	out := slices.Clone(c.r.failover.seen)
	slices.Reverse(out)
	return out
}

// Verify implements v1.Consensus.
func (c consensus) Verify(ctx context.Context) (api.Verify, error) {
	reports, err := c.r.cluster.CompareDigests(ctx)
	if err != nil {
		return api.Verify{}, err
	}
	v := api.Verify{Equal: len(reports) > 0}
	for _, d := range reports {
		one := api.ReplicaDigest{ID: d.ID, Digest: d.Digest}
		if d.Known {
			v.Index = d.Index
		} else {
			one.Error = "it did not answer, or has no digest of that index any more"
		}
		v.Equal = v.Equal && d.Known && !d.Differs
		v.Digests = append(v.Digests, one)
	}
	return v, nil
}

// Init implements v1.Consensus.
func (c consensus) Init(ctx context.Context, req api.InitRequest) (api.InitReply, error) {
	s := &c.r.seeding
	s.init.Lock()
	defer s.init.Unlock()
	if err := c.r.cluster.InitAs(req.ClusterID, true); err != nil {
		return api.InitReply{}, err
	}
	var props []capacity.Property
	for name, value := range req.Properties { // Parse sorts them, so the order does not matter
		props = append(props, capacity.Property{Name: name, Value: value})
	}
	if err := c.r.checkFirst(props); err != nil {
		return api.InitReply{}, err
	}
	if !req.DryRun {
		s.setQueues(props)
		if err := c.r.cluster.InitAs(req.ClusterID, false); err != nil {
			s.setQueues(nil)
			return api.InitReply{}, err
		}
		if err := c.r.AwaitLeader(ctx); err != nil {
			return api.InitReply{}, err
		}
	}
	return api.InitReply{ClusterID: c.r.cluster.ClusterID(), Name: c.r.opt.Config.Cluster, ID: c.r.ID(),
		Address: c.r.PeerAddr(), DryRun: req.DryRun}, nil
}

// Join implements v1.Consensus.
func (c consensus) Join(ctx context.Context, req api.JoinRequest) (api.JoinReply, error) {
	if req.DryRun {
		id, err := c.r.cluster.CheckJoin(ctx, req.Leaders, req.Token)
		return api.JoinReply{ClusterID: id, Name: c.r.opt.Config.Cluster, ID: c.r.ID(), DryRun: true}, err
	}
	if err := c.r.cluster.Join(ctx, req.Leaders, req.Token, false); err != nil {
		return api.JoinReply{}, err
	}
	return api.JoinReply{ClusterID: c.r.cluster.ClusterID(), Name: c.r.opt.Config.Cluster, ID: c.r.ID(),
		Voter: c.r.cluster.Identity().Role == cluster.RoleVoter}, nil
}

// Promote implements v1.Consensus.
func (c consensus) Promote(_ context.Context, id string, req api.MemberRequest) error {
	if req.DryRun {
		return c.r.cluster.CheckPromote(id, req.MaxLag)
	}
	return c.r.cluster.Promote(id, req.MaxLag)
}

// Demote implements v1.Consensus.
func (c consensus) Demote(_ context.Context, id string, req api.MemberRequest) error {
	if req.DryRun {
		return c.r.cluster.CheckDemote(id)
	}
	return c.r.cluster.Demote(id)
}

// Remove implements v1.Consensus.
func (c consensus) Remove(_ context.Context, id string, req api.MemberRequest) error {
	if req.DryRun {
		return c.r.cluster.CheckRemove(id, req.Force)
	}
	return c.r.cluster.Remove(id, req.Force)
}

// Transfer implements v1.Consensus.
func (c consensus) Transfer(_ context.Context, id string) error { return c.r.cluster.Transfer(id) }
