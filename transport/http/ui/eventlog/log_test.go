package eventlog

import (
	"context"
	"slices"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// TestRecentPagesLargeEntries pages through a log whose entries have more events than a page. It
// checks that each page is full and that the pages together are the whole log.
func TestRecentPagesLargeEntries(t *testing.T) {
	log := &largeEntries{first: 3}
	var want []Position
	for i, n := range []int{5, 0, 1, 40, 7, 0, 23} {
		index := log.first + uint64(i)
		batch := event.Batch{Level: 1, Sequence: index, Events: []event.Event{&event.TimeAdvanced{NowMillis: int64(index)}}}
		for k := range n {
			batch.Events = append(batch.Events, &event.NodeStateChanged{Node: state.NodeSlot(k), State: yarn.NodeLost})
			want = append(want, Position{index, k + 1})
		}
		log.entries = append(log.entries, view.LogEntry{Index: index, Term: 1, Type: "events", Data: batch.Encode()})
	}
	slices.Reverse(want)
	reader := Reader{Log: log}
	st := state.New()
	v := view.NewSource(nil, time.Now).At(st, log.first+6)
	pass := func(kind event.Kind, _ view.Subject, _ func() api.Event) bool {
		return kind == event.KindNodeStateChanged
	}
	for _, limit := range []int{1, 7, 23, 24, 1000} {
		var got []Position
		for at := (Position{}); ; {
			page, err := reader.Recent(t.Context(), v, at, limit, 1_000_000, pass)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Events) > limit {
				t.Fatalf("a page of %d events has %d", limit, len(page.Events))
			}
			for _, e := range page.Events {
				got = append(got, Position{e.Index, e.Place})
				if e.AtMillis != int64(e.Index) {
					t.Errorf("limit %d: event %d of entry %d happened at %d", limit, e.Place, e.Index, e.AtMillis)
				}
			}
			if page.Next == (Position{}) {
				break
			}
			if at, err = ParsePosition(page.Next.String()); err != nil || at != page.Next {
				t.Fatalf("%v is read as %v: %v", page.Next, at, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d events:\n%v, want\n%v", limit, got, want)
		}
	}
	for _, text := range []string{"x", "-1", "7.", "7.-1", "7.99999999999", "7.1.2", "1e3"} {
		if _, err := ParsePosition(text); err == nil {
			t.Errorf("%q is read as a position", text)
		}
	}
}

// largeEntries is a log that begins at an index.
type largeEntries struct {
	first   uint64
	entries []view.LogEntry
}

func (l *largeEntries) Entries(_ context.Context, from uint64, count int) ([]view.LogEntry, uint64, uint64, error) {
	if from != 0 && from < l.first {
		return nil, 0, 0, &problem.TooOldError{Oldest: l.first}
	}
	at := min(max(from, l.first)-l.first, uint64(len(l.entries)))
	list := l.entries[at:]
	return list[:min(len(list), count)], l.first, l.first + uint64(len(l.entries)) - 1, nil
}
