package api

// Forecast answers GET /v1/apps/{id}/forecast: when what an application waits for will start.
type Forecast struct {
	ID       string        `json:"id"`
	AtMillis int64         `json:"at_ms"` // when it was made
	Runs     int           `json:"runs"`  // courses of the cluster that were planned ahead
	Asks     []ForecastAsk `json:"asks"`  // empty: it waits for nothing
}

// First is the ask that starts first, else one that never does; nil if it waits for nothing.
func (f *Forecast) First() (first *ForecastAsk) {
	for i := range f.Asks {
		k := &f.Asks[i]
		if first == nil || k.MedianMillis > 0 && (first.MedianMillis == 0 || k.MedianMillis < first.MedianMillis) {
			first = k
		}
	}
	return first
}

// ForecastAsk is when the next container under one key starts.
type ForecastAsk struct {
	Priority     int32  `json:"priority"`
	AllocationID int64  `json:"allocation_request_id"`
	Size         string `json:"size"`
	Count        int64  `json:"count"` // containers that are outstanding
	// Never says why no container can start; empty: one can.
	Never string `json:"never,omitempty"`
	// Runs in which the container starts within the horizon.
	Started int `json:"started"`
	// 9 in 10 such forecasts start from FromMillis to ToMillis; 0: not within the horizon.
	FromMillis   int64 `json:"from_ms,omitempty"`
	MedianMillis int64 `json:"median_ms,omitempty"`
	ToMillis     int64 `json:"to_ms,omitempty"`
	// Recorded says that the interval comes from the replica's record of earlier forecasts; otherwise
	// it is that of the runs.
	Recorded bool             `json:"recorded"`
	After    []ForecastAfter  `json:"after,omitempty"`  // the most frequent first
	Queues   []ForecastQueue  `json:"queues,omitempty"` // of these containers, the most frequent first
	Sooner   []ForecastSooner `json:"sooner,omitempty"` // the soonest first
}

// ForecastAfter is a container that ends right before the start, in so many runs. Container and Node are
// empty for containers of an application that do not run yet.
type ForecastAfter struct {
	Container string `json:"container,omitempty"`
	Node      string `json:"node,omitempty"`
	ID        string `json:"id"` // of its application
	Queue     string `json:"queue"`
	Runs      int    `json:"runs"`
}

// ForecastQueue is a queue of which a container ends right before the start, in so many runs.
type ForecastQueue struct {
	Path string `json:"path"`
	Runs int    `json:"runs"`
}

// ForecastSooner is a supposition under which a container starts sooner.
type ForecastSooner struct {
	If           string `json:"if"`
	MedianMillis int64  `json:"median_ms"`
}

// ForecastReport answers GET /v1/forecast: how well the forecasts of a replica held.
type ForecastReport struct {
	Replica     string `json:"replica"`
	SinceMillis int64  `json:"since_ms,omitempty"` // the first forecast
	Due         int    `json:"due"`                // forecasts that came due
	Held        int    `json:"held"`               // those whose interval held
	Open        int    `json:"open"`               // forecasts for what still waits
	Gone        int    `json:"gone"`               // forecasts for what nobody waited for any more
	// Recorded says that there are enough of them for intervals.
	Recorded bool            `json:"recorded"`
	Newest   ForecastSummary `json:"newest"`
}

// ForecastSummary sums up the newest forecasts that came due, at most 300.
type ForecastSummary struct {
	Due            int   `json:"due"`
	Held           int   `json:"held"`
	ErrorP50Millis int64 `json:"error_p50_ms"` // how far the median was off
	ErrorP95Millis int64 `json:"error_p95_ms"`
	WaitP50Millis  int64 `json:"wait_p50_ms"`  // from the forecasts to the starts
	WidthP50Millis int64 `json:"width_p50_ms"` // of the intervals
}
