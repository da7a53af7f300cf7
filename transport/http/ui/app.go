package ui

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/ui/plots"
	"rmd/yarn"
)

type appData struct {
	Index      uint64
	App        appRow
	Explain    *api.Explanation
	NoExplain  *api.Error
	Forecast   *api.Forecast // nil if it does not wait
	NoForecast *api.Error
	Attempts   []api.Attempt
	Asks       []api.Ask
	Containers []containerRow
	Heads      []column // of the table of containers
	Past       []endedContainer
	Pager      pager
	Held       []api.Reservation
	Lifetime   []plots.Moment
	Life       plots.App
	Leaves     []choice
	Decisions  []decisionRow
	Labelled   bool // the cluster has labels
}

// containerRow is a container with the address of its log.
type containerRow struct {
	api.Container
	Log            string
	DeadlineMillis int64 // when it will be preempted; 0 if it is not warned
}

// appContainers is the number of containers on one page of an application.
const appContainers = 100

func application(q *query) (any, error) {
	_, slot, err := q.v.FindApp(q.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	st := q.v.State
	a := st.Apps.Get(slot)
	d := appData{Index: q.v.Index, App: q.appRow(slot), Attempts: q.v.Attempts(a), Asks: q.v.Asks(a),
		Labelled: st.Labels.Len() > 0}
	q.title = d.App.ID
	if !a.State.Ended() {
		if d.Explain, err = q.u.cfg.API.Explain(q.v, a.ID); err != nil {
			d.NoExplain = q.u.cfg.Problems.Of(err, false)
		}
		if d.Explain != nil && d.Explain.Waiting {
			if d.Forecast, err = q.u.cfg.API.Forecast(q.r.Context(), q.v, a.ID); err != nil {
				d.NoForecast = q.u.cfg.Problems.Of(err, false)
			}
		}
		d.Leaves = q.leafChoices(d.App.Queue)
	}
	if err := q.containersOf(a, &d); err != nil {
		return nil, err
	}
	if d.Past, err = q.endedContainers(a); err != nil {
		d.Past = nil // the page is whole without the log
	}
	d.Held = q.heldBy(a)
	d.Lifetime, d.Life = plots.Lifetime(q.v.NowMillis, a), plots.OfApp(q.u.cfg.API.AppPast(a), &d.App.App, q.u.cfg.Now())
	if events, err := q.decisions(decisionFilter{app: d.App.ID}, eventlog.Position{}, overviewDecisions); err == nil {
		d.Decisions = events.Rows
	}
	return d, nil
}

// containerKeys are the keys by which the containers of an application can be sorted.
var containerKeys = []string{"container", "size", "granted", "priority"}

func containerKey(name string, c *state.Container) int64 {
	switch name {
	case "size":
		return c.Size[yarn.Memory]
	case "granted":
		return c.AllocatedMillis
	case "priority":
		return int64(c.Key.Priority)
	}
	return 0
}

// containersOf fills in one page of an application's containers.
func (q *query) containersOf(a *state.App, d *appData) error {
	sorted, desc, err := q.sorting(containerKeys, "container")
	if err != nil {
		return err
	}
	after, err := q.cursor()
	if err != nil {
		return err
	}
	t := top[state.ContainerSlot]{most: appContainers, desc: desc}
	for place, slot := range q.v.ContainersOf(a, 0, 0) { // the order of allocation breaks ties
		t.add(position{key: containerKey(sorted, q.v.State.Containers.Get(slot)), id: uint64(place) + 1}, slot, after)
	}
	rows, next := t.page()
	for _, r := range rows {
		d.Containers = append(d.Containers, q.containerRow(r.item))
	}
	d.Pager = q.pager("container", t.all, len(rows), next)
	c := func(title, name string, number bool) column { return q.column(title, name, sorted, desc, number) }
	d.Heads = []column{c("Container", "container", false), c("State", "", false), c("Node", "", false),
		c("Size", "size", false), c("Locality", "", false),
		c("Granted", "granted", true), c("Priority", "priority", true), c("Log", "", false)}
	return nil
}

// containerRow returns a container with the address of its log at its NodeManager.
func (q *query) containerRow(slot state.ContainerSlot) containerRow {
	st := q.v.State
	c := st.Containers.Get(slot)
	r := containerRow{Container: q.v.Container(c)}
	if st.Preemptions.Has(slot) {
		r.DeadlineMillis = st.Preemptions.Get(slot).DeadlineMillis
	}
	if r.NodeHTTPAddress != "" {
		r.Log = "http://" + r.NodeHTTPAddress + "/node/containerlogs/" + r.ID + "/" + st.Names.Text(st.Apps.Get(c.App).User)
	}
	return r
}

func (q *query) heldBy(a *state.App) []api.Reservation {
	st := q.v.State
	var out []api.Reservation
	for _, r := range st.Reservations.Of(a) {
		out = append(out, q.v.Reservation(r))
	}
	return out
}
