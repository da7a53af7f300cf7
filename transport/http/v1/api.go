// Package v1 is rmd's own API under /v1. A handler makes no decisions: it translates a document
// into an input, or a view of the state into a document. There is one file per noun; package api
// has the documents.
package v1

import (
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"rmd/transport/http/route"
)

// API serves the endpoints under /v1.
type API struct {
	*shared
	inputs
	apps
	forecasts
	nodes
	labels
	queues
	reservations
	preemptions
	confs
	shadows
	cluster
	snapshots
	access
	events
	past
	logs
}

// shared is what the endpoints of every noun need.
type shared struct {
	cfg      Config
	log      hclog.Logger
	explain  sync.Mutex // allows one explanation at a time, because each needs a core
	forking  sync.Mutex // allows one fork of a shared state at a time
	planning *callSlot  // for calls that plan
}

func New(cfg Config) *API {
	s := &shared{cfg: cfg, log: cfg.Logger, planning: newCallSlot()}
	confs := confs{shared: s, checking: newCallSlot()}
	return &API{
		shared: s,
		inputs: inputs{shared: s, inFlight: make(chan struct{}, cfg.InputsInFlight)}, apps: apps{shared: s},
		forecasts: forecasts{s},
		nodes:     nodes{s}, labels: labels{s}, queues: queues{confs}, reservations: reservations{s},
		preemptions: preemptions{shared: s},
		confs:       confs, shadows: shadows{s}, cluster: cluster{s},
		snapshots: snapshots{s},
		access:    access{s}, events: events{shared: s}, past: past{s}, logs: logs{s},
	}
}

// Routes returns all endpoints.
func (a *API) Routes() []route.Route {
	return slices.Concat(a.inputs.routes(), a.apps.routes(), a.forecasts.routes(), a.nodes.routes(), a.labels.routes(),
		a.queues.routes(), a.reservations.routes(), a.preemptions.routes(), a.confs.routes(), a.shadows.routes(),
		a.cluster.routes(), a.snapshots.routes(), a.access.routes(), a.events.routes(), a.past.routes(), a.logs.routes(),
		auditRoutes(), appTokenRoutes(), openAPIRoutes())
}
