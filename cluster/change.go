package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/internal/thousands"
)

// Promote makes a non-voter a voter. maxLag is the number of entries that it may be behind; 0 means
// 100.
func (c *changes) Promote(id string, maxLag uint64) error {
	return c.admin(adminRequest{Op: "promote", ID: id, MaxLag: cmp.Or(maxLag, defaultMaxLag)})
}

// CheckPromote makes the checks of Promote and changes nothing.
func (c *changes) CheckPromote(id string, maxLag uint64) error {
	return c.admin(adminRequest{Op: "promote", ID: id, MaxLag: cmp.Or(maxLag, defaultMaxLag), Dry: true})
}

// Demote makes a voter a non-voter. Autopilot does not promote it again; only Promote does.
func (c *changes) Demote(id string) error { return c.admin(adminRequest{Op: "demote", ID: id}) }

// CheckDemote makes the checks of Demote and changes nothing.
func (c *changes) CheckDemote(id string) error {
	return c.admin(adminRequest{Op: "demote", ID: id, Dry: true})
}

// Remove removes a replica from the membership. id is its id, or ID.INCARNATION to remove only this
// incarnation. A leader transfers leadership first. Unless force is set, Remove refuses if fewer
// than a majority of healthy voters would remain.
func (c *changes) Remove(id string, force bool) error {
	return c.admin(adminRequest{Op: "remove", ID: id, Force: force})
}

// CheckRemove makes the checks of Remove and changes nothing.
func (c *changes) CheckRemove(id string, force bool) error {
	return c.admin(adminRequest{Op: "remove", ID: id, Force: force, Dry: true})
}

const (
	defaultMaxLag = 100
	transferLag   = 100
)

func noSuch(id string) *refusal.Refusal {
	return refusal.New(refusal.NoSuchReplica, "see \"rmd cluster members\"", "no replica has the id %s", id)
}

// promoteHere does the work of Promote on the leader.
func (c *changes) promoteHere(ctx context.Context, q adminRequest) error {
	c.one.Lock()
	defer c.one.Unlock()
	conf := c.Configuration()
	s, ok := servers.Find(conf, q.Server)
	switch {
	case !ok:
		return noSuch(q.ID)
	case s.Suffrage == raft.Voter:
		return refusal.New(refusal.AlreadyVoter, "", "replica %s is already a voter", q.ID)
	case len(servers.Voters(conf)) >= ReplicasMax:
		return refusal.New(refusal.TooMany, "remove a voter first",
			"the cluster already has %d voters, the maximum", ReplicasMax)
	}
	i, ok := c.survey.askPatiently(s)[s.ID]
	if !ok {
		return refusal.New(refusal.NotHealthy, "see \"rmd cluster members\"", "replica %s does not answer", q.ID)
	}
	if lag := c.CommitIndex() - min(c.CommitIndex(), i.LastIndex); lag > q.MaxLag {
		return refusal.New(refusal.NotCaughtUp, fmt.Sprintf(
			"wait for \"rmd cluster members\" to show lag < %s, or use --max-lag", thousands.Format(q.MaxLag)),
			"replica %s is %s entries behind", q.ID, thousands.Format(lag))
	}
	if q.Dry {
		return nil
	}
	in := c.Current()
	if err := c.awaitChange(ctx, in, in.Raft.AddVoter(s.ID, s.Address, 0, protocol.AdminTimeout)); err != nil {
		return err
	}
	c.sendRole(ctx, s, identity.RoleVoter)
	c.Log.Info("replica promoted", "replica", q.ID, "by", q.By)
	return nil
}

// sendRole makes a replica store its role. Autopilot promotes only replicas with the role of a
// voter, so it does not undo a manual change.
func (c *changes) sendRole(ctx context.Context, s raft.Server, role string) {
	if s.ID == c.Identity().ServerID() {
		if err := c.SetRole(role); err != nil {
			c.Log.Warn("cannot record the role", "role", role, "error", err)
		}
		return
	}
	if _, err := protocol.Ask[protocol.None](ctx, c.Peer, string(s.Address), protocol.SetRole, role); err != nil {
		c.Log.Warn("cannot record the role", "replica", s.ID, "role", role, "error", err)
	}
}

// demoteHere does the work of Demote. A leader that is to be demoted transfers leadership first.
func (c *changes) demoteHere(ctx context.Context, q adminRequest) error {
	s, ok := servers.Find(c.Configuration(), q.Server)
	switch {
	case !ok:
		return noSuch(q.ID)
	case s.Suffrage != raft.Voter:
		return refusal.New(refusal.NotAVoter, "", "replica %s is not a voter", q.ID)
	}
	if err := c.checkQuorum(s, q); err != nil {
		return err
	}
	if q.Dry {
		return nil
	}
	if s.ID == c.Identity().ServerID() {
		return c.afterHandover(ctx, q)
	}
	c.one.Lock()
	defer c.one.Unlock()
	c.sendRole(ctx, s, identity.RoleNonvoter) // first, otherwise autopilot would promote it again
	in := c.Current()
	if err := c.awaitChange(ctx, in, in.Raft.DemoteVoter(s.ID, 0, protocol.AdminTimeout)); err != nil {
		return err
	}
	c.Log.Info("replica demoted", "replica", q.ID, "by", q.By)
	return nil
}

// removeHere does the work of Remove. A leader that is to be removed transfers leadership first.
func (c *changes) removeHere(ctx context.Context, q adminRequest) error {
	s, ok := servers.Find(c.Configuration(), q.Server)
	if !ok {
		return noSuch(q.ID)
	}
	if s.Suffrage == raft.Voter {
		if err := c.checkQuorum(s, q); err != nil {
			return err
		}
	}
	if q.Dry {
		return nil
	}
	if s.ID == c.Identity().ServerID() {
		return c.afterHandover(ctx, q)
	}
	c.one.Lock()
	defer c.one.Unlock()
	in := c.Current()
	if err := c.awaitChange(ctx, in, in.Raft.RemoveServer(s.ID, 0, protocol.AdminTimeout)); err != nil {
		return err
	}
	c.Log.Info("replica removed", "replica", q.ID, "by", q.By)
	c.departures.notifyRemoved(s, q.By)
	return nil
}

// checkQuorum refuses a change after which no voter, or no majority of healthy voters, would
// remain.
func (c *changes) checkQuorum(s raft.Server, q adminRequest) error {
	vs := servers.Voters(c.Configuration())
	if len(vs) == 1 {
		return refusal.New(refusal.WouldLeaveNoVoter, "join and promote another replica first",
			"replica %s is the only voter", q.ID)
	}
	if q.Force {
		return nil
	}
	infos := c.survey.askPatiently(vs...)
	commit := c.CommitIndex()
	healthy, left := 0, 0
	var sick []string
	for _, v := range vs {
		if v.ID == s.ID {
			continue
		}
		left++
		id, _ := identity.Split(v.ID)
		i, ok := infos[v.ID]
		lag := commit - min(commit, i.LastIndex)
		switch {
		case !ok:
			sick = append(sick, id+" does not answer")
		case lag > c.AutopilotSettings().MaxTrailingLogs:
			sick = append(sick, fmt.Sprintf("%s lags %s entries", id, thousands.Format(lag)))
		default:
			healthy++
		}
	}
	if healthy >= left/2+1 {
		return nil
	}
	verb, do := "removing", "start or repair that replica first; with --force the cluster may stop for good"
	if q.Op == "demote" {
		verb, do = "demoting", "wait until the other voters have caught up"
	}
	return refusal.New(refusal.WouldLoseQuorum, do, "%s; %s %s would leave %d healthy of %d voters",
		strings.Join(sick, ", "), verb, q.ID, healthy, left)
}

// afterHandover transfers leadership and sends the request to the new leader.
func (c *changes) afterHandover(ctx context.Context, q adminRequest) error {
	if q.Dry {
		return nil
	}
	if err := c.transferHere(ctx, ""); err != nil {
		return fmt.Errorf("transfer leadership first: %w", err)
	}
	for {
		if id, addr := c.lead.Leader(); addr != "" && id != c.Config.ID {
			_, err := protocol.Ask[protocol.None](ctx, c.Peer, addr, protocol.Admin, q)
			return c.resolveSelfRemoval(ctx, q, addr, err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return refusal.New(refusal.NoLeader, "try again", "leadership was transferred, but no new leader is known")
		}
	}
}

// resolveSelfRemoval decides whether a forwarded request succeeded although it returned err. A
// request to remove this replica succeeds without an answer: the leader mostly closes the
// connections before the answer is sent. In that case resolveSelfRemoval returns nil, otherwise
// err.
func (c *changes) resolveSelfRemoval(ctx context.Context, q adminRequest, leader string, err error) error {
	var ref *refusal.Refusal
	self := c.Identity()
	if err == nil || q.Op != "remove" || !identity.Matches(self.ServerID(), q.ID) || errors.As(err, &ref) {
		return err
	}
	if self.Removed != nil {
		return nil
	}
	_, ierr := protocol.Ask[info](ctx, c.Peer, leader, protocol.Info, protocol.None{})
	var coded interface{ ErrorCode() string }
	if errors.As(ierr, &coded) && coded.ErrorCode() == string(refusal.Removed) {
		return nil
	}
	return err
}
