package ui

import (
	"rmd/api"
	"rmd/fsm/state"
	"rmd/yarn"
)

// dynamicQueues is one page of the dynamic children of a queue.
type dynamicQueues struct {
	Heads []column // empty if there are few, which are then listed with the other children
	Rows  []queueRow
	Pager pager
}

// dynamicKeys are the keys by which dynamic queues can be sorted.
var dynamicKeys = []string{"apps", "created", "used"}

// dynamicBelow lists the dynamic children of a queue, by default those with the most applications
// first. It computes the details only of those on the page, because there may be very many.
func (q *query) dynamicBelow(parent state.QueueSlot, total api.Resource) (d dynamicQueues, err error) {
	sorted, desc, err := q.sorting(dynamicKeys, "-apps")
	if err != nil {
		return d, err
	}
	after, err := q.cursor()
	if err != nil {
		return d, err
	}
	st, sums := q.v.State, q.v.QueueSums()
	sums.MostDynamic = 0
	t := top[state.QueueSlot]{most: q.u.cfg.PageRows, desc: desc}
	for _, slot := range st.Queues.Get(parent).Children {
		if !st.DynamicQueues.Has(slot) {
			continue
		}
		at := position{id: st.DynamicQueues.Get(slot).Number}
		switch sorted {
		case "apps":
			at.key = int64(sums.Apps[slot])
		case "used":
			at.key = st.Queues.Get(slot).Used[yarn.Memory]
		}
		t.add(at, slot, after)
	}
	rows, next := t.page()
	for _, r := range rows {
		k := q.v.QueueOf(r.item, sums)
		d.Rows = append(d.Rows, newQueueRow(&k, 0, total))
	}
	d.Pager = q.pager("dynamic queue", t.all, len(rows), next)
	c := func(title, name string, number bool) column { return q.column(title, name, sorted, desc, number) }
	d.Heads = []column{c("Queue, by creation", "created", false), c("Share of the cluster", "", false),
		c("Used", "used", true), c("Guaranteed", "", true),
		c("Maximum", "", true), c("Applications", "apps", true)}
	return d, nil
}
