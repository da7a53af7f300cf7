package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/history"
	"rmd/transport/http/v1/api"
)

// identityTries bounds how often a snapshot is taken again because the leader has
// written meanwhile.
const (
	identityTries = 5
	identityPause = 200 * time.Millisecond
)

// identity holds that a state restored from a snapshot is the state that it was
// made of: S15. Nobody asks for anything any more, so the index stands still: each
// follower takes a snapshot, is killed, and tells its digest when it is back: that
// of the snapshot's state and the one entry behind it, which notes who took it.
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
			time.Sleep(identityPause) // one may be under way already
		}
		if errors.Is(why, errNotTaken) {
			r.violate("S15", "%s was asked %d times in the recovery phase: %v", p.ID, identityTries, why)
		}
	}
}

// errNotTaken says that a replica does not give a snapshot of its state: nobody could be
// restored from it, so that is no reason to look at none.
var errNotTaken = errors.New("no snapshot taken")

// restored has one replica come back from a snapshot; an error says why there is
// nothing to compare.
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
	// The history leaves out the start between: with it, a replica that had caught up in the recovery phase
	// would have to catch up again.
	r.rec.Note(&history.Replica{ID: p.ID, Kind: history.Snapshot, Incarnation: p.Runs() - 1, Index: was.Index, Digest: digestOf(was)})
	r.rec.Note(&history.Replica{ID: p.ID, Kind: history.Restore, Incarnation: p.Runs(), Index: is.Index, Digest: digestOf(is)})
	return nil
}
