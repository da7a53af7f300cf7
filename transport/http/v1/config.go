package v1

import (
	"context"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/summary"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// Config configures an API. If Snapshots, Log, Shadows or a function is nil, its endpoints answer
// NOT_AVAILABLE.
type Config struct {
	ID      string // of this replica
	Cluster string // the cluster's name
	Version string // of the program
	Logger  hclog.Logger

	Views     *view.Source
	Reader    view.Reader
	Submitter route.Submitter
	Consensus Consensus
	History   History
	Snapshots Snapshots
	Log       view.LogReader
	Guard     *auth.Guard
	Problems  *problem.Translator
	Planner   Planner
	Shadows   Shadows
	// Groups returns the groups of a user. If it is nil, no user has groups.
	Groups func(user string) []string
	// ShortName returns the short name of a Kerberos principal, and the number and the text of the
	// rule that decided. If it is nil, there are no rules.
	ShortName func(principal string) (short string, rule int, text string, err error)
	// Count counts an input; result is ok, refused or error.
	Count func(in input.Input, result string)
	Now   func() time.Time
	// Closing ends when the server closes. It ends the event streams.
	Closing context.Context

	BodyTimeout       time.Duration // to receive a body other than a snapshot
	ReadTimeout       time.Duration // to answer a read
	WriteTimeout      time.Duration // to answer a write
	Heartbeat         time.Duration // longest silence of an event stream
	MaxInputsBytes    int64         // of one body of POST /v1/inputs
	MaxInputs         int           // frames in one body of POST /v1/inputs
	InputsInFlight    int           // inputs of all bodies together
	MaxStreams        int           // open event streams
	MaxLogEntries     int           // of one answer of /v1/log
	LongestJoinToken  time.Duration
	DefaultJoinTokens time.Duration
}

// Planner has functions that explain a state or predict changes of it. Each may be nil.
type Planner struct {
	// Private returns a fork of the committed state for the functions that change their state, such
	// as WhatIf, Preemption and ExplainSubmission. If it is nil, they get a fork of the shared
	// state.
	Private func() *state.State
	// Explain says why an application waits. It only reads the state, which other calls read at the
	// same time. At most one call runs at a time.
	Explain func(st *state.State, id yarn.ApplicationID) (*api.Explanation, error)
	// WhatIf says what another queue configuration would change. It returns an *input.Refusal if that
	// configuration would be refused. It gets a private fork and calls stop from time to time to
	// learn whether it should end early. At most one call runs at a time.
	WhatIf func(st *state.State, properties []input.Property, stop func() bool) (*api.WhatIf, error)
	// Landings compares the queues in which applications would be placed under two configurations.
	// It only reads the state, and calls stop from time to time to learn whether it should end
	// early.
	Landings func(st *state.State, from, to *capacity.Config, stop func() bool) *api.Landings
	// ExplainSubmission explains an application before it is submitted. It returns an *input.Refusal
	// if the submission would be refused. It gets a private fork. At most one call runs at a time.
	ExplainSubmission func(st *state.State, in *input.SubmitApplication) (*api.Explanation, error)
	// Forecast says when the containers for which an application waits will start. It forks the
	// state that it gets. At most one call runs at a time.
	Forecast func(ctx context.Context, st *state.State, id yarn.ApplicationID) (*api.Forecast, error)
	// ForecastReport says how accurate the forecasts of this replica were.
	ForecastReport func() *api.ForecastReport
	// Preemption says what preemption does, and what its next round would decide. It gets a private
	// fork. At most one call runs at a time.
	Preemption func(st *state.State) (*api.Preemption, error)
	// Preview says what preemption would have done between two times, in Unix milliseconds. It
	// reads the log itself. At most one call runs at a time.
	Preview func(ctx context.Context, from, to int64, clip bool) (*api.PreemptionPreview, error)
	// Try plans an input on a private fork. It returns an *input.Refusal if the input is refused.
	Try func(st *state.State, in input.Input) error
	// Why returns the reasons for the events of log entries, by the entry's index: one for each
	// event, in order. It derives them from the state just before the entry. It omits what it does
	// not know when the context ends. Calls share its work, at a pace that suits open pages; atOnce
	// is for a caller that waits for the answer.
	Why func(ctx context.Context, indexes []uint64, atOnce bool) map[uint64][]api.Because
	// CheapestToDrain chooses the n nodes whose loss costs least. It only reads the state.
	CheapestToDrain func(st *state.State, n int) []api.DrainChoice
	// Rerun replays the recorded part of the log on planners of its own, with and without
	// reservations. It reads the log itself and needs the state only for the nodes and queues.
	Rerun func(ctx context.Context, st *state.State) (*api.Rerun, error)
}

// Consensus gives access to the membership and leadership of the replicas.
type Consensus interface {
	// Leader returns the leader's id and peer address, or empty strings if it is unknown.
	Leader() (id, address string)
	// Role returns leader, follower or candidate.
	Role() string
	Term() uint64
	// Ready reports whether this replica leads, or has applied everything that was committed when
	// it began to follow its leader. If it is not ready, why says the reason.
	Ready() (ok bool, why string)
	// Problem returns a problem of this replica that needs a person's attention, or "". It does not
	// include background jobs that fail.
	Problem() string
	// Warning returns what will become a problem of this replica if nobody acts, or "".
	Warning() string
	// Jobs returns how the background jobs of this replica are doing.
	Jobs() []api.Job
	// Staleness returns the time since this replica last heard from the leader: 0 on the leader,
	// negative if it never has.
	Staleness() time.Duration
	// ReadIndex returns the commit index of the leader, after the leader has verified that it
	// leads.
	ReadIndex(ctx context.Context) (uint64, error)
	// NoState returns the answer of this replica while it has no state of a cluster.
	NoState() *api.Error
	Members(ctx context.Context) ([]api.Member, error)
	// LeaderSince returns since when the leader leads, in Unix milliseconds, or 0 if that is unknown.
	LeaderSince(ctx context.Context) int64
	// Missing says which voters must be started so that there can be a leader, or "".
	Missing() string
	// LastFailover returns the last election that this replica saw, or nil.
	LastFailover() *api.Failover
	// Failovers returns the last elections that this replica saw, newest first.
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

// History has the samples that this replica took in the last hour, day or week, and those of
// applications.
type History interface {
	Cluster(now time.Time, span time.Duration) *api.History
	Queue(slot state.QueueSlot, path string, now time.Time, span time.Duration) *api.History
	Node(slot state.NodeSlot, id yarn.NodeID, now time.Time, span time.Duration) *api.History
	App(id yarn.ApplicationID, now time.Time) *api.AppHistory
	// Present returns the sample of this moment, as Cluster, Queue and Node have those before.
	Present(now time.Time, st *state.State, sum *summary.Summary, rooms []summary.Room, queue state.QueueSlot,
		node state.NodeSlot) (api.HistorySample, bool)
}

// Snapshots saves and restores the whole state.
type Snapshots interface {
	// Save opens a new, verified snapshot of the leader's state, or with stale of this replica's.
	Save(ctx context.Context, stale bool) (api.Snapshot, io.ReadCloser, error)
	// Restore replaces the state by the snapshot in r. It verifies the whole snapshot first.
	// replaceState is the id of the running cluster whose state may be replaced; it may be empty
	// only for a new cluster. The audit of the new state says that by did it.
	Restore(ctx context.Context, r io.Reader, replaceState string, dryRun bool, by input.Caller) (api.Restored, error)
	Take(ctx context.Context) (api.Snapshot, error)
	List(ctx context.Context) ([]api.Snapshot, error)
}
