package cluster

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/rafttransport"
)

// Role is what a caller of the peer port must be.
type Role string

// The roles. Every caller has a certificate that names this cluster and its own id.
const (
	// AnyReplica need not be a member: joining begins so. The method itself asks for more.
	AnyReplica Role = "any replica"
	// OfMember is a current member, with or without a vote.
	OfMember Role = "member"
	// OfVoter is a member that votes.
	OfVoter Role = "voter"
	// OfLeader is the replica that the called one follows.
	OfLeader Role = "leader"
)

// Method is one thing that a caller of the peer port may ask for.
type Method struct {
	Number byte // of a call; 0 for what has a connection of its own
	Name   string
	Caller Role
	// Answer says whether the answer of a replica that is no member counts.
	Answer bool
}

// Methods lists everything that the peer port serves, and who may call it. What is not in it is
// refused.
var Methods = []Method{
	{methodInfo, "info", AnyReplica, true},
	{methodJoin, "join", AnyReplica, true}, // with a join token
	{methodAdopt, "adopt", AnyReplica, true},
	{methodAdmin, "admin", OfMember, false},
	{methodReadIndex, "read index", OfMember, false},
	{methodTerm, "term", OfMember, false},
	{methodRemoved, "removed", OfVoter, true}, // it is sent to one that is no member any more
	{methodRole, "role", OfMember, false},
	{methodDigest, "digest", OfMember, false},
	{methodStop, "stop", OfLeader, false},
	{methodMove, "move", OfMember, false},
	{methodCommitted, "committed", OfLeader, false},
	{methodRolledBack, "log rolled back", OfVoter, false},
	{methodIntroduce, "introduce", AnyReplica, true}, // with a signed admission
	{32, "input", OfMember, false},                   // transport/forward
	{33, "question", OfMember, false},                // cmd/rmd
	{0, "AppendEntries", OfMember, false},
	{0, "InstallSnapshot", OfMember, false},
	{0, "RequestVote", OfMember, false},
	{0, "RequestPreVote", OfMember, false},
	{0, "TimeoutNow", OfVoter, false},
	{0, "liveness", OfMember, false},
}

// methodOf finds a call's row.
func methodOf(number byte) (Method, bool) {
	for i := range Methods { // each call asks: nothing is copied on the way
		if Methods[i].Number == number && number != 0 {
			return Methods[i], true
		}
	}
	return Method{}, false
}

// member finds a replica in the newest membership, or in the newest one that is committed here.
func (c *Cluster) member(server raft.ServerID) (raft.Server, bool) {
	is := func(s raft.Server) bool { return s.ID == server }
	for _, conf := range [...]raft.Configuration{c.configuration(), c.fsm.membership()} {
		if i := slices.IndexFunc(conf.Servers, is); i >= 0 {
			return conf.Servers[i], true
		}
	}
	return raft.Server{}, false
}

// trusts says whether a replica counts as a member here: it is one, has proven that it became one
// by entries that are not here yet, or was named to this replica when that was let in.
func (c *Cluster) trusts(server raft.ServerID) bool {
	if _, ok := c.member(server); ok || c.introduced.has(server) {
		return true
	}
	id := c.Identity()
	if !c.inMembership() {
		return slices.Contains(id.Trust.Known, string(server)) || id.ClusterID != "" && len(id.Trust.Known) == 0
	}
	return !identity.NamesKey(id.Incarnation) && !c.allProve() && c.peer.Proves()
}

// admitConn judges the replica at the other end of a new connection; addr is where it was dialed,
// empty when it called.
func (c *Cluster) admitConn(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string) {
	id := raft.ServerID(server)
	if serial != "" && c.cfg.Revoked != nil && c.cfg.Revoked(serial) {
		return "BAD_IDENTITY", "certificate " + serial + " is revoked"
	}
	if err := c.verifyName(id, key); err != nil {
		return "BAD_IDENTITY", err.Error()
	}
	gone := c.dir.IsRemoved(id)
	switch {
	case kind == "rpc" && addr != "":
		return "", "" // authorizeAnswer judges each call
	case gone:
		return string(CodeRemoved), server + " was removed from the cluster"
	case kind == "rpc":
		return "", "" // authorizeCall judges each call
	case !c.trusts(id):
		return rafttransport.CodeNotMember, server + " is not in the membership that this replica knows"
	}
	if s, ok := memberAt(c.configuration(), addr); ok && s.ID != id {
		return rafttransport.CodeNotMember, fmt.Sprintf("%s answers at the address of %s", server, s.ID)
	}
	return "", ""
}

// memberAt finds the member at an address.
func memberAt(conf raft.Configuration, addr string) (raft.Server, bool) {
	i := slices.IndexFunc(conf.Servers, func(s raft.Server) bool { return string(s.Address) == addr })
	if i < 0 {
		return raft.Server{}, false
	}
	return conf.Servers[i], true
}

// authorizeCall judges one call that has arrived.
func (c *Cluster) authorizeCall(method byte, from string) error {
	m, ok := methodOf(method)
	if !ok {
		return fmt.Errorf("unknown method %d", method)
	}
	return c.allows(m.Caller, raft.ServerID(from))
}

// allows says whether a replica has a role.
func (c *Cluster) allows(r Role, from raft.ServerID) error {
	switch {
	case r == AnyReplica:
		return nil
	case !c.trusts(from):
		return notAMember(from)
	case r == OfLeader && !c.follows(from):
		return fmt.Errorf("%s is not the leader that this replica follows", from)
	case r == OfVoter && !c.mayVote(from):
		return fmt.Errorf("%s is not a voter", from)
	}
	return nil
}

// follows says whether a replica is the leader that this one follows.
func (c *Cluster) follows(server raft.ServerID) bool {
	_, leader := c.current().raft.LeaderWithID()
	return leader == server
}

// mayVote says whether a trusted replica votes, as far as is known here.
func (c *Cluster) mayVote(server raft.ServerID) bool {
	s, ok := c.member(server)
	return !ok || s.Suffrage == raft.Voter || votes(c.fsm.membership(), server) || c.follows(server)
}

func notAMember(server raft.ServerID) *Refusal {
	return refuse(CodeNoSuchReplica, "join first", "%s is not a member of this cluster", server)
}

// authorizeAnswer judges, before a call is sent, whether the answer may count. An answer to a vote
// or a read, and where an input goes, must not depend on a process that is no member and listens at
// a member's address.
func (c *Cluster) authorizeAnswer(method byte, to string) error {
	if m, ok := methodOf(method); ok && (m.Answer || c.ClusterID() == "" || c.trusts(raft.ServerID(to))) {
		return nil
	}
	return notAMember(raft.ServerID(to))
}

// authorizeRaft judges the sender of one of Raft's requests. The peer transport checks that the
// header names the replica that sends it.
func (c *Cluster) authorizeRaft(cmd any) error {
	h, ok := cmd.(raft.WithRPCHeader)
	if !ok {
		return errors.New("the request has no header")
	}
	from := raft.ServerID(h.GetRPCHeader().ID)
	if c.current() == nil || !c.trusts(from) {
		return rafttransport.ErrNotMember
	}
	if _, ok := cmd.(*raft.TimeoutNowRequest); ok {
		return c.allows(OfVoter, from)
	}
	return nil
}

// strangerCallMax bounds, in bytes, what a replica that is no member may send in one call.
const strangerCallMax = 64 << 10

// tooLarge says that a call of somebody who need not be a member is larger than any good one.
func tooLarge(m Method, req []byte) bool {
	return m.Caller == AnyReplica && len(req) > strangerCallMax
}
