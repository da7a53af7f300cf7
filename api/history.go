package api

import "time"

// The times that a History can cover.
const (
	HistoryHour = time.Hour
	HistoryDay  = 24 * time.Hour
	HistoryWeek = 7 * 24 * time.Hour
)

// HistorySpans are these times by their names in the parameter span of GET /v1/history.
var HistorySpans = map[string]time.Duration{"": HistoryHour, "hour": HistoryHour, "day": HistoryDay,
	"week": HistoryWeek}

// History has samples of the cluster, a queue or a node, which one replica took in the last hour,
// day or week. They are not replicated. The replica keeps them when it restarts.
type History struct {
	ID    string `json:"id"`              // the replica that answers
	Queue string `json:"queue,omitempty"` // empty for the cluster and for a node
	Node  string `json:"node,omitempty"`  // empty for the cluster and for a queue
	// time of the first sample that the replica has taken, also before a restart
	BeginsMillis int64 `json:"begins_ms,omitempty"`
	StepMillis   int64 `json:"step_ms"` // usual time between two samples
	SpanMillis   int64 `json:"span_ms"` // the time before now that the samples cover
	// Samples has the samples in the order of time. Gaps says where samples are missing.
	Samples []HistorySample `json:"samples"`
	Gaps    []HistoryGap    `json:"gaps"`
	// LargestNode has, for each resource kind, the largest amount that a node which takes containers
	// had in this hour, free or not. It is present only for the cluster.
	LargestNode Resource `json:"largest_node,omitempty"`
	// LeaderChanges lists the elections of this time that this replica saw, oldest first.
	LeaderChanges []Failover `json:"leader_changes"`
}

// HistorySample is a sample at one time. Used and Reserved are percentages of the cluster or the
// node, for the resource kind in which their sum is largest.
type HistorySample struct {
	AtMillis int64   `json:"at_ms"`
	Used     float64 `json:"used"`
	Reserved float64 `json:"reserved"`
	// Waiting counts the applications without a registered ApplicationMaster. It is absent for
	// nodes.
	Waiting *int `json:"waiting,omitempty"`
	// Decisions is the number of allocated containers and reservations per second since the
	// previous sample. It is present only for the cluster, and not after a gap.
	Decisions *float64 `json:"decisions_per_second,omitempty"`
	// LargestFree has the largest free amount of each resource kind on one node, which may be
	// different nodes, and EmptyNodes counts the empty ones of ServingNodes, as in Room; both of all
	// labels. They are present only for the cluster.
	LargestFree  Resource `json:"largest_free,omitempty"`
	EmptyNodes   *int     `json:"empty_nodes,omitempty"`
	ServingNodes *int     `json:"serving_nodes,omitempty"`
}

// HistoryGap is a time without samples. The replica was not ready, had no contact with the leader
// or was suspended, or there was no contact with the node.
type HistoryGap struct {
	FromMillis int64 `json:"from_ms"` // the last sample before the gap
	ToMillis   int64 `json:"to_ms"`   // the first sample after the gap, or now
}

// AppHistory has samples of an application, from its submission to its end or to now, which one
// replica took. They are not replicated. A long life has samples that are further apart.
type AppHistory struct {
	ID              string `json:"id"` // the replica that answers
	App             string `json:"app"`
	SubmittedMillis int64  `json:"submitted_ms"`
	EndedMillis     int64  `json:"ended_ms,omitempty"`
	StepMillis      int64  `json:"step_ms"` // usual time between two samples; the newest may be nearer
	// Samples has the samples in the order of time. Gaps says where samples are missing. Both are empty
	// if the application ended before the first sample, or if too many other applications have samples.
	Samples []AppHistorySample `json:"samples"`
	Gaps    []HistoryGap       `json:"gaps"`
}

// AppHistorySample is what an application had and waited for at one time, as in App.
type AppHistorySample struct {
	AtMillis int64    `json:"at_ms"`
	Used     Resource `json:"used"`
	Reserved Resource `json:"reserved"`
	Pending  Resource `json:"pending"`
}
