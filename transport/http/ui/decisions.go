package ui

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"rmd/fsm/event"
	"rmd/internal/thousands"
	"rmd/transport/http/v1/api"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// decisionRow is an event in words, with the reason for it.
type decisionRow struct {
	Decision
	Text string
	Why  string // derived from the state just before; empty if the event itself has the reason
}

// decisionFilter selects events. The zero value selects all decisions.
type decisionFilter struct {
	app, node, queue string
	seq, slot        uint32   // number of the application, slot of the node
	kinds            []string // nil selects decisionKinds
	all              bool     // select every kind
}

// decisionKinds lists the kinds of events that are decisions or otherwise of interest to people.
// The other kinds are bookkeeping, such as times, replies and idempotency keys.
var decisionKinds = []string{"ApplicationSubmitted", "ApplicationEnded", "ApplicationMoved", "ApplicationReprioritized", "AttemptActivated", "AttemptRegistered", "AttemptEnded",
	"ContainerAllocated", "ContainerLent", "ContainerReleased", "ContainerCompleted", "ReservationMade", "ReservationFulfilled", "ReservationCancelled", "PreemptionAsked", "PreemptionWithdrawn",
	"QueuesConfigured", "QueueStateChanged", "NodeRegistered", "NodeStateChanged", "NodeResourceChanged", "NodeSilenceChanged", "NodeForgotten", "LabelsSet", "LabelsRemoved", "NodesLabelled", "ClusterInitialized", "LevelRaised", "Audited"}

var reservationKinds = []string{"ReservationMade", "ReservationFulfilled", "ReservationCancelled"}

func (f *decisionFilter) pass(kind string, s view.Subject, d func() api.Event) bool {
	kinds := f.kinds
	if kinds == nil && !f.all {
		kinds = decisionKinds
	}
	if kinds != nil && !slices.Contains(kinds, kind) {
		return false
	}
	switch {
	case f.app == "" && f.node == "" && f.queue == "":
		return true
	case f.seq != 0 && s.App != f.seq || f.slot != 0 && s.Node != f.slot:
		return false
	}
	e := d()
	return (f.app == "" || e.App == f.app) && (f.node == "" || e.Node == f.node) && (f.queue == "" || e.Queue == f.queue || strings.HasPrefix(e.Queue, f.queue+"."))
}

// decided is a part of the log in words.
type decided struct {
	Rows []decisionRow
	Next Position
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
	whyOpened = 10 * time.Millisecond
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
func explained(list []Decision) []Decision {
	for i := range list {
		if list[0].Index-list[i].Index > whyFar {
			return list[:i]
		}
	}
	return list
}

func (q *query) decisions(f decisionFilter, before Position, limit int) (decided, error) {
	look := lookNear
	if limit > overviewDecisions {
		look = lookFar
	}
	f.seq = idOf(f.app).Seq
	if slot, err := q.v.FindNode(f.node); err == nil {
		f.slot = slot
	}
	list, err := q.u.recent(q.r.Context(), q.v, before, limit, look, f.pass)
	if err != nil {
		return decided{}, err
	}
	if limit > overviewDecisions {
		began := time.Now()
		q.lacks = !q.u.fillReasons(q.r.Context(), explained(list.Events), q.patience())
		q.waited = time.Since(began)
	}
	out := decided{Next: list.Next}
	made := map[string]api.Event{} // by reservation
	put := map[string]string{}     // node by container
	for _, e := range list.Events {
		switch e.Kind {
		case "ReservationMade":
			made[e.Reservation] = e.Event
		case "ContainerAllocated", "ContainerLent":
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
		row := decisionRow{Decision: e, Text: tell(&e.Event)}
		if e.Because != nil {
			row.Why = e.Because.Text
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// tell returns an event in words. Other columns show the objects of the event.
func tell(e *api.Event) string {
	d := e.Data
	text := func(name string) string {
		if v, ok := d[name]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
	switch e.Kind {
	case "ApplicationSubmitted":
		return sentence("submitted by "+text("user"), quoted("as", text("name")))
	case "ApplicationEnded":
		return reasoned("ended: "+outcome(text("state"), text("final")), text("diagnostics"))
	case "ApplicationMoved":
		return "moved to " + e.Queue
	case "ApplicationReprioritized":
		return "priority is " + text("priority") + " now"
	case "AttemptActivated":
		return "activated: its ApplicationMaster may be placed"
	case "AttemptRegistered":
		return "its ApplicationMaster registered"
	case "AttemptEnded":
		return reasoned(sentence("attempt ended", word(text("final"))), text("diagnostics"))
	case "ContainerAllocated":
		return sentence("container granted", localities[text("locality")])
	case "ContainerLent":
		return sentence("container granted in idle room of a reserved node", localities[text("locality")])
	case "ContainerReleased":
		return reasoned("container released", text("diagnostics"))
	case "ContainerCompleted":
		return reasoned("container ended"+exit(text("exit_status")), text("diagnostics"))
	case "ReservationMade":
		return "node reserved: the container does not fit yet"
	case "ReservationFulfilled":
		return "reservation fulfilled: its container is placed"
	case "ReservationCancelled":
		return reasoned("reservation cancelled", orWord(yarn.CauseNamed[yarn.CancelCause](text("cause")).Text(), text("cause")))
	case "PreemptionAsked":
		return "container warned: it is to end for " + e.Queue
	case "PreemptionWithdrawn":
		return "warning withdrawn: the container goes on"
	case "QueuesConfigured":
		return sentence("configuration version "+text("version")+" in force", quoted("", text("comment")), by(text("author")))
	case "QueueStateChanged":
		return "queue is " + word(text("state"))
	case "NodeRegistered":
		return "node registered"
	case "NodeStateChanged":
		return "node is " + word(text("state"))
	case "NodeResourceChanged":
		return "the node's total changed"
	case "NodeSilenceChanged":
		if text("since_ms") == "0" {
			return "node is heard again"
		}
		return "node has missed heartbeats, and gets no containers"
	case "NodeForgotten":
		return "the inactive node is removed"
	case "LabelsSet":
		return "labels of the cluster: " + labelWords(d["exclusive"])
	case "LabelsRemoved":
		return "labels removed: " + strings.Trim(text("names"), "[]")
	case "NodesLabelled":
		return "labels of " + thousands.Count(d["nodes"], "host") + " changed"
	case "ClusterInitialized":
		return "the cluster begins"
	case "LevelRaised":
		return "feature level " + text("level") + " in force"
	case "Audited":
		return sentence("administrator: "+text("action"), text("target"), by(text("who")), text("result"))
	}
	return ""
}

// labelWords lists labels with their exclusivity.
func labelWords(exclusive any) string {
	labels, _ := exclusive.(map[string]bool)
	words := slices.Sorted(maps.Keys(labels))
	for i, name := range words {
		if !labels[name] {
			words[i] = name + " (not exclusive)"
		}
	}
	return strings.Join(words, ", ")
}

var localities = map[string]string{"NODE_LOCAL": "on a node it asked for", "RACK_LOCAL": "on a rack it asked for", "OFF_SWITCH": ""}

// outcome returns a final state in words, and the final status if it differs.
func outcome(state, final string) string {
	if final == "" || final == "UNDEFINED" || final == state || state == "FINISHED" && final == "SUCCEEDED" {
		return word(state)
	}
	return word(state) + ", " + word(final)
}

func orWord(s, name string) string {
	if s == "" {
		return word(name)
	}
	return s
}

// reasoned appends the first line of a reason.
func reasoned(what, why string) string {
	why, _, _ = strings.Cut(strings.TrimSpace(why), "\n")
	why = strings.TrimSuffix(strings.TrimSpace(why), ".")
	if why == "" {
		return what
	}
	return what + ": " + why
}

func quoted(before, s string) string {
	if s == "" {
		return ""
	}
	return strings.TrimSpace(before + " “" + s + "”")
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return "by " + who
}

func exit(status string) string {
	if status == "" || status == "0" {
		return ""
	}
	return " with status " + status
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

// String formats a position for the address of a page. It is empty for the end of the log.
func (p Position) String() string {
	switch {
	case p.Index == 0:
		return ""
	case p.Place == 0:
		return fmt.Sprint(p.Index)
	}
	return fmt.Sprintf("%d.%d", p.Index, p.Place)
}

// readPosition parses the text of Position.String.
func readPosition(text string) (p Position, err error) {
	if text == "" {
		return p, nil
	}
	index, place, within := strings.Cut(text, ".")
	p.Index, err = strconv.ParseUint(index, 10, 64)
	if err == nil && within {
		var n uint64
		n, err = strconv.ParseUint(place, 10, 31)
		p.Place = int(n)
	}
	if err != nil {
		return Position{}, bad("the address does not name a page of this list", "begin at the first page")
	}
	return p, nil
}

func decisions(q *query) (any, error) {
	d := decisionsData{Index: q.v.Index, App: strings.TrimSpace(q.q.Get("app")), Node: strings.TrimSpace(q.q.Get("node")), Queues: q.queueChoices(q.q.Get("queue"))}
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
	before, err := readPosition(q.q.Get("after"))
	if err != nil {
		return nil, err
	}
	list, err := q.decisions(f, before, decisionRows)
	if err != nil {
		return nil, err
	}
	d.Lacks = q.lacks
	d.Rows, d.Pager = list.Rows, q.pager("event", len(list.Rows), len(list.Rows), list.Next.String())
	d.Kinds = append([]choice{{Value: "all", Text: "every event", Chosen: kind == "all"}, {Value: "reservations", Text: "reservations", Chosen: kind == "reservations"}}, choices(kindNames(), kind)...)
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
	case slices.Contains(kindNames(), kind):
		f.kinds = []string{kind}
	default:
		return bad("there is no event "+kind, "choose one from the list")
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
