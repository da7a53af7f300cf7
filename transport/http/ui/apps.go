package ui

import (
	"fmt"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/download"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// appRow is a row in a list of applications.
type appRow struct {
	api.App
	Why      view.Reason
	WaitsMs  int64   // for its AM, or for a container for which it has a reservation
	RanMs    int64   // from the registration of its first AM until its end or now
	Progress float64 // in percent
	Share    float64 // of the cluster, in percent, for the kind with the largest share
	Ended    bool
	Final    string
}

func (q *query) appRow(slot state.AppSlot) appRow {
	st := q.v.State
	a := st.Apps.Get(slot)
	why := q.v.Why(a)
	if !q.past {
		why = q.u.cfg.API.Reason(q.v, slot, a, q.behind)
	}
	r := appRow{App: q.v.App(a), Why: why, Progress: float64(a.Progress) / 100, Ended: a.State.Ended()}
	r.WaitsMs = q.v.Summary().App(slot).Waiting(q.v.NowMillis)
	if a.StartedMillis != 0 {
		until := q.v.NowMillis
		if a.EndedMillis != 0 {
			until = a.EndedMillis
		}
		r.RanMs = max(until-a.StartedMillis, 1)
	}
	f, _ := bar.Share(r.Used, q.v.Size(st.Meta.Cluster))
	r.Share = f * 100
	return r
}

type appsData struct {
	Index   uint64
	States  []choice
	Counts  []stateCount
	Queues  []choice
	User    string
	Find    string
	Sort    string
	All     bool // show all columns
	AllLink string
	Heads   []column
	Rows    []appRow
	Pager   pager
	Filter  bool // the list is filtered
}

type stateCount struct {
	State, Link string
	N           int
	Chosen      bool
}

// waits is the choice of the applications that wait for anything, whatever their state. listStates are
// the choices of the list.
const waits = "WAITING"

var listStates = append(slices.Clone(view.AppStates), waits)

// appFilter selects the applications of the list.
type appFilter struct {
	states map[string]bool
	under  []bool // by the queue's slot; nil selects all
	user   state.NameSlot
	named  bool // only applications of user
	find   string
}

func (q *query) appFilter() (appFilter, error) {
	st := q.v.State
	f := appFilter{find: strings.ToLower(strings.TrimSpace(q.q.Get("find")))}
	var err error
	if f.states, err = q.words("state", listStates); err != nil {
		return f, err
	}
	if user := q.q.Get("user"); user != "" {
		f.user, f.named = st.Names.Find(user), true
	}
	if name := q.q.Get("queue"); name != "" {
		slot, err := q.v.FindQueue(name)
		if err != nil {
			return f, err
		}
		f.under = q.v.Subtree(slot)
	}
	return f, nil
}

// pass ignores the state, so that the counts of all states can be shown.
func (f *appFilter) pass(st *state.State, k *summary.App) bool {
	switch {
	case f.named && k.User != f.user, f.under != nil && !f.under[k.Queue]:
		return false
	case f.find == "":
		return true
	}
	a := st.Apps.Get(k.Slot)
	d := a.Details()
	return strings.Contains(strings.ToLower(d.Name), f.find) || strings.HasSuffix(a.ID.String(), f.find) ||
		strings.Contains(strings.ToLower(st.Names.Text(a.User)), f.find) ||
		slices.ContainsFunc(d.Tags, func(t string) bool { return strings.ToLower(t) == f.find })
}

// appKeys are the keys by which a list of applications can be sorted.
var appKeys = []string{"id", "priority", "submitted", "wait", "containers", "memory", "pending", "reserved", "ended"}

func appKey(now int64, name string, a *summary.App) int64 {
	switch name {
	case "priority":
		return int64(a.Priority)
	case "submitted":
		return a.SubmittedMillis
	case "wait":
		return a.Waiting(now)
	case "containers":
		return int64(a.Live)
	case "memory":
		return a.Used
	case "pending":
		return a.Pending
	case "reserved":
		return a.Reserved
	case "ended":
		return a.EndedMillis
	}
	return 0 // only the id counts
}

func applications(q *query) (any, error) {
	f, err := q.appFilter()
	if err != nil {
		return nil, err
	}
	sorted, desc, err := q.sorting(appKeys, "-id")
	if err != nil {
		return nil, err
	}
	after, err := q.cursor()
	if err != nil {
		return nil, err
	}
	st := q.v.State
	t := top[state.AppSlot]{most: q.most(), desc: desc}
	var byState [yarn.AppKilled + 1]int
	var waiting int
	var wanted [yarn.AppKilled + 1]bool
	for s := range wanted {
		wanted[s] = f.states == nil || f.states[yarn.ApplicationState(s).String()]
	}
	q.v.Summary().Each(desc, func(a *summary.App) bool {
		if !f.pass(st, a) {
			return true
		}
		byState[a.State]++
		if a.Waits() {
			waiting++
		}
		if wanted[a.State] || f.states[waits] && a.Waits() {
			t.add(position{key: appKey(q.v.NowMillis, sorted, a), id: uint64(a.Seq)}, a.Slot, after)
		}
		return true
	})
	counts := map[string]int{waits: waiting}
	for s, n := range byState {
		counts[yarn.ApplicationState(s).String()] = n
	}
	rows, next := t.page()
	if q.file != nil {
		kinds := q.kinds()
		fileOf(q, len(rows), func(i int) appRow { return q.appRow(rows[i].item) }, func(r appRow) download.Row {
			return download.App(&r.App, r.Why, r.Share, kinds, q.v.NowMillis)
		})
		return nil, nil
	}
	d := appsData{Index: q.v.Index, User: q.q.Get("user"), Find: q.q.Get("find"), Sort: q.q.Get("sort"),
		All:   q.q.Get("all") == "1",
		Pager: q.pager("application", t.all, len(rows), next), Filter: f.states != nil || f.named ||
			f.under != nil || f.find != ""}
	for _, r := range rows {
		d.Rows = append(d.Rows, q.appRow(r.item))
	}
	d.Heads, d.Pager.File = q.appHeads(sorted, desc, d.All), q.fileLink()
	d.AllLink = q.with("all", map[bool]string{false: "1", true: ""}[d.All])
	d.addChoices(q, f, counts)
	if f.find != "" && t.all == 1 && len(rows) == 1 {
		q.title = fmt.Sprintf("Applications: %s", d.Find)
	}
	return d, nil
}

// addChoices fills in the options of the filters.
func (d *appsData) addChoices(q *query, f appFilter, counts map[string]int) {
	var all int
	for _, s := range view.AppStates {
		all += counts[s]
	}
	for _, s := range listStates {
		base := &query{r: q.r, q: without(q.q, "after")}
		d.Counts = append(d.Counts, stateCount{State: s, N: counts[s], Link: base.with("state", s), Chosen: f.states[s]})
		d.States = append(d.States, choice{Value: s, Text: strings.ToLower(s), Chosen: f.states[s]})
	}
	base := &query{r: q.r, q: without(q.q, "after")}
	d.Counts = append([]stateCount{{State: "all", N: all, Link: base.with("state", ""), Chosen: f.states == nil}},
		d.Counts...)
	d.Queues = q.queueChoices(q.q.Get("queue"))
}

// maxDynamicChoices is the largest number of dynamic queues that a form offers. If there are more,
// it offers none of them.
const maxDynamicChoices = 200

// queueChoices returns the paths of the queues that a form offers, sorted.
func (q *query) queueChoices(chosen string) []choice {
	return choices(q.queuePaths(func(slot state.QueueSlot, k *state.Queue) bool {
		return k.Path == chosen || q.offered(slot)
	}), chosen)
}

// offered reports whether a form offers a queue.
func (q *query) offered(slot state.QueueSlot) bool {
	return q.v.State.DynamicQueues.Len() <= maxDynamicChoices || !q.v.State.DynamicQueues.Has(slot)
}

// queuePaths returns the paths of the wanted queues, sorted.
func (q *query) queuePaths(wanted func(slot state.QueueSlot, k *state.Queue) bool) []string {
	var paths []string
	q.v.State.Queues.Each(func(slot state.QueueSlot, k *state.Queue) bool {
		if wanted(slot, k) {
			paths = append(paths, k.Path)
		}
		return true
	})
	slices.Sort(paths)
	return paths
}

// leafChoices returns the paths of the leaf queues that a form offers, without one queue.
func (q *query) leafChoices(but string) []choice {
	return choices(q.queuePaths(func(slot state.QueueSlot, k *state.Queue) bool {
		return k.Leaf && k.Path != but && q.offered(slot)
	}), "")
}

func (q *query) appHeads(sorted string, desc, all bool) []column {
	c := func(title, name string, number bool) column { return q.column(title, name, sorted, desc, number) }
	out := []column{c("Application", "id", false), c("Why it waits", "", false), c("Waits", "wait", true),
		c("State", "", false), c("Uses", "memory", true), c("Wants", "pending", true), c("Queue, user", "", false),
		c("Containers", "containers", true)}
	if all {
		out = append(out, c("Reserved", "reserved", true), c("Priority", "priority", true), c("Type", "", false),
			c("Tags", "", false), c("Submitted", "submitted", true), c("Started", "", true), c("Ended", "ended", true),
			c("Ran", "", true),
			c("Final", "", false), c("Progress", "", true), c("Share of cluster", "", true), c("Attempt", "", true),
			c("Failures", "", true), c("Tracking", "", false), c("Blacklisted", "", true))
	}
	return out
}
