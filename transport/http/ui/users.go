package ui

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"rmd/api"
	"rmd/fsm/state"
	"rmd/internal/clip"
	"rmd/transport/http/problem"
	"rmd/transport/http/summary"
	"rmd/transport/http/ui/amounts"
	"rmd/transport/http/ui/bar"
	"rmd/transport/http/ui/format"
	"rmd/yarn"
)

// userQueue is a user's use of a leaf queue and the user's limits there.
type userQueue struct {
	api.User
	Queue   string
	MaxApps int64   // of the user in the queue
	Percent float64 // of the user's limit, for the kind with the largest share
	Bar     bar.Bar
}

func newUserQueue(k *api.Queue, u api.User) userQueue {
	part, kind := bar.Share(u.Used, u.Limit)
	most := format.KindValue(kind, u.Limit[kind])
	b := bar.New(u.Limit[kind]).Add(u.Used[kind], "used", format.KindValue(kind, u.Used[kind])+" used").
		Done(format.KindName(kind) + " in " + k.Path + ": " + format.KindValue(kind, u.Used[kind]) + " used, limit " + most)
	return userQueue{User: u, Queue: k.Path, MaxApps: k.MaxAppsUser, Percent: part * 100, Bar: b}
}

var userQueueColumns = []sortable[userQueue]{
	{title: "Queue", name: "queue", compare: func(a, b userQueue) int { return strings.Compare(a.Queue, b.Queue) }},
	{title: "Share of the user limit", name: "share", compare: func(a, b userQueue) int {
		return cmp.Compare(a.Percent, b.Percent)
	}},
	{title: "Used and reserved", name: "used", compare: func(a, b userQueue) int { return amounts.Compare(a.Used, b.Used) }},
	{title: "Limit", name: "limit", compare: func(a, b userQueue) int { return amounts.Compare(a.Limit, b.Limit) }},
	{title: "For AMs", name: "ams", compare: func(a, b userQueue) int { return amounts.Compare(a.AMUsed, b.AMUsed) }},
	{title: "Applications", name: "apps", number: true, compare: func(a, b userQueue) int {
		return cmp.Compare(a.Apps, b.Apps)
	}},
	{title: "Active", name: "active", number: true, compare: func(a, b userQueue) int {
		return cmp.Compare(a.ActiveApps, b.ActiveApps)
	}},
	{title: "Waiting", name: "waiting", number: true, compare: func(a, b userQueue) int {
		return cmp.Compare(a.PendingApps, b.PendingApps)
	}},
}

// userRow is a user in the list of users.
type userRow struct {
	Name                    string
	Running, Waiting, Ended int // applications
	Containers              int64
	Used, Pending           api.Resource
	Share                   float64 // of the cluster, in percent, for the kind with the largest share
	LongestMs               int64   // the longest wait of an application

	used, pending yarn.Resource
}

var userColumns = []sortable[userRow]{
	{title: "User", name: "user", compare: func(a, b userRow) int { return strings.Compare(a.Name, b.Name) }},
	{title: "Share of the cluster", name: "share", number: true, compare: func(a, b userRow) int {
		return cmp.Compare(a.Share, b.Share)
	}},
	{title: "Uses", name: "used", compare: func(a, b userRow) int { return amounts.Compare(a.Used, b.Used) }},
	{title: "Wants", name: "pending", compare: func(a, b userRow) int { return amounts.Compare(a.Pending, b.Pending) }},
	{title: "Running", name: "running", number: true, compare: func(a, b userRow) int {
		return cmp.Compare(a.Running, b.Running)
	}},
	{title: "Waiting", name: "waiting", number: true, compare: func(a, b userRow) int {
		return cmp.Compare(a.Waiting, b.Waiting)
	}},
	{title: "Longest wait", name: "wait", number: true, compare: func(a, b userRow) int {
		return cmp.Compare(a.LongestMs, b.LongestMs)
	}},
	{title: "Ended", name: "ended", number: true, compare: func(a, b userRow) int {
		return cmp.Compare(a.Ended, b.Ended)
	}},
}

type usersData struct {
	Index uint64
	Heads []column
	Rows  []userRow
	All   int
}

// usersShown is the number of users on the page of all users.
const usersShown = 200

// users shows the users of all applications that the cluster knows.
func users(q *query) (any, error) {
	st := q.v.State
	byName := map[state.NameSlot]*userRow{}
	q.v.Summary().Each(false, func(s *summary.App) bool {
		u := byName[s.User]
		if u == nil {
			u = &userRow{Name: st.Names.Text(s.User)}
			byName[s.User] = u
		}
		switch {
		case s.State.Ended():
			u.Ended++
			return true
		case s.ForAM():
			u.Waiting++
		default:
			u.Running++
		}
		a := st.Apps.Get(s.Slot)
		u.used, u.pending = u.used.Add(a.Used), u.pending.Add(a.Pending)
		u.Containers += int64(a.Live)
		u.LongestMs = max(u.LongestMs, s.Waiting(q.v.NowMillis))
		return true
	})
	d := usersData{Index: q.v.Index, All: len(byName)}
	cluster := q.v.Size(st.Meta.Cluster)
	for _, u := range byName { // sorted below
		u.Used, u.Pending = q.v.Size(u.used), q.v.Size(u.pending)
		part, _ := bar.Share(u.Used, cluster)
		u.Share = part * 100
		d.Rows = append(d.Rows, *u)
	}
	slices.SortFunc(d.Rows, func(a, b userRow) int { return strings.Compare(a.Name, b.Name) })
	var err error
	d.Heads, err = sortTable(q, "-share", userColumns, d.Rows)
	d.Rows = d.Rows[:min(len(d.Rows), usersShown)]
	return d, err
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
	id := st.Names.Find(name)
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
				waits.add(position{key: s.Waiting(q.v.NowMillis), id: uint64(s.Seq)}, s.Slot, cursor{})
			} else {
				runs.add(position{id: uint64(s.Seq)}, s.Slot, cursor{})
			}
			return true
		})
	}
	if d.Running+d.Waiting+d.Ended == 0 {
		return nil, problem.New("NO_SUCH_USER", "no application of user "+clip.Text(name)+" is known",
			"see the users of a queue, or search; applications that ended long ago are forgotten")
	}
	d.Used, d.Reserved, d.Pending = q.v.Size(used), q.v.Size(reserved), q.v.Size(pending)
	part, _ := bar.Share(d.Used, q.v.Size(st.Meta.Cluster))
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
