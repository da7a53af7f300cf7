package ui

import (
	"context"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/ui/download"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/view"
)

// decisionRow is an event with the reason for it.
type decisionRow struct {
	eventlog.Decision
	Because api.Because // derived from the state just before; empty if the event itself has the reason
	New     bool        // made at the index of the page, which is of the past
}

// decisionFilter selects events. The zero value selects all decisions.
type decisionFilter struct {
	app, node, queue string
	seq              uint32
	slot             state.NodeSlot // number of the application, slot of the node
	kinds            []event.Kind   // nil selects those that people read about
	all              bool           // select every kind
}

var reservationKinds = []event.Kind{event.KindReservationMade, event.KindReservationFulfilled,
	event.KindReservationCancelled}

func (f *decisionFilter) pass(kind event.Kind, s view.Subject, d func() api.Event) bool {
	switch {
	case f.kinds != nil && !slices.Contains(f.kinds, kind), f.kinds == nil && !f.all && !kind.Told():
		return false
	case f.app == "" && f.node == "" && f.queue == "":
		return true
	case f.seq != 0 && s.App != f.seq || f.slot != 0 && s.Node != f.slot:
		return false
	}
	e := d()
	return (f.app == "" || e.App == f.app) && (f.node == "" || e.Node == f.node) &&
		(f.queue == "" || e.Queue == f.queue || strings.HasPrefix(e.Queue, f.queue+"."))
}

// decided is a part of the log in words.
type decided struct {
	Rows []decisionRow
	Next eventlog.Position
}

// lookFar and lookNear limit the events that are read for a list: on the page of decisions, and on
// other pages.
const (
	lookFar  = 20_000
	lookNear = 2_000
)

// whyFar is the largest distance, in entries, from the newest event of a list to an event whose
// reason is looked up. All entries in between must be followed.
const whyFar = 20_000

// How long a page waits for the reasons of its rows. whyOpened is for a page that a viewer opens.
// whyBehind is for a page that renews itself and gets the reasons at the next renewal. whyOfPast is
// for a page of the past, which is rendered from an earlier state anyway and does not change.
const (
	whyOpened = 300 * time.Millisecond
	whyBehind = 2 * time.Millisecond
	whyOfPast = time.Second
)

func (q *query) patience() time.Duration {
	switch {
	case q.q.Has("at"):
		return whyOfPast
	case q.behind:
		return whyBehind
	}
	return whyOpened
}

// explained returns the part of a list within whyFar of its newest event.
func explained(list []eventlog.Decision) []eventlog.Decision {
	for i := range list {
		if list[0].Index-list[i].Index > whyFar {
			return list[:i]
		}
	}
	return list
}

func (q *query) decisions(f decisionFilter, before eventlog.Position, limit int) (decided, error) {
	look := lookNear
	if limit > overviewDecisions {
		look = lookFar
	}
	f.seq = idOf(f.app).Seq
	if slot, err := q.v.FindNode(f.node); err == nil {
		f.slot = slot
	}
	list, err := q.u.entries().Recent(q.r.Context(), q.v, before, limit, look, f.pass)
	if err != nil {
		return decided{}, err
	}
	if limit > overviewDecisions && q.file == nil {
		began := time.Now()
		q.lacks = !q.u.fillReasons(q.r.Context(), explained(list.Events), q.patience())
		q.waited = time.Since(began)
	}
	out := decided{Next: list.Next}
	made := map[string]api.Event{} // by reservation
	put := map[string]string{}     // node by container
	for _, e := range list.Events {
		if e.Kind == event.KindReservationMade.String() {
			made[e.Reservation] = e.Event
		}
		if e.Container != "" && e.Node != "" {
			put[e.Container] = e.Node
		}
	}
	for _, e := range list.Events {
		if m, ok := made[e.Reservation]; ok && e.App == "" {
			e.App, e.Node, e.Queue = m.App, m.Node, m.Queue
		}
		if e.Node == "" && e.Container != "" {
			e.Node = put[e.Container]
		}
		row := decisionRow{Decision: e}
		if e.Because != nil {
			row.Because = *e.Because
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

type decisionsData struct {
	Index  uint64
	App    string
	Node   string
	Queues []choice
	Kinds  []choice
	Rows   []decisionRow
	Pager  pager
	Filter bool
	Lacks  bool // some reasons were not known in time
}

// decisionRows is the number of events on a page.
const decisionRows = 100

func decisions(q *query) (any, error) {
	d := decisionsData{Index: q.v.Index, App: strings.TrimSpace(q.q.Get("app")), Node: strings.TrimSpace(q.q.Get("node")),
		Queues: q.queueChoices(q.q.Get("queue"))}
	f := decisionFilter{app: d.App}
	if d.App != "" {
		id, err := q.v.ParseApp(d.App)
		if err != nil {
			return nil, err
		}
		f.app = id.String()
	}
	if d.Node != "" {
		slot, err := q.v.FindNode(d.Node)
		if err != nil {
			return nil, err
		}
		f.node = q.v.NodeID(slot)
	}
	if name := q.q.Get("queue"); name != "" {
		slot, err := q.v.FindQueue(name)
		if err != nil {
			return nil, err
		}
		f.queue = q.v.QueuePath(slot)
	}
	kind := q.q.Get("kind")
	if err := f.choose(kind); err != nil {
		return nil, err
	}
	before, err := eventlog.ParsePosition(q.q.Get("after"))
	if err != nil {
		return nil, err
	}
	most := decisionRows
	if q.file != nil {
		most = fileEvents
	}
	list, err := q.decisions(f, before, most)
	if err != nil {
		return nil, err
	}
	if q.file != nil {
		fileOf(q, len(list.Rows), func(i int) decisionRow { return list.Rows[i] },
			func(r decisionRow) download.Row { return download.Decision(&r.Decision) })
		return nil, nil
	}
	d.Lacks = q.lacks
	d.Rows, d.Pager = list.Rows, q.pager("event", len(list.Rows), len(list.Rows), list.Next.String())
	d.Pager.File = q.fileLink()
	d.Kinds = append([]choice{{Value: "all", Text: "every event", Chosen: kind == "all"},
		{Value: "reservations", Text: "reservations", Chosen: kind == "reservations"}}, choices(kindNames(), kind)...)
	d.Filter = d.App != "" || d.Node != "" || f.queue != "" || kind != ""
	return d, nil
}

// choose sets the kinds that the address names.
func (f *decisionFilter) choose(kind string) error {
	switch {
	case kind == "":
	case kind == "all":
		f.all = true
	case kind == "reservations":
		f.kinds = reservationKinds
	default:
		k := event.KindNamed(kind)
		if k == 0 {
			return bad("there is no event "+kind, "choose one from the list")
		}
		f.kinds = []event.Kind{k}
	}
	return nil
}

func kindNames() []string {
	var out []string
	for _, k := range event.Kinds() {
		out = append(out, k.String())
	}
	slices.Sort(out)
	return out
}

// fillReasons fills in the reasons of events, which must be in the order of the list. It reports
// whether all of them were known in time.
func (u *UI) fillReasons(ctx context.Context, list []eventlog.Decision, wait time.Duration) (all bool) {
	var indexes []uint64
	for _, d := range list {
		if n := len(indexes); n == 0 || indexes[n-1] != d.Index {
			indexes = append(indexes, d.Index)
		}
	}
	reasons, on := u.cfg.API.Reasons(ctx, indexes, wait)
	for i := range list {
		if of := reasons[list[i].Index]; list[i].Place < len(of) && of[list[i].Place].Text != "" {
			list[i].Because = &of[list[i].Place]
		}
	}
	return !on || len(reasons) == len(indexes)
}
