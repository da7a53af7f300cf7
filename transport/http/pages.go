package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/ui"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// newPages makes the operator's pages of this server. They see it through
// ui.Backend alone: what they show are the documents of the API, and what they
// do are its calls.
func newPages(s *Server) (http.Handler, error) {
	c := ui.DefaultConfig()
	c.Backend, c.Logger, c.Now, c.Done = pages{s}, s.log.Named("ui"), s.cfg.Now, s.ctx.Done()
	c.MaxBodyBytes, c.MaxStreams, c.Heartbeat = s.cfg.MaxBodyBytes, s.cfg.MaxStreams, s.cfg.Heartbeat
	return ui.New(c)
}

// pages shows the server to the operator's pages.
type pages struct{ s *Server }

// View implements ui.Backend.
func (p pages) View(r *http.Request) (ui.View, error) {
	if err := p.s.cfg.Admit(r, ClassRead); err != nil {
		return nil, err
	}
	st, index := p.s.forkOf(r)
	return &pageView{view: p.s.viewOf(st, index), s: p.s}, nil
}

// Status implements ui.Backend.
func (p pages) Status() ui.Status {
	index, _ := p.s.cfg.Reader.Applied()
	k := p.s.cfg.Consensus
	d := ui.Status{ID: p.s.cfg.ID, Version: p.s.cfg.Version, Role: k.Role(), Term: k.Term(), Index: index, StalenessMillis: -1}
	d.CommitP99, d.SyncP99 = p.s.timings.p99(commitSeconds), p.s.timings.p99(syncSeconds)
	d.Leader, _ = k.Leader()
	if age := k.Staleness(); age >= 0 {
		d.StalenessMillis = age.Milliseconds()
	}
	return d
}

// Visitor implements ui.Backend.
func (p pages) Visitor(r *http.Request) ui.Visitor {
	st, _ := p.s.forkOf(r)
	who := principalOf(r)
	d := ui.Visitor{Guarded: p.s.guarded(st) || !onThisMachine(r), ByLogin: who.by == bySession}
	if who.known() {
		d.Name, d.Role = who.name, who.role.String()
	}
	return d
}

// About implements ui.Backend.
func (p pages) About() ui.About {
	d := ui.About{Version: p.s.cfg.Version, Built: runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH}
	for _, o := range p.s.cfg.Own {
		d.Own = append(d.Own, ui.Setting{Name: o.Name, Value: maskProperty(o.Name, o.Value), About: o.About, Origin: o.Origin})
	}
	if p.s.cfg.Settings == nil {
		return d
	}
	for _, o := range p.s.cfg.Settings() {
		s := ui.Setting{Name: o.Name, Value: maskProperty(o.Name, o.Value), Origin: o.File}
		if o.Final {
			s.Origin += ", final"
		}
		d.Settings = append(d.Settings, s)
	}
	slices.SortFunc(d.Settings, func(a, b ui.Setting) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// Problem implements ui.Backend.
func (p pages) Problem(err error, write bool) *api.Error { return p.s.errorOf(err, write) }

// Call implements ui.Backend: the same route, admission, limits and audit that
// the caller would meet at the API itself.
func (p pages) Call(r *http.Request, method, path string, header map[string]string, body, out any) error {
	u, err := url.Parse(path)
	if err != nil {
		return fmt.Errorf("call %s: %w", path, err)
	}
	var b []byte
	if body != nil {
		if b, err = json.Marshal(body); err != nil {
			return fmt.Errorf("call %s: %w", path, err)
		}
	}
	req := r.Clone(r.Context())
	req.Method, req.URL, req.RequestURI, req.ContentLength = method, u, "", int64(len(b))
	req.Body, req.Form, req.PostForm, req.MultipartForm = io.NopCloser(bytes.NewReader(b)), nil, nil, nil
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	w := &kept{header: http.Header{}}
	c := &call{s: p.s, w: w, r: req}
	if c.route, c.args, err = p.s.find(req); err != nil {
		return err
	}
	if err := p.s.dispatch(c); err != nil {
		return err
	}
	if out == nil || w.body.Len() == 0 {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return fmt.Errorf("answer of %s: %w", path, err)
	}
	return nil
}

// kept is what a call answers.
type kept struct {
	header http.Header
	body   bytes.Buffer
}

func (a *kept) Header() http.Header         { return a.header }
func (a *kept) WriteHeader(int)             {}
func (a *kept) Write(p []byte) (int, error) { return a.body.Write(p) }

// pageView is one fork as the pages read it.
type pageView struct {
	*view
	s    *Server
	wait []demand
	have bool
	then bool // it is of the past
}

// Index implements ui.View.
func (v *pageView) Index() uint64 { return v.index }

// State implements ui.View.
func (v *pageView) State() *state.State { return v.st }

// Census implements ui.View.
func (v *pageView) Census() *summary.Census { return v.census() }

// Kinds implements ui.View.
func (v *pageView) Kinds() []string { return v.kinds }

// Size implements ui.View.
func (v *pageView) Size(r yarn.Resource) api.Resource { return v.size(r) }

// App implements ui.View.
func (v *pageView) App(slot uint32) api.App { return v.appDoc(v.st.Apps.Get(slot)) }

// Attempts implements ui.View.
func (v *pageView) Attempts(slot uint32) []api.Attempt { return v.attempts(v.st.Apps.Get(slot)) }

// Asks implements ui.View.
func (v *pageView) Asks(slot uint32) []api.Ask { return v.asks(v.st.Apps.Get(slot)) }

// Containers implements ui.View.
func (v *pageView) Containers(slot uint32, after yarn.ContainerID, limit int) ([]api.Container, string) {
	slots := v.containersOf(v.st.Apps.Get(slot), after.Attempt, after.Number)
	slots, next := page(slots, limit, func(at uint32) string { return v.st.ContainerID(v.st.Containers.Get(at)).String() })
	out := make([]api.Container, 0, len(slots))
	for _, at := range slots {
		out = append(out, v.containerDoc(v.st.Containers.Get(at)))
	}
	return out, next
}

// Container implements ui.View.
func (v *pageView) Container(slot uint32) api.Container {
	return v.containerDoc(v.st.Containers.Get(slot))
}

// Node implements ui.View.
func (v *pageView) Node(slot uint32) api.Node { return v.nodeDoc(v.st.Nodes.Get(slot)) }

// Reservation implements ui.View.
func (v *pageView) Reservation(slot uint32) api.Reservation {
	if !v.have {
		v.wait, v.have = v.demands(), true
	}
	return v.reservationDoc(v.st.Reservations.Get(slot), v.wait)
}

// Queues implements ui.View.
func (v *pageView) Queues() api.Queues {
	var d api.Queues
	if ver := v.st.Version(); ver != nil {
		d.Version = ver.Version
	}
	if root := v.st.Root(); root != 0 {
		q := v.queueTree(root)
		d.Root = &q
	}
	return d
}

// Totals implements ui.View.
func (v *pageView) Totals() api.Totals { return v.totals() }

// Cancelled implements ui.View.
func (v *pageView) Cancelled() map[string]uint64 { return v.cancelled() }

// QueuePath implements ui.View.
func (v *pageView) QueuePath(slot uint32) string { return v.queuePath(slot) }

// FindApp implements ui.View.
func (v *pageView) FindApp(id string) (uint32, error) {
	_, slot, err := v.app(id)
	return slot, err
}

// FindNode implements ui.View.
func (v *pageView) FindNode(id string) (uint32, error) { return v.node(id) }

// FindQueue implements ui.View.
func (v *pageView) FindQueue(name string) (uint32, error) { return v.queue(name) }

// FindReservation implements ui.View.
func (v *pageView) FindReservation(id string) (uint32, error) { return v.reservation(id) }

// Explain implements ui.View. Nobody explains the past: who asks about the present
// would have to wait for it.
func (v *pageView) Explain(id yarn.ApplicationID) (any, error) {
	if v.then {
		return nil, notAvailable("the explanation of an earlier state")
	}
	return v.s.explainOf(v.view, id)
}

// How many entries Recent reads at once: few at first, since an entry of a busy
// cluster holds hundreds of events, and then more and more.
const (
	recentFirst = 4
	recentMost  = 128
)

// Recent implements ui.View: it goes back in the log until it has enough, or
// has looked at as much as it may.
func (v *pageView) Recent(ctx context.Context, before uint64, limit, look int, pass ui.Pass) (ui.Recent, error) {
	if v.s.cfg.Log == nil {
		return ui.Recent{}, notAvailable("the log")
	}
	if before == 0 || before > v.index+1 {
		before = v.index + 1
	}
	out := ui.Recent{Next: before}
	step := uint64(recentFirst)
	for seen := 0; len(out.Events) < limit && out.Next > 1 && seen < look; step = min(2*step, recentMost) {
		from := max(out.Next, step+1) - step
		entries, first, _, err := v.s.cfg.Log.Entries(ctx, from, int(out.Next-from))
		if err != nil {
			var old *TooOldError
			if !errors.As(err, &old) {
				return out, err
			}
			if first = old.Oldest; first >= out.Next {
				out.Next = 0
				break
			}
			if entries, first, _, err = v.s.cfg.Log.Entries(ctx, first, int(out.Next-first)); err != nil {
				return out, err
			}
		}
		for i := len(entries) - 1; i >= 0 && len(out.Events) < limit && seen < look; i-- {
			seen += v.recentEntry(entries[i], &out, pass)
			out.Next = entries[i].Index
		}
		if len(entries) == 0 || out.Next <= max(first, 1) {
			out.Next = 0
		}
	}
	if out.Next <= 1 {
		out.Next = 0
	}
	for i := 1; i < len(out.Events); i++ {
		if out.Events[i].AtMillis == 0 { // the clock's move is further back than was read
			out.Events[i].AtMillis = out.Events[i-1].AtMillis
		}
	}
	return out, nil
}

// subject is what one of the events is about that there are most of. It says what
// the event's document says.
func (v *view) subject(e event.Event) ui.Subject {
	of := func(c event.ContainerRef) ui.Subject {
		s := ui.Subject{App: c.App, Known: true}
		if slot := v.st.Container(c); slot != 0 {
			s.Node = v.st.Containers.Get(slot).Node
		}
		return s
	}
	switch e := e.(type) {
	case *event.ContainerAllocated:
		return ui.Subject{App: e.App, Node: e.Node, Known: true}
	case *event.ReservationMade:
		return ui.Subject{App: e.App, Node: e.Node, Known: true}
	case *event.ContainerLaunched:
		return of(e.Container)
	case *event.ContainerReleased:
		return of(e.Container)
	case *event.ContainerCompleted:
		return of(e.Container)
	case *event.AskChanged:
		return ui.Subject{App: e.App, Known: true}
	case *event.AllocateAnswered:
		return ui.Subject{App: e.App, Known: true}
	case *event.TimeAdvanced:
		return ui.Subject{Known: true}
	}
	return ui.Subject{}
}

// recentEntry adds the events of one entry, the last one first.
func (v *pageView) recentEntry(e LogEntry, out *ui.Recent, pass ui.Pass) int {
	if e.Type != "events" || e.Index > v.index {
		return 1
	}
	b, err := event.Decode(e.Data)
	if err != nil {
		return 1 // "rmd log show" tells it
	}
	var at int64
	for _, ev := range b.Events {
		if t, ok := ev.(*event.TimeAdvanced); ok {
			at = t.NowMillis
		}
	}
	for i := len(out.Events) - 1; at != 0 && i >= 0 && out.Events[i].AtMillis == 0; i-- {
		out.Events[i].AtMillis = at
	}
	for place, ev := range slices.Backward(b.Events) {
		if pass(ev.Kind().String(), v.subject(ev), func() api.Event { return v.eventDoc(ev) }) {
			out.Events = append(out.Events, ui.Decision{Index: e.Index, Term: e.Term, Place: place, AtMillis: at, Event: v.eventDoc(ev)})
		}
	}
	return len(b.Events)
}
