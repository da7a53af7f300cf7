package api

// Forecast answers GET /v1/apps/{id}/forecast: when what an application waits for will start.
type Forecast struct {
	ID       string        `json:"id"`
	AtMillis int64         `json:"at_ms"` // when it was made
	Runs     int           `json:"runs"`  // courses of the cluster that were planned ahead
	Asks     []ForecastAsk `json:"asks"`  // empty: it waits for nothing
}

// ForecastAsk is when the next container under one key starts.
type ForecastAsk struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_request_id"`
	Size         string `json:"size"`
	Count        int64  `json:"count"` // containers that are outstanding
	// Never says why no container can start; empty: one can.
	Never string `json:"never,omitempty"`
	// Runs in which the container starts within the horizon. In 9 of 10 runs it starts from FromMillis to ToMillis; 0: not within
	// the horizon.
	Started      int             `json:"started"`
	FromMillis   int64           `json:"from_ms,omitempty"`
	MedianMillis int64           `json:"median_ms,omitempty"`
	ToMillis     int64           `json:"to_ms,omitempty"`
	After        []ForecastAfter `json:"after,omitempty"` // the most frequent first
}

// ForecastAfter is an application whose container ended right before the start, in so many runs.
type ForecastAfter struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	Runs  int    `json:"runs"`
}
