package cluster

import (
	"errors"

	"github.com/hashicorp/raft"
)

// LogEntry is one entry of this replica's log, as stored.
type LogEntry struct {
	Index, Term uint64
	Type        string // command, noop, barrier, configuration
	Data        []byte
}

// entriesBytes is how much Entries returns at once. An entry may have Config.EntryMax, so a count alone
// bounds little.
const entriesBytes = 8 << 20

// Entries returns up to count committed entries from an index on, with the
// oldest index that the log holds and the newest one committed. A from of 0, or
// one older than the log, begins at the oldest: compare it with first. It returns
// fewer, and one at least, where count of them have more than entriesBytes.
func (c *Cluster) Entries(from uint64, count int) (entries []LogEntry, first, last uint64, err error) {
	if first, err = c.stores.Logs.FirstIndex(); err != nil {
		return nil, 0, 0, err
	}
	last = c.CommitIndex()
	size := 0
	for i := max(from, first); i != 0 && i <= last && len(entries) < count && size < entriesBytes; i++ {
		var l raft.Log
		err := c.stores.Logs.Peek(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) {
			continue // cut away meanwhile, by a snapshot
		}
		if err != nil {
			return nil, first, last, err
		}
		size += len(l.Data)
		entries = append(entries, LogEntry{Index: l.Index, Term: l.Term, Type: entryType(l.Type), Data: l.Data})
	}
	return entries, first, last, nil
}

func entryType(t raft.LogType) string {
	switch t {
	case raft.LogCommand:
		return "command"
	case raft.LogNoop:
		return "noop"
	case raft.LogBarrier:
		return "barrier"
	case raft.LogConfiguration:
		return "configuration"
	}
	return "other"
}
