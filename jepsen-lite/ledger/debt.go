package ledger

import (
	"rmd/jepsen-lite/ledger/owed"
	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

// debts are the debts to leaves that wait for their guarantees and what is kept after them (L7), and what
// package owed needs to know to judge them.
type debts struct {
	*nouns
	owed.Debts
}

func (l *debts) Now() int64 { return l.now }

func (l *debts) At() (index, term uint64) { return l.index, l.term }

func (l *debts) Settings() *settings.Preemption { return &l.queues.preemption }

func (l *debts) Leaf(path string) int32 { return l.queues.queue(path) }

func (l *debts) Warned(path string) (list []owed.Warned) {
	for _, w := range l.warnings.list {
		if _, c := l.containers.container(w.ref, "warned"); c != nil && w.queue == path {
			list = append(list, owed.Warned{Label: l.nodes.list[c.node].label, Size: c.size, Since: c.since, Deadline: w.deadline})
		}
	}
	return list
}

func (l *debts) Nodes(label string) yarn.Resource { return l.nodes.size(label).now }

func (l *debts) Labelled(label string) bool { return label == "" || l.nodes.labels.Known[label] }

func (l *debts) Share(i int32, label string) (used, guarantee yarn.Resource) {
	used, _ = l.queues.sum(i, label)
	return used, l.queues.guarantee(i, label)
}

func (l *debts) Borrows(leaf, from int32, label string, size yarn.Resource) bool {
	for !l.queues.isBelow(from, l.queues.list[leaf].parent) {
		leaf = l.queues.list[leaf].parent
	}
	used, guarantee := l.Share(leaf, label)
	return !l.fits(used.Add(size), guarantee)
}

// takes judges a container or reservation in free room. A round of preemption may take what is kept: it
// first ends something, or warns containers for the reservation next, and judges guarantees itself. What
// a leaf had already before the entry may move to another node.
func (l *debts) takes(a *app, n *node, s *share, size yarn.Resource) {
	if len(l.Kept) == 0 || len(l.warnings.preemptedNow) > 0 || s.seen == l.index && s.used.Add(size).Within(s.before) {
		return
	}
	if text := l.Takes(l, a.queue, n.label, size); text != "" {
		l.reservations.full = append(l.reservations.full, fullNode{n.reservation, l.finding("L7", nil, "%s", text)})
	}
}

func (l *debts) Violates(since uint64, format string, args ...any) {
	l.violate("L7", []Step{l.step(since, "the debt begins")}, format, args...)
}

// Partition has what the log says about the nodes of a label.
func (l *debts) Partition(label string) *owed.Partition {
	p := &owed.Partition{Total: l.Nodes(label), Dominant: l.dominant, Ignored: l.queues.preemption.Ignored}
	for i := range l.queues.list {
		q := &l.queues.list[i]
		used, held := l.queues.sum(int32(i), label)
		p.Queues = append(p.Queues, owed.Queue{Parent: q.parent, Gone: q.gone, Protected: q.forbidden.Across,
			Live: used.Sub(held), Held: held})
		if at := &p.Queues[i]; !q.gone {
			at.Guarantee, at.Most = l.queues.guarantee(int32(i), label), l.queues.maximum(int32(i), label, p.Total)
			at.Warned = l.warnings.warnedOf(int32(i), label)
		}
	}
	places := make([]*owed.Node, len(l.nodes.list))
	for i := 1; i < len(l.nodes.list); i++ {
		if n := &l.nodes.list[i]; n.state == yarn.NodeRunning && !n.silent && !n.forgotten && n.label == label {
			places[i] = &owed.Node{Name: n.id.String(), Room: n.total.Sub(n.used), Reserved: n.reservation != 0}
			if r := l.reservations.reservation(n.reservation); r != nil {
				places[i].Left = zero.Sub(r.size)
			}
			p.Nodes = append(p.Nodes, places[i])
		}
	}
	for i := range l.apps.list {
		l.addApp(p, &l.apps.list[i], label, places)
	}
	for _, n := range p.Nodes {
		n.Left = n.Left.Add(n.Room)
	}
	return p
}

// addApp adds the containers of an application on nodes of the partition, and its asks.
func (l *debts) addApp(p *owed.Partition, a *app, label string, places []*owed.Node) {
	for k := range a.containers {
		c := &a.containers[k]
		n := places[c.node]
		switch {
		case c.live && c.more != zero:
			p.Asks = append(p.Asks, owed.Ask{App: a.seq, Leaf: a.queue, Size: c.more})
		case n == nil || !c.onNode:
		case !c.live || c.lease != (lease{}):
			n.Room = n.Room.Add(c.size)
		case !c.am && l.warnings.warnedFor(a, c) == 0:
			n.Offers = append(n.Offers, owed.Container{Leaf: a.queue, Size: c.size})
		}
	}
	if a.stage != active && a.stage != registered {
		return
	}
	for i := range a.asks {
		k := &a.asks[i]
		if k.count == 0 || k.label != label {
			continue
		}
		ask := owed.Ask{App: a.seq, Leaf: a.queue, Size: k.size, Count: k.count, Sure: a.gang == nil,
			More: k.relax && len(k.where) == 0 && k.count > int64(k.holds) && len(a.black) == 0 && !a.banned}
		for _, r := range l.reservations.list {
			if n := places[r.node]; n != nil && l.apps.appIndex(a.seq) == r.app && r.key == k.key && !r.grows &&
				r.since+l.queues.preemption.ReservationMillis <= l.now {
				ask.Homes = append(ask.Homes, n)
			}
		}
		p.Asks = append(p.Asks, ask)
	}
}
