package server

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"rmd/cluster"
	"rmd/config"
	"rmd/fsm"
	"rmd/fsm/event"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/scheduler/planner"
	"rmd/transport/forward"
)

// Options configure a replica.
type Options struct {
	Config config.Config
	// Origins say where the values of Config came from; nil: the caller set them.
	Origins map[string]config.Origin
	Version string
	Logger  hclog.Logger
	// Queues is the queue configuration of a new cluster; nil: from the files of
	// Config.HadoopConfDir, or root.default.
	Queues []capacity.Property
	// OnFatal is called once when the replica must stop, with the exit code for the supervisor. It
	// should not return.
	OnFatal func(code int, err error)
	// Files is how many file descriptors this replica may use; 0 is the limit of the process.
	Files int
	// OwnToken is an administrator's access token that only this process knows; empty: none.
	OwnToken string
	// Parts replace parts of the machine: clock, disk, network.
	Parts Parts
}

// Parts are what a replica takes from its machine. The zero value is TCP, a data directory, the
// machine's clock and random numbers. A simulation replaces them and runs the same replica.
type Parts struct {
	// Peer connects to the other replicas; the replica closes it. Nil: TCP, as Config.Raft and
	// Config.TLS say.
	Peer Peer
	// Stores are Raft's stores and transport. The zero value opens Config.Data.
	Stores cluster.Options
	// Now is the wall clock.
	Now func() time.Time
	// Entropy returns 32 random bytes for a key.
	Entropy func() []byte
	// Level is the highest feature level that this replica can apply; 0: event.Level.
	Level uint32
	// MaxInFlight is how many batches may wait for their commit; 0: the sequencer's default.
	MaxInFlight int
	// ForecastEvery is the time between two forecasts of all that waits; 0: a minute.
	ForecastEvery time.Duration

	// FSM, Log and Planner wrap parts of the replica, so that an observer sees what Raft applies,
	// what the leader proposes, and what it plans. Nil: no wrapper.
	FSM     func(*fsm.Machine) raft.FSM
	Log     func(leader.Log) leader.Log
	Planner func(*planner.Planner) leader.Planner
}

// Peer connects to the other replicas: *peer.Server, or the network of a simulation.
type Peer interface {
	cluster.Peer
	forward.Peer
	Close() error
}

// withDefaults replaces zero values by the defaults.
func (p Parts) withDefaults() Parts {
	d := leader.DefaultConfig()
	if p.Now == nil {
		p.Now = d.Now
	}
	if p.Entropy == nil {
		p.Entropy = d.Entropy
	}
	if p.Level == 0 {
		p.Level = event.Level
	}
	if p.MaxInFlight == 0 {
		p.MaxInFlight = d.MaxInFlight
	}
	if p.FSM == nil {
		p.FSM = func(m *fsm.Machine) raft.FSM { return m }
	}
	if p.Log == nil {
		p.Log = func(l leader.Log) leader.Log { return l }
	}
	if p.Planner == nil {
		p.Planner = func(p *planner.Planner) leader.Planner { return p }
	}
	return p
}
