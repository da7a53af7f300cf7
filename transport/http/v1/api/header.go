package api

// Headers of answers and requests.
const (
	// HeaderIndex is the log index the answer was read at, or that a write has.
	HeaderIndex = "X-Rmd-Index"
	// HeaderRole is the role of the replica that answered.
	HeaderRole = "X-Rmd-Role"
	// HeaderStaleness is how long ago, in milliseconds, that replica last heard
	// the leader; 0 on the leader, absent when it never has.
	HeaderStaleness = "X-Rmd-Staleness-Ms"
	// HeaderKey carries CLIENT/SEQUENCE: the same key with the same body gets
	// the first answer again.
	HeaderKey = "Idempotency-Key"
	// HeaderUser names who asks, where nothing better authenticates them.
	HeaderUser = "X-Rmd-User"
)

// Done answers a write that has nothing more to say. Index is the log index
// that carries it; 0 when nothing had to be written.
type Done struct {
	Index uint64 `json:"index"`
}

// Index answers GET / to a program that asks for application/json: the replica, and
// everything that it serves. GET /v1/openapi.json says more of what is under /v1.
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
	Role   string `json:"role"` // the least that a caller needs
	Text   string `json:"text,omitempty"`
}
