package virtual

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler"
	"rmd/snapshot"
	"rmd/transport/forward"
)

// replica is one rmd process, restarted on a disk that outlives it.
type replica struct {
	w  *world
	id string

	mu    sync.Mutex // held for a look only: whoever waits for it stops the bubble's clock
	disk  *disk
	up    bool
	gone  bool // removed from the cluster: it ends by itself
	life  *life
	ended chan struct{} // closed when a crashed life has been taken down
}

// life is one running process, wired as cmd/rmd wires it.
type life struct {
	r       *replica
	disk    *disk
	host    *host
	machine *fsm.Machine
	cluster *cluster.Cluster
	seq     *leader.Sequencer
	door    *forward.Door
	tracker *forward.Tracker
	offices chan leader.Leadership
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// now is the present life, or the last one; up is false while the process is down.
func (r *replica) now() (l *life, up bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.life, r.up
}

const (
	heartbeat = 500 * time.Millisecond
	election  = 500 * time.Millisecond
	lease     = 400 * time.Millisecond
)

// start begins a life on what the disk holds.
func (r *replica) start() error {
	if r.ended != nil {
		<-r.ended
	}
	l := &life{r: r, disk: r.disk, offices: make(chan leader.Leadership, 16), tracker: forward.NewTracker(), host: r.w.net.host(r.id)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	r.w.check.begins(r.id)
	for _, step := range []func() error{l.openMachine, l.openCluster, l.openSequencer, l.openDoor} {
		if err := step(); err != nil {
			return fmt.Errorf("start %s: %w", r.id, err)
		}
	}
	changes := l.cluster.Leadership()
	l.wg.Go(func() { _ = l.seq.Run(l.ctx, l.offices) })
	l.wg.Go(func() { l.follow(changes) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.life, r.up = l, true
	return nil
}

// follow carries changes of leadership to the parts that act on them.
func (l *life) follow(changes <-chan cluster.Leadership) {
	for c := range changes {
		l.tracker.Set(forward.Leader{Term: c.Term, Addr: c.Address, Here: c.IsLeader})
		if c.IsLeader {
			l.r.w.check.leads(c.Term, l.r.id)
		}
		select {
		case l.offices <- leader.Leadership{Term: c.Term, Here: c.IsLeader}:
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *life) fatal(code int, err error) {
	l.r.mu.Lock()
	gone := l.r.gone && code == cluster.ExitRemoved
	l.r.mu.Unlock()
	if l.ctx.Err() == nil && !gone {
		l.r.w.check.fail("replica %s stopped itself with code %d: %v", l.r.id, code, err)
	}
}

func (l *life) openMachine() error {
	c := fsm.DefaultConfig()
	c.OnFatal = l.fatal
	c.AppliedIndex = func() uint64 { return l.cluster.AppliedIndex() }
	l.machine = fsm.New(c)
	return nil
}

func (l *life) openCluster() error {
	k, machine := cluster.DefaultConfig(), l.machine
	k.ID, k.ClusterName, k.Peer = l.r.id, "virtual", l.host
	k.Logger, k.OnFatal = l.r.w.log, l.fatal
	k.Heartbeat, k.Election, k.Lease = heartbeat, election, lease
	k.SnapshotThreshold, k.SnapshotInterval, k.Trailing = l.r.w.opt.snapshotAfter, time.Second, l.r.w.opt.trailing
	k.DiskReserve, k.DiskStop = 0, 0
	k.EntryMax = 16 << 20
	k.Level = event.Level
	k.FeatureLevel = func() uint64 { st, _ := machine.Fork(); return uint64(st.Meta.Level) }
	k.VerifySnapshot = func(rd io.Reader) error { _, err := snapshot.Verify(rd); return err }
	k.Digest = func(index uint64) (uint64, []byte, bool) {
		at, d, ok := machine.DigestAt(index)
		return at, binary.BigEndian.AppendUint64(nil, d), ok
	}
	k.FSM = &observed{Machine: machine, r: l.r}
	k.Options = cluster.Options{LogStore: l.disk, StableStore: l.disk, SnapshotStore: snapshots{l.disk}, Transport: l.host,
		Incarnation: "0", ClusterID: "virtual", LowTrailing: true}
	var err error
	l.cluster, err = cluster.Open(k)
	return err
}

func (l *life) openSequencer() error {
	c, machine, raftCluster := leader.DefaultConfig(), l.machine, l.cluster
	c.Logger, c.OnFatal = l.r.w.log.Named("leader"), l.fatal
	c.Log = raftLog{l.r.w, l.r.id, raftCluster}
	c.MaxInFlight = l.r.w.opt.inFlight
	c.Barrier = func(context.Context) error { return raftCluster.Barrier(30 * time.Second) }
	c.Fork = func(term uint64) leader.Start {
		st, index, sequence := machine.Planning(term)
		return leader.Start{State: st, Index: index, Sequence: sequence}
	}
	c.Outcome = func(index uint64) (leader.Outcome, bool) {
		e, ok := machine.Entry(index)
		return leader.Outcome{Digest: e.Digest, Skipped: e.Skipped}, ok
	}
	eager := l.r.w.opt.eager
	c.NewPlanner = func(st *state.State) (leader.Planner, error) {
		return scheduler.New(st, scheduler.Options{Eager: eager})
	}
	c.Expiry = func(*state.State) leader.Expiry {
		return leader.Expiry{NodeMillis: nodeExpiry.Milliseconds(), AttemptMillis: attemptExpiry.Milliseconds(), ContainerMillis: containerExpiry.Milliseconds()}
	}
	c.Entropy = l.r.w.entropy
	var err error
	l.seq, err = leader.New(c)
	return err
}

// entropy is what keys are made of: the same in each run of a seed.
func (w *world) entropy() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := make([]byte, 32)
	w.rng.Read(b)
	return b
}

// How long nodes and AMs may be silent, and containers wait to be started.
const (
	nodeExpiry      = 10 * time.Second
	attemptExpiry   = 30 * time.Second
	containerExpiry = 20 * time.Second
)

func (l *life) openDoor() error {
	c := forward.DefaultConfig()
	c.Logger, c.Sequencer, c.Peer = l.r.w.log.Named("forward"), l.seq, l.host
	c.Leader, c.WaitApplied = l.tracker.Leader, l.machine.WaitApplied
	var err error
	l.door, err = forward.New(c)
	return err
}

// crash ends the process at once: its disk is what returned before, its
// connections are reset. It returns while the dead process is still taken down.
func (r *replica) crash() {
	r.mu.Lock()
	if !r.up {
		r.mu.Unlock()
		return
	}
	l, ended := r.life, make(chan struct{})
	r.up, r.disk, r.ended = false, l.disk.clone(), ended
	r.mu.Unlock()
	l.cancel()
	l.r.w.net.crash(l.r.id)
	l.r.w.check.note("%s crashes", l.r.id)
	go func() {
		defer close(ended)
		_ = l.cluster.Close()
		l.wg.Wait()
	}()
}

// observed is the machine as Raft sees it, with the checker looking on.
type observed struct {
	*fsm.Machine
	r *replica
}

// Apply implements raft.FSM.
func (o *observed) Apply(l *raft.Log) any {
	o.r.w.delayApply(o.r.id)
	res := o.Machine.Apply(l)
	err, _ := res.(error)
	o.r.w.check.applied(o.r.id, o.Machine, l, err)
	return res
}

// Snapshot implements raft.FSM.
func (o *observed) Snapshot() (raft.FSMSnapshot, error) {
	s, err := o.Machine.Snapshot()
	if err == nil {
		o.r.w.check.snapshotted(o.r.id, o.Machine)
	}
	return s, err
}

// Restore implements raft.FSM.
func (o *observed) Restore(r io.ReadCloser) error {
	err := o.Machine.Restore(r)
	o.r.w.check.restored(o.r.id, o.Machine, err)
	return err
}

// raftLog shows the consensus part to the sequencer; a scenario may get between.
type raftLog struct {
	w  *world
	id string
	c  *cluster.Cluster
}

// Propose implements leader.Log.
func (l raftLog) Propose(entry []byte) leader.Future {
	if trap := l.w.trap.Load(); trap != nil {
		(*trap)(l.id, entry)
	}
	return raftFuture{l.c.Propose(entry)}
}

type raftFuture struct{ f cluster.Future }

// Wait implements leader.Future.
func (f raftFuture) Wait() (uint64, error) {
	index, _, err := f.f.Wait()
	switch {
	case err == nil:
		return index, nil
	case errors.Is(err, cluster.ErrNotLeader), errors.Is(err, cluster.ErrDiskFull), errors.Is(err, fsm.ErrStale):
		return index, fmt.Errorf("%w: %w", leader.ErrNotLeader, err)
	case errors.Is(err, cluster.ErrTooLarge):
		return index, fmt.Errorf("%w: %w", leader.ErrTooLarge, err)
	}
	return index, fmt.Errorf("%w: %w", leader.ErrUnknownOutcome, err)
}
