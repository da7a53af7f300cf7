package api

// Reservations is one page of reservations, oldest first.
type Reservations struct {
	Reservations []Reservation `json:"reservations"`
	Next         string        `json:"next,omitempty"`
	// Since the cluster began.
	Made      uint64            `json:"made"`
	Fulfilled uint64            `json:"fulfilled"`
	Cancelled map[string]uint64 `json:"cancelled"` // by cause
}

// Reservation holds a node for one container that does not fit yet.
type Reservation struct {
	ID           string   `json:"id"` // r41
	Node         string   `json:"node"`
	App          string   `json:"app"`
	Attempt      uint32   `json:"attempt"`
	Queue        string   `json:"queue"`
	User         string   `json:"user"`
	Container    string   `json:"container"` // what it will become
	Priority     int32    `json:"priority"`
	AllocationID int64    `json:"allocation_id,omitempty"`
	Size         Resource `json:"size"`
	AM           bool     `json:"am,omitempty"`
	NodeTotal    Resource `json:"node_total"`
	Free         Resource `json:"free_on_node"`
	Missing      Resource `json:"missing"` // what must become free
	MadeMillis   int64    `json:"made_ms"`
	AgeMillis    int64    `json:"age_ms"` // at the state's clock
	// ReReservations counts how often its key was reserved again since.
	ReReservations uint32 `json:"re_reservations"`
	// Blocks counts other applications with an ask that would fit the node's
	// free room, which the reservation keeps for its own.
	Blocks int `json:"blocks"`
	Lent   int `json:"lent,omitempty"` // containers that run in room which it has lent
}

// ReservationHistory is a reservation's life as the log tells it, oldest first.
type ReservationHistory struct {
	ID   string `json:"id"`
	App  string `json:"app,omitempty"` // while it is remembered
	Held bool   `json:"held"`          // now
	// Whole says that the log goes back to the beginning.
	Whole  bool               `json:"whole"`
	Events []ReservationEvent `json:"events"`
}

// ReservationEvent is one thing that happened to a reservation: made, moved,
// fulfilled or cancelled. One that moved goes on under another id.
type ReservationEvent struct {
	Index    uint64 `json:"index"`
	AtMillis int64  `json:"at_ms,omitempty"`
	What     string `json:"what"`
	Node     string `json:"node,omitempty"`
	Cause    string `json:"cause,omitempty"`
}
