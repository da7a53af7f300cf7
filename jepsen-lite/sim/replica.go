package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/cluster/timers"
	"rmd/config"
	"rmd/fsm"
	"rmd/internal/exitcode"
	"rmd/jepsen-lite/sim/disk"
	"rmd/jepsen-lite/sim/logpipe"
	"rmd/jepsen-lite/sim/network"
	"rmd/jepsen-lite/sim/owner"
	"rmd/leader"
	"rmd/scheduler/planner"
	"rmd/server"
	"rmd/transport/forward"
	"rmd/yarn"
)

// replica is one rmd replica. Its processes end and start again; its disk remains.
type replica struct {
	w  *world
	id string

	mu       sync.Mutex // held only briefly: a goroutine that waits for it stops virtual time
	disk     *disk.Disk
	clock    clock
	level    uint32 // the feature level of the program that runs here
	born     int    // incarnations so far
	up       bool
	leaving  bool // it is being removed, and will stop by itself
	out      bool // it was removed and has stopped
	broken   bool // it refuses its disk, and must return under another identity
	starting bool
	process  *process
	ended    chan struct{} // closed when a crashed process has ended
	restarts uint64        // of raft in place, in earlier processes
}

// process is one running process: rmd's replica on the simulated disk, network and clock.
type process struct {
	r      *replica
	owner  owner.Mark
	disk   *disk.Disk
	level  uint32
	host   *network.Host
	log    *logpipe.Pipe
	server *server.Replica
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// Parts of server.
	machine   *fsm.Machine
	cluster   *cluster.Cluster
	forwarder *forward.Forwarder
}

// currentProcess returns the current process, or the last one; up is false if no process runs.
func (r *replica) currentProcess() (l *process, up bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process, r.up
}

// locked calls f with the lock held.
func (r *replica) locked(f func(*replica) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f(r)
}

// set calls f with the lock held.
func (r *replica) set(f func(*replica)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

// unusable reports whether the replica must return with another disk. The caller holds the lock.
func (r *replica) unusable() bool {
	return r.broken || r.disk.HasFault(func(f disk.Faults) bool { return f.Lost })
}

// restartsInPlace counts the restarts of raft in all processes that have ended.
func (r *replica) restartsInPlace() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.restarts
}

// The timers of all replicas.
const (
	heartbeat = timers.DefaultHeartbeat
	election  = timers.DefaultElection
	lease     = timers.DefaultLease
)

// errDisk means that a replica rightly does not start on its disk.
var errDisk = errors.New("it refuses its disk")

// start starts a process on the disk. errDisk is the expected result on a damaged one.
func (r *replica) start() error {
	r.mu.Lock()
	if r.up || r.starting || r.out || r.broken {
		r.mu.Unlock()
		return nil
	}
	if r.disk.HasFault(func(f disk.Faults) bool { return f.Lost }) { // its operator knows that it needs another identity
		r.broken = true
		r.mu.Unlock()
		return fmt.Errorf("%s: %w: it has lost what was synced", r.id, errDisk)
	}
	r.starting = true
	ended, d, level := r.ended, r.disk, r.level
	r.mu.Unlock()
	defer r.set(func(r *replica) { r.starting = false })
	if !awaitEnd(ended) {
		return fmt.Errorf("%s: the process before does not end", r.id)
	}
	surely, maybe := d.Damaged()
	passing := d.HasFault(func(f disk.Faults) bool { return f.Full || f.Misread > 0 }) // a fault after which it can start
	l := &process{r: r, disk: d, level: level}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.open() }() // the goroutines of open have its mark
	err := <-done
	var fatal *exitcode.Error
	switch {
	case err == nil && surely:
		r.w.check.Fail("S16: %s starts on a damaged disk", r.id)
	case err == nil:
	case errors.As(err, &fatal) && (fatal.Code == exitcode.Store || fatal.Code == exitcode.WriteFailed) && passing:
		r.w.exited(r.id, fatal.Code, fatal.Err)
		return nil
	case errors.As(err, &fatal) && fatal.Code == exitcode.Store && (surely || maybe):
		r.w.exited(r.id, fatal.Code, fatal.Err)
		r.set(func(r *replica) { r.broken = true })
		return fmt.Errorf("%s: %w: %w", r.id, errDisk, err)
	case errors.As(err, &fatal) && fatal.Code == exitcode.Removed && r.locked(func(r *replica) bool { return r.leaving }):
		r.w.exited(r.id, fatal.Code, fatal.Err)
		r.set(func(r *replica) { r.out = true })
		return nil
	}
	return err
}

// endMax is how long a dead process may take to end. Everything in it ends with its network and
// disk.
const endMax = 10 * time.Minute

// awaitEnd waits until a process has ended. It returns false if the process does not end.
func awaitEnd(ended <-chan struct{}) bool {
	if ended == nil {
		return true
	}
	t := time.NewTimer(endMax)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}

// open starts the process.
func (l *process) open() error {
	r := l.r
	l.owner = owner.New(r.id, l)
	l.host, l.log = r.w.net.Connect(r.id, l.owner), logpipe.New()
	last, term := l.disk.LogEnd()
	r.w.check.ProcessStarted(r.id, string(l.disk.Identity().ServerID()), last, term)
	var err error
	if l.server, err = server.Open(l.options()); err != nil {
		l.cancel()
		r.w.net.Crash(l.host)
		l.log.End()
		l.owner.Forget()
		return fmt.Errorf("start %s: %w", r.id, err)
	}
	l.machine, l.cluster, l.forwarder = l.server.Machine(), l.server.Cluster(), l.server.Forwarder()
	l.disk.SetFaults(func(f *disk.Faults) {
		f.Cut = r.cutPower
		f.Accuse = func(what string) {
			if l.alive() {
				r.w.check.Fail("S16: %s: %s", r.id, what)
			}
		}
		f.Failed = func() { time.AfterFunc(failedGrace, func() { l.mustBeOver("a failed sync") }) }
	})
	changes := l.cluster.Leadership()
	l.wg.Go(func() {
		for c := range changes {
			if c.IsLeader && l.alive() {
				r.w.leads(l, c.Term)
			}
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.up = l, true
	return nil
}

// failedGrace is how long a process may continue after a failed sync. It covers goroutines that run
// at the same instant.
const failedGrace = time.Millisecond

func (l *process) mustBeOver(why string) {
	if now, up := l.r.currentProcess(); up && now == l {
		l.r.w.check.Fail("%s goes on after %s", l.r.id, why)
	}
}

// fatal is called when the process stops by itself. Which exit codes are right depends on the
// faults.
func (l *process) fatal(code int, err error) {
	r := l.r
	r.mu.Lock()
	alive := r.up && r.process == l
	leaving := r.leaving
	if alive && code == exitcode.Removed {
		r.out = true
	}
	r.mu.Unlock()
	if !alive || l.ctx.Err() != nil {
		return
	}
	r.w.exited(r.id, code, err)
	right := false
	switch code {
	case exitcode.Store:
		right = l.disk.HasFault(disk.Faults.Corrupt)
	case exitcode.WriteFailed:
		right = l.disk.HasFault(func(f disk.Faults) bool { return f.Poisoned || f.Full })
	case exitcode.DiskHung:
		right = l.disk.HasFault(func(f disk.Faults) bool { return f.Hindered })
	case exitcode.Removed:
		right = leaving
	case exitcode.NotKnown:
		right = r.w.check.FeatureLevel() > l.level
	}
	if !right {
		who := "replica " + r.id
		if code == exitcode.Diverged || code == exitcode.NotKnown {
			who = "S1: " + who // it could not apply an entry that the other replicas have applied
		}
		r.w.check.Fail("%s stopped itself with code %d: %v", who, code, err)
	}
	r.end(false)
}

// options returns rmd's options with the parts of the simulation. No port is opened.
func (l *process) options() server.Options {
	w, who := l.r.w, l.disk.Identity()
	c := config.Default()
	c.ID, c.Cluster, c.Data, c.HTTP.Listen = l.r.id, who.ClusterName, "", "none"
	if !w.opt.Eager {
		c.Scheduling = "heartbeat"
	}
	c.Raft.Heartbeat, c.Raft.Election, c.Raft.Lease = heartbeat, election, lease
	c.Raft.SnapshotThreshold, c.Raft.SnapshotInterval, c.Raft.Trailing = uint(w.opt.SnapshotAfter), time.Second,
		uint(w.opt.Trailing)
	c.Disk.Reserve, c.Disk.Stop = disk.Reserve, disk.Stop
	return server.Options{Config: c, Queues: w.opt.FirstQueues(), Logger: l.logger(), OnFatal: l.fatal, Files: 1 << 16,
		Parts: server.Parts{
			Peer: l.host,
			Stores: cluster.Options{LogStore: l.disk, StableStore: l.disk, SnapshotStore: l.disk.Snapshots(), Transport: l.host,
				Identity: &who, KeepIdentity: l.disk.Keep, FreeSpace: l.disk.Space, LowTrailing: true,
				HeartbeatFastPath: w.opt.FastPath},
			Now: l.r.wall, Entropy: w.entropy, Level: l.level, MaxInFlight: w.opt.InFlight, ForecastEvery: forecastEvery,
			FSM: func(m *fsm.Machine) raft.FSM { return &observed{Machine: m, l: l} },
			Log: func(log leader.Log) leader.Log { return trapped{log, w, l.r.id} },
			Planner: func(p *planner.Planner) leader.Planner {
				return &watched{Planner: p, l: l, nodes: map[yarn.NodeSlot]time.Time{}, attempts: map[yarn.AttemptID]time.Time{}}
			},
		}}
}

// forecastEvery is longer than rmd's default, because a forecast costs more than everything else in
// a small cluster and does not change the state.
const forecastEvery = 5 * time.Minute

// crash kills the process. Its disk keeps what was written, and its connections are reset. It
// returns before the dead process has ended.
func (r *replica) crash() { r.end(false) }

// cutPower kills the process like crash, but its disk loses writes that were not synced.
func (r *replica) cutPower() { r.end(true) }

func (r *replica) end(power bool) {
	r.mu.Lock()
	if !r.up {
		r.mu.Unlock()
		return
	}
	l, ended := r.process, make(chan struct{})
	r.up, r.disk, r.ended = false, l.disk.Reopened(power), ended
	r.mu.Unlock()
	l.cancel()
	r.w.net.Crash(l.host)
	l.disk.Kill()
	l.log.End()
	r.w.check.Note("%s crashes (power cut %v)", r.id, power)
	r.w.check.Stopped(r.id, 0, "")
	go func() {
		defer close(ended)
		var restarts uint64
		if l.cluster.Failure() == nil { // after a failure the guard ends every goroutine that uses the disk
			restarts = l.cluster.Stats().Restarts
		}
		_ = l.server.Close()
		l.wg.Wait()
		l.owner.Forget()
		r.set(func(r *replica) { r.restarts += restarts })
	}()
}

// observed passes calls of Raft to the machine and reports them to the checker.
type observed struct {
	*fsm.Machine
	l *process
}

// alive reports whether the process has not been killed. What a dead process still does has no
// effect.
func (l *process) alive() bool { return l.ctx.Err() == nil }

// Apply implements raft.FSM.
func (o *observed) Apply(l *raft.Log) any {
	r := o.l.r
	r.w.delayApply(r.id)
	res := o.Machine.Apply(l)
	if o.l.alive() {
		err, _ := res.(error)
		r.w.check.Applied(r.id, o.Machine, l, err)
	}
	return res
}

// StoreConfiguration implements raft.ConfigurationStore.
func (o *observed) StoreConfiguration(index uint64, conf raft.Configuration) {
	o.Machine.StoreConfiguration(index, conf)
	if o.l.alive() {
		o.l.r.w.check.Configured(o.l.r.id, index, conf)
	}
}

// Snapshot implements raft.FSM.
func (o *observed) Snapshot() (raft.FSMSnapshot, error) {
	s, err := o.Machine.Snapshot()
	if err == nil && o.l.alive() {
		o.l.r.w.check.Snapshotted(o.l.r.id, o.Machine)
	}
	return s, err
}

// Restore implements raft.FSM.
func (o *observed) Restore(r io.ReadCloser) error {
	err := o.Machine.Restore(r)
	if o.l.alive() {
		o.l.r.w.check.Restored(o.l.r.id, o.Machine, err)
	}
	return err
}

// trapped is the log to which a leader proposes. A scenario may intercept proposals.
type trapped struct {
	leader.Log
	w  *world
	id string
}

// Propose implements leader.Log.
func (t trapped) Propose(entry []byte) leader.Future {
	if trap := t.w.beforePropose.Load(); trap != nil {
		(*trap)(t.id, entry)
	}
	return t.Log.Propose(entry)
}
