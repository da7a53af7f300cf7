package httpserver

import (
	"context"
	"net/http"

	"rmd/fsm/event"
	"rmd/transport/http/v1/api"
)

func (s *Server) logRoutes() []route {
	return []route{get("/v1/log", "from count why", showLog)}
}

const defaultLogCount = 100

// showLog decodes a stretch of this replica's log, names resolved and secrets
// masked. Entries that no batch is in (elections, membership) show their type.
func showLog(c *call) error {
	if c.s.cfg.Log == nil {
		return notAvailable("the log")
	}
	from, err := c.number("from", 0)
	if err != nil {
		return err
	}
	count, err := c.number("count", defaultLogCount)
	if err != nil {
		return err
	}
	if count == 0 || count > uint64(c.s.cfg.MaxLogEntries) {
		return invalid("count is out of range", "give 1 to the most that one answer holds, and ask again from the next index")
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	entries, first, last, err := c.s.cfg.Log.Entries(ctx, from, int(count))
	if err != nil {
		return err
	}
	d := api.Log{First: first, Last: last, Entries: []api.LogEntry{}}
	for _, e := range entries {
		d.Entries = append(d.Entries, v.logEntry(e))
	}
	if c.flag("why") {
		c.explainLog(ctx, d.Entries)
	}
	return c.json(http.StatusOK, d)
}

// explainLog fills in why the events of entries were decided, as far as the log and
// the snapshots that are kept tell it in time.
func (c *call) explainLog(ctx context.Context, entries []api.LogEntry) {
	var indexes []uint64
	for _, e := range entries {
		if len(e.Events) > 0 {
			indexes = append(indexes, e.Index)
		}
	}
	told := c.s.why(ctx, indexes, whyAsked)
	for _, e := range entries {
		for i := range e.Events {
			explainEvent(&e.Events[i], told[e.Index], i)
		}
	}
}

func (v *view) logEntry(e LogEntry) api.LogEntry {
	d := api.LogEntry{Index: e.Index, Term: e.Term, Type: e.Type, Bytes: len(e.Data)}
	if e.Type != "events" {
		return d
	}
	b, err := event.Decode(e.Data)
	if err != nil {
		d.Error = err.Error()
		return d
	}
	d.Level, d.Sequence = b.Level, b.Sequence
	for _, ev := range b.Events {
		if t, ok := ev.(*event.TimeAdvanced); ok {
			d.AtMillis = t.NowMillis
		}
		d.Events = append(d.Events, v.eventDoc(ev))
	}
	return d
}
