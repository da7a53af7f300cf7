package state

import (
	"slices"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for dynamic queues.

func (m *machine) CreateQueue(t *rapid.T) {
	_, parent := pick(t, "parent", &m.s.Queues, func(q *Queue) bool { return !q.Leaf && len(q.Path) < 30 })
	path := parent.Path + "." + drawOf(t, "name", []string{"u1", "u2", "u3"})
	if m.s.Queues.Find(path) != 0 {
		t.Skip("it is there")
	}
	m.apply(t, &event.QueueCreated{Path: path, Leaf: rapid.IntRange(0, 2).Draw(t, "leaf") > 0, State: yarn.QueueRunning})
}

func (m *machine) SubmitToDynamicQueue(t *rapid.T) {
	slot, _ := pick(t, "queue", &m.s.DynamicQueues, func(*DynamicQueue) bool { return true })
	if q := m.s.Queues.Get(slot); q.Leaf {
		m.apply(t, &event.ApplicationSubmitted{App: m.s.Meta.NextApp + 1, User: drawOf(t, "user", []string{"ann", "bob"}),
			Queue: q.Path, MaxAttempts: 1})
	}
}

func (m *machine) ActivateQueues(t *rapid.T) {
	e := &event.QueuesActivated{}
	for slot, d := range m.s.DynamicQueues.InOrder() {
		q := m.s.Queues.Get(slot)
		switch {
		case !q.Leaf || !rapid.Bool().Draw(t, "change"):
		case d.Active:
			e.Inactive = append(e.Inactive, q.Path)
		default:
			e.Active = append(e.Active, q.Path)
		}
	}
	if len(e.Active)+len(e.Inactive) > 0 {
		m.apply(t, e)
	}
}

func (m *machine) RemoveQueues(t *rapid.T) {
	if m.s.DynamicQueues.Len() == 0 {
		t.Skip("no dynamic queue")
	}
	var gone []string
	for slot, d := range m.s.DynamicQueues.InOrder() {
		if q := m.s.Queues.Get(slot); d.IdleMillis != 0 && len(q.Children) == 0 && rapid.Bool().Draw(t, "remove") {
			gone = append(gone, q.Path)
		}
	}
	if len(gone) > 0 {
		m.apply(t, &event.QueuesRemoved{Paths: gone})
	}
}

// RemoveSubtree removes a dynamic parent with all queues below it.
func (m *machine) RemoveSubtree(t *rapid.T) {
	slot, _ := pick(t, "queue", &m.s.DynamicQueues, func(*DynamicQueue) bool { return true })
	var paths []string
	var used bool
	var walk func(slot QueueSlot)
	walk = func(slot QueueSlot) {
		q := m.s.Queues.Get(slot)
		paths, used = append(paths, q.Path), used || m.s.DynamicQueues.Get(slot).Users > 0
		for _, c := range q.Children {
			walk(c)
		}
	}
	walk(slot)
	slices.Reverse(paths)
	if !used {
		m.apply(t, &event.QueuesRemoved{Paths: paths})
	}
}

// keepDynamic adds queues that a configuration must list: queues of earlier configurations that are
// in use, and dynamic queues whose parent would otherwise be missing or a leaf. It also adds some
// other dynamic queues. Listed dynamic queues become ordinary ones. keepDynamic lists all ancestors
// of a queue as well.
func (m *machine) keepDynamic(t *rapid.T, list []event.QueueDefinition, used map[string]bool) []event.QueueDefinition {
	at := map[string]int{}
	for i, d := range list {
		at[d.Path] = i
	}
	var add func(path string, leaf bool)
	add = func(path string, leaf bool) {
		if i, there := at[path]; there {
			list[i].Leaf = list[i].Leaf && leaf
			return
		}
		add(yarn.ParentQueue(path), false)
		at[path] = len(list)
		list = append(list, event.QueueDefinition{Path: path, Leaf: leaf, State: yarn.QueueRunning})
	}
	m.s.Queues.Each(func(slot QueueSlot, q *Queue) bool {
		if used[q.Path] && !m.s.DynamicQueues.Has(slot) {
			add(q.Path, true)
		}
		return true
	})
	for slot := range m.s.DynamicQueues.InOrder() { // parents come first
		q := m.s.Queues.Get(slot)
		i, listed := at[yarn.ParentQueue(q.Path)]
		switch {
		case !listed && m.s.DynamicQueues.Has(q.Parent): // it keeps its dynamic parent
		case !listed || list[i].Leaf || rapid.Bool().Draw(t, "adopt "+q.Path):
			add(q.Path, q.Leaf)
		}
	}
	return list
}
