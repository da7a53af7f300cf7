package api

// Audit lists operators' changes, and calls that were refused, oldest first.
type Audit struct {
	Newest  uint64       `json:"newest"` // number of the newest entry that is kept
	Entries []AuditEntry `json:"entries"`
}

// AuditEntry says who did what, and how it ended: "done", or the code of a refusal.
type AuditEntry struct {
	Number   uint64 `json:"number"`
	AtMillis int64  `json:"at_ms"`
	Who      string `json:"who"`
	From     string `json:"from"`
	Action   string `json:"action"`
	Target   string `json:"target"`
	Result   string `json:"result"`
}
