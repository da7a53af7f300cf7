package api

// EventBatch is one committed entry as the stream carries it. With a filter it
// holds the events that pass; the stream's id is the index all the same.
type EventBatch struct {
	Index     uint64  `json:"index"`
	Term      uint64  `json:"term"`
	NowMillis int64   `json:"now_ms"`
	Events    []Event `json:"events"`
}

// Event is one committed event, names resolved and secrets masked. What it
// speaks of stands outside, its own fields in Data.
type Event struct {
	Kind        string         `json:"kind"` // ContainerAllocated, …
	App         string         `json:"app,omitempty"`
	Queue       string         `json:"queue,omitempty"`
	Node        string         `json:"node,omitempty"`
	Container   string         `json:"container,omitempty"`
	Reservation string         `json:"reservation,omitempty"`
	Data        map[string]any `json:"data,omitempty"`
	Because     *Because       `json:"because,omitempty"`
}

// Log is a stretch of the replicated log.
type Log struct {
	First   uint64     `json:"first"` // the oldest index there is
	Last    uint64     `json:"last"`
	Entries []LogEntry `json:"entries"`
}

// LogEntry is one entry of the log, decoded. Error says why it could not be.
type LogEntry struct {
	Index    uint64  `json:"index"`
	Term     uint64  `json:"term"`
	Type     string  `json:"type"` // events, noop, configuration, …
	Bytes    int     `json:"bytes"`
	AtMillis int64   `json:"at_ms,omitempty"` // with events; others have no time
	Level    uint32  `json:"level,omitempty"`
	Sequence uint64  `json:"sequence,omitempty"`
	Events   []Event `json:"events,omitempty"`
	Error    string  `json:"error,omitempty"`
}
