package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// Door takes inputs to the leader's sequencer, from whichever replica this is.
// It returns when this replica has applied the index.
type Door interface {
	Do(ctx context.Context, req input.Request) (input.Reply, uint64, error)
}

// Reader is the committed state of this replica. A fork is read only here, so
// the same one may be handed to several callers.
type Reader interface {
	Fork() (st *state.State, index uint64)
	// Applied is the index and term of what was applied last; it forks nothing.
	Applied() (index, term uint64)
	WaitApplied(ctx context.Context, index uint64) error
	// Watch subscribes to the batches after an index, which the watcher has; 0
	// is from now on. One that is not kept any more is a *TooOldError.
	Watch(after uint64) (Subscription, error)
}

// Batch is one applied entry.
type Batch struct {
	Index, Term uint64
	NowMillis   int64
	Events      []event.Event
}

// Subscription yields applied batches in order. Next returns a *TooOldError or
// ErrResync when the caller was too slow and batches it has not seen are not kept
// any more.
type Subscription interface {
	Next(ctx context.Context) (Batch, error)
	Close()
}

// ErrResync says that a watcher has missed batches and must start anew.
var ErrResync = errors.New("watcher was too slow, batches are missing")

// ErrNoLeader says that no leader is known, or was found in time.
var ErrNoLeader = errors.New("no leader")

// TooOldError says that history before Oldest is not kept: a watch may start
// after it, the log with it.
type TooOldError struct{ Oldest uint64 }

func (e *TooOldError) Error() string {
	return fmt.Sprintf("history before index %d is not kept", e.Oldest)
}

// Consensus is the replicas' membership and leadership.
type Consensus interface {
	// Leader is the leader's id and its peer address; empty when unknown.
	Leader() (id, address string)
	// Role is leader, follower or candidate.
	Role() string
	Term() uint64
	// Ready says whether this replica shows all that was committed when it came
	// to follow its leader, or is itself a leader in office; if not, why.
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

// LogEntry is one raw entry of the replicated log. Type is "events" when Data
// is a batch of events.
type LogEntry struct {
	Index, Term uint64
	Type        string
	Data        []byte
}

// LogReader reads the replicated log of this replica.
type LogReader interface {
	// Entries returns up to count entries from index from on, with the oldest
	// and newest index there is. A from of 0 is the oldest; one that is not
	// kept any more is a *TooOldError.
	Entries(ctx context.Context, from uint64, count int) (entries []LogEntry, first, last uint64, err error)
}

// Setting is one property of Hadoop's files: File is where it was read.
type Setting struct {
	Name, Value, File string
	Final             bool
}

// OwnSetting is one key of this replica's own configuration as it is in force.
type OwnSetting struct{ Name, Value, About, Origin string }

// Class is what a request may do, for admission.
type Class uint8

// Classes of requests.
const (
	ClassRead  Class = 1 + iota
	ClassWrite       // changes the state or the membership
)

// Config is what a server needs. Door, Reader, Consensus and Logger are
// required; without the others their endpoints answer NOT_AVAILABLE.
type Config struct {
	ID      string // of this replica
	Version string // of the program

	Door      Door
	Reader    Reader
	Consensus Consensus
	Snapshots Snapshots
	Log       LogReader
	// Planning returns a private fork of the committed state, for WhatIf, which
	// changes it. Without it that gets a fork of the shared one.
	Planning func() *state.State
	// Explain is the planner's explanation of why an application waits, a
	// document as api.Explanation. It only reads the state, which others read
	// too, and is called once at a time.
	Explain func(st *state.State, id yarn.ApplicationID) (any, error)
	// WhatIf is the planner's answer to what another queue configuration would
	// change, a document as api.WhatIf; an *input.Fault where that one is refused.
	// It is given a fork of its own, one call at a time, and asks stop now and
	// then whether it should end early.
	WhatIf func(st *state.State, properties []input.Property, stop func() bool) (any, error)
	// Foresee is the explanation of an application that would be submitted, a
	// document as api.Explanation; an *input.Fault where it would be refused. It is
	// given a fork of its own, one call at a time.
	Foresee func(st *state.State, in *input.SubmitApplication) (any, error)
	// Past is the state as it was after an index, for reading; a *TooOldError when
	// what is kept does not reach back so far.
	Past func(ctx context.Context, index uint64) (*state.State, error)
	// Why says why the events of some entries of the log were decided, from the
	// state just before each: for an index one for each event, in order. What is not
	// known when the context ends is left out. It works for callers together, as much
	// as suits pages that are open; atOnce is for somebody who asks.
	Why func(ctx context.Context, indexes []uint64, atOnce bool) map[uint64][]api.Because
	// Warm is given a version of the state, to read, now and then: what Explain
	// needs can follow it while nobody asks.
	Warm func(st *state.State)
	// Rerun plays what a stretch of the log has recorded again, on planners of its
	// own, with and without reservations: a document as api.Rerun. It reads the log
	// itself, and the state only for the nodes and queues.
	Rerun func(ctx context.Context, st *state.State) (any, error)
	// Reason is YARN's sentence for why an application waits, for reports that
	// clients poll: it must be cheap. Nil: none is told.
	Reason func(st *state.State, id yarn.ApplicationID) string
	// Admin says whether yarn.admin.acl names a user; nil: it names everybody.
	Admin func(user string) bool
	// Settings are the properties of Hadoop's files that this replica read, for
	// /conf; nil: those of the replicated configuration alone.
	Settings func() []Setting
	// Own are this replica's own settings, for the page about it.
	Own     []OwnSetting
	Logger  hclog.Logger
	Metrics *Metrics // made when nil

	// RefusalOf turns errors of other packages into answers; nil from it means
	// that it does not know the error.
	RefusalOf func(error) *api.Error
	// Auth is how callers are told apart and bounded.
	Auth Auth
	// Admit decides what may come in over which connection; nil is AdmitPrivate.
	Admit func(r *http.Request, class Class) error
	// Who names the caller for the audit and as an application's user; nil
	// takes X-Rmd-User.
	Who func(r *http.Request) string
	// Now is the clock for deadlines and tokens; nil is time.Now.
	Now func() time.Time
	// Web serves the operator's pages under /ui/ and /cluster; nil: those of
	// package ui, unless NoPages leaves a text page alone.
	Web     http.Handler
	NoPages bool
	// Hadoop answers /proxy/ and what is not a read under /ws/v1/cluster; nil:
	// neither is there.
	Hadoop http.Handler

	// Profiles opens /debug/pprof to administrators on this machine.
	Profiles bool

	// Hosts are the names that a Host header may carry besides loopback and
	// plain addresses; "*" turns the check off.
	Hosts []string

	HeaderTimeout time.Duration // to receive a request's header
	IdleTimeout   time.Duration // of a connection between requests
	BodyTimeout   time.Duration // to receive a body other than a snapshot
	ReadTimeout   time.Duration // for a read to be answered
	WriteTimeout  time.Duration // for a write to be answered
	Heartbeat     time.Duration // of an event stream
	WarmPause     time.Duration // between two looks at the state while nobody asks
	CloseTimeout  time.Duration // for requests in work when the server closes

	MaxHeaderBytes    int
	MaxBodyBytes      int64
	MaxInputsBytes    int64 // of one body of POST /v1/inputs
	MaxInputs         int   // frames of one body
	InputsInFlight    int   // of all bodies together
	MaxConnections    int   // open connections of one listener
	MaxPerAddress     int   // of one remote address
	MaxStreams        int   // open event streams
	MaxLogEntries     int   // of one answer of /v1/log
	LongestJoinToken  time.Duration
	DefaultJoinTokens time.Duration
}

// DefaultConfig returns the values of operations.md, section 7, for all but
// the parts of the replica.
func DefaultConfig() Config {
	return Config{
		Auth:          DefaultAuth(),
		HeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, BodyTimeout: 30 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, Heartbeat: 10 * time.Second, CloseTimeout: 300 * time.Millisecond, WarmPause: 5 * time.Second,
		MaxHeaderBytes: 64 << 10, MaxBodyBytes: 4 << 20, MaxInputsBytes: 16 << 20, MaxInputs: 65_536, InputsInFlight: 16_384,
		MaxConnections: 1024, MaxPerAddress: 64, MaxStreams: 256, MaxLogEntries: 1000,
		LongestJoinToken: 24 * time.Hour, DefaultJoinTokens: time.Hour,
	}
}

// Validate says everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	need := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("rest: %s", what))
		}
	}
	need(c.Door != nil, "no Door")
	need(c.Reader != nil, "no Reader")
	need(c.Consensus != nil, "no Consensus")
	need(c.Logger != nil, "no Logger")
	for name, d := range map[string]time.Duration{"HeaderTimeout": c.HeaderTimeout, "IdleTimeout": c.IdleTimeout, "BodyTimeout": c.BodyTimeout,
		"ReadTimeout": c.ReadTimeout, "WriteTimeout": c.WriteTimeout, "Heartbeat": c.Heartbeat, "WarmPause": c.WarmPause, "CloseTimeout": c.CloseTimeout,
		"LongestJoinToken": c.LongestJoinToken, "DefaultJoinTokens": c.DefaultJoinTokens} {
		need(d > 0, name+" must be above 0")
	}
	for name, n := range map[string]int64{"MaxHeaderBytes": int64(c.MaxHeaderBytes), "MaxBodyBytes": c.MaxBodyBytes, "MaxInputsBytes": c.MaxInputsBytes,
		"MaxInputs": int64(c.MaxInputs), "InputsInFlight": int64(c.InputsInFlight), "MaxConnections": int64(c.MaxConnections),
		"MaxPerAddress": int64(c.MaxPerAddress), "MaxStreams": int64(c.MaxStreams), "MaxLogEntries": int64(c.MaxLogEntries)} {
		need(n > 0, name+" must be above 0")
	}
	errs = append(errs, c.Auth.validate())
	need(c.DefaultJoinTokens <= c.LongestJoinToken, "DefaultJoinTokens must not exceed LongestJoinToken")
	return errors.Join(errs...)
}
