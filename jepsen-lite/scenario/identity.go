package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/api"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
)

// identityTries limits how often a replica must repeat its snapshot because the leader has written
// an entry meanwhile.
const (
	identityTries = 5
	identityPause = 200 * time.Millisecond
)

// identity checks S15: a state restored from a snapshot is the state of which the snapshot was
// taken. In the recovery phase nothing is written, so the index does not change. Each follower
// takes a snapshot, is killed, and then reports its digest. The digest belongs to the snapshot's
// state and one more entry, which records who took the snapshot.
func (r *run) identity(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*recoverWithin)
	defer cancel()
	leader := r.cluster.Leader(ctx)
	for _, p := range r.cluster.Voters() {
		if p == leader || leader == nil {
			continue
		}
		var why error
		for range identityTries {
			if why = r.restored(ctx, p); why == nil {
				break
			}
			r.opt.note("%s has restored no snapshot to check: %v", p.ID, why)
			time.Sleep(identityPause) // another snapshot may be in progress
		}
		if errors.Is(why, errNotTaken) {
			r.violate("S15", "%s was asked %d times in the recovery phase: %v", p.ID, identityTries, why)
		}
	}
}

// errNotTaken means that a replica does not take a snapshot. That is a violation: no replica could
// be restored from it.
var errNotTaken = errors.New("no snapshot taken")

// restored restarts one replica from a snapshot and records both digests. An error says why they
// cannot be compared.
func (r *run) restored(ctx context.Context, p *harness.Replica) error {
	snap, err := r.cluster.TakeSnapshot(ctx, p)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	was, err := r.cluster.Facts(ctx, p)
	if err != nil {
		return err
	}
	if was.Index > snap.Index+1 || was.Digest == "" {
		return fmt.Errorf("the snapshot has index %d, but the digest %q has index %d", snap.Index, was.Digest, was.Index)
	}
	if err := p.Kill(); err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	if err := r.cluster.AwaitReady(ctx, p); err != nil {
		return err
	}
	var is api.Cluster
	for end := time.Now().Add(5 * time.Second); is.Index < was.Index && time.Now().Before(end); {
		if is, err = r.cluster.Facts(ctx, p); err != nil {
			return err
		}
	}
	if is.Index != was.Index {
		return fmt.Errorf("it restarted with index %d, but had index %d before", is.Index, was.Index)
	}
	// The history does not contain this restart. Otherwise a replica that had caught up in the
	// recovery phase would have to catch up again.
	r.rec.Note(&history.Replica{ID: p.ID, Kind: history.Snapshot, Incarnation: p.Runs() - 1, Index: was.Index,
		Digest: digestOf(was)})
	r.rec.Note(&history.Replica{ID: p.ID, Kind: history.Restore, Incarnation: p.Runs(), Index: is.Index,
		Digest: digestOf(is)})
	return nil
}
