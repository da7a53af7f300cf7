package cluster

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/protocol"
	"rmd/cluster/rafttransport"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// access decides which replicas may connect, call and vote.
type access struct {
	*core
	introduced introductions
}

// member looks for a server in the newest membership, then in the newest committed one.
func (a *access) member(server raft.ServerID) (raft.Server, bool) {
	is := func(s raft.Server) bool { return s.ID == server }
	for _, conf := range [...]raft.Configuration{a.configuration(), a.fsm.membership()} {
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
func (a *access) trusts(server raft.ServerID) bool {
	if _, ok := a.member(server); ok || a.introduced.has(server) {
		return true
	}
	if a.inMembership() {
		return false
	}
	return slices.Contains(a.Identity().Trust.Known, string(server))
}

// admitConn decides about a new connection to or from server. addr is the address that this replica
// dialed, or empty if server dialed. It returns the code and text of a refusal, or empty strings.
func (a *access) admitConn(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string) {
	id := raft.ServerID(server)
	if serial != "" && a.cfg.Revoked != nil && a.cfg.Revoked(serial) {
		return "BAD_IDENTITY", "certificate " + serial + " is revoked"
	}
	if err := a.verifyName(id, key); err != nil {
		return "BAD_IDENTITY", err.Error()
	}
	gone := a.dir.IsRemoved(id)
	switch {
	case kind == "rpc" && addr != "":
		return "", "" // authorizeAnswer judges each call
	case gone:
		return string(refusal.Removed), server + " was removed from the cluster"
	case kind == "rpc":
		return "", "" // authorizeCall judges each call
	case !a.trusts(id):
		return rafttransport.CodeNotMember, server + " is not in the membership that this replica knows"
	}
	if s, ok := servers.At(a.configuration(), addr); ok && s.ID != id {
		return rafttransport.CodeNotMember, fmt.Sprintf("%s answers at the address of %s", server, s.ID)
	}
	return "", ""
}

// authorizeCall decides whether this replica serves a call.
func (a *access) authorizeCall(method byte, from string) error {
	m, ok := protocol.MethodOf(method)
	if !ok {
		return fmt.Errorf("unknown method %d", method)
	}
	return a.allows(m.Caller, raft.ServerID(from))
}

// allows returns nil if a replica has a role, otherwise an error that says why not.
func (a *access) allows(r protocol.Role, from raft.ServerID) error {
	switch {
	case r == protocol.AnyReplica:
		return nil
	case !a.trusts(from):
		return notAMember(from)
	case r == protocol.OfLeader && !a.follows(from):
		return fmt.Errorf("%s is not the leader that this replica follows", from)
	case r == protocol.OfVoter && !a.mayVote(from):
		return fmt.Errorf("%s is not a voter", from)
	}
	return nil
}

// follows reports whether this replica follows server as its leader.
func (a *access) follows(server raft.ServerID) bool {
	_, leader := a.current().raft.LeaderWithID()
	return leader == server
}

// mayVote reports whether a trusted replica may be a voter, as far as this replica knows. It may be
// one if this replica does not find it in its memberships.
func (a *access) mayVote(server raft.ServerID) bool {
	s, ok := a.member(server)
	return !ok || s.Suffrage == raft.Voter || servers.Votes(a.fsm.membership(), server) || a.follows(server)
}

func notAMember(server raft.ServerID) *refusal.Refusal {
	return refusal.New(refusal.NoSuchReplica, "join first", "%s is not a member of this cluster", server)
}

// authorizeAnswer decides, before a call is sent, whether this replica may use the answer. A
// process that is not a member but listens at a member's address must not influence votes, reads or
// where inputs go.
func (a *access) authorizeAnswer(method byte, to string) error {
	if m, ok := protocol.MethodOf(method); ok && (m.Answer || a.ClusterID() == "" || a.trusts(raft.ServerID(to))) {
		return nil
	}
	return notAMember(raft.ServerID(to))
}

// authorizeRaft decides whether this replica serves a Raft request. The peer transport checks that
// the header names the actual sender.
func (a *access) authorizeRaft(cmd any) error {
	h, ok := cmd.(raft.WithRPCHeader)
	if !ok {
		return errors.New("the request has no header")
	}
	from := raft.ServerID(h.GetRPCHeader().ID)
	if a.current() == nil || !a.trusts(from) {
		return rafttransport.ErrNotMember
	}
	if _, ok := cmd.(*raft.TimeoutNowRequest); ok {
		return a.allows(protocol.OfVoter, from)
	}
	return nil
}
