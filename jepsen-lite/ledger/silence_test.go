package ledger

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func quiet(node yarn.NodeSlot, since int64) *event.NodeSilenceChanged {
	return &event.NodeSilenceChanged{Node: node, SinceMillis: since}
}

// TestSilentNodeGetsNothing checks that the ledger reports each decision for a silent node, and none
// for a node that is heard again.
func TestSilentNodeGetsNothing(t *testing.T) {
	begun := func(t *testing.T) *logbook {
		l := begin(t)
		l.entry(&event.TimeAdvanced{NowMillis: 9000}, give(1, 1, 2), quiet(1, 5000))
		l.legal()
		return l
	}
	for name, e := range map[string]event.Event{"container": give(1, 2, 1), "reservation": hold(1, 2, 1, 1)} {
		t.Run(name, func(t *testing.T) {
			l := begun(t)
			if name == "reservation" {
				l.entry(quiet(1, 0), want(1, small, 8), give(1, 2, 1), give(1, 3, 1), give(1, 4, 1), quiet(1, 5000))
				l.app(2, "root.b")
				l.entry(want(2, large, 1))
				l.legal()
			}
			l.entry(e)
			l.broken(Audit, "which is silent")
		})
	}
	t.Run("reserved", func(t *testing.T) {
		l := begun(t)
		l.entry(quiet(1, 0), want(1, small, 8), give(1, 2, 1), give(1, 3, 1), give(1, 4, 1))
		l.app(2, "root.b")
		l.entry(want(2, large, 1), hold(1, 2, 1, 1))
		l.legal()
		l.entry(quiet(1, 6000))
		l.broken(Audit, "goes on holding it")
	})
	t.Run("heard", func(t *testing.T) {
		l := begun(t)
		l.entry(quiet(1, 0), give(1, 2, 1))
		l.legal()
	})
	t.Run("registered", func(t *testing.T) {
		l := begun(t)
		l.entry(&event.NodeRegistered{Node: 1, ID: nodeID(1), Rack: "/r", Total: large}, give(1, 2, 1))
		l.legal()
	})
	t.Run("from the future", func(t *testing.T) {
		l := begun(t)
		l.entry(quiet(2, 9001))
		l.broken(Audit, "silent since 9001")
	})
}
