package ui

import (
	"slices"
	"strconv"
	"strings"

	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/transport/http/view"
)

// searchRows is the number of results of each kind.
const searchRows = 10

// searchData has the results of a search.
type searchData struct {
	Text        string
	Apps        []appRow
	Queues      []string
	Users       []string
	Nodes       []string
	Reservation string
	More        moreFound
	Nothing     bool
}

// moreFound says of which kinds there are more results.
type moreFound struct{ Apps, Queues, Users, Nodes bool }

func search(q *query) (any, error) {
	d := searchData{Text: strings.TrimSpace(q.q.Get("q"))}
	text := strings.TrimPrefix(strings.ToLower(d.Text), "…")
	if text == "" {
		return d, nil
	}
	d.Apps, d.More.Apps = q.searchApps(text)
	d.Queues, d.More.Queues = found(text, q.queuePaths(func(state.QueueSlot, *state.Queue) bool { return true }))
	d.Users, d.More.Users = found(text, q.userNames())
	d.Nodes, d.More.Nodes = q.searchNodes(text)
	if number, err := view.ReservationNumber(text); err == nil && q.v.State.Reservations.Find(number) != 0 {
		d.Reservation = view.ReservationID(number)
	}
	d.Nothing = len(d.Apps)+len(d.Queues)+len(d.Users)+len(d.Nodes) == 0 && d.Reservation == ""
	return d, nil
}

// searchApps finds applications with the filter of their list. An application with exactly the
// number comes first, then the newest.
func (q *query) searchApps(text string) ([]appRow, bool) {
	f, t := appFilter{find: text}, top[state.AppSlot]{most: searchRows, desc: true}
	number, _ := strconv.ParseUint(text, 10, 32) // 0 if it is no number; no application has it
	q.v.Summary().Each(true, func(a *summary.App) bool {
		if f.pass(q.v.State, a) {
			key := int64(0)
			if uint64(a.Seq) == number {
				key = 1
			}
			t.add(position{key: key, id: uint64(a.Seq)}, a.Slot, cursor{})
		}
		return true
	})
	return q.appRows(&t)
}

// found returns the first names that contain a text, and whether there are more.
func found(text string, names []string) (some []string, more bool) {
	for _, name := range names {
		if !strings.Contains(strings.ToLower(name), text) {
			continue
		}
		if len(some) == searchRows {
			return some, true
		}
		some = append(some, name)
	}
	return some, false
}

// userNames returns the users with applications that have not ended, sorted.
func (q *query) userNames() []string {
	var names []string
	q.v.State.Users.Each(func(_ state.UserSlot, u *state.User) bool {
		names = append(names, q.v.State.Names.Text(u.Name))
		return true
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func (q *query) searchNodes(text string) (some []string, more bool) {
	for _, n := range q.v.ListedNodes(func(n *state.Node) bool {
		return strings.Contains(strings.ToLower(n.ID.Host), text) || view.NodeName(n) == text
	}) {
		if len(some) == searchRows {
			return some, true
		}
		some = append(some, view.NodeName(n))
	}
	return some, false
}
