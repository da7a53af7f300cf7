package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"rmd/cluster"
	"rmd/config"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/leader"
	"rmd/snapshot"
)

// openMachine creates the state machine. It is empty until Raft restores a snapshot and replays the
// log.
func (r *Replica) openMachine() error {
	c := fsm.DefaultConfig()
	c.Logger, c.OnFatal, c.Level = r.log.Named("fsm"), r.fatal, r.parts.Level
	c.AppliedIndex = func() uint64 {
		if r.cluster == nil {
			return 0
		}
		return r.cluster.AppliedIndex()
	}
	r.machine = fsm.New(c)
	return nil
}

// openCluster opens Raft and its stores.
func (r *Replica) openCluster() error {
	k := clusterConfig(r.opt.Config)
	k.Peer, k.FSM, k.Logger, k.OnFatal, k.Version = r.peer, r.parts.FSM(r.machine), r.log.Named("cluster"),
		r.fatal, r.opt.Version
	k.Options, k.Level = r.parts.Stores, uint64(r.parts.Level)
	k.FeatureLevel = func() uint64 { st, _ := r.machine.Fork(); return uint64(st.Meta.Level) }
	k.VerifySnapshot, k.VerifyEntry = verifySnapshot(r.parts.Level), r.machine.Verify
	k.CheckToken = r.checkToken
	if r.certs != nil {
		k.Revoked = r.certs.Revoked
	}
	k.Digest = r.digest
	k.Observe = r.measure
	for _, cause := range cluster.StepDownCauses() {
		r.metrics.ShowStepDowns(cause)
	}
	k.OnStepDown = func(d cluster.StepDown) { r.metrics.CountStepDown(d.Cause) }
	k.AutopilotNow = r.autopilot
	k.Problem, k.Warning, k.Jobs = r.problem, r.warning, r.jobs
	var err error
	if r.cluster, err = cluster.Open(k); err != nil {
		return fmt.Errorf("replica %s: %w", k.ID, err)
	}
	r.ready = r.newReadiness()
	return nil
}

// entryMax is the maximum size of one entry in bytes. The ports limit the size of inputs, but an
// input may cause a larger entry, for instance when a node with thousands of containers is lost.
const entryMax = 16 << 20

// clusterConfig converts rmd.yaml's settings to the configuration of package cluster.
func clusterConfig(c config.Config) cluster.Config {
	k := cluster.DefaultConfig()
	k.ID, k.ClusterName, k.DataDir, k.Advertise = c.ID, c.Cluster, c.Data, c.Raft.Advertise
	k.BootstrapExpect, k.AllowEven, k.Join = int(c.Raft.BootstrapExpect), c.Raft.AllowEven, c.Raft.Join
	k.Timers = c.Raft.Timers
	k.SnapshotThreshold, k.SnapshotBytes = uint64(c.Raft.SnapshotThreshold), int64(c.Raft.SnapshotBytes)
	k.SnapshotInterval, k.Trailing = c.Raft.SnapshotInterval, uint64(c.Raft.Trailing)
	k.DiskReserve, k.DiskStop = uint64(c.Disk.Reserve), uint64(c.Disk.Stop)
	k.HungGiveUp, k.HungExit = c.Disk.GiveUpAfter, c.Disk.ExitAfter
	k.Autopilot = c.Autopilot
	k.EntryMax = entryMax
	return k
}

func (r *Replica) digest(index uint64) (uint64, []byte, bool) {
	at, d, ok := r.machine.DigestAt(index)
	return at, binary.BigEndian.AppendUint64(nil, d), ok
}

// VerifySnapshot reads a whole snapshot and checks it.
func VerifySnapshot(r io.Reader) error { return verifySnapshot(event.Level)(r) }

// verifySnapshot is VerifySnapshot for a program that knows the feature levels up to level.
func verifySnapshot(level uint32) func(io.Reader) error {
	return func(r io.Reader) error {
		info, err := snapshot.Verify(r)
		if err == nil {
			err = info.Within(level)
		}
		if errors.Is(err, snapshot.ErrFormat) {
			return fmt.Errorf("%w: %w", cluster.ErrNewer, err)
		}
		return err
	}
}

// raftLog implements leader.Log with package cluster.
type raftLog struct{ c *cluster.Cluster }

// Propose implements leader.Log.
func (l raftLog) Propose(entry []byte) leader.Future { return raftFuture{l.c.Propose(entry)} }

type raftFuture struct{ f cluster.Future }

// Wait implements leader.Future. It converts errors of the log and the state machine to those of
// package leader.
func (f raftFuture) Wait() (uint64, error) {
	index, _, err := f.f.Wait()
	switch {
	case errors.Is(err, cluster.ErrDiskFull), errors.Is(err, fsm.ErrStale):
		err = fmt.Errorf("%w: %w", leader.ErrNotLeader, err)
	case errors.Is(err, cluster.ErrBadEntry):
		err = fmt.Errorf("%w: %w", leader.ErrPlanner, err)
	}
	return index, err
}
