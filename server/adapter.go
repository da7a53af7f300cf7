package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"rmd/cluster"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/internal/hadoopconf"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/snapshot"
	httpserver "rmd/transport/http"
)

// raftLog shows the consensus part to the sequencer.
type raftLog struct{ c *cluster.Cluster }

// Propose implements leader.Log.
func (l raftLog) Propose(entry []byte) leader.Future { return raftFuture{l.c.Propose(entry)} }

type raftFuture struct{ f cluster.Future }

// Wait implements leader.Future: errors are told in the sequencer's own words.
func (f raftFuture) Wait() (uint64, error) {
	index, _, err := f.f.Wait()
	switch {
	case err == nil:
		return index, nil
	case errors.Is(err, cluster.ErrNotLeader), errors.Is(err, cluster.ErrDiskFull), errors.Is(err, fsm.ErrStale):
		return index, fmt.Errorf("%w: %w", leader.ErrNotLeader, err)
	case errors.Is(err, cluster.ErrBadEntry):
		return index, fmt.Errorf("%w: %w", leader.ErrPlanner, err)
	case errors.Is(err, cluster.ErrTooLarge):
		return index, fmt.Errorf("%w: %w", leader.ErrTooLarge, err)
	}
	return index, fmt.Errorf("%w: %w", leader.ErrUnknownOutcome, err)
}

// reader shows the committed state to REST.
type reader struct{ *fsm.Machine }

// Watch implements httpserver.Reader.
func (r reader) Watch(after uint64) (httpserver.Subscription, error) {
	s, err := r.Machine.Watch(after)
	if err != nil {
		return nil, tooOld(err)
	}
	return subscription{s}, nil
}

type subscription struct{ s *fsm.Subscription }

// Next implements httpserver.Subscription.
func (s subscription) Next(ctx context.Context) (httpserver.Batch, error) {
	b, err := s.s.Next(ctx)
	if err != nil {
		return httpserver.Batch{}, tooOld(err)
	}
	return httpserver.Batch{Index: b.Index, Term: b.Term, NowMillis: b.NowMillis, Events: b.Events}, nil
}

// Close implements httpserver.Subscription; a subscription of the machine holds
// nothing.
func (subscription) Close() {}

func tooOld(err error) error {
	var old *fsm.TooOldError
	if errors.As(err, &old) {
		return &httpserver.TooOldError{Oldest: old.Oldest}
	}
	return err
}

// history shows the log to REST.
type history struct{ r *Replica }

// Entries implements httpserver.LogReader.
func (h history) Entries(_ context.Context, from uint64, count int) ([]httpserver.LogEntry, uint64, uint64, error) {
	entries, first, last, err := h.r.cluster.Entries(from, count)
	if err != nil {
		return nil, first, last, err
	}
	if from != 0 && from < first {
		return nil, first, last, &httpserver.TooOldError{Oldest: first}
	}
	out := make([]httpserver.LogEntry, len(entries))
	for i, e := range entries {
		out[i] = httpserver.LogEntry(e)
		if e.Type == "command" {
			out[i].Type = "events"
		}
	}
	return out, first, last, nil
}

// VerifySnapshot reads a whole snapshot, as before anything is replaced by it.
func VerifySnapshot(r io.Reader) error {
	info, err := snapshot.Verify(r)
	if err == nil {
		err = info.Within(event.Level)
	}
	if errors.Is(err, snapshot.ErrFormat) {
		return fmt.Errorf("%w: %w", cluster.ErrNewer, err)
	}
	return err
}

// tokenUnknown is said of a token that is wrong, and of one that has expired: the
// state forgets it then.
const tokenUnknown = "the join token is not known, or has expired"

// checkToken spends a join token, or, dry, says whether it could be spent. It
// runs on the leader. The token remembers which replica it was spent on: that
// one may ask again when the answer was lost, another may not.
func (r *Replica) checkToken(token, by string, dry bool) (string, error) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	hash := sha256.Sum256([]byte(token))
	if dry {
		return r.lookAtToken(hash[:], by)
	}
	reply, _, err := r.seq.Do(ctx, input.Request{Input: &input.UseJoinToken{Hash: hash[:], By: by}})
	if err != nil {
		return "", err
	}
	if f := reply.Refused(); f != nil {
		if f.Reason == input.TokenInvalid {
			f.What = tokenUnknown
		}
		return "", &cluster.Refusal{Code: cluster.Code(f.Reason), What: f.What, Do: f.Do}
	}
	if reply.(*input.UseJoinTokenReply).Voter {
		return cluster.RoleVoter, nil
	}
	return cluster.RoleNonvoter, nil
}

// lookAtToken judges a token by the committed state.
func (r *Replica) lookAtToken(hash []byte, by string) (string, error) {
	const again = "make one with \"rmd cluster token create\""
	st, _ := r.machine.Fork()
	t, ok := st.JoinToken(hash)
	switch {
	case !ok:
		return "", &cluster.Refusal{Code: cluster.CodeTokenInvalid, What: tokenUnknown, Do: again}
	case t.UsedBy != "" && t.UsedBy != by:
		return "", &cluster.Refusal{Code: cluster.CodeTokenUsed, What: "the join token was used by " + t.UsedBy, Do: again}
	case t.UsedBy == "" && t.ExpiresMillis <= time.Now().UnixMilli():
		return "", &cluster.Refusal{Code: cluster.CodeTokenExpired, What: "the join token has expired", Do: again}
	case t.Voter:
		return cluster.RoleVoter, nil
	}
	return cluster.RoleNonvoter, nil
}

// QueuesOf reads the queue configuration of a Hadoop configuration directory;
// an empty one gives the built-in queues.
func QueuesOf(dir string) ([]capacity.Property, error) {
	if dir == "" {
		return capacity.DefaultProperties(), nil
	}
	conf, err := hadoopconf.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	return Properties(conf), nil
}

// Properties are the keys of a Hadoop configuration that the planner reads.
func Properties(conf *hadoopconf.Config) []capacity.Property {
	var out []capacity.Property
	for _, p := range conf.Properties() {
		if capacity.Relevant(p.Name) {
			out = append(out, capacity.Property{Name: p.Name, Value: p.Value, Origin: p.Origin()})
		}
	}
	return out
}
