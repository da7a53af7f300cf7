package api

import "strings"

// Error is every answer that is not a success.
type Error struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"`
	Details []string `json:"details,omitempty"`
	// Status is the HTTP status; it travels in the status line.
	Status int `json:"-"`
	// RetryAfterMillis asks to wait before the next try; 0 is none.
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`
}

// Error is the line that people read: CODE: what; what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code + ": " + e.Message)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// Codes of the HTTP server itself. Refusals of the planner and of the cluster keep
// their own codes (NO_SUCH_APPLICATION, WOULD_LOSE_QUORUM, …).
const (
	CodeNotFound         = "NOT_FOUND"          // 404: no such path
	CodeMethodNotAllowed = "METHOD_NOT_ALLOWED" // 405
	CodeInvalidRequest   = "INVALID_REQUEST"    // 400
	CodeUnknownField     = "UNKNOWN_FIELD"      // 400: details name it
	CodeTooLarge         = "TOO_LARGE"          // 413
	CodeUnsupportedMedia = "UNSUPPORTED_MEDIA"  // 415
	CodeNotAllowed       = "NOT_ALLOWED"        // 403
	CodeHostNotAllowed   = "HOST_NOT_ALLOWED"   // 421
	CodeNoLeader         = "NO_LEADER"          // 503
	CodeNotReady         = "NOT_READY"          // 503
	CodeCatchingUp       = "CATCHING_UP"        // 503 of /v1/ready: committed entries are not applied yet
	CodeBusy             = "BUSY"               // 503, Retry-After
	CodeTimedOut         = "TIMED_OUT"          // 504: of a write the outcome is unknown
	CodeTooOld           = "TOO_OLD"            // 410: details hold the oldest index
	CodeNotAvailable     = "NOT_AVAILABLE"      // 501: this replica runs without it
	CodeShadowRuns       = "SHADOW_RUNS"        // 409
	CodeShadowOnLeader   = "SHADOW_ON_LEADER"   // 409
	CodeNoShadow         = "NO_SHADOW"          // 404
	CodeLevelTooLow      = "LEVEL_TOO_LOW"      // 409: the replicas must be upgraded first
	CodeInternal         = "INTERNAL"           // 500
)
