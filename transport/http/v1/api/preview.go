package api

// Runs of a preview of preemption.
const (
	PreviewCluster = "cluster" // as it was
	PreviewOff     = "off"     // without preemption
	PreviewPlanned = "planned"
	PreviewYARN    = "yarn"
)

// PreviewPreemption asks what preemption would have done between two times: POST
// /v1/preemption:preview. Without an end it is now.
type PreviewPreemption struct {
	FromMillis int64 `json:"from_ms"`
	ToMillis   int64 `json:"to_ms,omitempty"`
}

// PreemptionPreview is what preemption would have done in a stretch of the log, beside what was.
type PreemptionPreview struct {
	Replica    string `json:"replica,omitempty"`
	Text       string `json:"text"`
	FromMillis int64  `json:"from_ms"`
	ToMillis   int64  `json:"to_ms"`
	FromIndex  uint64 `json:"from_index"`
	ToIndex    uint64 `json:"to_index"`
	Entries    int    `json:"entries"`
	// Runs are off, planned and yarn; before them the cluster as it was, if that is none of the first.
	Runs []PreviewRun `json:"runs"`
}

// PreviewRun is one way in which the stretch may have gone.
type PreviewRun struct {
	Name string `json:"name"`
	// Exact says that it has decided what the cluster has decided. Else the figures are estimates.
	Exact     bool  `json:"exact"`
	Started   int64 `json:"started"` // containers, without ApplicationMasters
	Warned    int64 `json:"warned"`
	Withdrawn int64 `json:"withdrawn"`
	Killed    int64 `json:"killed"` // containers that ended with a preempted ApplicationMaster included
	AMs       int64 `json:"ams"`    // of Killed
	// Lost is what the killed containers used, times the seconds that they had run, by kind.
	Lost map[string]int64 `json:"lost"`
	// LostMillis is the same in milliseconds of the whole cluster, by the largest share.
	LostMillis int64 `json:"lost_ms"`
	// Owed are the waits for containers that a queue asked for within its guarantee, those included
	// that wait still; Waiting counts these.
	Owed    ShadowWaits `json:"owed"`
	Waiting int64       `json:"waiting"`
	// KnownEnds and GuessedEnds count containers by whether their length was known; NotFollowed counts
	// submissions and changes that were left out.
	KnownEnds   uint64         `json:"known_ends"`
	GuessedEnds uint64         `json:"guessed_ends"`
	NotFollowed uint64         `json:"not_followed"`
	Queues      []PreviewQueue `json:"queues"`
}

// PreviewQueue is a leaf queue in a run.
type PreviewQueue struct {
	Path       string      `json:"path"`
	Killed     int64       `json:"killed"` // of its containers
	LostMillis int64       `json:"lost_ms"`
	Owed       ShadowWaits `json:"owed"`
	Waiting    int64       `json:"waiting"`
}
