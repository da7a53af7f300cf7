package api

import "rmd/scheduler/explain"

// Preemption answers GET /v1/preemption. Package explain computes this document and the following
// ones.
type Preemption = explain.Preemption

// Parts of a Preemption.
type (
	PreemptionQueue      = explain.PreemptionQueue
	PreemptionSet        = explain.PreemptionSet
	PreemptionContainer  = explain.PreemptionContainer
	PreemptionRound      = explain.PreemptionRound
	PreemptionWithdrawal = explain.PreemptionWithdrawal
	PreemptionTotals     = explain.PreemptionTotals
	AppPreemption        = explain.AppPreemption
	PreemptionDear       = explain.PreemptionDear
)
