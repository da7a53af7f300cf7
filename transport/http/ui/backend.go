package ui

import (
	"context"
	"net/http"
	"time"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// API gives the pages the documents of rmd's own API.
type API interface {
	Cluster(ctx context.Context, v *view.View) (api.Cluster, error)
	Verify(ctx context.Context) (api.Verify, error)
	Upgrade(ctx context.Context, st *state.State) (api.Upgrade, error)
	Autopilot(ctx context.Context) (api.AutopilotState, error)
	Jobs() []api.Job
	Snapshots(ctx context.Context) ([]api.Snapshot, error)
	// History returns the history of a reservation from the log.
	History(ctx context.Context, v *view.View, number uint64) (*api.ReservationHistory, error)
	// Past returns the samples of this replica for a queue or a node, or for the cluster if both are
	// empty. span is hour, day or week; empty is hour. present returns the sample of this moment.
	Past(v *view.View, queue, node, span string) (d *api.History, present func() (api.HistorySample, bool), err error)
	// AppPast returns this replica's samples of an application.
	AppPast(a *state.App) *api.AppHistory
	// Explain returns why an application waits.
	Explain(v *view.View, id yarn.ApplicationID) (*api.Explanation, error)
	// Preemption returns what preemption has decided, and what its next round would decide.
	Preemption(ctx context.Context, v *view.View) (*api.Preemption, error)
	// Reason returns why an application in a list waits. behind says that nobody waits for the
	// answer.
	Reason(v *view.View, slot state.AppSlot, a *state.App, behind bool) view.Reason
	// Forecast returns when the containers for which an application waits will start.
	Forecast(ctx context.Context, v *view.View, id yarn.ApplicationID) (*api.Forecast, error)
	// ForecastReport returns how accurate such forecasts were.
	ForecastReport() (*api.ForecastReport, error)
	// Shadow returns the report of the shadow on this replica, or nil if the replica runs no
	// shadows.
	Shadow() *api.Shadow
	// Reasons returns the reasons for the events of log entries, as far as they are known in time.
	// on reports whether this replica finds reasons at all.
	Reasons(ctx context.Context, indexes []uint64, wait time.Duration) (reasons map[uint64][]api.Because, on bool)
}

// Caller makes the API calls of forms. It makes them in the name of r, with the same admission,
// limits and audit as calls from outside, and decodes the answer into out.
type Caller interface {
	Call(r *http.Request, method, path string, header map[string]string, body, out any) error
}

// Status is the status of the replica that answers.
type Status struct {
	ID, Version     string
	Role, Leader    string
	Term, Index     uint64
	StalenessMillis int64 // since it last heard from the leader; −1 if it never has
	// 99th percentiles of the last minute or two on this replica, or 0 if there were none. Only the
	// leader measures commits.
	CommitP99, SyncP99 time.Duration
}

// Visitor is the viewer of a page. Guarded means that changes need a role. A guest has none that may
// change anything. ByLogin means that the viewer has logged in and can log out.
type Visitor struct {
	Name, Role              string
	Guarded, Guest, ByLogin bool
}

// About describes what a replica runs. Name is that of its cluster. Settings has the settings of Hadoop's
// files, Own those of the replica itself.
type About struct {
	Version, Built, Name string
	Own, Settings        []Setting
}

// Setting is a key with the value in force.
type Setting struct{ Name, Value, About, Origin string }
