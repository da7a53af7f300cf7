package exitcode

// Scripts and supervisors rely on these codes: append only.
const (
	OK          = 0
	Failure     = 1 // any other failure
	Usage       = 2 // wrong usage
	NotFound    = 3 // the named object does not exist
	Ended       = 4 // wait: the application ended FAILED or KILLED
	NoLeader    = 5 // no leader, or no replica is reachable
	TimedOut    = 6 // the outcome of a write is unknown
	NotAllowed  = 7
	Refused     = 8 // refused because of the state: version conflict, would lose quorum, …
	CheckFailed = 9 // verify, health, check, validate

	Store    = 70 // stored data is damaged, missing or of an older time
	DiskFull = 71 // there was no disk space at start
	DiskHung = 72 // a write has not returned for too long
	Removed  = 73 // the replica was removed from its cluster
	Diverged = 74 // the replica's state differs from that of the majority
	NotKnown = 75 // the program does not understand an entry or a snapshot

	WriteFailed = 76 // a write or sync failed: no space, read-only, an I/O error; what was stored before may be good
)

// Error is an error with an exit code, from opening a replica.
type Error struct {
	Code int
	Err  error
}

// Error returns the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
