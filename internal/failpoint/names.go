package failpoint

// Failpoints of the consensus part.
const (
	StoreEntries   Name = "store.entries"   // before entries are written
	EntriesStored  Name = "entries.stored"  // entries are durable, but not acknowledged yet
	StoreValue     Name = "store.value"     // before the term or the vote is written
	ValueStored    Name = "value.stored"    // the value is durable, but not used yet
	EntriesDeleted Name = "entries.deleted" // a range of the log is deleted

	SnapshotVerified Name = "snapshot.verified" // written and verified, not finished
	SnapshotFinished Name = "snapshot.finished" // the snapshot is finished
	SnapshotApplied  Name = "snapshot.applied"  // the state was replaced with a snapshot

	RestartStopped Name = "restart.stopped" // restart in place: the old Raft has stopped
	RestartStarted Name = "restart.started" // restart in place: the new Raft runs

	ReadIndexed   Name = "read.indexed"   // a read has its index, but leadership is not verified yet
	TransferBegun Name = "transfer.begun" // a transfer to its target has begun
	CrashStand    Name = "crash.stand"    // before this replica campaigns because the leader crashed
	MemberChanged Name = "member.changed" // a membership change is committed
	MemberLeft    Name = "member.left"    // others were removed; not recorded here yet
	RemovedHere   Name = "removed.here"   // this replica was removed and has recorded that
)

// Failpoints of the leader.
const (
	LeadershipBarrier Name = "leadership.barrier" // earlier leaders' entries are applied; nothing is forked yet
	LeadershipBegun   Name = "leadership.begun"   // the leader accepts inputs from here on
	LeadershipEnded   Name = "leadership.ended"   // no more inputs are accepted; callers still wait
	BatchClosed       Name = "batch.closed"       // before a batch is passed to the log
	BatchProposed     Name = "batch.proposed"     // a batch was passed to the log
	BatchApplied      Name = "batch.applied"      // a batch is applied, but no caller has an answer yet
)

// Failpoints of the state machine.
const (
	EntryApplied Name = "entry.applied" // one entry is applied to the state
	StateForked  Name = "state.forked"  // the state is forked for a snapshot
	StateRead    Name = "state.read"    // a snapshot was read, but has not replaced the state yet
)

// All returns all names.
func All() []Name {
	return []Name{StoreEntries, EntriesStored, StoreValue, ValueStored, EntriesDeleted,
		SnapshotVerified, SnapshotFinished, SnapshotApplied, RestartStopped, RestartStarted,
		ReadIndexed, TransferBegun, CrashStand, MemberChanged, MemberLeft, RemovedHere,
		LeadershipBarrier, LeadershipBegun, LeadershipEnded, BatchClosed, BatchProposed, BatchApplied,
		EntryApplied, StateForked, StateRead}
}
