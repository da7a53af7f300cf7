package scenario

import (
	"context"
	"fmt"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
	"rmd/transport/rest/api"
)

// identityTries bounds how often a snapshot is taken anew because the leader has
// written meanwhile.
const identityTries = 5

// identity holds that a state restored from a snapshot is the state that it was
// made of: S15. Nobody asks for anything any more, so the index stands still: each
// follower takes a snapshot, is killed, and tells its digest when it is back: that
// of the snapshot's state and the one entry behind it, which notes who took it.
func (r *run) identity(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*calmWithin)
	defer cancel()
	leader := r.cluster.Leader(ctx)
	for _, p := range r.cluster.Voters() {
		if p == leader || leader == nil {
			continue
		}
		for range identityTries {
			ok, why := r.restored(ctx, p)
			if ok {
				break
			}
			r.opt.note("no restored snapshot of %s to look at: %v", p.ID, why)
		}
	}
}

// restored has one replica come back from a snapshot; false, and why, when there is
// nothing to compare.
func (r *run) restored(ctx context.Context, p *harness.Replica) (bool, error) {
	snap, err := r.cluster.TakeSnapshot(ctx, p)
	if err != nil {
		return false, err
	}
	was, err := r.cluster.Facts(ctx, p)
	if err != nil {
		return false, err
	}
	if was.Index > snap.Index+1 || was.Digest == "" {
		return false, fmt.Errorf("the snapshot is of index %d, the digest %q of %d", snap.Index, was.Digest, was.Index)
	}
	if err := p.Kill(); err != nil {
		return false, err
	}
	if err := p.Start(); err != nil {
		return false, err
	}
	if err := r.cluster.AwaitReady(ctx, p); err != nil {
		return false, err
	}
	var is api.Cluster
	for end := time.Now().Add(5 * time.Second); is.Index < was.Index && time.Now().Before(end); {
		if is, err = r.cluster.Facts(ctx, p); err != nil {
			return false, err
		}
	}
	if is.Index != was.Index {
		return false, fmt.Errorf("it comes back with index %d, it had %d", is.Index, was.Index)
	}
	// The start between is not noted: whoever had caught up in the calm would have to do so anew.
	r.rec.Note(&history.Replica{ID: p.ID, Kind: history.Snapshot, Life: p.Runs() - 1, Index: was.Index, Digest: digestOf(was)})
	r.rec.Note(&history.Replica{ID: p.ID, Kind: history.Restore, Life: p.Runs(), Index: is.Index, Digest: digestOf(is)})
	return true, nil
}
