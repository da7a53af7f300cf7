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
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// eventFilter says which events a stream is of; empty passes all.
type eventFilter struct {
	app, node, queue string
	kinds            map[string]bool // in upper case
}

func (f eventFilter) empty() bool {
	return f.app == "" && f.node == "" && f.queue == "" && f.kinds == nil
}

// pass takes a queue for itself and everything below it. d is the document of the event.
func (f eventFilter) pass(e event.Event, d *api.Event) bool {
	return (f.app == "" || f.app == d.App) && (f.node == "" || f.node == d.Node || relabels(e, f.node)) && (f.kinds == nil || f.kinds[strings.ToUpper(d.Kind)]) &&
		(f.queue == "" || f.queue == d.Queue || strings.HasPrefix(d.Queue, f.queue+"."))
}

// relabels says whether an event gives a node, or its host, another label. Its document names only
// some of the nodes.
func relabels(e event.Event, node string) bool {
	l, ok := e.(*event.NodesLabelled)
	id, err := yarn.ParseNodeID(node)
	return ok && err == nil && slices.ContainsFunc(l.Nodes, func(n event.LabelledNode) bool {
		return n.ID == id || n.ID == yarn.NodeID{Host: id.Host}
	})
}

// eventFilter reads the filters. What they name need not exist yet, but must be
// well-formed; a short queue name is completed.
func (s *API) eventFilter(c *route.Call, st *state.State, index uint64) (eventFilter, error) {
	f := eventFilter{app: c.Query.Get("app"), node: c.Query.Get("node"), queue: c.Query.Get("queue"), kinds: route.Words(c.Query["kind"])}
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

// batchDoc shows a batch through a filter, and which of its events passed.
func batchDoc(v *view.View, b view.Batch, f eventFilter) (d api.EventBatch, places []int) {
	d = api.EventBatch{Index: b.Index, Term: b.Term, NowMillis: b.NowMillis, Events: []api.Event{}}
	for i, e := range b.Events {
		if doc := v.Event(e, b.NowMillis); f.empty() || f.pass(e, &doc) {
			d.Events, places = append(d.Events, doc), append(places, i)
		}
	}
	return d, places
}

func (s *API) eventRoutes() []route.Route {
	return []route.Route{route.Get("/v1/events", "app node queue kind after why", s.streamEvents).Doc("Stream the committed events as Server-Sent Events: event is batch, id is the log index, data is an EventBatch", nil, route.Media("text/event-stream"))}
}

// lastEventID is what a stream goes on after: Last-Event-ID, or ?after. 0 is
// from now on.
func (s *API) lastEventID(c *route.Call) (uint64, error) {
	if text := c.R.Header.Get("Last-Event-ID"); text != "" {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return 0, problem.Invalid("Last-Event-ID is not a log index", "send back the id of the last event")
		}
		return n, nil
	}
	return c.Number("after", 0)
}

// streamEvents sends one message for each committed entry with an event that
// passes. A message's id is the entry's index, so that a client that comes back
// with Last-Event-ID loses nothing and gets nothing twice. Entries that do not
// pass move the id along with the heartbeat.
func (s *API) streamEvents(c *route.Call) error {
	from, err := s.lastEventID(c)
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
		e := problem.New(api.CodeBusy, "too many event streams are open on this replica", "close some, or ask another replica")
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

// stream is one open event stream; its state belongs to the handler's goroutine.
type stream struct {
	s      *API
	c      *route.Call
	filter eventFilter
	seen   uint64 // the last index looked at
	buf    []byte
	asked  time.Time // when it was seen last that the caller may listen
	why    bool      // the reasons of decisions are wanted
	rest   time.Time // until when none are asked for: they came too late
}

// run sends until the client goes, the server closes, or the client is too slow.
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
			if !o.write(fmt.Sprintf(": heartbeat\nid: %d\n\n", o.seen)) {
				return
			}
		default:
			o.end(err)
			return
		}
	}
}

// refused says now and then whether the caller may listen no more.
func (o *stream) refused() error {
	if time.Since(o.asked) < auth.LookAgain {
		return nil
	}
	o.asked = time.Now()
	return o.c.StillMay()
}

// next waits for a batch, at most until the next heartbeat.
func (o *stream) next(ctx context.Context, sub view.Subscription) (view.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, o.s.cfg.Heartbeat)
	defer cancel()
	return sub.Next(ctx)
}

func (o *stream) send(b view.Batch) bool {
	o.seen = b.Index
	doc, places := batchDoc(o.s.cfg.Views.Now(), b, o.filter)
	if len(doc.Events) == 0 {
		return true
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

// whyRest is how long a stream does without reasons after they came too late: it
// must not fall behind for them.
const whyRest = 5 * time.Second

// explain fills in why the events were decided.
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

// end tells the client why the stream stops. It may come back with the last id.
func (o *stream) end(err error) {
	e := o.s.cfg.Problems.Of(err, false)
	if e.Code == api.CodeTooOld {
		e = problem.New(api.CodeTooOld, "this stream was too slow and missed events", "open it again with Last-Event-ID; what is too old answers 410")
	}
	if data, jerr := json.Marshal(e); jerr == nil {
		o.write("event: error\ndata: " + string(data) + "\n\n")
	}
}

// write sends and flushes.
func (o *stream) write(text string) bool {
	o.buf = append(o.buf[:0], text...)
	if _, err := o.c.W.Write(o.buf); err != nil {
		return false
	}
	return http.NewResponseController(o.c.W).Flush() == nil
}
