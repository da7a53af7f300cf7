package ledger

import "rmd/fsm/event"

// silence records that a node has missed heartbeats or is heard again. A silent node gets nothing:
// see auditHeard.
func (l *nodes) silence(e *event.NodeSilenceChanged) {
	n, ok := l.node(e.Node)
	if !ok || n.forgotten {
		l.violate(Audit, nil, "node %d, which there is not, is silent since %d", e.Node, e.SinceMillis)
		return
	}
	if e.SinceMillis > l.now || e.SinceMillis < 0 || n.silent == (e.SinceMillis != 0) {
		l.violate(Audit, nil, "at %d, node %s is silent since %d; before that, silent was %v", l.now, n.id,
			e.SinceMillis, n.silent)
	}
	if n.silent = e.SinceMillis != 0; !n.silent {
		return
	}
	l.Counts.Silent++
	if n.reservation != 0 {
		l.violate(Audit, l.reservations.reservation(n.reservation).chain(l.nouns),
			"node %s is silent and r%d goes on holding it", n.id, n.reservation)
	}
}

// auditHeard checks that a decision uses a node that is not silent: a container or reservation there,
// or a warning for one.
func (l *nodes) auditHeard(n *node, what string) {
	if n.silent {
		l.violate(Audit, nil, "%s is put on %s, which is silent", what, n.id)
	}
}
