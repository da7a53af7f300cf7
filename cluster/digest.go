package cluster

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster/identity"
	"rmd/cluster/local"
	"rmd/cluster/progress"
	"rmd/cluster/protocol"
	"rmd/cluster/servers"
	"rmd/internal/exitcode"
)

// DigestReport is one replica's digest at the compared index.
type DigestReport struct {
	ID      string `json:"id"`
	Index   uint64 `json:"index"`
	Digest  string `json:"digest"`
	Known   bool   `json:"known"` // it answered and had a digest of that index
	Differs bool   `json:"differs"`
}

// digests compares the digests of the replicas.
type digests struct {
	*local.Replica
	progress *progress.Watch
}

// digestRequest asks for the digest at an index of the FSM. A backup brings the index at which it was
// saved, so two backups may have one index. Therefore the replica first applies all that the asking one
// had applied, its newest backup included.
type digestRequest struct {
	Index   uint64 `json:"index"`
	Applied uint64 `json:"applied,omitempty"` // index of Raft's log
}

type digestReply struct {
	Index  uint64 `json:"index"`
	Digest []byte `json:"digest"`
	Known  bool   `json:"known"`
}

// stopRequest tells a replica whose digest differs from the majority's to stop.
type stopRequest struct {
	ServerID string `json:"server_id"`
	Index    uint64 `json:"index"`
	Ours     []byte `json:"ours"`
}

// digestHere returns this replica's digest at an index. It waits up to protocol.InfoTimeout until the indexes
// of the request are applied.
func (d *digests) digestHere(ctx context.Context, q digestRequest) digestReply {
	if d.Config.Digest == nil {
		return digestReply{}
	}
	ctx, cancel := context.WithTimeout(ctx, protocol.InfoTimeout)
	defer cancel()
	if err := d.WaitApplied(ctx, max(q.Index, q.Applied)); err != nil {
		return digestReply{}
	}
	at, own, ok := d.Config.Digest(q.Index)
	return digestReply{Index: at, Digest: own, Known: ok && (q.Index == 0 || at == q.Index)}
}

// digestStop stops this replica if its digest at q.Index differs from q.Ours.
func (d *digests) digestStop(from string, q stopRequest) error {
	if q.ServerID != string(d.Identity().ServerID()) {
		return errors.New("not this replica")
	}
	mine := d.digestHere(d.Context, digestRequest{Index: q.Index})
	if !mine.Known || bytes.Equal(mine.Digest, q.Ours) {
		return errors.New("the digests are equal")
	}
	d.Go(func() {
		d.Guard.Fail(exitcode.Diverged, fmt.Errorf("%w at index %d: %x here, %x at %s", local.ErrDigest, q.Index, mine.Digest,
			q.Ours, from))
	})
	return nil
}

// CompareDigests compares the digests of all replicas at one index, the newest one that this
// replica has applied.
func (d *digests) CompareDigests(ctx context.Context) ([]DigestReport, error) {
	reports, _, _, err := d.compareDigests(ctx)
	return reports, err
}

// compareDigests also returns the servers whose digest differs from a majority's, and the
// majority's digest. right is nil if no digest has a majority. It compares nothing while this replica
// restores a backup.
func (d *digests) compareDigests(ctx context.Context) (reports []DigestReport, minority []raft.Server,
	right []byte, err error) {
	if d.Config.Digest == nil || d.Peer == nil {
		return nil, nil, nil, errors.New("this replica does not compare digests")
	}
	restores := d.progress.Restores()
	index, _, ok := d.Config.Digest(0)
	if !ok || index == 0 || d.progress.Restoring() {
		return nil, nil, nil, nil
	}
	members := d.Configuration().Servers
	replies := d.askDigests(ctx, members, digestRequest{index, d.AppliedIndex()})
	if d.progress.Restores() != restores {
		return nil, nil, nil, nil // the answers may be of different states
	}
	votes := map[string]int{}
	for i := range members {
		if replies[i].Known && members[i].Suffrage == raft.Voter {
			votes[string(replies[i].Digest)]++
		}
	}
	need := len(servers.Voters(raft.Configuration{Servers: members}))/2 + 1
	for d, n := range votes { // at most one digest can have a majority
		if n >= need {
			right = []byte(d)
		}
	}
	for i, s := range members {
		id, _ := identity.Split(s.ID)
		r := DigestReport{ID: id, Index: index, Digest: hex.EncodeToString(replies[i].Digest), Known: replies[i].Known}
		if r.Differs = r.Known && (right != nil && !bytes.Equal(right, replies[i].Digest) ||
			right == nil && len(votes) > 1); r.Differs && right != nil {
			minority = append(minority, s)
		}
		reports = append(reports, r)
	}
	return reports, minority, right, nil
}

// askDigests asks all servers concurrently.
func (d *digests) askDigests(ctx context.Context, members []raft.Server, q digestRequest) []digestReply {
	ctx, cancel := context.WithTimeout(ctx, 2*protocol.InfoTimeout)
	defer cancel()
	self := d.Identity().ServerID()
	out := make([]digestReply, len(members))
	var wg sync.WaitGroup
	for i, s := range members {
		if s.ID == self {
			out[i] = d.digestHere(ctx, q)
			continue
		}
		wg.Go(func() {
			if r, err := protocol.Ask[digestReply](ctx, d.Peer, string(s.Address), protocol.Digest, q); err == nil {
				out[i] = r
			}
		})
	}
	wg.Wait()
	return out
}

// watchDigests compares digests every DigestInterval while this replica leads. It stops the
// replicas in the minority, itself included.
func (d *digests) watchDigests() {
	t := time.NewTicker(d.Config.DigestInterval)
	defer t.Stop()
	for {
		select {
		case <-d.Context.Done():
			return
		case <-t.C:
		}
		if !d.IsLeader() {
			continue
		}
		reports, minority, right, err := d.compareDigests(d.Context)
		if err == nil && len(minority) > 0 {
			err = d.stopMinority(reports[0].Index, minority, right)
		}
		_ = d.Jobs.Digests.Done(err)
	}
}

// stopMinority stops the replicas whose digest at an index is not right, which is the majority's. It
// stops the other replicas first, then this one if it is in the minority. Its error names those that
// it could not stop.
func (d *digests) stopMinority(index uint64, minority []raft.Server, right []byte) error {
	self := d.Identity().ServerID()
	var me bool
	var errs []error
	for _, s := range minority {
		if s.ID == self {
			me = true
			continue
		}
		d.Log.Error("a replica's state differs from the majority's", "replica", s.ID, "index", index)
		ctx, cancel := context.WithTimeout(d.Context, 2*protocol.InfoTimeout)
		if _, err := protocol.Ask[protocol.None](ctx, d.Peer, string(s.Address), protocol.Stop,
			stopRequest{string(s.ID), index, right}); err != nil {
			d.Log.Warn("cannot stop the replica whose state differs", "replica", s.ID, "error", err)
			errs = append(errs, fmt.Errorf("%s: %w", s.ID, err))
		}
		cancel()
	}
	if me {
		d.Guard.Fail(exitcode.Diverged, fmt.Errorf("%w", local.ErrDigest))
	}
	return errors.Join(errs...)
}
