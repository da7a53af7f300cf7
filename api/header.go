package api

// Headers of answers and requests.
const (
	// HeaderIndex is the log index of the state that a read used, or of the entry that a write
	// made.
	HeaderIndex = "X-Rmd-Index"
	// HeaderRole is the role of the replica that answered.
	HeaderRole = "X-Rmd-Role"
	// HeaderStaleness is the time in milliseconds since that replica last heard from the leader: 0
	// on the leader, absent if it never has.
	HeaderStaleness = "X-Rmd-Staleness-Ms"
	// HeaderKey is an idempotency key, CLIENT/SEQUENCE. A call with the same key and the same body
	// gets the answer of the first call.
	HeaderKey = "Idempotency-Key"
	// HeaderUser names the user if nothing authenticates the caller.
	HeaderUser = "X-Rmd-User"
)

// Done answers a write that has no other result. Index is the log index of the write, or 0 if
// nothing had to be written.
type Done struct {
	Index uint64 `json:"index"`
}

// Index answers GET / with Accept: application/json. It describes the replica and lists its
// endpoints. GET /v1/openapi.json describes those under /v1 in detail.
type Index struct {
	Version string  `json:"version"`
	ID      string  `json:"id"`
	Role    string  `json:"role"`
	Leader  string  `json:"leader,omitempty"`
	Routes  []Route `json:"routes"`
}

// Route is one endpoint of an Index.
type Route struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Role   string `json:"role"` // the least role that a caller needs
	Text   string `json:"text,omitempty"`
}
