package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"rmd/api"
	"rmd/cluster"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/sleep"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/audit"
	"rmd/snapshot"
	v1 "rmd/transport/http/v1"
)

// snapshots saves and restores the whole state for the REST API.
type snapshots struct{ r *Replica }

// Save implements v1.Snapshots. It writes a fork of the state to a temporary file, and verifies the
// file before it sends the first byte.
func (s snapshots) Save(ctx context.Context, stale bool) (api.Snapshot, io.ReadCloser, error) {
	if !stale {
		index, err := s.r.cluster.ReadIndex(ctx)
		if err == nil {
			err = s.r.machine.WaitApplied(ctx, index)
		}
		if err != nil {
			return api.Snapshot{}, nil, err
		}
	}
	_, term := s.r.machine.Applied()
	st, index := s.r.machine.Fork()
	if st.Meta.ClusterID == "" {
		return api.Snapshot{}, nil, consensus(s).NoState()
	}
	f, err := scratch(func(w io.Writer) error {
		return snapshot.Write(w, snapshot.HeaderOf(st, index, term, 0), st)
	})
	if err != nil {
		return api.Snapshot{}, nil, err
	}
	info, err := snapshot.Verify(bufio.NewReaderSize(f, 1<<20))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return api.Snapshot{}, nil, errors.Join(fmt.Errorf("the snapshot just written does not verify: %w", err), f.Close())
	}
	size, err := f.Stat()
	if err != nil {
		return api.Snapshot{}, nil, errors.Join(err, f.Close())
	}
	return api.Snapshot{ID: fmt.Sprintf("%d-%d", term, index), Index: index, Term: term, Bytes: size.Size(),
		AtMillis:  time.Now().UnixMilli(),
		ClusterID: info.Header.ClusterID, Digest: fmt.Sprintf("%016x", st.Digest())}, f, nil
}

// scratch writes an unnamed temporary file and rewinds it.
func scratch(write func(w io.Writer) error) (*os.File, error) {
	f, err := os.CreateTemp("", "rmd-snapshot-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // the file remains usable through its descriptor, and disappears when it is closed
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Restore implements v1.Snapshots. It first decodes the whole file. Then it closes the sequencer,
// so that no decision is planned on the old state, raises the epoch and passes the state to the
// cluster. If the snapshot has no access tokens, the cluster's tokens remain valid.
func (s snapshots) Restore(ctx context.Context, in io.Reader, replaceState string, dryRun bool,
	by input.Caller) (api.Restored, error) {
	h, st, err := snapshot.Read(bufio.NewReaderSize(in, 1<<20))
	if errors.Is(err, snapshot.ErrFormat) {
		return api.Restored{}, versionTooOld(err)
	}
	if err != nil {
		return api.Restored{}, &api.Error{Code: "SNAPSHOT_DAMAGED", Message: err.Error(),
			Remedy: "use another snapshot; nothing was changed", Status: 409}
	}
	if err := s.mayReplace(h, replaceState); err != nil {
		return api.Restored{}, err
	}
	now, _ := s.r.machine.Fork()
	out := api.Restored{ClusterID: h.ClusterID, Index: h.Index, Epoch: max(st.Meta.Epoch, now.Meta.Epoch) + 1,
		Apps: st.Apps.Len(), Nodes: st.Nodes.Len(), DryRun: dryRun,
		TokensKept: st.Access.Keep(now.Access)}
	if dryRun {
		return out, nil
	}
	if !s.r.cluster.IsLeader() {
		return api.Restored{}, &api.Error{Code: api.CodeNotLeader, Message: "a snapshot is restored by the leader",
			Remedy: "send it to the leader: see \"rmd cluster members\"", Status: 409}
	}
	resume, err := s.lastState(ctx)
	defer resume()
	if err != nil {
		return api.Restored{}, err
	}
	now, _ = s.r.machine.Fork()
	out.TokensKept += st.Access.Keep(now.Access) // the first token may have been created meanwhile
	st.Audit.Keep(&now.Audit)
	running := now.Meta
	running.ClusterID = s.r.cluster.ClusterID()
	if err := RaiseEpoch(st, running, "restored from a snapshot of cluster "+h.ClusterID+" at index "+
		strconv.FormatUint(h.Index, 10), s.r.parts.Now()); err != nil {
		return api.Restored{}, err
	}
	out.Epoch = st.Meta.Epoch
	if err := s.record(h, st, now.Meta.NowMillis, by); err != nil {
		return api.Restored{}, err
	}
	if err := s.install(h, st); err != nil {
		return api.Restored{}, err
	}
	out.Digest = fmt.Sprintf("%016x", st.Digest())
	return out, ctx.Err()
}

// record writes into the restored state who restored what, so that every replica that has the state
// has the entry. lastMillis is the time of the replaced state.
func (s snapshots) record(h snapshot.Header, st *state.State, lastMillis int64, by input.Caller) error {
	now := max(s.r.parts.Now().UnixMilli(), lastMillis, st.Meta.NowMillis)
	if err := st.Apply(&event.TimeAdvanced{NowMillis: now}); err != nil {
		return err
	}
	return st.Apply(audit.Entry(&input.Audit{Who: by.Who, From: by.From, Action: v1.ActionRestore,
		Target: fmt.Sprintf("snapshot of cluster %s at index %d, term %d", h.ClusterID, h.Index, h.Term),
		Result: event.AuditDone}))
}

// lastState closes the sequencer until resume is called, and waits until everything that the
// sequencer has proposed is applied here. So nothing is committed between the current state and the
// restore.
func (s snapshots) lastState(ctx context.Context) (resume func(), err error) {
	resume = s.r.pause()
	for {
		if _, leading := s.r.seq.Leading(); !leading {
			return resume, s.r.cluster.Barrier(barrierTimeout)
		}
		if !sleep.For(ctx, time.Millisecond) {
			return resume, ctx.Err()
		}
	}
}

// mayReplace refuses a restore that would overwrite the state of a running cluster without the
// user's consent.
func (s snapshots) mayReplace(h snapshot.Header, replaceState string) error {
	if err := h.Within(event.Level); err != nil {
		return versionTooOld(err)
	}
	now, _ := s.r.machine.Fork()
	own := s.r.cluster.ClusterID()
	fresh := now.Apps.Len() == 0 && now.Nodes.Len() == 0
	switch {
	case replaceState != "" && replaceState != own:
		return &api.Error{Code: "CLUSTER_ID_DIFFERS", Message: fmt.Sprintf("this cluster is %s, not %s", own, replaceState),
			Remedy: "name the running cluster whose state may be overwritten", Status: 409}
	case replaceState == "" && !fresh:
		return &api.Error{Code: "NOT_FRESH", Message: fmt.Sprintf("cluster %s has %d applications and %d nodes", own,
			now.Apps.Len(), now.Nodes.Len()),
			Remedy: "restore into a fresh cluster; to give up all of this state, use --replace-state " + own, Status: 409}
	}
	return nil
}

func versionTooOld(err error) error {
	return &api.Error{Code: "VERSION_TOO_OLD", Message: "the snapshot was " + err.Error(),
		Remedy: "upgrade rmd first; nothing was changed", Status: 409}
}

// RaiseEpoch prepares a state for use in place of the running one. Identifiers that are assigned
// from now on differ from those in the state and from those that the running cluster has assigned,
// however often a file is restored.
func RaiseEpoch(st *state.State, running state.Meta, why string, now time.Time) error {
	st.Meta.ClusterID = running.ClusterID
	return st.Apply(&event.EpochRaised{
		Epoch:            max(st.Meta.Epoch, running.Epoch) + 1,
		ClusterTimestamp: max(now.UnixMilli(), st.Meta.ClusterTimestamp+1, running.ClusterTimestamp+1),
		Why:              why,
	})
}

func (s snapshots) install(h snapshot.Header, st *state.State) error {
	f, err := scratch(func(w io.Writer) error {
		return snapshot.Write(w, snapshot.HeaderOf(st, h.Index, h.Term, 0), st)
	})
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Stat()
	if err != nil {
		return err
	}
	return s.r.cluster.RestoreSnapshot(cluster.SnapshotInfo{Index: h.Index, Term: h.Term, Size: size.Size()}, f)
}

// Take implements v1.Snapshots.
func (s snapshots) Take(ctx context.Context) (api.Snapshot, error) {
	if err := s.r.cluster.SnapshotWithin(ctx); err != nil {
		return api.Snapshot{}, err
	}
	list, err := s.List(ctx)
	if err != nil || len(list) == 0 {
		return api.Snapshot{}, err
	}
	return list[0], nil
}

// List implements v1.Snapshots.
func (s snapshots) List(context.Context) ([]api.Snapshot, error) {
	list, err := s.r.cluster.SnapshotList()
	if err != nil {
		return nil, err
	}
	out := make([]api.Snapshot, len(list))
	for i, x := range list {
		out[i] = api.Snapshot{ID: x.ID, Index: x.Index, Term: x.Term, Bytes: x.Size}
	}
	return out, nil
}
