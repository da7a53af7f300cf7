package ledger

import (
	"slices"

	"rmd/fsm/event"
	"rmd/jepsen-lite/ledger/settings"
	"rmd/yarn"
)

// Node labels: which labels exist, which nodes have one, and who may use these nodes.

// ofLabel formats a label for the end of a phrase.
func ofLabel(label string) string {
	if label == "" {
		return " without a label"
	}
	return " of label " + label
}

// ofPartition formats a label like ofLabel, but returns "" for the default partition.
func ofPartition(label string) string {
	if label == "" {
		return ""
	}
	return ofLabel(label)
}

// of returns the usage of a leaf on the nodes of a label.
func (q *queue) of(label string) *share {
	if label == "" {
		return &q.share
	}
	if q.labels == nil {
		q.labels = map[string]*share{}
	}
	if q.labels[label] == nil {
		q.labels[label] = &share{}
	}
	return q.labels[label]
}

func (q *queue) usesLabels() bool {
	for _, s := range q.labels {
		if !s.used.IsZero() {
			return true
		}
	}
	return false
}

// maximumOf returns a queue's configured maximum on the nodes of a label.
func (q *queue) maximumOf(label string) settings.Maximum {
	if label == "" {
		return q.max
	}
	if most, ok := q.labelled.Maximums[label]; ok {
		return most
	}
	return settings.ReadMaximum("0", nil)
}

func (l *queues) mayUse(i int32, label string) bool {
	access := l.list[i].labelled.Access
	return label == "" || slices.Contains(access, "*") || slices.Contains(access, label)
}

func (l *nodes) labelsSet(e *event.LabelsSet) {
	for _, x := range e.Labels {
		if x.Name == "" {
			l.violate(Audit, nil, "a label without a name is added")
		}
		l.labels.Exclusive[x.Name], l.labels.Known[x.Name] = x.Exclusive, true
	}
}

func (l *nodes) labelsRemoved(e *event.LabelsRemoved) {
	for _, name := range e.Names {
		if _, ok := l.labels.Exclusive[name]; !ok {
			l.violate(Audit, nil, "label %q is removed, which there is not", name)
		}
		l.labels.Remove(name)
	}
	l.relabel()
}

func (l *nodes) nodesLabelled(e *event.NodesLabelled) {
	for _, n := range e.Nodes {
		if _, ok := l.labels.Exclusive[n.Label]; !ok && n.Label != "" {
			l.violate(Audit, nil, "%s gets label %q, which there is not", n.ID, n.Label)
		}
		l.labels.Give(n.ID, n.Label)
	}
	l.relabel()
}

// relabel gives every node its current label, and moves the usage of its live containers to the new
// partition. A reserved node must keep the label for which it was reserved (S8).
func (l *nodes) relabel() {
	moved := map[yarn.NodeSlot]string{} // old labels of the nodes that change
	for i := 1; i < len(l.list); i++ {
		n := &l.list[i]
		to := l.labels.Of(n.id)
		if n.label == to {
			continue
		}
		if r := l.reservations.reservation(n.reservation); r != nil {
			l.violate("S8", r.chain(l.nouns), "%s%s gets another one, and r%d goes on holding it", n.id,
				ofLabel(n.label), r.number)
		}
		moved[yarn.NodeSlot(i)] = n.label
		l.change(n, func() { n.label = to })
	}
	if len(moved) == 0 {
		return
	}
	l.apps.moved = true
	for i := range l.apps.list {
		a := &l.apps.list[i]
		for k := range a.containers {
			c := &a.containers[k]
			if from, ok := moved[c.node]; ok && c.live {
				l.queues.list[a.queue].of(from).take(zero.Sub(c.size), zero)
				l.queues.list[a.queue].of(l.list[c.node].label).take(c.size, zero)
			}
		}
	}
}

func (l *apps) applicationLabelled(e *event.ApplicationLabelled) {
	a := l.goingOn(e.App, "gets labels")
	if a == nil {
		return
	}
	if a.stage != none {
		l.violate(Audit, a.chain(l.nouns), "application %d gets labels while its attempt is %s", e.App, a.stage)
	}
	a.amLabel = e.AMLabel
}

func (l *apps) askLabelled(e *event.AskLabelled) {
	a := l.goingOn(e.App, "asks for a label")
	if a == nil {
		return
	}
	k := a.ask(e.Key)
	switch {
	case k == nil:
		l.violate(Audit, a.chain(l.nouns), "application %d asks for label %q under a key under which it asks for nothing",
			e.App, e.Label)
		return
	case e.Label != "" && !l.nodes.labels.Known[e.Label]:
		l.violate(Audit, a.chain(l.nouns), "application %d asks for label %q, which there never was", e.App, e.Label)
	}
	k.label = e.Label
	l.reservations.changed(a)
}

// auditLabel checks a decision against the labels. A node serves asks for its label, of queues that
// may use it. If the label is not exclusive, the node also serves asks without a label, except for
// AMs.
func (l *containers) auditLabel(a *app, k *ask, n *node, what string, am bool) {
	if am && k.label != a.amLabel {
		l.violate(Audit, a.chain(l.nouns), "%s is an AM%s, its application wants it%s", what, ofLabel(k.label),
			ofLabel(a.amLabel))
	}
	if k.label == n.label {
		if !l.queues.mayUse(a.queue, k.label) {
			l.violate(Audit, nil, "%s is put on %s%s, which %s may not use", what, n.id, ofLabel(n.label),
				l.queues.list[a.queue].path)
		}
		return
	}
	if !l.nodes.labels.Serves(n.label, k.label) || am && !l.queues.rules.LendAMs {
		l.violate(Audit, nil, "%s is put on %s%s, it is asked for nodes%s", what, n.id, ofLabel(n.label), ofLabel(k.label))
	}
	l.nodes.lent = append(l.nodes.lent, n.label)
}

// lend records that a node is lent to a container that grows there.
func (l *nodes) lend(c *container, n *node) {
	if c.asked == "" && n.label != "" {
		l.lent = append(l.lent, n.label)
	}
}

// AskLabel returns the label for which an application asks under a key; ok is false if there is no
// such ask.
func (l *Ledger) AskLabel(seq uint32, key yarn.SchedulerKey) (label string, ok bool) {
	i := l.apps.appIndex(seq)
	if i < 0 {
		return "", false
	}
	k := l.apps.list[i].ask(key)
	if k == nil {
		return "", false
	}
	return k.label, true
}
