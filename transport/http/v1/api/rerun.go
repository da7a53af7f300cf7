package api

// Rerun is what the log has recorded, played once more with reservations and
// without: POST /v1/replay:rerun.
type Rerun struct {
	From       uint64    `json:"from"` // the stretch of the log
	To         uint64    `json:"to"`
	SpanMillis int64     `json:"span_ms"` // of the log's own time
	Cut        bool      `json:"cut"`     // more was recorded than is played
	Apps       int       `json:"apps"`
	Containers int       `json:"containers"`
	Nodes      int       `json:"nodes"`
	AtMillis   int64     `json:"at_ms"` // when it was played
	With       RerunSide `json:"with"`
	Without    RerunSide `json:"without"`
}

// RerunSide is one of the two plays. Shares are of the cluster, by the largest
// kind, over time.
type RerunSide struct {
	Large        RerunWaits `json:"large"` // containers over half a node
	Small        RerunWaits `json:"small"`
	Made         int64      `json:"made"`
	Moved        int64      `json:"moved"`
	Fulfilled    int64      `json:"fulfilled"`
	Cancelled    int64      `json:"cancelled"`
	Used         float64    `json:"used"`
	ReservedIdle float64    `json:"reserved_idle"`
	EndMillis    int64      `json:"end_ms"` // until the last one was done
}

// RerunWaits are the waits of containers. Those not served count with their wait
// until the end.
type RerunWaits struct {
	Containers int   `json:"containers"`
	Unserved   int   `json:"unserved"`
	P50Millis  int64 `json:"p50_ms"`
	P95Millis  int64 `json:"p95_ms"`
	MaxMillis  int64 `json:"max_ms"`
}
