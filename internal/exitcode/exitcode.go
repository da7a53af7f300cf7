package exitcode

// Codes are part of what scripts and supervisors rely on: append only.
const (
	OK          = 0
	Failure     = 1 // any other failure
	Usage       = 2 // wrong usage
	NotFound    = 3 // no such thing
	Ended       = 4 // wait: ended FAILED or KILLED
	NoLeader    = 5 // no leader, or no replica reached
	TimedOut    = 6 // of a write the outcome is unknown
	NotAllowed  = 7
	Refused     = 8 // by state: version conflict, would lose quorum, …
	CheckFailed = 9 // verify, health, check, validate

	Store    = 70 // a write or sync failed, or stored data is damaged
	DiskFull = 71 // there is no disk space at start
	DiskHung = 72 // one write has not returned for too long
	Removed  = 73 // the replica was removed from its cluster
	Diverged = 74 // its state differs from the majority's
	NotKnown = 75 // an entry or a snapshot that this program does not understand
)

// Error carries the exit code of an error met while opening.
type Error struct {
	Code int
	Err  error
}

// Error is the cause's text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
