package ui

import (
	"cmp"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/ui/amounts"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/ui/format"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// reservationRow is a reservation with bars of its node.
type reservationRow struct {
	api.Reservation
	Lines   []holdLine
	MustEnd []api.Container // containers on the node, largest first
	More    int             // further containers
	Enough  int             // how many of the largest containers would free enough; 0 if all together would not
}

// holdLine is one resource kind of a reserved node.
type holdLine struct {
	Kind                      string
	Used, Free, Needs, Missed int64
	Bar                       bar.Bar
}

// mustEnd is the number of containers that are listed for a reservation.
const mustEnd = 5

func (q *query) reservationRow(slot state.ReservationSlot) reservationRow {
	r := reservationRow{Reservation: q.v.Reservation(q.v.State.Reservations.Get(slot))}
	st := q.v.State
	n := st.Nodes.Get(st.Reservations.Get(slot).Node)
	for _, c := range st.Containers.On(n) {
		r.MustEnd = append(r.MustEnd, q.v.Container(c))
	}
	// Sort by the kind that is most short.
	_, short := bar.Share(r.Missing, r.NodeTotal)
	slices.SortFunc(r.MustEnd, func(a, b api.Container) int {
		return cmp.Or(cmp.Compare(b.Size[short], a.Size[short]), cmp.Compare(b.Size[api.MemoryMB], a.Size[api.MemoryMB]),
			strings.Compare(a.ID, b.ID))
	})
	r.Enough = enough(r.Missing, r.MustEnd)
	if len(r.MustEnd) > mustEnd {
		r.More, r.MustEnd = len(r.MustEnd)-mustEnd, r.MustEnd[:mustEnd]
	}
	for _, kind := range format.KindsOf(r.NodeTotal) {
		if r.Size[kind] == 0 && r.Missing[kind] == 0 {
			continue
		}
		l := holdLine{Kind: kind, Used: r.NodeTotal[kind] - r.Free[kind], Free: r.Free[kind], Needs: r.Size[kind],
			Missed: r.Missing[kind]}
		l.Bar = bar.New(r.NodeTotal[kind]).Add(l.Used, "used", format.KindValue(kind, l.Used)+" used").Add(l.Free, "reserved",
			format.KindValue(kind, l.Free)+" free, kept").
			Limit(r.NodeTotal[kind]-l.Needs, "needs", "needs "+format.KindValue(kind, l.Needs)).
			Done(format.KindName(kind) + ": " + format.KindValue(kind, l.Used) + " used, " + format.KindValue(kind, l.Free) +
				" free, needs " + format.KindValue(kind, l.Needs))
		r.Lines = append(r.Lines, l)
	}
	return r
}

// enough returns how many containers from the beginning of a list free what is missing, or 0 if all
// do not.
func enough(missing api.Resource, list []api.Container) int {
	freed := api.Resource{}
	for i, c := range list {
		freed = amounts.Add(freed, c.Size)
		if covers(freed, missing) {
			return i + 1
		}
	}
	return 0
}

func covers(have, want api.Resource) bool {
	for kind, v := range want { // the order does not matter: all must hold
		if have[kind] < v {
			return false
		}
	}
	return true
}

type reservationsData struct {
	Index     uint64
	Rows      []reservationRow
	Heads     []column // keys by which they can be sorted
	Pager     pager
	Held      int
	Oldest    int64
	Idle      api.Resource
	IdleShare float64
	Made      uint64
	Fulfilled uint64
	Cancelled []causeCount
	All       uint64 // cancelled for any cause
	Queues    []choice
	App, Node string
	Filter    bool
	History   []decisionRow
}

type causeCount struct {
	Cause string
	N     uint64
}

// reservationKeys are the keys by which reservations can be sorted. Their numbers are in the order
// of their age.
var reservationKeys = []string{"id", "size", "short"}

func (q *query) reservationKey(name string, r *state.Reservation) int64 {
	switch name {
	case "size":
		return r.Size[yarn.Memory]
	case "short":
		return r.Size[yarn.Memory] - q.v.State.Nodes.Get(r.Node).Unallocated()[yarn.Memory]
	}
	return 0 // only the number counts
}

// heldRows is the number of reservations on one page.
const heldRows = 24

func reservations(q *query) (any, error) {
	after, err := q.cursor()
	if err != nil {
		return nil, err
	}
	sorted, desc, err := q.sorting(reservationKeys, "id")
	if err != nil {
		return nil, err
	}
	pass, err := q.reservationFilter()
	if err != nil {
		return nil, err
	}
	st := q.v.State
	d := reservationsData{Index: q.v.Index, Held: st.Reservations.Len(), Made: st.Meta.Made, Fulfilled: st.Meta.Fulfilled,
		App: q.q.Get("app"), Node: q.q.Get("node"), Queues: q.queueChoices(q.q.Get("queue"))}
	d.Filter = d.App != "" || d.Node != "" || q.q.Get("queue") != ""
	t := top[state.ReservationSlot]{most: heldRows, desc: desc}
	st.Reservations.Each(func(slot state.ReservationSlot, r *state.Reservation) bool {
		if pass(r) {
			t.add(position{key: q.reservationKey(sorted, r), id: r.Number}, slot, after)
		}
		return true
	})
	rows, next := t.page()
	for _, r := range rows {
		d.Rows = append(d.Rows, q.reservationRow(r.item))
	}
	c := func(title, name string) column { return q.column(title, name, sorted, desc, true) }
	d.Heads = []column{c("Number", "id"), c("Size", "size"), c("Short of memory", "short")}
	d.Pager = q.pager("reservation", t.all, len(rows), next)
	d.Oldest, d.Idle = q.held(), q.v.Size(q.v.AllFigures().HeldFree)
	idle, _ := bar.Share(d.Idle, q.v.Size(st.Meta.Cluster))
	d.IdleShare = idle * 100
	for cause, n := range q.v.Cancelled() { // sorted below
		d.Cancelled, d.All = append(d.Cancelled, causeCount{cause, n}), d.All+n
	}
	slices.SortFunc(d.Cancelled, func(a, b causeCount) int {
		return cmp.Or(cmp.Compare(b.N, a.N), strings.Compare(a.Cause, b.Cause))
	})
	if events, err := q.decisions(decisionFilter{kinds: reservationKinds}, eventlog.Position{},
		overviewDecisions); err == nil {
		d.History = events.Rows
	}
	return d, nil
}

// reservationFilter parses ?app, ?node and ?queue.
func (q *query) reservationFilter() (func(r *state.Reservation) bool, error) {
	st := q.v.State
	var app state.AppSlot
	var node state.NodeSlot
	var err error
	if text := q.q.Get("app"); text != "" {
		if _, app, err = q.v.FindApp(text); err != nil {
			return nil, err
		}
	}
	if text := q.q.Get("node"); text != "" {
		if node, err = q.v.FindNode(text); err != nil {
			return nil, err
		}
	}
	var queues []bool
	if text := q.q.Get("queue"); text != "" {
		slot, err := q.v.FindQueue(text)
		if err != nil {
			return nil, err
		}
		queues = q.v.Subtree(slot)
	}
	return func(r *state.Reservation) bool {
		return (app == 0 || r.App == app) && (node == 0 || r.Node == node) &&
			(queues == nil || queues[st.Apps.Get(r.App).Queue])
	}, nil
}

type reservationData struct {
	Index       uint64
	Reservation reservationRow
	Name        string // name of the application
	Ahead       []api.Container
	Heads       []column // of the table of these containers
	NowMillis   int64
	// Past is the history of a reservation that no longer exists. The other fields are empty then.
	Past *api.ReservationHistory
}

var aheadColumns = []sortable[api.Container]{
	{title: "Container", name: "container", compare: func(a, b api.Container) int { return strings.Compare(a.ID, b.ID) }},
	{title: "Application", name: "app", compare: func(a, b api.Container) int { return strings.Compare(a.App, b.App) }},
	{title: "Size", name: "size", compare: func(a, b api.Container) int { return amounts.Compare(a.Size, b.Size) }},
	{title: "Granted", name: "granted", number: true, compare: func(a, b api.Container) int {
		return cmp.Compare(a.AllocatedMillis, b.AllocatedMillis)
	}},
}

func reservation(q *query) (any, error) {
	slot, err := q.v.FindReservation(q.r.PathValue("id"))
	if err != nil {
		return q.pastReservation(err)
	}
	st := q.v.State
	r := st.Reservations.Get(slot)
	d := reservationData{Index: q.v.Index, Reservation: q.reservationRow(slot), Name: st.Apps.Get(r.App).Details().Name,
		NowMillis: q.v.NowMillis}
	q.title = "Reservation " + d.Reservation.ID
	for _, c := range st.Containers.On(st.Nodes.Get(r.Node)) {
		d.Ahead = append(d.Ahead, q.v.Container(c))
	}
	slices.SortFunc(d.Ahead, func(a, b api.Container) int { return strings.Compare(a.ID, b.ID) })
	d.Heads, err = sortTable(q, "granted", aheadColumns, d.Ahead)
	return d, err
}

// pastReservation shows the history of a reservation that no longer exists, as far as it is in the
// log. It returns gone if there is none.
func (q *query) pastReservation(gone error) (any, error) {
	number, err := view.ReservationNumber(q.r.PathValue("id"))
	if err != nil {
		return nil, gone
	}
	past, err := q.u.cfg.API.History(q.r.Context(), q.v, number)
	if err != nil || len(past.Events) == 0 {
		return nil, gone
	}
	q.title = "Reservation " + past.ID
	return reservationData{Index: q.v.Index, Past: past}, nil
}

// lifeText describes an event of a reservation.
func lifeText(e api.ReservationEvent) string {
	switch e.What {
	case "made":
		return "made: the container did not fit yet"
	case "moved":
		return "given up for another node"
	case "fulfilled":
		return "fulfilled: its container was placed"
	}
	return strings.TrimSuffix(format.Word(e.What)+": "+yarn.CauseNamed[yarn.CancelCause](e.Cause).Text(), ": ")
}

// idOf parses an application's id. It returns the zero value, which selects all, for other texts.
func idOf(text string) yarn.ApplicationID {
	id, err := yarn.ParseApplicationID(text)
	if err != nil {
		return yarn.ApplicationID{}
	}
	return id
}
