package checker

import "rmd/jepsen-lite/ledger/owed"

// Counts show whether the simulation still covers what it should.
type Counts struct {
	Entries, Skipped, Terms, Restores, Acked, Unknown int
	Made, Fulfilled, Cancelled, Exchanged             int
	Gangs, GangNodes                                  int
	Allocated, Lost, Expired                          int
	Members, Votes, Reads, Refused, Digests           int
	Submitted, Over                                   int // applications
	Again                                             int // AMs that had to register again
	Warned, Withdrawn, Preempted, Told                int // containers
	Ranked, Balanced                                  int // of the warned: by priority, and for balance
	Debts                                             owed.Counts
	Lent                                              int // of the allocated
	Created, Removed, Activated, Deactivated          int // queues
}
