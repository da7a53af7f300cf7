package preview

import (
	"errors"
	"testing"

	"rmd/api"
	"rmd/cluster"
	"rmd/fsm/event"
)

// TestPreviewOfLargeEntries checks that a preview refuses large entries before they fill the
// memory.
func TestPreviewOfLargeEntries(t *testing.T) {
	b := event.Batch{Events: []event.Event{&event.TimeAdvanced{NowMillis: 1000},
		&event.ApplicationSubmitted{App: 1, Context: make([]byte, 4<<20)}}}
	data := b.Encode()
	p := part{to: 2000, before: 1}
	for n := uint64(1); ; n++ {
		beyond, err := p.add(cluster.LogEntry{Index: n, Type: "command", Data: data})
		var refused *api.Error
		switch {
		case err == nil && !beyond && n < 100:
			continue
		case !errors.As(err, &refused) || refused.Code != api.CodeTooLarge || n != 64:
			t.Errorf("after %d entries of 4 MB: %v", n, err)
		}
		return
	}
}
