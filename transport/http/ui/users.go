package ui

import (
	"cmp"
	"net/url"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/summary"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

// userQueue is what a user has of one leaf, and of what he may have there.
type userQueue struct {
	api.User
	Queue   string
	MaxApps int64   // that he may have in the queue
	Percent float64 // of his limit, by the kind that he has used most of
	Bar     bar
}

func newUserQueue(k *api.Queue, u api.User) userQueue {
	part, kind := share(u.Used, u.Limit)
	most := kindValue(kind, u.Limit[kind])
	b := newBar(u.Limit[kind]).add(u.Used[kind], "used", kindValue(kind, u.Used[kind])+" used").
		done(kindName(kind) + " in " + k.Path + ": " + kindValue(kind, u.Used[kind]) + " used, limit " + most)
	return userQueue{User: u, Queue: k.Path, MaxApps: k.MaxAppsUser, Percent: part * 100, Bar: b}
}

var userQueueColumns = []sortable[userQueue]{
	{title: "Queue", name: "queue", compare: func(a, b userQueue) int { return strings.Compare(a.Queue, b.Queue) }},
	{title: "Share of the user limit", name: "share", compare: func(a, b userQueue) int { return cmp.Compare(a.Percent, b.Percent) }},
	{title: "Used and reserved", name: "used", compare: func(a, b userQueue) int { return compareSizes(a.Used, b.Used) }},
	{title: "Limit", name: "limit", compare: func(a, b userQueue) int { return compareSizes(a.Limit, b.Limit) }},
	{title: "For AMs", name: "ams", compare: func(a, b userQueue) int { return compareSizes(a.AMUsed, b.AMUsed) }},
	{title: "Applications", name: "apps", number: true, compare: func(a, b userQueue) int { return cmp.Compare(a.Apps, b.Apps) }},
	{title: "Active", name: "active", number: true, compare: func(a, b userQueue) int { return cmp.Compare(a.ActiveApps, b.ActiveApps) }},
	{title: "Waiting", name: "waiting", number: true, compare: func(a, b userQueue) int { return cmp.Compare(a.PendingApps, b.PendingApps) }},
}

type userData struct {
	Index                   uint64
	Name                    string
	Running, Waiting, Ended int // applications
	Containers              int64
	Used, Reserved, Pending api.Resource
	Share                   float64 // of the cluster, percent, by the largest kind
	Heads                   []column
	Queues                  []userQueue
	Waits, Runs             []appRow
	MoreWaits, MoreRuns     bool
}

// userApps is how many applications that wait, and that run, the page of a user lists.
const userApps = 15

// user shows what one user runs and waits for, and how much of his limits that is.
func user(q *query) (any, error) {
	name := q.r.PathValue("name")
	st := q.v.State
	id := st.NameID(name)
	d := userData{Index: q.v.Index, Name: name}
	q.title = name
	var used, reserved, pending yarn.Resource
	waits, runs := top{most: userApps, desc: true}, top{most: userApps}
	if id != 0 {
		q.v.Summary().Each(false, func(s *summary.App) bool {
			if s.User != id {
				return true
			}
			switch {
			case s.State.Ended():
				d.Ended++
				return true
			case s.ForAM():
				d.Waiting++
			default:
				d.Running++
			}
			a := st.Apps.Get(s.Slot)
			used, reserved, pending = used.Add(a.Used), reserved.Add(a.Reserved), pending.Add(a.Pending)
			d.Containers += int64(a.Live)
			if s.Waits() {
				waits.add(row{key: s.Waiting(st.Meta.NowMillis), id: uint64(s.Seq), slot: s.Slot}, cursor{})
			} else {
				runs.add(row{id: uint64(s.Seq), slot: s.Slot}, cursor{})
			}
			return true
		})
	}
	if d.Running+d.Waiting+d.Ended == 0 {
		return nil, problem.New("NO_SUCH_USER", "no application of user "+clip(name)+" is known", "see the users of a queue, or search; applications that ended long ago are forgotten")
	}
	d.Used, d.Reserved, d.Pending = q.v.Size(used), q.v.Size(reserved), q.v.Size(pending)
	part, _ := share(d.Used, q.v.Size(st.Meta.Cluster))
	d.Share = part * 100
	d.Waits, d.MoreWaits = q.appRows(&waits)
	d.Runs, d.MoreRuns = q.appRows(&runs)
	d.Queues = q.queuesOf(id, name)
	var err error
	d.Heads, err = sortTable(q, "-share", userQueueColumns, d.Queues)
	return d, err
}

// appRows are the rows of a short list; more says that there are others.
func (q *query) appRows(t *top) (out []appRow, more bool) {
	rows, next := t.page()
	for _, r := range rows {
		out = append(out, q.appRow(r.slot))
	}
	return out, next != ""
}

// queuesOf are the leaves in which a user has applications.
func (q *query) queuesOf(id state.NameID, name string) []userQueue {
	var out []userQueue
	sums := q.v.QueueSums()
	q.v.State.Users.Each(func(_ uint32, u *state.User) bool {
		if u.Name != id {
			return true
		}
		k := q.v.QueueOf(u.Queue, sums)
		for _, one := range k.Users {
			if one.Name == name {
				out = append(out, newUserQueue(&k, one))
			}
		}
		return true
	})
	return out
}

// userPath is where the page of a user is. A browser takes the names "." and ".." for steps in the
// path, so their applications are all that can be linked to.
func userPath(name string) string {
	if name == "" || name == "." || name == ".." {
		return "/ui/apps?user=" + url.QueryEscape(name)
	}
	return "/ui/users/" + url.PathEscape(name)
}
