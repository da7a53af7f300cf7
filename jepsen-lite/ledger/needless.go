package ledger

import "slices"

// changed records an application with reservations whose asks or blacklist changed.
func (l *reservations) changed(a *app) {
	if a.holds > 0 {
		if i := l.apps.appIndex(a.seq); !slices.Contains(l.doubtful, i) {
			l.doubtful = append(l.doubtful, i)
		}
	}
}

// needless checks at the end of an entry that every reservation is still needed (S8): its ask
// exists and has the same size, and its application accepts the node.
func (l *reservations) needless() {
	if len(l.doubtful) == 0 {
		return
	}
	for i := range l.list {
		r := &l.list[i]
		if !slices.Contains(l.doubtful, r.app) {
			continue
		}
		a, n := &l.apps.list[r.app], &l.nodes.list[r.node]
		k := l.containers.reservedAsk(r)
		switch {
		case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
			l.violate("S8", r.chain(l.nouns), "r%d goes on holding %s, which its application refuses", r.number, n.id)
		case r.members == 0 && k != nil && k.count > 0 && k.size != r.size:
			l.violate("S8", r.chain(l.nouns), "r%d of %s goes on holding %s, its ask is of %s", r.number, r.size, n.id, k.size)
		case l.queues.rules.Eager && !r.grows && k != nil && !l.nodes.labels.Serves(n.label, k.label):
			l.violate("S8", r.chain(l.nouns), "r%d goes on holding %s%s, its ask is%s", r.number, n.id, ofLabel(n.label),
				ofLabel(k.label))
		case (l.queues.rules.Eager || r.members > 0) && (k == nil || k.count == 0):
			l.violate("S8", r.chain(l.nouns), "r%d goes on holding %s, nothing is asked for it any more", r.number, n.id)
		}
	}
}
