package cluster

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/rafttransport"
)

// Role is a condition that the caller of a method of the peer port must meet.
type Role string

// The roles. The certificate of every caller names this cluster and the caller's id.
const (
	// AnyReplica is every replica, member or not: a replica that joins is not a member yet. Such
	// methods check the caller themselves.
	AnyReplica Role = "any replica"
	// OfMember is a current member, voter or non-voter.
	OfMember Role = "member"
	// OfVoter is a member that is a voter.
	OfVoter Role = "voter"
	// OfLeader is the leader that the called replica follows.
	OfLeader Role = "leader"
)

// Method is one thing that a caller may request on the peer port.
type Method struct {
	Number byte // method number of a call; 0 if it has a connection of its own
	Name   string
	Caller Role
	// Answer reports whether this replica accepts the answer of a replica that is not a member.
	Answer bool
}

// Methods lists everything that the peer port serves and who may call it. The port refuses any
// other method.
var Methods = []Method{
	{methodInfo, "info", AnyReplica, true},
	{methodJoin, "join", AnyReplica, true}, // with a join token
	{methodAdopt, "adopt", AnyReplica, true},
	{methodAdmin, "admin", OfMember, false},
	{methodReadIndex, "read index", OfMember, false},
	{methodTerm, "term", OfMember, false},
	{methodRemoved, "removed", OfVoter, true}, // the receiver is no longer a member
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

// methodOf returns the row of a call's method number.
func methodOf(number byte) (Method, bool) {
	for i := range Methods { // by index: this runs for each call, and a range value would copy the row
		if Methods[i].Number == number && number != 0 {
			return Methods[i], true
		}
	}
	return Method{}, false
}

// member looks for a server in the newest membership, then in the newest committed one.
func (c *Cluster) member(server raft.ServerID) (raft.Server, bool) {
	is := func(s raft.Server) bool { return s.ID == server }
	for _, conf := range [...]raft.Configuration{c.configuration(), c.fsm.membership()} {
		if i := slices.IndexFunc(conf.Servers, is); i >= 0 {
			return conf.Servers[i], true
		}
	}
	return raft.Server{}, false
}

// trusts reports whether this replica treats a server as a member. It does so if the server is in
// the membership, or has proved by a signed admission that entries not yet received here made it a
// member. Before this replica has a membership, it trusts the servers that were named as members
// when it joined, or when the cluster was created.
func (c *Cluster) trusts(server raft.ServerID) bool {
	if _, ok := c.member(server); ok || c.introduced.has(server) {
		return true
	}
	if c.inMembership() {
		return false
	}
	return slices.Contains(c.Identity().Trust.Known, string(server))
}

// admitConn decides about a new connection to or from server. addr is the address that this replica
// dialed, or empty if server dialed. It returns the code and text of a refusal, or empty strings.
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

// memberAt returns the member with an address.
func memberAt(conf raft.Configuration, addr string) (raft.Server, bool) {
	i := slices.IndexFunc(conf.Servers, func(s raft.Server) bool { return string(s.Address) == addr })
	if i < 0 {
		return raft.Server{}, false
	}
	return conf.Servers[i], true
}

// authorizeCall decides whether this replica serves a call.
func (c *Cluster) authorizeCall(method byte, from string) error {
	m, ok := methodOf(method)
	if !ok {
		return fmt.Errorf("unknown method %d", method)
	}
	return c.allows(m.Caller, raft.ServerID(from))
}

// allows returns nil if a replica has a role, otherwise an error that says why not.
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

// follows reports whether this replica follows server as its leader.
func (c *Cluster) follows(server raft.ServerID) bool {
	_, leader := c.current().raft.LeaderWithID()
	return leader == server
}

// mayVote reports whether a trusted replica may be a voter, as far as this replica knows. It may be
// one if this replica does not find it in its memberships.
func (c *Cluster) mayVote(server raft.ServerID) bool {
	s, ok := c.member(server)
	return !ok || s.Suffrage == raft.Voter || votes(c.fsm.membership(), server) || c.follows(server)
}

func notAMember(server raft.ServerID) *Refusal {
	return refuse(CodeNoSuchReplica, "join first", "%s is not a member of this cluster", server)
}

// authorizeAnswer decides, before a call is sent, whether this replica may use the answer. A
// process that is not a member but listens at a member's address must not influence votes, reads or
// where inputs go.
func (c *Cluster) authorizeAnswer(method byte, to string) error {
	if m, ok := methodOf(method); ok && (m.Answer || c.ClusterID() == "" || c.trusts(raft.ServerID(to))) {
		return nil
	}
	return notAMember(raft.ServerID(to))
}

// authorizeRaft decides whether this replica serves a Raft request. The peer transport checks that
// the header names the actual sender.
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

// strangerCallMax is the maximum size, in bytes, of a call from a replica that is not a member.
const strangerCallMax = 64 << 10

// tooLarge reports whether a call exceeds strangerCallMax and its caller need not be a member.
func tooLarge(m Method, req []byte) bool {
	return m.Caller == AnyReplica && len(req) > strangerCallMax
}
