package state

import (
	"testing"

	"rmd/fsm/event"
	"rmd/yarn"
)

func silent(node NodeSlot, since int64) *event.NodeSilenceChanged {
	return &event.NodeSilenceChanged{Node: node, SinceMillis: since}
}

// TestNodeSilence checks that a silent node takes no containers, that a snapshot keeps the mark, and
// that its end, a registration and the loss of the node remove it.
func TestNodeSilence(t *testing.T) {
	s := refusable(t)
	apply(t, s, &event.TimeAdvanced{NowMillis: 9000})
	check := func(since, millis int64) {
		t.Helper()
		if n := s.Nodes.Get(3); n.SilentSinceMillis != since || n.Silent() != (since != 0) ||
			n.SilentMillis(9000) != millis || n.TakesContainers() != (since == 0 && n.Serving()) {
			t.Errorf("silent since %d for %d ms, takes containers: %v", n.SilentSinceMillis, n.SilentMillis(9000),
				n.TakesContainers())
		}
	}
	check(0, 0)
	apply(t, s, silent(3, 4000))
	check(4000, 5000)
	restored, err := decode(encode(s))
	if err != nil {
		t.Fatal(err)
	}
	if n := restored.Nodes.Get(3); n.SilentSinceMillis != 4000 {
		t.Errorf("after a snapshot: silent since %d", n.SilentSinceMillis)
	}
	apply(t, s, silent(3, 0))
	check(0, 0)
	apply(t, s, silent(3, 4000), nodeUp(3, "h3", gb(2)))
	check(0, 0)
	apply(t, s, silent(3, 4000), &event.NodeStateChanged{Node: 3, State: yarn.NodeDecommissioning})
	check(4000, 5000)
	apply(t, s, &event.NodeStateChanged{Node: 3, State: yarn.NodeLost})
	check(0, 0)
}

// TestNodeSilenceIsRefused checks that the state refuses marks that change nothing, that come from
// the future, and of nodes that send no heartbeats or are reserved.
func TestNodeSilenceIsRefused(t *testing.T) {
	s := refusable(t)
	apply(t, s, &event.TimeAdvanced{NowMillis: 9000}, silent(2, 4000))
	for _, e := range []event.Event{silent(9, 4000), silent(3, -1), silent(3, 9001), silent(3, 0), silent(2, 5000),
		silent(4, 4000), silent(1, 4000)} {
		refuse(t, s, e)
	}
}

// TestHeardMillis checks when a node was heard last: now while it sends heartbeats, and otherwise
// when the silence began that made it lost.
func TestHeardMillis(t *testing.T) {
	s := world(t)
	at := func(what string, want int64) {
		t.Helper()
		if got := s.Nodes.Get(1).HeardMillis(10_000); got != want {
			t.Errorf("%s: heard at %d, want %d", what, got, want)
		}
	}
	at("it sends heartbeats", 10_000)
	apply(t, s, &event.TimeAdvanced{NowMillis: 5000}, &event.NodeSilenceChanged{Node: 1, SinceMillis: 2500})
	at("silent", 2500)
	apply(t, s, &event.TimeAdvanced{NowMillis: 9000}, &event.NodeStateChanged{Node: 1, State: yarn.NodeLost})
	at("lost", 2500)
	apply(t, s, &event.NodeStateChanged{Node: 1, State: yarn.NodeDecommissioned})
	at("decommissioned afterwards", 2500)
	apply(t, s, &event.NodeRegistered{Node: 1, ID: s.Nodes.Get(1).ID, Total: gb(10)})
	at("registered", 10_000)
	apply(t, s, &event.NodeStateChanged{Node: 1, State: yarn.NodeShutdown})
	at("shut down", 9000)
}
