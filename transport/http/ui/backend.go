package ui

import (
	"context"
	"net/http"
	"time"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// Backend is the server behind the pages.
type Backend interface {
	// View is the committed state as it is now, or the refusal of the caller.
	View(r *http.Request) (View, error)
	// Status says how this replica stands. It is asked for twice a second by
	// every open page.
	Status() Status
	// Visitor says who looks at a page.
	Visitor(r *http.Request) Visitor
	// About says what this replica runs, and with which settings.
	About() About
	// Call makes a call of the API in the name of r, as if it had come in by
	// itself. The answer is decoded into out.
	Call(r *http.Request, method, path string, header map[string]string, body, out any) error
	// Problem turns any error into what is told.
	Problem(err error, write bool) *api.Error
}

// View is one fork of the committed state with the documents made of it.
type View interface {
	Index() uint64
	// State is for records; it is only read.
	State() *state.State
	// Census is for lists, counts and sums of all applications.
	Census() *summary.Census
	Kinds() []string
	Size(r yarn.Resource) api.Resource
	QueuePath(slot uint32) string

	App(slot uint32) api.App
	Attempts(app uint32) []api.Attempt
	Asks(app uint32) []api.Ask
	Containers(app uint32, after yarn.ContainerID, limit int) (page []api.Container, next string)
	Container(slot uint32) api.Container
	Node(slot uint32) api.Node
	Reservation(slot uint32) api.Reservation
	Queues() api.Queues
	Totals() api.Totals
	Cancelled() map[string]uint64 // reservations, by cause

	FindApp(id string) (uint32, error)
	FindNode(id string) (uint32, error)
	FindQueue(name string) (uint32, error)
	FindReservation(id string) (uint32, error)

	// Explain is the planner's explanation of why an application waits.
	Explain(id yarn.ApplicationID) (any, error)
	// Recent goes back in the log from before an index (0: from the newest),
	// until limit events have passed, or it has looked at so many.
	Recent(ctx context.Context, before uint64, limit, look int, pass Pass) (Recent, error)
	// Why fills in why events of a list, in its order, were decided, and says whether
	// all of that was at hand in time.
	Why(ctx context.Context, list []Decision, wait time.Duration) (all bool)
	// Kept is the oldest and the newest index that the log can be played from.
	Kept(ctx context.Context) (first, last uint64, err error)
	// Played is the index that is reached when the log is played from an index on
	// for so many milliseconds of its own time, at most so many entries; played is
	// the part of that time up to there; ended, that it goes no further.
	Played(ctx context.Context, from uint64, millis int64, most int) (index uint64, played int64, ended bool, err error)
	// After is the first index behind one whose entry has an event that passes, 0
	// when there is none among so many entries.
	After(ctx context.Context, index uint64, most int, pass Pass) (uint64, error)
	// Past is the view of the state as it was after an index.
	Past(ctx context.Context, index uint64) (View, error)
}

// Pass says whether an event belongs into a list. It gets its kind; what it is
// about, as far as that is known at once; and a function that makes its document
// when these do not decide.
type Pass func(kind string, s Subject, d func() api.Event) bool

// Subject is the application, by its number, and the node, by its slot, that an
// event is about; 0 is none.
type Subject struct {
	App, Node uint32
	Known     bool
}

// Status is how the replica that answers stands.
type Status struct {
	ID, Version     string
	Role, Leader    string
	Term, Index     uint64
	StalenessMillis int64 // since it heard the leader; −1 never
	// What 99 of 100 stayed below in the last minute or two on this replica; 0
	// when there were none. Commits are measured by the leader alone.
	CommitP99, SyncP99 time.Duration
}

// Visitor is who looks at a page. Guarded says that changing something needs a
// role, which a token gives; ByLogin that the role can be given back.
type Visitor struct {
	Name, Role       string
	Guarded, ByLogin bool
}

// About is what a replica runs. Settings are those of Hadoop's files, Own its
// own ones.
type About struct {
	Version, Built string
	Own, Settings  []Setting
}

// Setting is one key as it is in force.
type Setting struct{ Name, Value, About, Origin string }

// Recent is a stretch of the log, newest first. Next is the index before which
// the next stretch goes on; 0 when there is none.
type Recent struct {
	Events []Decision
	Next   uint64
}

// Decision is one committed event with its place in the log. An entry that does
// not move the clock has the time of the one before it.
type Decision struct {
	Index, Term uint64
	Place       int // among the events of its entry
	AtMillis    int64
	api.Event
}
