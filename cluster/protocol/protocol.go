// Package protocol is the admin protocol that replicas speak over the peer port: its methods, who may
// call them, and the form of its messages.
package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rmd/cluster/refusal"
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
	{Info, "info", AnyReplica, true},
	{Join, "join", AnyReplica, true}, // with a join token
	{Adopt, "adopt", AnyReplica, true},
	{Admin, "admin", OfMember, false},
	{ReadIndex, "read index", OfMember, false},
	{Term, "term", OfMember, false},
	{Removed, "removed", OfVoter, true}, // the receiver is no longer a member
	{SetRole, "role", OfMember, false},
	{Digest, "digest", OfMember, false},
	{Stop, "stop", OfLeader, false},
	{Move, "move", OfMember, false},
	{Committed, "committed", OfLeader, false},
	{RolledBack, "log rolled back", OfVoter, false},
	{Introduce, "introduce", AnyReplica, true}, // with a signed admission
	{32, "input", OfMember, false},             // transport/forward
	{33, "question", OfMember, false},          // cmd/rmd
	{0, "AppendEntries", OfMember, false},
	{0, "InstallSnapshot", OfMember, false},
	{0, "RequestVote", OfMember, false},
	{0, "RequestPreVote", OfMember, false},
	{0, "TimeoutNow", OfVoter, false},
	{0, "liveness", OfMember, false},
}

// MethodOf returns the row of a call's method number.
func MethodOf(number byte) (Method, bool) {
	for i := range Methods { // by index: this runs for each call, and a range value would copy the row
		if Methods[i].Number == number && number != 0 {
			return Methods[i], true
		}
	}
	return Method{}, false
}

// The methods of the admin protocol over Peer. The numbers are part of the wire protocol: append
// only. Numbers up to 31 belong to this package. Messages are JSON, except those that are part of
// every read and write.
const (
	Info       byte = 1
	Join       byte = 2
	Adopt      byte = 3
	Admin      byte = 4
	ReadIndex  byte = 5
	Term       byte = 6
	Removed    byte = 7
	SetRole    byte = 8
	Digest     byte = 9
	Stop       byte = 10
	Move       byte = 11
	Committed  byte = 12
	RolledBack byte = 13
	Introduce  byte = 14
)

// A replica that does not answer within InfoTimeout is shown as unreachable. A command is refused
// because of such a replica only after PatientTimeout, since a busy machine is not dead. (If the
// process is dead, the call fails at once.)
const (
	InfoTimeout    = 500 * time.Millisecond
	PatientTimeout = 4 * time.Second
	AdminTimeout   = 15 * time.Second // for a change of the membership
)

// reply is the answer of every JSON method: either a refusal or a body.
type reply struct {
	Refusal *refusal.Refusal `json:"refusal,omitempty"`
	Body    json.RawMessage  `json:"body,omitempty"`
}

// Server registers the handler of a method. from is the caller's ID.INCARNATION.
type Server interface {
	Handle(method byte, h func(ctx context.Context, from string, req []byte) ([]byte, error))
}

// Caller sends a request to the replica at an address and returns the reply.
type Caller interface {
	Call(ctx context.Context, addr string, method byte, req []byte) ([]byte, error)
}

// Serve registers the handler of a JSON method.
func Serve[Q, A any](p Server, method byte, h func(ctx context.Context, from string, q Q) (A, error)) {
	p.Handle(method, func(ctx context.Context, from string, req []byte) ([]byte, error) {
		if m, _ := MethodOf(method); tooLarge(m, req) {
			return nil, fmt.Errorf("%s: %d bytes, the limit is %d", m.Name, len(req), strangerCallMax)
		}
		var q Q
		if err := json.Unmarshal(req, &q); err != nil {
			return nil, fmt.Errorf("method %d: %w", method, err)
		}
		a, err := h(ctx, from, q)
		var r reply
		if err != nil && !errors.As(err, &r.Refusal) {
			return nil, err
		}
		if err == nil {
			if r.Body, err = json.Marshal(a); err != nil {
				return nil, err
			}
		}
		return json.Marshal(r)
	})
}

// Ask calls a JSON method.
func Ask[A any](ctx context.Context, p Caller, addr string, method byte, q any) (A, error) {
	var a A
	req, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	b, err := p.Call(ctx, addr, method, req)
	if err != nil {
		var coded interface{ ErrorCode() string }
		if errors.As(err, &coded) && coded.ErrorCode() == string(refusal.NoSuchReplica) {
			return a, refusal.New(refusal.NoSuchReplica, "join first", "this replica is not a member of the cluster of %s", addr)
		}
		return a, err
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		return a, fmt.Errorf("reply of %s: %w", addr, err)
	}
	if r.Refusal != nil {
		return a, r.Refusal
	}
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return a, fmt.Errorf("reply of %s: %w", addr, err)
	}
	return a, nil
}

// None is an empty message.
type None struct{}

// strangerCallMax is the maximum size, in bytes, of a call from a replica that is not a member.
const strangerCallMax = 64 << 10

// tooLarge reports whether a call exceeds strangerCallMax and its caller need not be a member.
func tooLarge(m Method, req []byte) bool {
	return m.Caller == AnyReplica && len(req) > strangerCallMax
}
