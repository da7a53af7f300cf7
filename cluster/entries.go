package cluster

import (
	"errors"

	"github.com/hashicorp/raft"
)

// LogEntry is one stored entry of this replica's log.
type LogEntry struct {
	Index, Term uint64
	Type        string // command, noop, barrier, configuration or other
	Data        []byte
}

// entriesBytes is the size of data at which Entries stops. A limit on the count is not enough,
// since one entry may have Config.EntryMax bytes.
const entriesBytes = 8 << 20

// Entries returns up to count committed entries, starting at index from, with the oldest index in
// the log and the newest committed index. If from is older than the log, it starts at the oldest
// entry: callers compare from with first. It stops after the entry with which the data reaches
// entriesBytes.
func (c *Cluster) Entries(from uint64, count int) (entries []LogEntry, first, last uint64, err error) {
	if first, err = c.core.Stores.Logs.FirstIndex(); err != nil {
		return nil, 0, 0, err
	}
	last = c.CommitIndex()
	size := 0
	for i := max(from, first); i != 0 && i <= last && len(entries) < count && size < entriesBytes; i++ {
		var l raft.Log
		err := c.core.Stores.Logs.Peek(i, &l)
		if errors.Is(err, raft.ErrLogNotFound) {
			continue // a snapshot has removed it meanwhile
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
