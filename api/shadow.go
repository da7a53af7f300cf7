package api

// States of a shadow.
const (
	ShadowNone   = "none"    // there is no shadow
	ShadowInStep = "in-step" // the shadow has made the same decisions as the cluster
	ShadowApart  = "apart"   // the shadow has made other decisions than the cluster
	ShadowEnded  = "ended"
)

// StartShadow starts a shadow: POST /v1/shadow. A Hadoop configuration file (application/xml) may
// replace it and gives only the properties.
type StartShadow struct {
	Properties map[string]string `json:"properties"`
	Name       string            `json:"name,omitempty"` // file name, for display
	// BehindMillis is the delay behind the log once the shadow is apart; the default is ten
	// minutes.
	BehindMillis *int64 `json:"behind_ms,omitempty"`
	Seed         uint64 `json:"seed,omitempty"` // for the guesses of unknown run times
}

// Shadow is another queue configuration that runs beside the cluster on this replica: GET
// /v1/shadow. Shares are of the cluster, 0 to 1, for the resource kind with the largest share.
type Shadow struct {
	Replica string `json:"replica,omitempty"`
	State   string `json:"state"`
	Text    string `json:"text"`
	Name    string `json:"name,omitempty"`
	// Changes are relative to the configuration in force when the shadow started. It is empty if
	// both are the same.
	Changes     []Change `json:"changes,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	BeganMillis int64    `json:"began_ms,omitempty"`
	AtMillis    int64    `json:"at_ms,omitempty"` // time in the log up to which both sides are compared
	Index       uint64   `json:"index,omitempty"` // the last log index that was read
	Entries     uint64   `json:"entries,omitempty"`
	// Decided counts the shadow's own decisions that matched the cluster's while it was in step.
	Decided    uint64            `json:"decided,omitempty"`
	Divergence *ShadowDivergence `json:"divergence,omitempty"`
	// ClusterDigest and Digest are equal while the shadow is in step and has the configuration in
	// force.
	ClusterDigest string `json:"cluster_digest,omitempty"`
	Digest        string `json:"digest,omitempty"`
	BehindMillis  int64  `json:"behind_ms,omitempty"`
	// KnownEnds counts the containers that ended in the shadow after their real run time since it
	// is apart. GuessedEnds counts those whose run time was not known in time.
	KnownEnds   uint64 `json:"known_ends"`
	GuessedEnds uint64 `json:"guessed_ends"`
	NotFollowed uint64 `json:"not_followed"` // submissions and changes that the shadow had to omit
	// above 1,000 queues only those that wanted something, and ShadowRemoved
	Queues []ShadowQueue `json:"queues,omitempty"`
	Points []ShadowPoint `json:"points,omitempty"` // for the first 100 queues that used something
}

// ShadowDivergence is the first decision in which the shadow differs from the cluster.
type ShadowDivergence struct {
	Index    uint64 `json:"index"`
	AtMillis int64  `json:"at_ms"`
	Cluster  string `json:"cluster"` // decision of the cluster
	Shadow   string `json:"shadow"`
}

// ShadowRemoved is the path under which a report sums up removed queues if there are many.
const ShadowRemoved = "(removed)"

// ShadowQueue compares a leaf queue in the cluster and in the shadow.
type ShadowQueue struct {
	Path    string     `json:"path"`
	Cluster ShadowSide `json:"cluster"`
	Shadow  ShadowSide `json:"shadow"`
}

// ShadowSide has the figures of a leaf queue on one side since the shadow started.
type ShadowSide struct {
	Waits     ShadowWaits `json:"waits"`    // of containers, from the ask
	AMs       ShadowWaits `json:"am_waits"` // of ApplicationMasters, from the submission
	Waiting   int64       `json:"waiting"`  // containers that wait now
	Preempted int64       `json:"preempted"`
	Used      float64     `json:"used"` // mean over the time
	Wanted    float64     `json:"wanted"`
	// Guaranteed is the mean guarantee. Owed is the mean part of it that the queue wanted and did
	// not have. OwedTime is the part of the time in which the queue was owed something.
	Guaranteed float64 `json:"guaranteed"`
	Owed       float64 `json:"owed"`
	OwedTime   float64 `json:"owed_time"`
}

// ShadowWaits summarizes times until containers start. Quantiles are accurate to a tenth.
type ShadowWaits struct {
	Count      int64 `json:"count"`
	MeanMillis int64 `json:"mean_ms"`
	P50Millis  int64 `json:"p50_ms"`
	P95Millis  int64 `json:"p95_ms"`
	MaxMillis  int64 `json:"max_ms"`
}

// ShadowPoint is an interval of time, for plots.
type ShadowPoint struct {
	AtMillis int64                       `json:"at_ms"` // end of the interval
	Queues   map[string]ShadowPointQueue `json:"queues"`
}

// ShadowPointQueue is a leaf queue in that interval: the mean use, and the waits of the containers
// that started.
type ShadowPointQueue struct {
	ClusterUsed   float64 `json:"cluster_used"`
	ShadowUsed    float64 `json:"shadow_used"`
	ClusterWait   float64 `json:"cluster_wait_ms"`
	ShadowWait    float64 `json:"shadow_wait_ms"`
	ClusterStarts int64   `json:"cluster_starts"`
	ShadowStarts  int64   `json:"shadow_starts"`
}
