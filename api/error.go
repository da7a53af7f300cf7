package api

import "strings"

// Error is the document of every answer that is not a success.
type Error struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"`
	Details []string `json:"details,omitempty"`
	// Status is the HTTP status. The document does not contain it.
	Status int `json:"-"`
	// RetryAfterMillis is the time to wait before a retry; 0 means none.
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`
}

// Error returns one line for people, CODE: message; remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code + ": " + e.Message)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// These are the codes of the HTTP server itself. Refusals by the planner and the cluster have their
// own codes (NO_SUCH_APPLICATION, WOULD_LOSE_QUORUM, …).
const (
	CodeNotFound         = "NOT_FOUND"          // 404: no such path
	CodeMethodNotAllowed = "METHOD_NOT_ALLOWED" // 405
	CodeInvalidRequest   = "INVALID_REQUEST"    // 400
	CodeUnknownField     = "UNKNOWN_FIELD"      // 400: details has the field
	CodeTooLarge         = "TOO_LARGE"          // 413
	CodeUnsupportedMedia = "UNSUPPORTED_MEDIA"  // 415
	CodeNotAllowed       = "NOT_ALLOWED"        // 403
	CodeHostNotAllowed   = "HOST_NOT_ALLOWED"   // 421
	CodeNoLeader         = "NO_LEADER"          // 503
	CodeNotReady         = "NOT_READY"          // 503
	CodeNotLeader        = "NOT_LEADER"         // 409: only the leader does this
	CodeNotInitialized   = "NOT_INITIALIZED"    // 409: the replica is not a member of a cluster
	CodeCatchingUp       = "CATCHING_UP"        // 503 of /v1/ready: the replica has not applied all committed entries
	CodeBusy             = "BUSY"               // 503, Retry-After
	CodeTimedOut         = "TIMED_OUT"          // 504: the outcome of a write is unknown
	CodeTooOld           = "TOO_OLD"            // 410: details has the oldest index
	CodeNotAvailable     = "NOT_AVAILABLE"      // 501: this replica runs without the feature
	CodeShadowRuns       = "SHADOW_RUNS"        // 409
	CodeShadowOnLeader   = "SHADOW_ON_LEADER"   // 409
	CodeNoShadow         = "NO_SHADOW"          // 404
	CodeInternal         = "INTERNAL"           // 500
)
