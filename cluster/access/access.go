package access

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"

	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/cluster/rafttransport"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
)

// Rules decides which replicas may connect, call and vote.
type Rules struct {
	*local.Replica
	Introduced introductions
}

// Member looks for a server in the newest membership, then in the newest committed one.
func (a *Rules) Member(server raft.ServerID) (raft.Server, bool) {
	is := func(s raft.Server) bool { return s.ID == server }
	for _, conf := range [...]raft.Configuration{a.Configuration(), a.FSM.Membership()} {
		if i := slices.IndexFunc(conf.Servers, is); i >= 0 {
			return conf.Servers[i], true
		}
	}
	return raft.Server{}, false
}

// Trusts reports whether this replica treats a server as a member. It does so if the server is in
// the membership, or has proved by a signed admission that entries not yet received here made it a
// member. Before this replica has a membership, it trusts the servers that were named as members
// when it joined, or when the cluster was created.
func (a *Rules) Trusts(server raft.ServerID) bool {
	if _, ok := a.Member(server); ok || a.Introduced.Has(server) {
		return true
	}
	if a.InMembership() {
		return false
	}
	return slices.Contains(a.Identity().Trust.Known, string(server))
}

// AdmitConn decides about a new connection to or from server. addr is the address that this replica
// dialed, or empty if server dialed. It returns the code and text of a refusal, or empty strings.
func (a *Rules) AdmitConn(server, kind, addr, serial string, key ed25519.PublicKey) (code, text string) {
	id := raft.ServerID(server)
	if serial != "" && a.Config.Revoked != nil && a.Config.Revoked(serial) {
		return "BAD_IDENTITY", "certificate " + serial + " is revoked"
	}
	if err := a.verifyName(id, key); err != nil {
		return "BAD_IDENTITY", err.Error()
	}
	gone := a.Dir.IsRemoved(id)
	switch {
	case kind == "rpc" && addr != "":
		return "", "" // authorizeAnswer judges each call
	case gone:
		return string(refusal.Removed), server + " was removed from the cluster"
	case kind == "rpc":
		return "", "" // authorizeCall judges each call
	case !a.Trusts(id):
		return rafttransport.CodeNotMember, server + " is not in the membership that this replica knows"
	}
	if s, ok := servers.At(a.Configuration(), addr); ok && s.ID != id {
		return rafttransport.CodeNotMember, fmt.Sprintf("%s answers at the address of %s", server, s.ID)
	}
	return "", ""
}

// AuthorizeCall decides whether this replica serves a call.
func (a *Rules) AuthorizeCall(method byte, from string) error {
	m, ok := protocol.MethodOf(method)
	if !ok {
		return fmt.Errorf("unknown method %d", method)
	}
	return a.Allows(m.Caller, raft.ServerID(from))
}

// Allows returns nil if a replica has a role, otherwise an error that says why not.
func (a *Rules) Allows(r protocol.Role, from raft.ServerID) error {
	switch {
	case r == protocol.AnyReplica:
		return nil
	case !a.Trusts(from):
		return notAMember(from)
	case r == protocol.OfLeader && !a.Follows(from):
		return fmt.Errorf("%s is not the leader that this replica follows", from)
	case r == protocol.OfVoter && !a.mayVote(from):
		return fmt.Errorf("%s is not a voter", from)
	}
	return nil
}

// Follows reports whether this replica follows server as its leader.
func (a *Rules) Follows(server raft.ServerID) bool {
	_, leader := a.Current().Raft.LeaderWithID()
	return leader == server
}

// mayVote reports whether a trusted replica may be a voter, as far as this replica knows. It may be
// one if this replica does not find it in its memberships.
func (a *Rules) mayVote(server raft.ServerID) bool {
	s, ok := a.Member(server)
	return !ok || s.Suffrage == raft.Voter || servers.Votes(a.FSM.Membership(), server) || a.Follows(server)
}

func notAMember(server raft.ServerID) *refusal.Refusal {
	return refusal.New(refusal.NoSuchReplica, "join first", "%s is not a member of this cluster", server)
}

// AuthorizeAnswer decides, before a call is sent, whether this replica may use the answer. A
// process that is not a member but listens at a member's address must not influence votes, reads or
// where inputs go.
func (a *Rules) AuthorizeAnswer(method byte, to string) error {
	if m, ok := protocol.MethodOf(method); ok && (m.Answer || a.ClusterID() == "" || a.Trusts(raft.ServerID(to))) {
		return nil
	}
	return notAMember(raft.ServerID(to))
}

// AuthorizeRaft decides whether this replica serves a Raft request. The peer transport checks that
// the header names the actual sender.
func (a *Rules) AuthorizeRaft(cmd any) error {
	h, ok := cmd.(raft.WithRPCHeader)
	if !ok {
		return errors.New("the request has no header")
	}
	from := raft.ServerID(h.GetRPCHeader().ID)
	if a.Current() == nil || !a.Trusts(from) {
		return rafttransport.ErrNotMember
	}
	if _, ok := cmd.(*raft.TimeoutNowRequest); ok {
		return a.Allows(protocol.OfVoter, from)
	}
	return nil
}
