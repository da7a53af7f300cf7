package ui

import (
	"cmp"
	"net/url"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/transport/http/problem"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

// userQueue is a user's use of a leaf queue and the user's limits there.
type userQueue struct {
	api.User
	Queue   string
	MaxApps int64   // of the user in the queue
	Percent float64 // of the user's limit, for the kind with the largest share
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
	Share                   float64 // of the cluster, in percent, for the kind with the largest share
	Heads                   []column
	Queues                  []userQueue
	Waits, Runs             []appRow
	MoreWaits, MoreRuns     bool
}

// userApps is the number of waiting and of running applications on the page of a user.
const userApps = 15

// user shows the applications of a user, and how much of the user's limits they use.
func user(q *query) (any, error) {
	name := q.r.PathValue("name")
	st := q.v.State
	id := st.Name(name)
	d := userData{Index: q.v.Index, Name: name}
	q.title = name
	var used, reserved, pending yarn.Resource
	waits, runs := top[state.AppSlot]{most: userApps, desc: true}, top[state.AppSlot]{most: userApps}
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
				waits.add(position{key: s.Waiting(st.Meta.NowMillis), id: uint64(s.Seq)}, s.Slot, cursor{})
			} else {
				runs.add(position{id: uint64(s.Seq)}, s.Slot, cursor{})
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

// appRows returns the rows of a short list, and whether there are more.
func (q *query) appRows(t *top[state.AppSlot]) (out []appRow, more bool) {
	rows, next := t.page()
	for _, r := range rows {
		out = append(out, q.appRow(r.item))
	}
	return out, next != ""
}

// queuesOf returns the leaf queues in which a user has applications.
func (q *query) queuesOf(id state.NameSlot, name string) []userQueue {
	var out []userQueue
	sums := q.v.QueueSums()
	q.v.State.Users.Each(func(_ state.UserSlot, u *state.User) bool {
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

// userPath returns the address of a user's page. Browsers treat the names "." and ".." as path
// segments with a special meaning, so for them it returns the list of the user's applications.
func userPath(name string) string {
	if name == "" || name == "." || name == ".." {
		return "/ui/apps?user=" + url.QueryEscape(name)
	}
	return "/ui/users/" + url.PathEscape(name)
}
