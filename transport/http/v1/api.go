// Package v1 is rmd's own API under /v1. A handler decides nothing: it translates a document into
// an input, or a view of the state into a document. Handlers are in files by noun; package api has
// the documents.
package v1

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/http/route"
)

// API answers under /v1.
type API struct {
	cfg        Config
	log        hclog.Logger
	leader     leaderClock
	explain    sync.Mutex    // one explanation at a time: it costs a core
	forking    sync.Mutex    // of a shared state
	planning   *turn         // of questions that plan ahead
	checking   *turn         // of calls that bring a configuration to be checked
	previewing sync.Mutex    // one preview at a time
	inFlight   chan struct{} // a slot for each input in flight
	streams    atomic.Int64
}

// New makes the API.
func New(cfg Config) *API {
	s := &API{cfg: cfg, log: cfg.Logger, planning: newTurn(), checking: newTurn(), inFlight: make(chan struct{}, cfg.InputsInFlight)}
	s.leader.now = cfg.Now
	return s
}

// Routes lists every endpoint.
func (s *API) Routes() []route.Route {
	return slices.Concat(s.inputRoutes(), s.appRoutes(), s.forecastRoutes(), s.nodeRoutes(), s.labelRoutes(), s.queueRoutes(), s.reservationRoutes(), s.preemptionRoutes(), s.confRoutes(), s.shadowRoutes(), s.clusterRoutes(),
		s.snapshotRoutes(), s.accessRoutes(), s.eventRoutes(), s.lastHourRoutes(), s.logRoutes(), s.auditRoutes(), s.openAPIRoutes())
}
