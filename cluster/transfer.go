package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/protocol"
	"rmd/cluster/refusal"
	"rmd/cluster/servers"
	"rmd/internal/failpoint"
	"rmd/internal/thousands"
)

// Transfer transfers leadership to a voter. "" means the voter with the longest log.
func (c *changes) Transfer(id string) error { return c.admin(adminRequest{Op: "transfer", ID: id}) }

// transferHere checks the target, transfers leadership and waits until this replica no longer
// leads.
func (c *changes) transferHere(ctx context.Context, id string) error {
	in := c.Current()
	var f raft.Future
	if id == "" {
		if len(servers.Voters(c.Configuration())) < 2 {
			return refusal.New(refusal.NotHealthy, "join and promote another replica first", "the cluster has no other voter")
		}
		c.Transfers.Begin()
		defer c.Transfers.End()
		f = in.Raft.LeadershipTransfer()
	} else {
		s, ok := servers.Find(c.Configuration(), id)
		switch {
		case !ok:
			return noSuch(id)
		case s.Suffrage != raft.Voter:
			return refusal.New(refusal.NotAVoter, "promote it first", "replica %s is not a voter", id)
		case s.ID == c.Identity().ServerID():
			return nil
		}
		if err := c.awaitTarget(ctx, s, id); err != nil {
			return err
		}
		c.Transfers.Begin()
		defer c.Transfers.End()
		f = in.Raft.LeadershipTransferToServer(s.ID, s.Address)
	}
	failpoint.Hit(failpoint.TransferBegun)
	if err := in.Await(ctx, f); err != nil {
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("transfer leadership: %w", err)
		}
		return refusal.New(refusal.NotHealthy, "see \"rmd cluster members\" and try again",
			"the leadership transfer failed: %v", err)
	}
	for in.Raft.State() == raft.Leader {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("transfer leadership: %w", ctx.Err())
		}
	}
	return nil
}

// awaitTarget waits up to protocol.PatientTimeout until the target's log has everything that is committed
// now.
func (c *changes) awaitTarget(ctx context.Context, s raft.Server, id string) error {
	want := c.CommitIndex()
	var lag uint64
	for deadline := time.Now().Add(protocol.PatientTimeout); ; {
		i, ok := c.survey.askPatiently(s)[s.ID]
		if !ok {
			return refusal.New(refusal.NotHealthy, "see \"rmd cluster members\"", "replica %s does not answer", id)
		}
		if lag = want - min(want, i.LastIndex); lag == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return refusal.New(refusal.NotCaughtUp, "wait for \"rmd cluster members\" to show lag 0",
				"replica %s is %s entries behind", id, thousands.Format(lag))
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
