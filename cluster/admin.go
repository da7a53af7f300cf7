package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/access"
	"rmd/cluster/leading"
	"rmd/cluster/local"
	"rmd/cluster/protocol"
	"rmd/cluster/raftstore"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/internal/failpoint"
)

// changes makes the changes of the membership that operators request, and transfers of leadership.
type changes struct {
	*local.Replica
	access     *access.Rules
	lead       *leading.Watch
	survey     *survey
	departures *departures
	one        raftstore.Mutex // held while one membership change is checked and made
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
func (c *changes) admin(q adminRequest) error {
	ctx, cancel := context.WithTimeout(c.Context, protocol.AdminTimeout)
	defer cancel()
	if q.By == "" {
		q.By = c.Config.ID
	}
	return c.resolveOutcome(ctx, q)
}

// adminHere runs a request if this replica leads, otherwise it forwards the request.
func (c *changes) adminHere(ctx context.Context, q adminRequest) error {
	if c.IsLeader() {
		return c.runAdmin(ctx, q)
	}
	addr, err := c.forward(&q.Hops)
	if err != nil {
		return err
	}
	_, err = protocol.Ask[protocol.None](ctx, c.Peer, addr, protocol.Admin, q)
	return c.resolveSelfRemoval(ctx, q, addr, err)
}

// hopsMax is how often a request may be forwarded while leadership changes.
const hopsMax = 2

// forward returns the address of the leader for a request that was forwarded *hops times, and
// increments *hops.
func (c *changes) forward(hops *int) (string, error) {
	_, addr := c.lead.Leader()
	if *hops++; addr == "" || addr == c.Addr() || *hops > hopsMax || c.Peer == nil {
		return "", refusal.New(refusal.NoLeader, "wait for an election, or see \"rmd cluster members\"",
			"replica %s knows no leader", c.Config.ID)
	}
	return addr, nil
}

// runAdmin executes a request on the leader.
func (c *changes) runAdmin(ctx context.Context, q adminRequest) error {
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
func (c *changes) resolveServer(q *adminRequest) error {
	if q.Server != "" {
		return nil
	}
	s, ok := servers.Find(servers.Union(c.Configuration(), c.FSM.Membership()), q.ID)
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
func (c *changes) awaitCommitted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, protocol.AdminTimeout)
	defer cancel()
	for {
		moved := c.FSM.Moved()
		if slices.Equal(c.FSM.Membership().Servers, c.Configuration().Servers) {
			return nil
		}
		if !c.IsLeader() {
			return refusal.New(refusal.NoLeader, "try again",
				"%s lost its leadership before the previous membership change was committed", c.Config.ID)
		}
		select {
		case <-moved:
		case <-time.After(commitPoll):
		case <-ctx.Done():
			return refusal.New(refusal.Timeout,
				"try again when a majority of the voters is available; see \"rmd cluster members\"",
				"the previous membership change is not committed")
		}
	}
}

// awaitChange waits for a membership change and translates its errors.
func (c *changes) awaitChange(ctx context.Context, in *local.Instance, f raft.IndexFuture) error {
	if err := in.Await(ctx, f); err != nil {
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
			return fmt.Errorf("membership change: %w", c.Outcome(f, err))
		}
		return fmt.Errorf("membership change: %w", err)
	}
	failpoint.Hit(failpoint.MemberChanged)
	return nil
}
