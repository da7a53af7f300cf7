package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// joinRequest asks the leader to admit a replica.
type joinRequest struct {
	Identity identity.Identity `json:"identity"`
	Address  string            `json:"address"`
	Token    string            `json:"token"`
	Level    uint64            `json:"level"`
	Version  string            `json:"version"`
	Dry      bool              `json:"dry,omitempty"`
	Hops     int               `json:"hops,omitempty"`
}

// joinReply is the answer to a replica that was admitted.
type joinReply struct {
	ClusterID string `json:"cluster_id"`
	Epoch     uint64 `json:"epoch"`
	Role      string `json:"role"`
	// Known lists the members by ID.INCARNATION. Chain proves the admission to members that lag
	// behind.
	Known []string             `json:"known,omitempty"`
	Chain []identity.Admission `json:"chain,omitempty"`
}

// Join adds this replica to an existing cluster as a non-voter. It tries the given addresses in
// order. The first replica that answers forwards the request to its leader. With dry Join only
// checks, and does not consume the token.
func (c *changes) Join(ctx context.Context, leaders []string, token string, dry bool) error {
	_, err := c.join(ctx, leaders, token, dry)
	return err
}

// CheckJoin makes the checks of Join. It returns the id of the cluster.
func (c *changes) CheckJoin(ctx context.Context, leaders []string, token string) (clusterID string, err error) {
	r, err := c.join(ctx, leaders, token, true)
	return r.ClusterID, err
}

// join does the work of Join and CheckJoin.
func (c *changes) join(ctx context.Context, leaders []string, token string, dry bool) (joinReply, error) {
	if c.Peer == nil {
		return joinReply{}, errors.New("join: this replica has no peer transport")
	}
	if c.HasState() || c.InMembership() {
		return joinReply{}, refusal.New(refusal.AlreadyInitialized, "keep its data: a member only needs to be started",
			"replica %s is a member of cluster %s", c.Config.ID, c.ClusterID())
	}
	q := joinRequest{Identity: c.Identity(), Address: c.Addr(), Token: token, Level: c.Config.Level,
		Version: c.Config.Version, Dry: dry}
	q.Identity.RemovedPeers, q.Identity.Recovered = nil, nil
	var errs []error
	for _, addr := range leaders {
		r, err := protocol.Ask[joinReply](ctx, c.Peer, addr, protocol.Join, q)
		if err == nil {
			if dry {
				return r, nil
			}
			if err := c.SetCluster(r.ClusterID, r.Epoch, r.Role, r.Known, r.Chain); err != nil {
				return r, err
			}
			c.Log.Info("admitted to the cluster", "cluster_id", r.ClusterID, "role", r.Role)
			return r, nil
		}
		var ref *refusal.Refusal
		if err = c.helloRefusal(addr, err); errors.As(err, &ref) && ref.Code != refusal.NoLeader {
			return joinReply{}, err
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
	}
	var ref *refusal.Refusal
	if err := errors.Join(errs...); errors.As(err, &ref) {
		return joinReply{}, ref
	}
	return joinReply{}, refusal.New(refusal.PeerUnreachable, "check the addresses, and raft.listen of those replicas",
		"no replica answered: %v", errors.Join(errs...))
}

// helloRefusal turns a refusal by the hello of the peer transport into a Refusal.
func (c *changes) helloRefusal(addr string, err error) error {
	var coded interface{ ErrorCode() string }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.ErrorCode() {
	case codeOtherCluster:
		return refusal.New(refusal.ClusterIDDiffers,
			"name a member of its own cluster; if that no longer needs this replica, "+Rejoin,
			"%s does not belong to cluster %s of this replica's data", addr, c.ClusterID())
	case "OTHER_NAME":
		return refusal.New(refusal.ClusterNameDiffers, "check the configured cluster name",
			"the cluster name of %s is not %s", addr, c.Config.ClusterName)
	case string(refusal.Removed):
		return refusal.New(refusal.Removed, Rejoin, "%s says that this replica was removed", addr)
	}
	return err
}

// joinHere decides about a join on the leader. Other replicas forward the request.
func (c *changes) joinHere(ctx context.Context, from string, q joinRequest) (joinReply, error) {
	if q.Identity.ServerID() != raft.ServerID(from) && (q.Hops == 0 || !c.access.Trusts(raft.ServerID(from))) {
		return joinReply{}, refusal.New(refusal.IDInUse, "run the join on the replica itself",
			"%s tries to join in the name of %s", from, q.Identity.ServerID())
	}
	if !c.IsLeader() {
		addr, err := c.forward(&q.Hops)
		if err != nil {
			return joinReply{}, err
		}
		return protocol.Ask[joinReply](ctx, c.Peer, addr, protocol.Join, q)
	}
	c.one.Lock()
	defer c.one.Unlock()
	if err := c.awaitCommitted(ctx); err != nil {
		return joinReply{}, err
	}
	self := c.Identity()
	if q.Identity.ClusterID != "" && q.Identity.ClusterID != self.ClusterID {
		return joinReply{}, refusal.New(refusal.ClusterIDDiffers,
			"join its own cluster; if that no longer needs this replica, "+Rejoin,
			"replica %s has data of cluster %s, but this is cluster %s", q.Identity.ID, q.Identity.ClusterID, self.ClusterID)
	}
	sid := q.Identity.ServerID()
	for _, s := range c.Configuration().Servers {
		id, _ := identity.Split(s.ID)
		switch {
		case s.ID == sid && string(s.Address) == q.Address: // a repeated request: the answer to the first one was lost
			role, err := c.roleOf(s, q)
			if err != nil {
				return joinReply{}, err
			}
			return c.letIn(sid, role), nil
		case id != q.Identity.ID && identity.SameID(id, q.Identity.ID):
			return joinReply{}, refusal.New(refusal.IDInUse, "choose another id",
				"id %s differs only in case from member %s at %s", q.Identity.ID, id, s.Address)
		case id == q.Identity.ID:
			return joinReply{}, refusal.New(refusal.IDInUse,
				fmt.Sprintf(
					"choose another id; if the new replica replaces %s, whose disk is lost, \"rmd cluster remove %s\" first", id, id),
				"id %s is already used by a member at %s", id, s.Address)
		case string(s.Address) == q.Address:
			return joinReply{}, refusal.New(refusal.AddressInUse,
				fmt.Sprintf(
					"use another address; if the new replica replaces %s, whose disk is lost, \"rmd cluster remove %s\" first", id,
					id), "address %s is already used by member %s", q.Address, id)
		}
	}
	if c.Config.FeatureLevel != nil {
		if have := c.Config.FeatureLevel(); q.Level < have {
			return joinReply{}, refusal.New(refusal.VersionTooOld, "start it with a newer rmd",
				"replica %s runs %s with feature level %d, but the cluster has level %d", q.Identity.ID, q.Version, q.Level, have)
		}
	}
	if err := c.answersAt(ctx, sid, q.Address); err != nil {
		return joinReply{}, err
	}
	role, err := c.useToken(q)
	if err != nil {
		return joinReply{}, err
	}
	if q.Dry {
		return joinReply{ClusterID: self.ClusterID, Epoch: self.Epoch, Role: role}, nil
	}
	in := c.Current()
	if err := c.awaitChange(ctx, in, in.Raft.AddNonvoter(sid, raft.ServerAddress(q.Address), 0,
		protocol.AdminTimeout)); err != nil {
		return joinReply{}, err
	}
	c.Log.Info("replica joined as non-voter", "replica", q.Identity.ID, "address", q.Address, "role", role)
	return c.letIn(sid, role), nil
}

// answersAt refuses an address at which the leader does not reach the replica that announced it: it would
// replicate nothing there.
func (c *changes) answersAt(ctx context.Context, server raft.ServerID, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, protocol.PatientTimeout)
	defer cancel()
	id, _ := identity.Split(server)
	i, err := protocol.Ask[info](ctx, c.Peer, addr, protocol.Info, protocol.None{})
	what := ""
	switch {
	case err != nil:
		what = err.Error()
	case i.Identity.ServerID() != server:
		what = "replica " + i.Identity.ID + " answered"
	default:
		return nil
	}
	return refusal.New(refusal.PeerUnreachable,
		"check raft.advertise of "+id+", and whether the leader's machine reaches that address",
		"the leader %s dialed %s at %s: %s", c.Config.ID, id, addr, what)
}

// letIn returns the answer to a replica that is now a member.
func (c *changes) letIn(server raft.ServerID, role string) joinReply {
	self := c.Identity()
	r := joinReply{ClusterID: self.ClusterID, Epoch: self.Epoch, Role: role, Chain: c.access.Admit(server)}
	for _, s := range c.Configuration().Servers {
		r.Known = append(r.Known, string(s.ID))
	}
	return r
}

// useToken consumes the token of a request and returns its role.
func (c *changes) useToken(q joinRequest) (string, error) {
	if c.Config.CheckToken == nil {
		return identity.RoleVoter, nil
	}
	role, err := c.Config.CheckToken(q.Token, string(q.Identity.ServerID()), q.Dry)
	var ref *refusal.Refusal
	switch {
	case errors.As(err, &ref):
		return "", ref
	case err != nil:
		return "", refusal.New(refusal.NoLeader, "try again", "the join token was not checked: %v", err)
	case role != identity.RoleVoter && role != identity.RoleNonvoter:
		return "", fmt.Errorf("the join token has the unknown role %q", role)
	}
	return role, nil
}

// roleOf returns the role of a member that repeats its join. If the first answer was lost, the
// member has no role yet, and the token determines it. If the token cannot be checked now, roleOf
// returns an error: with a guessed role the replica might never be promoted by autopilot.
func (c *changes) roleOf(s raft.Server, q joinRequest) (string, error) {
	if i, ok := c.survey.askAll(raft.Configuration{Servers: []raft.Server{s}})[s.ID]; ok && i.Identity.Role != "" {
		return i.Identity.Role, nil
	}
	role, err := c.useToken(q)
	if ref := (*refusal.Refusal)(nil); errors.As(err, &ref) && ref.Code != refusal.NoLeader {
		return identity.RoleNonvoter, nil // the token is no longer valid; an operator can still promote the replica
	}
	return role, err
}

// moveRequest tells the leader the new address of a replica.
type moveRequest struct {
	ServerID string `json:"server_id"`
	Address  string `json:"address"`
	Hops     int    `json:"hops,omitempty"`
}

// moveHere changes a member's address on the leader. Other replicas forward the request.
func (c *changes) moveHere(ctx context.Context, from string, q moveRequest) error {
	if q.Hops == 0 && from != q.ServerID {
		return refusal.New(refusal.IDInUse, "report the address from the replica itself", "%s reports an address for %s",
			from, q.ServerID)
	}
	if !c.IsLeader() {
		addr, err := c.forward(&q.Hops)
		if err != nil {
			return err
		}
		_, err = protocol.Ask[protocol.None](ctx, c.Peer, addr, protocol.Move, q)
		return err
	}
	if q.ServerID != string(c.Identity().ServerID()) { // before the lock: a replica repeats its move until it succeeds
		if err := c.answersAt(ctx, raft.ServerID(q.ServerID), q.Address); err != nil {
			return err
		}
	}
	c.one.Lock()
	defer c.one.Unlock()
	conf := c.Configuration()
	s, ok := servers.Find(conf, q.ServerID)
	if !ok {
		return refusal.New(refusal.NoSuchReplica, "see \"rmd cluster members\"", "%s is not a member", q.ServerID)
	}
	for _, o := range conf.Servers {
		if string(o.Address) == q.Address && o.ID != s.ID {
			return refusal.New(refusal.AddressInUse, "", "address %s is already used by member %s", q.Address, o.ID)
		}
	}
	if i, ok := c.survey.askAll(raft.Configuration{Servers: []raft.Server{s}})[s.ID]; ok && i.Address != q.Address {
		return refusal.New(refusal.IDInUse,
			"stop the one that runs on a copy of the disk, and start that one only as a new replica with another id and an empty disk", "replica %s already runs at %s", q.ServerID, s.Address)
	}
	in := c.Current()
	if s.Suffrage == raft.Voter {
		return c.awaitChange(ctx, in, in.Raft.AddVoter(s.ID, raft.ServerAddress(q.Address), 0, protocol.AdminTimeout))
	}
	return c.awaitChange(ctx, in, in.Raft.AddNonvoter(s.ID, raft.ServerAddress(q.Address), 0, protocol.AdminTimeout))
}
