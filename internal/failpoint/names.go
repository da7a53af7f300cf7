package failpoint

// The places of the consensus part.
const (
	StoreEntries   Name = "store.entries"   // entries are about to be written
	EntriesStored  Name = "entries.stored"  // they are durable and not counted yet
	StoreValue     Name = "store.value"     // term or vote is about to be written
	ValueStored    Name = "value.stored"    // it is durable and not acted on yet
	EntriesDeleted Name = "entries.deleted" // one slice of the log is gone

	SnapshotVerified Name = "snapshot.verified" // written and found good, not finished
	SnapshotFinished Name = "snapshot.finished" // it has come into being
	SnapshotApplied  Name = "snapshot.applied"  // the state comes from it now

	RestartStopped Name = "restart.stopped" // in place: the old raft has ended
	RestartStarted Name = "restart.started" // the new one runs

	ReadIndexed   Name = "read.indexed"   // a read has its index, leadership is not verified
	TransferBegun Name = "transfer.begun" // a target is chosen and fit
	CrashStand    Name = "crash.stand"    // this replica is about to stand for one that is gone
	MemberChanged Name = "member.changed" // a membership change is committed
	MemberLeft    Name = "member.left"    // others are out, and it is not recorded here yet
	RemovedHere   Name = "removed.here"   // this replica is out and has recorded it
)

// The places of the leader.
const (
	LeadershipBarrier Name = "leadership.barrier" // all entries of earlier leaders are applied, nothing is forked
	LeadershipBegun   Name = "leadership.begun"   // inputs are taken from here on
	LeadershipEnded   Name = "leadership.ended"   // no inputs are taken, those who wait are not answered yet
	BatchClosed       Name = "batch.closed"       // a batch is about to be handed to the log
	BatchProposed     Name = "batch.proposed"     // the log has it
	BatchApplied      Name = "batch.applied"      // it is applied, nobody was answered
)

// The places of the state machine.
const (
	EntryApplied Name = "entry.applied" // one entry is in the state
	StateForked  Name = "state.forked"  // a snapshot has its fork
	StateRead    Name = "state.read"    // a snapshot was read and is not the state yet
)

// All returns every name, for tables of what was hit.
func All() []Name {
	return []Name{StoreEntries, EntriesStored, StoreValue, ValueStored, EntriesDeleted,
		SnapshotVerified, SnapshotFinished, SnapshotApplied, RestartStopped, RestartStarted,
		ReadIndexed, TransferBegun, CrashStand, MemberChanged, MemberLeft, RemovedHere,
		LeadershipBarrier, LeadershipBegun, LeadershipEnded, BatchClosed, BatchProposed, BatchApplied,
		EntryApplied, StateForked, StateRead}
}
