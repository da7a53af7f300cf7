package cluster

// Exit codes for supervisors (operations.md, section 8).
const (
	ExitStore    = 70 // a write or sync failed, or stored data is damaged
	ExitDiskFull = 71 // no space at start
	ExitDiskHung = 72
	ExitRemoved  = 73
	ExitDigest   = 74
	ExitNotKnown = 75 // an entry this program does not understand
)

// FatalError carries the exit code of an error met while opening.
type FatalError struct {
	Code int
	Err  error
}

// Error is the cause's text.
func (e *FatalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FatalError) Unwrap() error { return e.Err }
