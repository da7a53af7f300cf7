package v1

import (
	"context"
	"net/http"
	"slices"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// logs serves the replicated log.
type logs struct{ *shared }

func (s *logs) routes() []route.Route {
	return []route.Route{route.Get("/v1/log", "from count app node queue kind why",
		s.showLog).Doc("Show a part of the replicated log, decoded, with secrets masked; of the entries, the events that pass the filters", nil, api.Log{})}
}

const defaultLogCount = 100

// showLog decodes a part of this replica's log. It resolves names and masks secrets. Entries
// without a batch (elections, membership) show only their type.
func (s *logs) showLog(c *route.Call) error {
	if s.cfg.Log == nil {
		return problem.NotAvailable("the log")
	}
	from, err := c.Number("from", 0)
	if err != nil {
		return err
	}
	count, err := c.Number("count", defaultLogCount)
	if err != nil {
		return err
	}
	if count == 0 || count > uint64(s.cfg.MaxLogEntries) {
		return problem.Invalid("count is out of range",
			"give 1 to the most that one answer holds, and ask again from the next index")
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	f, err := s.eventFilter(c, v.State, v.Index)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.ReadTimeout)
	defer cancel()
	entries, first, last, err := s.cfg.Log.Entries(ctx, from, int(count))
	if err != nil {
		return err
	}
	d := api.Log{First: first, Last: last, Entries: []api.LogEntry{}}
	places := make([][]int, len(entries))
	for i, e := range entries {
		doc, at := logEntry(v, e, f)
		d.Entries, places[i] = append(d.Entries, doc), at
	}
	s.timeLog(ctx, first, d.Entries)
	if c.Flag("why") {
		s.explainLog(ctx, d.Entries, places)
	}
	return c.JSON(http.StatusOK, d)
}

// timeLog fills in the time of entries that do not advance the cluster's clock. They were decided
// in the same millisecond as the entry before.
func (s *logs) timeLog(ctx context.Context, first uint64, entries []api.LogEntry) {
	at := int64(0)
	for i := range entries {
		e := &entries[i]
		if e.Type != "events" || e.Error != "" {
			continue
		}
		if e.AtMillis == 0 && at == 0 {
			at = s.timeBefore(ctx, first, e.Index)
		}
		if e.AtMillis == 0 {
			e.AtMillis = at
		}
		at = e.AtMillis
	}
}

// timeBefore returns the cluster's time just before an entry, or 0 if the log has no earlier time.
// first is the index of the first entry in the log.
func (s *logs) timeBefore(ctx context.Context, first, index uint64) int64 {
	const step = 16
	for end := index; end > first; {
		from := max(first, end-min(end, step))
		entries, from, _, err := view.LogBefore(ctx, s.cfg.Log, from, end)
		if err != nil {
			return 0 // a snapshot has truncated the log in the meantime
		}
		for _, e := range slices.Backward(entries) {
			if b, err := event.Decode(e.Data); err == nil && e.Type == "events" && event.TimeIn(b.Events) != 0 {
				return event.TimeIn(b.Events)
			}
		}
		end = from
	}
	return 0
}

// explainLog fills in the reasons of the events, as far as the planner finds them in time. places
// has the positions of the events in their entries.
func (s *logs) explainLog(ctx context.Context, entries []api.LogEntry, places [][]int) {
	var indexes []uint64
	for _, e := range entries {
		if len(e.Events) > 0 {
			indexes = append(indexes, e.Index)
		}
	}
	told := s.why(ctx, indexes, whyAsked)
	for k, e := range entries {
		for i := range e.Events {
			explainEvent(&e.Events[i], told[e.Index], places[k][i])
		}
	}
}

// logEntry returns the document of an entry with the events that pass the filter, and the positions
// of those events in the entry.
func logEntry(v *view.View, e view.LogEntry, f eventFilter) (d api.LogEntry, places []int) {
	d = api.LogEntry{Index: e.Index, Term: e.Term, Type: e.Type, Bytes: len(e.Data)}
	if e.Type != "events" {
		return d, nil
	}
	b, err := event.Decode(e.Data)
	if err != nil {
		d.Error = err.Error()
		return d, nil
	}
	d.Level, d.Sequence, d.AtMillis = b.Level, b.Sequence, event.TimeIn(b.Events)
	for i, ev := range b.Events {
		if doc := v.Event(ev, d.AtMillis); f.empty() || f.pass(ev, &doc) {
			d.Events, places = append(d.Events, doc), append(places, i)
		}
	}
	return d, places
}
