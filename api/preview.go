package api

// Names of the runs in a preview of preemption.
const (
	PreviewCluster = "cluster" // what the cluster did
	PreviewOff     = "off"     // without preemption
	PreviewPlanned = "planned"
	PreviewYARN    = "yarn"
)

// PreviewPreemption asks what preemption would have done between two times: POST
// /v1/preemption:preview. The default end is now.
type PreviewPreemption struct {
	FromMillis int64 `json:"from_ms"`
	ToMillis   int64 `json:"to_ms,omitempty"`
	// Clip asks for the part of this time that the replica's log still has, if it has not all of it.
	// The answer says from when on.
	Clip bool `json:"clip,omitempty"`
}

// PreemptionPreview says what preemption would have done in a part of the log, and what the cluster
// did.
type PreemptionPreview struct {
	Replica    string `json:"replica,omitempty"`
	Text       string `json:"text"`
	FromMillis int64  `json:"from_ms"`
	ToMillis   int64  `json:"to_ms"`
	FromIndex  uint64 `json:"from_index"`
	ToIndex    uint64 `json:"to_index"`
	Entries    int    `json:"entries"`
	// Runs has the runs off, planned and yarn. If the cluster's own settings are none of these, the
	// run cluster comes first.
	Runs []PreviewRun `json:"runs"`
}

// PreviewRun is one course that the cluster could have taken.
type PreviewRun struct {
	Name string `json:"name"`
	// Exact is true if the run made the same decisions as the cluster. Otherwise its figures are
	// estimates.
	Exact     bool  `json:"exact"`
	Started   int64 `json:"started"` // containers without ApplicationMasters
	Warned    int64 `json:"warned"`
	Withdrawn int64 `json:"withdrawn"`
	Killed    int64 `json:"killed"` // includes containers that ended because their ApplicationMaster was preempted
	AMs       int64 `json:"ams"`    // ApplicationMasters in Killed
	// Lost is the use of the killed containers in resource-seconds, by resource kind.
	Lost map[string]int64 `json:"lost"`
	// LostMillis is the same in milliseconds of the whole cluster, for the kind with the largest
	// share.
	LostMillis int64 `json:"lost_ms"`
	// Owed has the waits for containers that a queue asked for within its guarantee, including
	// those that still wait. Waiting counts the latter.
	Owed    ShadowWaits `json:"owed"`
	Waiting int64       `json:"waiting"`
	// KnownEnds and GuessedEnds count the ended containers whose run time was known or was guessed.
	// NotFollowed counts submissions and changes that the run had to omit.
	KnownEnds   uint64         `json:"known_ends"`
	GuessedEnds uint64         `json:"guessed_ends"`
	NotFollowed uint64         `json:"not_followed"`
	Queues      []PreviewQueue `json:"queues"`
}

// PreviewQueue is a leaf queue in a run.
type PreviewQueue struct {
	Path       string      `json:"path"`
	Killed     int64       `json:"killed"` // containers of this queue
	LostMillis int64       `json:"lost_ms"`
	Owed       ShadowWaits `json:"owed"`
	Waiting    int64       `json:"waiting"`
}
