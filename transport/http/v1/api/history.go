package api

import "time"

// HistorySpan is how far back a history goes.
const HistorySpan = time.Hour

// History is what one replica saw of the cluster, a queue or a node in the last hour. It is not
// replicated, and begins again when the replica restarts.
type History struct {
	ID           string `json:"id"`                  // of the replica
	Queue        string `json:"queue,omitempty"`     // empty: the whole cluster, or the node
	Node         string `json:"node,omitempty"`      //
	BeginsMillis int64  `json:"begins_ms,omitempty"` // the first sample since the replica started
	StepMillis   int64  `json:"step_ms"`             // usual distance of two samples
	// Samples are in order of time. One that is missing is left out, and Gaps says where.
	Samples []HistorySample `json:"samples"`
	Gaps    []HistoryGap    `json:"gaps"`
	// LeaderChanges are the elections in this hour that the replica saw end, oldest first.
	LeaderChanges []Failover `json:"leader_changes"`
}

// HistorySample is one moment. Used and Reserved are in per cent, of the cluster or the node, in the
// resource kind of which they are the largest part.
type HistorySample struct {
	AtMillis int64   `json:"at_ms"`
	Used     float64 `json:"used"`
	Reserved float64 `json:"reserved"`
	// Waiting counts the applications whose ApplicationMaster has not registered; not of nodes.
	Waiting *int `json:"waiting,omitempty"`
	// Decisions counts containers allocated and reservations made, a second, since the sample
	// before; of the cluster only, and not after a gap.
	Decisions *float64 `json:"decisions_per_second,omitempty"`
}

// HistoryGap is a time without samples: the replica was not ready, heard no leader or stood still,
// or the node was not heard.
type HistoryGap struct {
	FromMillis int64 `json:"from_ms"` // the last sample before
	ToMillis   int64 `json:"to_ms"`   // the first one after, or now
}
