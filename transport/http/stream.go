package httpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"rmd/transport/http/v1/api"
)

func (s *Server) eventRoutes() []route {
	return []route{get("/v1/events", "app node queue kind after why", streamEvents)}
}

// lastEventID is what a stream goes on after: Last-Event-ID, or ?after. 0 is
// from now on.
func (c *call) lastEventID() (uint64, error) {
	if text := c.r.Header.Get("Last-Event-ID"); text != "" {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return 0, invalid("Last-Event-ID is not a log index", "send back the id of the last event")
		}
		return n, nil
	}
	return c.number("after", 0)
}

// streamEvents sends one message for each committed entry with an event that
// passes. A message's id is the entry's index, so that a client that comes back
// with Last-Event-ID loses nothing and gets nothing twice. Entries that do not
// pass move the id along with the heartbeat.
func streamEvents(c *call) error {
	from, err := c.lastEventID()
	if err != nil {
		return err
	}
	st, index, err := c.fork()
	if err != nil {
		return err
	}
	f, err := c.eventFilter(st, index)
	if err != nil {
		return err
	}
	if c.s.streams.Add(1) > int64(c.s.cfg.MaxStreams) {
		c.s.streams.Add(-1)
		e := problem(api.CodeBusy, "too many event streams are open on this replica", "close some, or ask another replica")
		e.RetryAfterMillis = 5000
		return e
	}
	defer c.s.streams.Add(-1)
	sub, err := c.s.cfg.Reader.Watch(from)
	if err != nil {
		return err
	}
	defer sub.Close()
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	out := &stream{c: c, filter: f, seen: index, why: c.flag("why")}
	out.run(sub)
	return nil
}

// stream is one open event stream; its state belongs to the handler's goroutine.
type stream struct {
	c      *call
	filter eventFilter
	seen   uint64 // the last index looked at
	buf    []byte
	why    bool      // the reasons of decisions are wanted
	rest   time.Time // until when none are asked for: they came too late
}

// run sends until the client goes, the server closes, or the client is too slow.
func (o *stream) run(sub Subscription) {
	ctx, cancel := context.WithCancel(o.c.r.Context())
	defer cancel()
	defer context.AfterFunc(o.c.s.ctx, cancel)()
	if !o.write(": rmd events\n\n") {
		return
	}
	for {
		b, err := o.next(ctx, sub)
		switch {
		case err == nil:
			if !o.send(b) {
				return
			}
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			if !o.write(fmt.Sprintf(": heartbeat\nid: %d\n\n", o.seen)) {
				return
			}
		default:
			o.end(err)
			return
		}
	}
}

// next waits for a batch, at most until the next heartbeat.
func (o *stream) next(ctx context.Context, sub Subscription) (Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, o.c.s.cfg.Heartbeat)
	defer cancel()
	return sub.Next(ctx)
}

func (o *stream) send(b Batch) bool {
	o.seen = b.Index
	st, index := o.c.s.cfg.Reader.Fork()
	doc, places := o.c.s.viewOf(st, index).batchDoc(b, o.filter)
	if len(doc.Events) == 0 {
		return true
	}
	if o.why {
		o.explain(&doc, places)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		o.c.s.log.Error("batch cannot be encoded", "index", b.Index, "error", err)
		return false
	}
	return o.write(fmt.Sprintf("id: %d\nevent: batch\ndata: %s\n\n", b.Index, data))
}

// whyRest is how long a stream does without reasons after they came too late: it
// must not fall behind for them.
const whyRest = 5 * time.Second

// explain fills in why the events were decided.
func (o *stream) explain(doc *api.EventBatch, places []int) {
	if time.Now().Before(o.rest) {
		return
	}
	told, ok := o.c.s.why(o.c.r.Context(), []uint64{doc.Index}, whyStreamed)[doc.Index]
	if !ok {
		o.rest = time.Now().Add(whyRest)
	}
	explainEvents(doc.Events, places, told)
}

// end tells the client why the stream stops. It may come back with the last id.
func (o *stream) end(err error) {
	e := o.c.s.errorOf(err, false)
	if e.Code == api.CodeTooOld {
		e = problem(api.CodeTooOld, "this stream was too slow and missed events", "open it again with Last-Event-ID; what is too old answers 410")
	}
	if data, jerr := json.Marshal(e); jerr == nil {
		o.write("event: error\ndata: " + string(data) + "\n\n")
	}
}

// write sends and flushes.
func (o *stream) write(text string) bool {
	o.buf = append(o.buf[:0], text...)
	if _, err := o.c.w.Write(o.buf); err != nil {
		return false
	}
	return http.NewResponseController(o.c.w).Flush() == nil
}
