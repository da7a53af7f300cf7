package ui

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/ui/away"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/eventlog"
	"rmd/transport/http/view"
)

// Rows of the overview's short lists.
const (
	overviewWaiting   = 8
	overviewDecisions = 10
)

type overviewData struct {
	Index      uint64
	NowMillis  int64
	Ready      bool
	Cluster    *api.Cluster   // nil if the replicas could not be asked
	Away       []away.Replica // those that do not answer
	Totals     api.Totals
	Serving    int   // nodes that take containers
	Lost       int   // nodes that are lost, if none is usable
	LostMillis int64 // when the last of them was heard
	Usages     []bar.Usage
	Rooms      []api.LabelRoom
	Hour       hourData
	Waiting    []appRow
	MoreWaits  bool
	Waits      int // number of applications that wait for anything; Waiting has the first of them
	Leaves     []queueRow
	Decisions  []decisionRow
	HeldMillis int64 // age of the oldest reservation
}

func overview(q *query) (any, error) {
	st := q.v.State
	d := overviewData{Index: q.v.Index, NowMillis: q.v.NowMillis,
		Ready: st.Meta.ClusterID != "" && st.Versions.Current() != nil, Totals: q.v.Totals()}
	d.Usages = bar.Usages(d.Totals.Figures)
	d.Rooms = q.v.LabelRooms()
	for _, room := range d.Rooms {
		d.Serving += room.ServingNodes
	}
	if d.Totals.UsableNodes == 0 {
		d.Lost, d.LostMillis = q.v.LostNodes()
	}
	if c, err := q.u.cfg.API.Cluster(q.r.Context(), q.v); err == nil {
		d.Cluster, d.Away = &c, away.Of(q.r.Context(), c.Members, q.u.cfg.API.Autopilot)
	}
	if d.Ready {
		var err error
		if d.Hour, err = q.lastHour("", ""); err != nil {
			return nil, err
		}
	}
	d.Waiting, d.MoreWaits, d.Waits = q.longestWaits(overviewWaiting)
	if queues := q.v.Queues(view.SomeQueues); queues.Root != nil {
		for _, r := range q.queueRows(queues.Root, q.v.Size(q.v.State.PartitionTotal(0)), asConfigured) {
			if r.Leaf {
				d.Leaves = append(d.Leaves, r)
			}
		}
	}
	d.HeldMillis = q.held()
	if events, err := q.decisions(decisionFilter{}, eventlog.Position{}, overviewDecisions); err == nil {
		d.Decisions = events.Rows
	}
	return d, nil
}

// longestWaits returns the applications with the longest waits, and the number of all that wait.
func (q *query) longestWaits(limit int) (rows []appRow, more bool, all int) {
	t := top[state.AppSlot]{most: limit, desc: true}
	q.v.Summary().Each(false, func(a *summary.App) bool {
		if a.Waits() {
			t.add(position{key: a.Waiting(q.v.NowMillis), id: uint64(a.Seq)}, a.Slot, cursor{})
		}
		return true
	})
	rows, more = q.appRows(&t)
	return rows, more, t.all
}

// held returns the age of the oldest reservation in milliseconds.
func (q *query) held() int64 {
	st := q.v.State
	var age int64
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		age = max(age, q.v.NowMillis-r.MadeMillis)
		return true
	})
	return age
}
