package v1

import (
	"context"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Config is what the API needs. Snapshots, Log, Shadows and the functions may be missing: their
// endpoints then answer NOT_AVAILABLE.
type Config struct {
	ID      string // of this replica
	Version string // of the program
	Logger  hclog.Logger

	Views     *view.Source
	Reader    view.Reader
	Submitter route.Submitter
	Consensus Consensus
	LastHour  LastHour
	Snapshots Snapshots
	Log       view.LogReader
	Guard     *auth.Guard
	Problems  *problem.Translator
	Planner   Planner
	Shadows   Shadows
	// Groups are a user's; nil: nobody has any.
	Groups func(user string) []string
	// Count notes an input; result is ok, refused or error.
	Count func(in input.Input, result string)
	Now   func() time.Time
	// Closing ends when the server closes: streams end with it.
	Closing context.Context

	BodyTimeout       time.Duration // to receive a body other than a snapshot
	ReadTimeout       time.Duration // for a read to be answered
	WriteTimeout      time.Duration // for a write to be answered
	Heartbeat         time.Duration // of an event stream
	MaxInputsBytes    int64         // of one body of POST /v1/inputs
	MaxInputs         int           // frames of one body
	InputsInFlight    int           // of all bodies together
	MaxStreams        int           // open event streams
	MaxLogEntries     int           // of one answer of /v1/log
	LongestJoinToken  time.Duration
	DefaultJoinTokens time.Duration
}

// Planner is what the planner says of states: why applications wait, and what would be.
// Any of it may be nil.
type Planner struct {
	// Private returns a fork of the committed state for WhatIf, Preemption and ExplainSubmission, which change
	// it. Without it they get a fork of the shared one.
	Private func() *state.State
	// Explain says why an application waits. It only reads
	// the state, which others read too, and is called once at a time.
	Explain func(st *state.State, id yarn.ApplicationID) (*api.Explanation, error)
	// WhatIf says what another queue configuration would change; an *input.Fault where that one is refused. It is given a fork of its own, one call
	// at a time, and asks stop now and then whether it should end early.
	WhatIf func(st *state.State, properties []input.Property, stop func() bool) (*api.WhatIf, error)
	// Landings compares where applications would go with one configuration and with another one. It only
	// reads the state, and asks stop now and then whether it should end early.
	Landings func(st *state.State, from, to *capacity.Config, stop func() bool) *api.Landings
	// ExplainSubmission explains an application that would be submitted; an *input.Fault where it would be refused. It is given a fork of
	// its own, one call at a time.
	ExplainSubmission func(st *state.State, in *input.SubmitApplication) (*api.Explanation, error)
	// Forecast says when what an application waits for will start. It forks the state that it is given, and is
	// called once at a time.
	Forecast func(ctx context.Context, st *state.State, id yarn.ApplicationID) (*api.Forecast, error)
	// ForecastReport says how well the forecasts of this replica held.
	ForecastReport func() *api.ForecastReport
	// Preemption says what preemption does, and what its next round would decide. It is given a fork
	// of its own, one call at a time.
	Preemption func(st *state.State) (*api.Preemption, error)
	// Preview says what preemption would have done between two times, in Unix milliseconds. It reads the
	// log itself, and is called once at a time.
	Preview func(ctx context.Context, from, to int64) (*api.PreemptionPreview, error)
	// Try plans an input on a fork of its own; an *input.Fault where it is refused.
	Try func(st *state.State, in input.Input) error
	// Why says why the events of some entries of the log were decided, from the state just
	// before each: for an index one for each event, in order. What is not known when the
	// context ends is left out. It works for callers together, as much as suits pages that
	// are open; atOnce is for somebody who asks.
	Why func(ctx context.Context, indexes []uint64, atOnce bool) map[uint64][]api.Because
	// CheapestToDrain chooses the nodes whose loss costs least. It only reads the state.
	CheapestToDrain func(st *state.State, n int) []api.DrainChoice
	// Rerun plays what a stretch of the log has recorded again, on planners of its own,
	// with and without reservations. It reads the log itself, and the state only for the
	// nodes and queues.
	Rerun func(ctx context.Context, st *state.State) (*api.Rerun, error)
}

// Consensus is the replicas' membership and leadership.
type Consensus interface {
	// Leader is the leader's id and its peer address; empty when unknown.
	Leader() (id, address string)
	// Role is leader, follower or candidate.
	Role() string
	Term() uint64
	// Ready says whether this replica is the leader or has applied everything that was committed
	// when it began to follow its leader; if not, why.
	Ready() (ok bool, why string)
	// Problem says what is wrong with this replica that a person should look at, "" for nothing.
	Problem() string
	// Staleness is the time since this replica heard the leader: 0 on the
	// leader, negative when it never has.
	Staleness() time.Duration
	// ReadIndex is the verified leader's commit index.
	ReadIndex(ctx context.Context) (uint64, error)
	Members(ctx context.Context) ([]api.Member, error)
	// LastFailover is the last election seen here, nil when there was none.
	LastFailover() *api.Failover
	// Failovers are the last elections seen here, newest first.
	Failovers() []api.Failover
	// Verify compares the digests of all replicas at one index.
	Verify(ctx context.Context) (api.Verify, error)

	Init(ctx context.Context, req api.InitRequest) (api.InitReply, error)
	Join(ctx context.Context, req api.JoinRequest) (api.JoinReply, error)
	Promote(ctx context.Context, id string, req api.MemberRequest) error
	Demote(ctx context.Context, id string, req api.MemberRequest) error
	Remove(ctx context.Context, id string, req api.MemberRequest) error
	Transfer(ctx context.Context, id string) error
	Autopilot(ctx context.Context) (api.AutopilotState, error)
	SetAutopilot(ctx context.Context, settings api.Autopilot) error
}

// LastHour is what this replica saw in the last hour.
type LastHour interface {
	Cluster(now time.Time) *api.History
	Queue(slot uint32, path string, now time.Time) *api.History
	Node(slot uint32, id yarn.NodeID, now time.Time) *api.History
}

// Snapshots saves and restores the whole state.
type Snapshots interface {
	// Save opens a fresh, verified snapshot: of the leader's state, or with
	// stale of this replica's.
	Save(ctx context.Context, stale bool) (api.Snapshot, io.ReadCloser, error)
	// Restore replaces the state by the snapshot read from r. It verifies all
	// of it first. ReplaceState is the id of the running cluster whose state
	// may be overwritten; empty only suits a fresh one.
	Restore(ctx context.Context, r io.Reader, replaceState string, dryRun bool) (api.Restored, error)
	Take(ctx context.Context) (api.Snapshot, error)
	List(ctx context.Context) ([]api.Snapshot, error)
}
