// Package v1 is rmd's own API under /v1. A handler makes no decisions: it translates a document
// into an input, or a view of the state into a document. There is one file per noun; package api
// has the documents.
package v1

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/http/route"
)

// API serves the endpoints under /v1.
type API struct {
	cfg        Config
	log        hclog.Logger
	leader     leaderClock
	reasons    reasons
	explain    sync.Mutex    // allows one explanation at a time, because each needs a core
	forking    sync.Mutex    // allows one fork of a shared state at a time
	planning   *turn         // for calls that plan
	checking   *turn         // for calls that bring a configuration to check
	previewing sync.Mutex    // allows one preview at a time
	inFlight   chan struct{} // one element for each input in flight
	streams    atomic.Int64
}

func New(cfg Config) *API {
	s := &API{cfg: cfg, log: cfg.Logger, planning: newTurn(), checking: newTurn(), inFlight: make(chan struct{}, cfg.InputsInFlight)}
	s.leader.now = cfg.Now
	return s
}

// Routes returns all endpoints.
func (s *API) Routes() []route.Route {
	return slices.Concat(s.inputRoutes(), s.appRoutes(), s.forecastRoutes(), s.nodeRoutes(), s.labelRoutes(), s.queueRoutes(), s.reservationRoutes(), s.preemptionRoutes(), s.confRoutes(), s.shadowRoutes(), s.clusterRoutes(),
		s.snapshotRoutes(), s.accessRoutes(), s.eventRoutes(), s.pastRoutes(), s.logRoutes(), s.auditRoutes(), s.openAPIRoutes())
}
