package view

import (
	"context"
	"testing"
)

// largeLog is a log with the indexes 1 to last. A reader gets at most atOnce entries per call.
type largeLog struct{ last, atOnce uint64 }

func (l largeLog) Entries(_ context.Context, from uint64, count int) (out []LogEntry, first, last uint64, err error) {
	for i := from; i <= l.last && i < from+min(l.atOnce, uint64(count)); i++ {
		out = append(out, LogEntry{Index: i})
	}
	return out, 1, l.last, nil
}

// TestLogBefore checks that reading a log of large entries backwards misses no entry.
func TestLogBefore(t *testing.T) {
	for _, atOnce := range []uint64{1, 2, 7, 63, 64, 1000} {
		log := largeLog{last: 300, atOnce: atOnce}
		for before := log.last + 1; before > 1; {
			from := max(before, 65) - 64
			entries, began, _, err := LogBefore(t.Context(), log, from, before)
			if err != nil || began < from || uint64(len(entries)) != before-began || entries[0].Index != began ||
				entries[len(entries)-1].Index != before-1 {
				t.Fatalf("%d at once: before %d come %d entries from %d on, %v", atOnce, before, len(entries), began, err)
			}
			before = began
		}
	}
}
