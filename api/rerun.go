package api

// Rerun answers POST /v1/replay:rerun: a replay of the recorded part of the log, with and without
// reservations.
type Rerun struct {
	From       uint64    `json:"from"` // first index of the part
	To         uint64    `json:"to"`
	SpanMillis int64     `json:"span_ms"` // in the log's own time
	Cut        bool      `json:"cut"`     // the log has more than was replayed
	Apps       int       `json:"apps"`
	Containers int       `json:"containers"`
	Nodes      int       `json:"nodes"`
	AtMillis   int64     `json:"at_ms"` // when the replay ran
	With       RerunSide `json:"with"`
	Without    RerunSide `json:"without"`
}

// RerunSide is one of the two replays. Used and ReservedIdle are mean shares of the cluster over
// time, for the resource kind with the largest share.
type RerunSide struct {
	Large        RerunWaits `json:"large"` // containers larger than half a node
	Small        RerunWaits `json:"small"`
	Made         int64      `json:"made"`
	Moved        int64      `json:"moved"`
	Fulfilled    int64      `json:"fulfilled"`
	Cancelled    int64      `json:"cancelled"`
	Used         float64    `json:"used"`
	ReservedIdle float64    `json:"reserved_idle"`
	EndMillis    int64      `json:"end_ms"` // until the last container ended
}

// RerunWaits summarizes the waits of containers. A container that never started counts with its
// wait until the end.
type RerunWaits struct {
	Containers int   `json:"containers"`
	Unserved   int   `json:"unserved"`
	P50Millis  int64 `json:"p50_ms"`
	P95Millis  int64 `json:"p95_ms"`
	MaxMillis  int64 `json:"max_ms"`
}
