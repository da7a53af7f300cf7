package api

// Reservations is one page of reservations, oldest first.
type Reservations struct {
	Reservations []Reservation `json:"reservations"`
	Next         string        `json:"next,omitempty"`
	// Made, Fulfilled and Cancelled count since the cluster was created.
	Made      uint64            `json:"made"`
	Fulfilled uint64            `json:"fulfilled"`
	Cancelled map[string]uint64 `json:"cancelled"` // by cause
}

// Reservation reserves a node for one container that does not fit yet.
type Reservation struct {
	ID           string   `json:"id"` // such as r41
	Node         string   `json:"node"`
	App          string   `json:"app"`
	Attempt      uint32   `json:"attempt"`
	Queue        string   `json:"queue"`
	User         string   `json:"user"`
	Container    string   `json:"container"` // id that the container will get
	Priority     int32    `json:"priority"`
	AllocationID int64    `json:"allocation_id,omitempty"`
	Size         Resource `json:"size"`
	AM           bool     `json:"am,omitempty"`
	NodeTotal    Resource `json:"node_total"`
	Free         Resource `json:"free_on_node"`
	Missing      Resource `json:"missing"` // what must become free on the node
	MadeMillis   int64    `json:"made_ms"`
	AgeMillis    int64    `json:"age_ms"` // by the clock of the state
	// ReReservations counts the re-reservations of the container's key.
	ReReservations uint32 `json:"re_reservations"`
	// Blocks counts other applications with an ask that fits into the free room of the node, which
	// the reservation keeps.
	Blocks int `json:"blocks"`
	Lent   int `json:"lent,omitempty"` // containers that run in reserved room as backfill
}

// ReservationHistory is the history of a reservation in the log, oldest event first.
type ReservationHistory struct {
	ID   string `json:"id"`
	App  string `json:"app,omitempty"` // only while the state has the application
	Held bool   `json:"held"`          // the reservation exists now
	// Whole is true if the log goes back to the beginning of the reservation.
	Whole  bool               `json:"whole"`
	Events []ReservationEvent `json:"events"`
}

// ReservationEvent is an event of a reservation: made, moved, fulfilled or cancelled. A reservation
// that moves continues under another id.
type ReservationEvent struct {
	Index    uint64 `json:"index"`
	AtMillis int64  `json:"at_ms,omitempty"`
	What     string `json:"what"`
	Node     string `json:"node,omitempty"`
	Cause    string `json:"cause,omitempty"`
}
