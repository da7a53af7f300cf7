package v1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// eventFilter selects events. Empty fields select all.
type eventFilter struct {
	app, node, queue string
	kinds            map[string]bool // in upper case
}

func (f eventFilter) empty() bool {
	return f.app == "" && f.node == "" && f.queue == "" && f.kinds == nil
}

// pass reports whether an event passes. The filter's queue includes the queues below it. d is the
// document of the event.
func (f eventFilter) pass(e event.Event, d *api.Event) bool {
	return (f.app == "" || f.app == d.App) && (f.node == "" || f.node == d.Node || relabels(e, f.node)) &&
		(f.kinds == nil || f.kinds[strings.ToUpper(d.Kind)]) &&
		(f.queue == "" || f.queue == d.Queue || strings.HasPrefix(d.Queue, f.queue+"."))
}

// relabels reports whether an event gives another label to a node or its host. The document of the
// event names only some of the nodes.
func relabels(e event.Event, node string) bool {
	l, ok := e.(*event.NodesLabelled)
	id, err := yarn.ParseNodeID(node)
	return ok && err == nil && slices.ContainsFunc(l.Nodes, func(n event.LabelledNode) bool {
		return n.ID == id || n.ID == yarn.NodeID{Host: id.Host}
	})
}

// eventFilter reads the filter from the query. The named objects need not exist yet, but their
// names must be well-formed. It completes a short queue name.
func (s *shared) eventFilter(c *route.Call, st *state.State, index uint64) (eventFilter, error) {
	f := eventFilter{app: c.Query.Get("app"), node: c.Query.Get("node"), queue: c.Query.Get("queue"),
		kinds: route.Words(c.Query["kind"])}
	v := s.cfg.Views.At(st, index)
	if f.app != "" {
		id, err := v.ParseApp(f.app)
		if err != nil {
			return f, err
		}
		f.app = id.String()
	}
	if f.node != "" {
		if slot, err := v.FindNode(f.node); err == nil {
			f.node = v.NodeID(slot)
		} else if _, perr := yarn.ParseNodeID(f.node); perr != nil {
			return f, err
		}
	}
	if f.queue != "" {
		if slot, err := v.FindQueue(f.queue); err == nil {
			f.queue = v.QueuePath(slot)
		} else if !strings.HasPrefix(f.queue, "root.") {
			return f, err
		}
	}
	known := make([]string, 0, 48)
	for _, k := range event.Kinds() {
		known = append(known, strings.ToUpper(k.String()))
	}
	return f, route.CheckWords("kind", f.kinds, known)
}

// batchDoc returns the document of a batch with the events that pass the filter, and the positions
// of those events in the batch.
func batchDoc(v *view.View, b view.Batch, f eventFilter) (d api.EventBatch, places []int) {
	d = api.EventBatch{Index: b.Index, Term: b.Term, NowMillis: b.NowMillis, Events: []api.Event{}}
	for i, e := range b.Events {
		if doc := v.Event(e, b.NowMillis); f.empty() || f.pass(e, &doc) {
			d.Events, places = append(d.Events, doc), append(places, i)
		}
	}
	return d, places
}

// events serves the stream of committed events.
type events struct {
	*shared
	streams atomic.Int64 // that are open
}

func (s *events) routes() []route.Route {
	return []route.Route{route.Get("/v1/events", "app node queue kind after why",
		s.streamEvents).Doc(
		"Stream the committed events as Server-Sent Events: event is batch, id is the log index, data is an EventBatch", nil,
		route.Media("text/event-stream"))}
}

// lastEventID returns the index after which a stream begins, from Last-Event-ID or ?after. 0 means
// from now on.
func lastEventID(c *route.Call) (uint64, error) {
	if text := c.R.Header.Get("Last-Event-ID"); text != "" {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return 0, problem.Invalid("Last-Event-ID is not a log index", "send back the id of the last event")
		}
		return n, nil
	}
	return c.Number("after", 0)
}

// streamEvents sends one message for each committed entry with an event that passes the filter. The
// id of a message is the index of the entry, so a client that reconnects with Last-Event-ID misses
// no message and gets none twice. A heartbeat advances the id past entries that do not pass. It comes
// after each cfg.Heartbeat without a message, so that the client notices when this machine vanishes.
func (s *events) streamEvents(c *route.Call) error {
	from, err := lastEventID(c)
	if err != nil {
		return err
	}
	st, index, err := c.Fork()
	if err != nil {
		return err
	}
	f, err := s.eventFilter(c, st, index)
	if err != nil {
		return err
	}
	if s.streams.Add(1) > int64(s.cfg.MaxStreams) {
		s.streams.Add(-1)
		e := problem.New(api.CodeBusy, "too many event streams are open on this replica",
			"close some, or ask another replica")
		e.RetryAfterMillis = 5000
		return e
	}
	defer s.streams.Add(-1)
	sub, err := s.cfg.Reader.Watch(from)
	if err != nil {
		return err
	}
	defer sub.Close()
	h := c.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.W.WriteHeader(http.StatusOK)
	if c.R.Method == http.MethodHead {
		return nil
	}
	out := &stream{s: s, c: c, filter: f, seen: index, asked: time.Now(), why: c.Flag("why")}
	out.run(sub)
	return nil
}

// stream is an open event stream. Only the handler's goroutine uses it.
type stream struct {
	s      *events
	c      *route.Call
	filter eventFilter
	seen   uint64 // the last index that was read
	buf    []byte
	asked  time.Time // when the stream last checked that the caller may still read it
	why    bool      // send the reasons of decisions
	rest   time.Time // send no reasons until then, because they came too late
	wrote  time.Time // when something was sent last
}

// run sends messages until the client disconnects or is too slow, the caller may no longer read, or
// the server closes.
func (o *stream) run(sub view.Subscription) {
	ctx, cancel := context.WithCancel(o.c.R.Context())
	defer cancel()
	defer context.AfterFunc(o.s.cfg.Closing, cancel)()
	if !o.write(": rmd events\n\n") {
		return
	}
	for {
		b, err := o.next(ctx, sub)
		if refused := o.refused(); refused != nil && ctx.Err() == nil {
			err = refused
		}
		switch {
		case err == nil:
			if !o.send(b) {
				return
			}
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			if !o.beat() {
				return
			}
		default:
			o.end(err)
			return
		}
	}
}

// refused checks every auth.LookAgain whether the caller may still read the stream, and returns why
// not.
func (o *stream) refused() error {
	if time.Since(o.asked) < auth.LookAgain {
		return nil
	}
	o.asked = time.Now()
	return o.c.StillMay()
}

// next waits for a batch, at most until the next heartbeat.
func (o *stream) next(ctx context.Context, sub view.Subscription) (view.Batch, error) {
	ctx, cancel := context.WithDeadline(ctx, o.wrote.Add(o.s.cfg.Heartbeat))
	defer cancel()
	return sub.Next(ctx)
}

func (o *stream) send(b view.Batch) bool {
	o.seen = b.Index
	doc, places := batchDoc(o.s.cfg.Views.Now(), b, o.filter)
	if len(doc.Events) == 0 {
		return time.Since(o.wrote) < o.s.cfg.Heartbeat || o.beat()
	}
	if o.why {
		o.explain(&doc, places)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		o.s.log.Error("batch cannot be encoded", "index", b.Index, "error", err)
		return false
	}
	return o.write(fmt.Sprintf("id: %d\nevent: batch\ndata: %s\n\n", b.Index, data))
}

// whyRest is the time for which a stream sends no reasons after they came too late, so that it does
// not fall behind.
const whyRest = 5 * time.Second

// explain fills in the reasons of the events.
func (o *stream) explain(doc *api.EventBatch, places []int) {
	if time.Now().Before(o.rest) {
		return
	}
	told, ok := o.s.why(o.c.R.Context(), []uint64{doc.Index}, whyStreamed)[doc.Index]
	if !ok {
		o.rest = time.Now().Add(whyRest)
	}
	explainEvents(doc.Events, places, told)
}

// beat sends a heartbeat.
func (o *stream) beat() bool { return o.write(fmt.Sprintf(": heartbeat\nid: %d\n\n", o.seen)) }

// end tells the client why the stream ends. The client may reconnect with the last id.
func (o *stream) end(err error) {
	e := o.s.cfg.Problems.Of(err, false)
	if e.Code == api.CodeTooOld {
		e = problem.New(api.CodeTooOld, "this stream was too slow and missed events",
			"open it again with Last-Event-ID; what is too old answers 410")
	}
	if data, jerr := json.Marshal(e); jerr == nil {
		o.write("event: error\ndata: " + string(data) + "\n\n")
	}
}

// write sends text and flushes it. It returns false if the client is gone.
func (o *stream) write(text string) bool {
	o.buf = append(o.buf[:0], text...)
	o.wrote = time.Now()
	if _, err := o.c.W.Write(o.buf); err != nil {
		return false
	}
	return http.NewResponseController(o.c.W).Flush() == nil
}
