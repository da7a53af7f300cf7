package api

// States of a shadow.
const (
	ShadowNone   = "none"    // there is none
	ShadowInStep = "in-step" // it has decided what the cluster has decided
	ShadowApart  = "apart"   // it goes its own way
	ShadowEnded  = "ended"
)

// StartShadow starts a shadow: POST /v1/shadow. A Hadoop file as application/xml gives the properties
// alone.
type StartShadow struct {
	Properties map[string]string `json:"properties"`
	Name       string            `json:"name,omitempty"` // of the file, to be shown
	// BehindMillis is how far it stays behind the log when it goes its own way; absent: ten minutes.
	BehindMillis *int64 `json:"behind_ms,omitempty"`
	Seed         uint64 `json:"seed,omitempty"` // of lengths that are not known
}

// Shadow is another queue configuration that runs beside the cluster on this replica: GET /v1/shadow.
// Shares are of the cluster, 0 to 1, by the largest kind.
type Shadow struct {
	Replica string `json:"replica,omitempty"`
	State   string `json:"state"`
	Text    string `json:"text"`
	Name    string `json:"name,omitempty"`
	// Changes are from the configuration that was in force when it started; none: it is the same.
	Changes     []Change `json:"changes,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	BeganMillis int64    `json:"began_ms,omitempty"`
	AtMillis    int64    `json:"at_ms,omitempty"` // the log's time up to which the sides are compared
	Index       uint64   `json:"index,omitempty"` // of the log, that was read last
	Entries     uint64   `json:"entries,omitempty"`
	// Decided counts the events that the shadow has decided by itself, as the cluster did, while in step.
	Decided    uint64            `json:"decided,omitempty"`
	Divergence *ShadowDivergence `json:"divergence,omitempty"`
	// ClusterDigest and Digest are equal while a shadow with the configuration in force is in step.
	ClusterDigest string `json:"cluster_digest,omitempty"`
	Digest        string `json:"digest,omitempty"`
	BehindMillis  int64  `json:"behind_ms,omitempty"`
	// KnownEnds counts containers that have ended in the shadow after their own length since it goes
	// its own way, GuessedEnds those whose length was not known in time.
	KnownEnds   uint64        `json:"known_ends"`
	GuessedEnds uint64        `json:"guessed_ends"`
	NotFollowed uint64        `json:"not_followed"`     // submissions and changes that it had to leave out
	Queues      []ShadowQueue `json:"queues,omitempty"` // of more than 1,000 those that wanted something, and ShadowRemoved
	Points      []ShadowPoint `json:"points,omitempty"` // of the first 100 queues that used something
}

// ShadowDivergence is the first decision that differs.
type ShadowDivergence struct {
	Index    uint64 `json:"index"`
	AtMillis int64  `json:"at_ms"`
	Cluster  string `json:"cluster"` // what the cluster decided
	Shadow   string `json:"shadow"`
}

// ShadowRemoved is the path under which a report adds up queues that were removed, when they are many.
const ShadowRemoved = "(removed)"

// ShadowQueue is a leaf queue on both sides.
type ShadowQueue struct {
	Path    string     `json:"path"`
	Cluster ShadowSide `json:"cluster"`
	Shadow  ShadowSide `json:"shadow"`
}

// ShadowSide is a leaf queue on one side, since the shadow began.
type ShadowSide struct {
	Waits     ShadowWaits `json:"waits"`    // of containers, from the ask
	AMs       ShadowWaits `json:"am_waits"` // of ApplicationMasters, from the submission
	Waiting   int64       `json:"waiting"`  // containers that wait now
	Preempted int64       `json:"preempted"`
	Used      float64     `json:"used"` // mean over the time
	Wanted    float64     `json:"wanted"`
	// Guaranteed is the guarantee, Owed the part of it that the queue wanted and did not have, means
	// over the time; OwedTime is the part of the time in which it was owed something.
	Guaranteed float64 `json:"guaranteed"`
	Owed       float64 `json:"owed"`
	OwedTime   float64 `json:"owed_time"`
}

// ShadowWaits are times until starts. Quantiles are within a tenth.
type ShadowWaits struct {
	Count      int64 `json:"count"`
	MeanMillis int64 `json:"mean_ms"`
	P50Millis  int64 `json:"p50_ms"`
	P95Millis  int64 `json:"p95_ms"`
	MaxMillis  int64 `json:"max_ms"`
}

// ShadowPoint is a stretch of time, for plots.
type ShadowPoint struct {
	AtMillis int64                       `json:"at_ms"` // its end
	Queues   map[string]ShadowPointQueue `json:"queues"`
}

// ShadowPointQueue is a leaf queue in that time: what it used, and how long was waited for the
// containers that started.
type ShadowPointQueue struct {
	ClusterUsed   float64 `json:"cluster_used"`
	ShadowUsed    float64 `json:"shadow_used"`
	ClusterWait   float64 `json:"cluster_wait_ms"`
	ShadowWait    float64 `json:"shadow_wait_ms"`
	ClusterStarts int64   `json:"cluster_starts"`
	ShadowStarts  int64   `json:"shadow_starts"`
}
