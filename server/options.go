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

// Options configures a replica.
type Options struct {
	Config config.Config
	// Origins says where the values of Config come from. Nil means that the caller set them.
	Origins map[string]config.Origin
	Version string
	Logger  hclog.Logger
	// LinesDropped returns the number of lines that Logger has dropped. Nil means that it drops none.
	LinesDropped func() uint64
	// Queues is the queue configuration of a new cluster. Nil means that of the files in
	// Config.HadoopConfDir, or root.default.
	Queues []capacity.Property
	// OnFatal is called once, when the replica must stop. code is the exit code for the supervisor.
	// OnFatal should not return.
	OnFatal func(code int, err error)
	// Files is the number of file descriptors that this replica may use. 0 means the limit of the
	// process.
	Files int
	// OwnToken is an administrator's access token that only this process knows. Empty means none.
	OwnToken string
	// Parts replaces clock, disk and network.
	Parts Parts
}

// Parts contains what a replica takes from its machine. The zero value means TCP, a data directory,
// and the machine's clock and random numbers. A simulation replaces them.
type Parts struct {
	// Peer connects to the other replicas. The replica closes it. Nil means TCP as Config.Raft and
	// Config.TLS configure it.
	Peer Peer
	// Stores replaces Raft's stores and transport. The zero value opens Config.Data.
	Stores cluster.Options
	// Now returns the current time, and Elapsed the time since a fixed moment. Events get their times
	// from both; see leader.Config. Set both or none, except where time itself is simulated.
	Now     func() time.Time
	Elapsed func() time.Duration
	// Entropy returns 32 random bytes for a key.
	Entropy func() []byte
	// Level is the highest feature level that this replica can apply. 0 means event.Level.
	Level uint32
	// MaxInFlight is how many batches may wait for their commit. 0 means the sequencer's default.
	MaxInFlight int
	// ForecastEvery is the time between two forecasts for the record. 0 means one minute.
	ForecastEvery time.Duration

	// FSM, Log and Planner wrap parts of the replica. An observer can see what Raft applies, what
	// the leader proposes, and what it plans. Nil means no wrapper.
	FSM     func(*fsm.Machine) raft.FSM
	Log     func(leader.Log) leader.Log
	Planner func(*planner.Planner) leader.Planner
}

// Peer connects to the other replicas. *peer.Server and the simulated network implement it.
type Peer interface {
	cluster.Peer
	forward.Peer
	Close() error
}

// withDefaults replaces zero values with defaults.
func (p Parts) withDefaults() Parts {
	d := leader.DefaultConfig()
	if p.Now == nil {
		p.Now = d.Now
	}
	if p.Elapsed == nil {
		p.Elapsed = d.Elapsed
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
