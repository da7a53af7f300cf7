package api

// Forecast answers GET /v1/apps/{id}/forecast: when the containers for which an application waits
// will start.
type Forecast struct {
	ID       string        `json:"id"`
	AtMillis int64         `json:"at_ms"` // when the forecast was made
	Runs     int           `json:"runs"`  // how often the planner simulated the future of the cluster
	Asks     []ForecastAsk `json:"asks"`  // empty if the application asks for nothing
	// Waits says why the application asks for nothing yet although it waits, as under a limit on
	// parallel applications.
	Waits string `json:"waits,omitempty"`
}

// First returns the ask that starts first, or one that never starts if all are like that. It
// returns nil if the application waits for nothing.
func (f *Forecast) First() (first *ForecastAsk) {
	for i := range f.Asks {
		k := &f.Asks[i]
		if first == nil || k.MedianMillis > 0 && (first.MedianMillis == 0 || k.MedianMillis < first.MedianMillis) {
			first = k
		}
	}
	return first
}

// ForecastAsk says when the next container under one key will start.
type ForecastAsk struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_request_id"`
	Size         string `json:"size"`
	Count        int64  `json:"count"` // containers that the application asks for and does not have
	// Never says why no container can start; it is empty if one can.
	Never string `json:"never,omitempty"`
	// Started counts the runs in which the container starts within the horizon.
	Started int `json:"started"`
	// In 9 of 10 such forecasts the start is between FromMillis and ToMillis. A time is 0 if it is
	// beyond the horizon.
	FromMillis   int64 `json:"from_ms,omitempty"`
	MedianMillis int64 `json:"median_ms,omitempty"`
	ToMillis     int64 `json:"to_ms,omitempty"`
	// Recorded is true if the interval comes from this replica's record of earlier forecasts.
	// Otherwise it comes from the runs alone.
	Recorded bool             `json:"recorded"`
	After    []ForecastAfter  `json:"after,omitempty"`  // most frequent first
	Queues   []ForecastQueue  `json:"queues,omitempty"` // queues of the containers in After, most frequent first
	Sooner   []ForecastSooner `json:"sooner,omitempty"` // soonest first
}

// ForecastAfter is a container whose end makes room for the start, with the number of runs in which
// it does. Container and Node are empty if the containers of the application do not run yet.
type ForecastAfter struct {
	Container string `json:"container,omitempty"`
	Node      string `json:"node,omitempty"`
	ID        string `json:"id"` // of the application
	Queue     string `json:"queue"`
	Runs      int    `json:"runs"`
}

// ForecastQueue is a queue with containers whose end makes room for the start, with the number of
// runs in which one does.
type ForecastQueue struct {
	Path string `json:"path"`
	Runs int    `json:"runs"`
}

// ForecastSooner is a change after which a container would start sooner.
type ForecastSooner struct {
	If           string `json:"if"`
	MedianMillis int64  `json:"median_ms"`
}

// ForecastReport answers GET /v1/forecast: how accurate the forecasts of a replica were.
type ForecastReport struct {
	Replica     string `json:"replica"`
	SinceMillis int64  `json:"since_ms,omitempty"` // time of the first forecast
	Due         int    `json:"due"`                // forecasts whose container has started
	Held        int    `json:"held"`               // forecasts whose container started within the interval
	Open        int    `json:"open"`               // forecasts of containers that still wait
	Gone        int    `json:"gone"`               // forecasts of containers that the application no longer wants
	None        int    `json:"none"`               // asks for which no start was foreseen
	// Recorded is true if there are enough forecasts to compute intervals from them.
	Recorded bool            `json:"recorded"`
	Newest   ForecastSummary `json:"newest"`
}

// ForecastSummary summarizes the newest forecasts whose container has started, at most 300.
type ForecastSummary struct {
	Due            int   `json:"due"`
	Held           int   `json:"held"`
	ErrorP50Millis int64 `json:"error_p50_ms"` // difference between the median and the start
	ErrorP95Millis int64 `json:"error_p95_ms"`
	WaitP50Millis  int64 `json:"wait_p50_ms"`  // time between the forecast and the start
	WidthP50Millis int64 `json:"width_p50_ms"` // width of the intervals
	// WidthOfWaitP50 is the median of width ÷ wait, where a wait is at least one second.
	WidthOfWaitP50 float64 `json:"width_of_wait_p50"`
}
