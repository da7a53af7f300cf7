package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/rafttransport"
	"rmd/internal/failpoint"
)

// The methods of the admin protocol over Peer. The numbers are part of the wire protocol: append
// only. Numbers up to 31 belong to this package. Messages are JSON, except those that are part of
// every read and write.
const (
	methodInfo       byte = 1
	methodJoin       byte = 2
	methodAdopt      byte = 3
	methodAdmin      byte = 4
	methodReadIndex  byte = 5
	methodTerm       byte = 6
	methodRemoved    byte = 7
	methodRole       byte = 8
	methodDigest     byte = 9
	methodStop       byte = 10
	methodMove       byte = 11
	methodCommitted  byte = 12
	methodRolledBack byte = 13
	methodIntroduce  byte = 14
)

// A replica that does not answer within infoTimeout is shown as unreachable. A command is refused
// because of such a replica only after patientTimeout, since a busy machine is not dead. (If the
// process is dead, the call fails at once.)
const (
	infoTimeout    = 500 * time.Millisecond
	patientTimeout = 4 * time.Second
	adminTimeout   = 15 * time.Second
)

// reply is the answer of every JSON method: either a refusal or a body.
type reply struct {
	Refusal *Refusal        `json:"refusal,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// serve registers the handler of a JSON method.
func serve[Q, A any](c *Cluster, method byte, h func(ctx context.Context, from string, q Q) (A, error)) {
	c.peer.Handle(method, func(ctx context.Context, from string, req []byte) ([]byte, error) {
		if m, _ := methodOf(method); tooLarge(m, req) {
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

// ask calls a JSON method.
func ask[A any](ctx context.Context, p Peer, addr string, method byte, q any) (A, error) {
	var a A
	req, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	b, err := p.Call(ctx, addr, method, req)
	if err != nil {
		var coded interface{ ErrorCode() string }
		if errors.As(err, &coded) && coded.ErrorCode() == string(CodeNoSuchReplica) {
			return a, refuse(CodeNoSuchReplica, "join first", "this replica is not a member of the cluster of %s", addr)
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

// none is an empty message.
type none struct{}

// serveAdmin registers all methods.
func (c *Cluster) serveAdmin() {
	serve(c, methodInfo, func(_ context.Context, from string, _ none) (info, error) { return c.infoFor(from), nil })
	serve(c, methodJoin, c.joinHere)
	serve(c, methodAdopt, func(ctx context.Context, from string, q adoptRequest) (none, error) {
		return none{}, c.adopt(ctx, from, q)
	})
	serve(c, methodIntroduce, func(_ context.Context, from string, q introduction) (none, error) {
		return none{}, c.introduceHere(from, q)
	})
	serve(c, methodAdmin, func(ctx context.Context, _ string, q adminRequest) (none, error) { return none{}, c.adminHere(ctx, q) })
	serve(c, methodRemoved, func(_ context.Context, _ string, q removedNotice) (none, error) { return none{}, c.removedHere(q) })
	serve(c, methodRolledBack, func(_ context.Context, from string, q rafttransport.Rollback) (none, error) {
		return none{}, c.logRolledBackHere(from, q)
	})
	serve(c, methodRole, func(_ context.Context, _ string, q string) (none, error) { return none{}, c.setRole(q) })
	serve(c, methodMove, func(ctx context.Context, from string, q moveRequest) (none, error) {
		return none{}, c.moveHere(ctx, from, q)
	})
	c.serveDigest()
	c.peer.Handle(methodCommitted, c.receiveCommitNotice)
	c.peer.Handle(methodTerm, func(context.Context, string, []byte) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, c.Term()), nil
	})
	c.peer.Handle(methodReadIndex, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		if !c.IsLeader() {
			return nil, ErrNotLeader
		}
		index, err := c.readIndexHere(ctx)
		if err != nil {
			return nil, err
		}
		return binary.BigEndian.AppendUint64(nil, index), nil
	})
}

// adminRequest is a membership change on its way to the leader. ID is the name that the operator
// gave. Server is the ID.INCARNATION that ID named when the first leader received the request. Hops
// counts how often the request was forwarded.
type adminRequest struct {
	Op     string `json:"op"`
	ID     string `json:"id,omitempty"`
	Server string `json:"server,omitempty"`
	MaxLag uint64 `json:"max_lag,omitempty"`
	Force  bool   `json:"force,omitempty"`
	Dry    bool   `json:"dry,omitempty"`
	By     string `json:"by,omitempty"`
	Hops   int    `json:"hops,omitempty"`
}

// admin runs a request on this replica if it leads, otherwise on the leader.
func (c *Cluster) admin(q adminRequest) error {
	ctx, cancel := context.WithTimeout(c.ctx, adminTimeout)
	defer cancel()
	if q.By == "" {
		q.By = c.cfg.ID
	}
	return c.resolveOutcome(ctx, q)
}

// adminHere runs a request if this replica leads, otherwise it forwards the request.
func (c *Cluster) adminHere(ctx context.Context, q adminRequest) error {
	if c.IsLeader() {
		return c.runAdmin(ctx, q)
	}
	addr, err := c.forward(&q.Hops)
	if err != nil {
		return err
	}
	_, err = ask[none](ctx, c.peer, addr, methodAdmin, q)
	return c.resolveSelfRemoval(ctx, q, addr, err)
}

// hopsMax is how often a request may be forwarded while leadership changes.
const hopsMax = 2

// forward returns the address of the leader for a request that was forwarded *hops times, and
// increments *hops.
func (c *Cluster) forward(hops *int) (string, error) {
	_, addr := c.Leader()
	if *hops++; addr == "" || addr == c.Addr() || *hops > hopsMax || c.peer == nil {
		return "", refuse(CodeNoLeader, "wait for an election, or see \"rmd cluster members\"", "replica %s knows no leader", c.cfg.ID)
	}
	return addr, nil
}

// runAdmin executes a request on the leader.
func (c *Cluster) runAdmin(ctx context.Context, q adminRequest) error {
	if q.Op == "transfer" {
		return c.transferHere(ctx, q.ID)
	}
	if err := c.resolveServer(&q); err != nil {
		return err
	}
	if err := c.awaitCommitted(ctx); err != nil {
		return err
	}
	switch q.Op {
	case "promote":
		return c.promoteHere(ctx, q)
	case "demote":
		return c.demoteHere(ctx, q)
	case "remove":
		return c.removeHere(ctx, q)
	}
	return fmt.Errorf("unknown admin operation %q", q.Op)
}

// resolveServer sets q.Server before the request waits for anything. A request must not apply to a
// later replica that reuses the id of a removed one.
func (c *Cluster) resolveServer(q *adminRequest) error {
	if q.Server != "" {
		return nil
	}
	s, ok := find(union(c.configuration(), c.fsm.membership()), q.ID)
	if !ok {
		return noSuch(q.ID)
	}
	q.Server = string(s.ID)
	return nil
}

// commitPoll is how often awaitCommitted checks whether this replica still leads.
const commitPoll = 50 * time.Millisecond

// awaitCommitted waits until the newest membership is committed. The answer to a change depends on
// the membership ("is a member", "is already a voter"). An answer that depends on an uncommitted
// membership would be wrong if the next leader does not have it.
func (c *Cluster) awaitCommitted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	for {
		moved := c.fsm.moved()
		if slices.Equal(c.fsm.membership().Servers, c.configuration().Servers) {
			return nil
		}
		if !c.IsLeader() {
			return refuse(CodeNoLeader, "try again", "%s lost its leadership before the previous membership change was committed", c.cfg.ID)
		}
		select {
		case <-moved:
		case <-time.After(commitPoll):
		case <-ctx.Done():
			return refuse(CodeTimeout, "try again when a majority of the voters is available; see \"rmd cluster members\"", "the previous membership change is not committed")
		}
	}
}

// awaitChange waits for a membership change and translates its errors.
func (c *Cluster) awaitChange(ctx context.Context, in *instance, f raft.IndexFuture) error {
	if err := in.await(ctx, f); err != nil {
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
			return fmt.Errorf("membership change: %w", c.outcome(f, err))
		}
		return fmt.Errorf("membership change: %w", err)
	}
	failpoint.Hit(failpoint.MemberChanged)
	return nil
}
