package checker

// Counts show whether the simulation still covers what it should.
type Counts struct {
	Entries, Skipped, Terms, Restores, Acked, Unknown int
	Made, Fulfilled, Cancelled, Exchanged             int
	Gangs, GangNodes                                  int
	Allocated, Lost, Expired                          int
	Members, Votes, Reads, Refused, Digests           int
	Submitted, Over                                   int   // applications
	Again                                             int   // AMs that had to register again
	Warned, Withdrawn, Preempted, Told                int   // containers
	Ranked, Balanced                                  int   // of the warned: by priority, and for balance
	Owed, Overdue, Judged                             int   // debts of guarantees
	OwedMillis                                        int64 // the longest debt
	Lent                                              int   // of the allocated
	Created, Removed, Activated, Deactivated          int   // queues
}

// Add adds the counts of another run.
func (c *Counts) Add(o Counts) {
	c.Entries += o.Entries
	c.Skipped += o.Skipped
	c.Terms += o.Terms
	c.Restores += o.Restores
	c.Acked += o.Acked
	c.Unknown += o.Unknown
	c.Made += o.Made
	c.Gangs += o.Gangs
	c.GangNodes += o.GangNodes
	c.Fulfilled += o.Fulfilled
	c.Cancelled += o.Cancelled
	c.Exchanged += o.Exchanged
	c.Allocated += o.Allocated
	c.Lost += o.Lost
	c.Expired += o.Expired
	c.Members += o.Members
	c.Votes += o.Votes
	c.Reads += o.Reads
	c.Refused += o.Refused
	c.Submitted += o.Submitted
	c.Over += o.Over
	c.Again += o.Again
	c.Warned += o.Warned
	c.Withdrawn += o.Withdrawn
	c.Ranked += o.Ranked
	c.Lent += o.Lent
	c.Owed += o.Owed
	c.Overdue += o.Overdue
	c.Judged += o.Judged
	c.OwedMillis = max(c.OwedMillis, o.OwedMillis)
	c.Balanced += o.Balanced
	c.Preempted += o.Preempted
	c.Told += o.Told
	c.Created += o.Created
	c.Removed += o.Removed
	c.Activated += o.Activated
	c.Deactivated += o.Deactivated
	c.Digests += o.Digests
}
