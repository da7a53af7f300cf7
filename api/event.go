package api

import "time"

// A stream of Server-Sent Events sends something at least every StreamHeartbeat. A client that
// hears nothing for StreamSilence should connect to another replica.
const (
	StreamHeartbeat = 2 * time.Second
	StreamSilence   = 3 * StreamHeartbeat
)

// EventBatch is a committed log entry as the stream sends it. With a filter, it has only the events
// that pass. The id of the stream's message is the index of the entry.
type EventBatch struct {
	Index     uint64  `json:"index"`
	Term      uint64  `json:"term"`
	NowMillis int64   `json:"now_ms"`
	Events    []Event `json:"events"`
}

// Event is a committed event with resolved names and masked secrets. App, Queue, Node, Container
// and Reservation are the objects of the event; Data has its own fields.
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

// Log is a part of the replicated log.
type Log struct {
	First   uint64     `json:"first"` // the oldest index in the log
	Last    uint64     `json:"last"`
	Entries []LogEntry `json:"entries"`
}

// LogEntry is a decoded entry of the log. Error says why the entry could not be decoded.
type LogEntry struct {
	Index    uint64  `json:"index"`
	Term     uint64  `json:"term"`
	Type     string  `json:"type"` // events, noop, configuration, …
	Bytes    int     `json:"bytes"`
	AtMillis int64   `json:"at_ms,omitempty"` // only of entries with events
	Level    uint32  `json:"level,omitempty"`
	Sequence uint64  `json:"sequence,omitempty"`
	Events   []Event `json:"events,omitempty"`
	Error    string  `json:"error,omitempty"`
}
