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

// Options are what a replica needs besides its configuration.
type Options struct {
	Config config.Config
	// Origins say where the values of Config came from; nil: from the program.
	Origins map[string]config.Origin
	Version string
	Logger  hclog.Logger
	// Queues seeds a new cluster's queue configuration; nil: the files of
	// Config.HadoopConfDir, or the built-in queues.
	Queues []capacity.Property
	// OnFatal is called once when the replica must not go on, with the exit code
	// for the supervisor. It should not return.
	OnFatal func(code int, err error)
	// Files is how many file descriptors this replica may use; 0 is the limit of the process.
	Files int
	// OwnToken is an administrator's access token that this process alone knows;
	// empty: there is none.
	OwnToken string
	// Parts replace what the replica otherwise takes from the machine that it runs on.
	Parts Parts
}

// Parts are what a replica stands on. The zero value is the product's: TCP, a data directory, the
// machine's clock and random numbers. A simulation hands in its own and runs the same replica.
type Parts struct {
	// Peer is the wire to the other replicas; the replica closes it. Nil: TCP, as Config.Raft and
	// Config.TLS say.
	Peer Peer
	// Stores are Raft's stores and transport. The zero value opens Config.Data.
	Stores cluster.Options
	// Now is the wall clock.
	Now func() time.Time
	// Entropy draws 32 random bytes, of which keys are made.
	Entropy func() []byte
	// Level is the highest feature level that this replica can apply; 0: event.Level.
	Level uint32
	// MaxInFlight is how many batches may wait for their commit; 0: the sequencer's default.
	MaxInFlight int
	// ForecastEvery is the time between two forecasts of all that waits; 0: a minute.
	ForecastEvery time.Duration

	// FSM, Log and Planner wrap parts of the replica, so that an observer sees what goes through
	// them: what Raft applies, what the leader proposes, what it plans. Nil: nothing is wrapped.
	FSM     func(*fsm.Machine) raft.FSM
	Log     func(leader.Log) leader.Log
	Planner func(*planner.Planner) leader.Planner
}

// Peer is the wire to the other replicas: *peer.Server, or the network of a simulation.
type Peer interface {
	cluster.Peer
	forward.Peer
	Close() error
}

// withDefaults fills in the product's parts.
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
