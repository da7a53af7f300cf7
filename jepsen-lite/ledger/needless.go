package ledger

import (
	"slices"
	"strings"

	"rmd/fsm/event"
	"rmd/yarn"
)

// rules are what a queue configuration says about decisions as such.
type rules struct {
	eager   bool          // a needless reservation is cancelled at once, not at its node's next heartbeat
	minimum yarn.Resource // the smallest container
}

func readRules(properties []event.Property) rules {
	r := rules{eager: true, minimum: yarn.NewResource(1024, 1)}
	for _, p := range properties {
		switch p.Name {
		case "yarn.scheduler.capacity.reservation.eager-cancel":
			r.eager = !strings.EqualFold(strings.TrimSpace(p.Value), "false")
		case "yarn.scheduler.minimum-allocation-mb":
			r.minimum[yarn.Memory] = readCount(p.Value)
		case "yarn.scheduler.minimum-allocation-vcores":
			r.minimum[yarn.VCores] = readCount(p.Value)
		}
	}
	return r
}

// changed remembers an application whose asks or refusals changed while it holds
// reservations.
func (m *Model) changed(a *app) {
	if a.holds > 0 {
		if i := m.find(a.seq); !slices.Contains(m.doubtful, i) {
			m.doubtful = append(m.doubtful, i)
		}
	}
}

// needless holds, at the end of an entry, that no reservation is left that its
// demand does not need any more: its ask is gone or of another size, or its
// application refuses the node. S8.
func (m *Model) needless() {
	if len(m.doubtful) == 0 {
		return
	}
	for i := range m.reservations {
		r := &m.reservations[i]
		if !slices.Contains(m.doubtful, r.app) {
			continue
		}
		a, n := &m.apps[r.app], &m.nodes[r.node]
		k := m.wanted(r)
		switch {
		case slices.Contains(a.black, n.id.Host) || slices.Contains(a.black, n.rack):
			m.bad("S8", r.chain(m), "r%d goes on holding %s, which its application refuses", r.number, n.id)
		case k != nil && k.count > 0 && k.size != r.size:
			m.bad("S8", r.chain(m), "r%d of %s goes on holding %s, its ask is of %s", r.number, r.size, n.id, k.size)
		case m.rules.eager && (k == nil || k.count == 0):
			m.bad("S8", r.chain(m), "r%d goes on holding %s, nothing is asked for it any more", r.number, n.id)
		}
	}
}
