package ui

import (
	"context"
	"net/http"
	"time"

	"rmd/fsm/state"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// API is what the pages read of the replicas: the documents of rmd's own API.
type API interface {
	Cluster(ctx context.Context, v *view.View) (api.Cluster, error)
	Verify(ctx context.Context) (api.Verify, error)
	Upgrade(ctx context.Context, st *state.State) (api.Upgrade, error)
	Autopilot(ctx context.Context) (api.AutopilotState, error)
	Snapshots(ctx context.Context) ([]api.Snapshot, error)
	// History is a reservation's life by the log.
	History(ctx context.Context, v *view.View, number uint64) (*api.ReservationHistory, error)
	// LastHour is what this replica saw of a queue, a node, or with neither of the cluster.
	LastHour(v *view.View, queue, node string) (*api.History, error)
	// Explain says why an application waits.
	Explain(v *view.View, id yarn.ApplicationID) (*api.Explanation, error)
	// Forecast says when what an application waits for will start.
	Forecast(ctx context.Context, v *view.View, id yarn.ApplicationID) (*api.Forecast, error)
	// ForecastReport says how well such forecasts held.
	ForecastReport() (*api.ForecastReport, error)
	// Shadow compares the cluster with the configuration that runs beside it; nil: this replica runs none.
	Shadow() *api.Shadow
	// Reasons are why the events of some entries were decided, as far as they are at hand
	// in time; on says that this replica finds them out at all.
	Reasons(ctx context.Context, indexes []uint64, wait time.Duration) (reasons map[uint64][]api.Because, on bool)
}

// Caller makes the calls of the forms: in the name of r, as if they had come in by
// themselves, with the API's admission, limits and audit. The answer is decoded into out.
type Caller interface {
	Call(r *http.Request, method, path string, header map[string]string, body, out any) error
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

// Position is a place in the log: in front of the event of an entry that has so many before it in its
// entry. 0 is the end of the log.
type Position struct {
	Index uint64
	Place int
}

// Recent is a stretch of the log, newest first. The next stretch ends at Next; 0 when there is none.
type Recent struct {
	Events []Decision
	Next   Position
}

// Decision is one committed event with its place in the log. An entry that does
// not move the clock has the time of the one before it.
type Decision struct {
	Index, Term uint64
	Place       int // among the events of its entry
	AtMillis    int64
	api.Event
}
