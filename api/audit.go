package api

// Audit lists the changes by operators and the refused calls, oldest first.
type Audit struct {
	Newest  uint64       `json:"newest"` // number of the newest entry in the audit
	Entries []AuditEntry `json:"entries"`
}

// AuditEntry says who did what. Result is "done", or the code of the refusal.
type AuditEntry struct {
	Number   uint64 `json:"number"`
	AtMillis int64  `json:"at_ms"`
	Who      string `json:"who"`
	From     string `json:"from"`
	Action   string `json:"action"`
	Target   string `json:"target"`
	Result   string `json:"result"`
}
