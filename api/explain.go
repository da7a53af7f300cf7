package api

import "rmd/scheduler/explain"

// Explanation answers GET /v1/apps/{id}/explain. Package explain computes this document and the
// following ones.
type Explanation = explain.Explanation

// Parts of an Explanation.
type (
	ExplainedAsk         = explain.Ask
	ExplainedLimit       = explain.Limit
	ExplainedNodes       = explain.NodeGroup
	ExplainedReservation = explain.Reservation
	ExplainedAlternative = explain.Alternative
	ExplainedMustEnd     = explain.MustEnd
	ExplainedGang        = explain.Gang
	ExplainedPlacement   = explain.Placed
	ExplainedLease       = explain.Lease
	ExplainedToken       = explain.Token
)

// Because says why a decision was made. It is derived from the state just before the decision.
type Because = explain.Decision

// WhatIf answers POST /v1/whatif: what another queue configuration would change. The call changes
// nothing.
type WhatIf struct {
	explain.Comparison
	Changes  []Change  `json:"changes,omitempty"`
	Landings *Landings `json:"landings,omitempty"`
}

// Parts of a WhatIf.
type (
	Landings         = explain.Landings
	Landing          = explain.Landing
	WhatIfTotals     = explain.Totals
	WhatIfQueue      = explain.ComparedQueue
	WhatIfQueueShare = explain.QueueShare
	WhatIfApp        = explain.ComparedApp
	WhatIfAppShare   = explain.AppShare
)
