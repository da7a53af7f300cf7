package httpserver

import (
	"strings"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/yarn"
)

// TestSilentNodeIsShown checks that /v1, the pages, the metrics and the decisions show which node has
// missed heartbeats, and no longer when it is heard again.
func TestSilentNodeIsShown(t *testing.T) {
	b := newBench(t, nil)
	st, _ := b.h.Fork()
	now := st.Meta.NowMillis
	node := yarn.NodeSlot(0)
	for n := yarn.NodeSlot(1); n < st.Nodes.Cap(); n++ {
		if st.Nodes.Has(n) && st.Nodes.Get(n).TakesContainers() && st.Nodes.Get(n).Reservation == 0 {
			node = n
		}
	}
	id := st.Nodes.Get(node).ID.String()
	host := st.Nodes.Get(node).ID.Host
	shown := func(find string) (api.Node, string) { // a page is shared for a moment, so each call asks for others
		var d api.Node
		b.into(200, &d, "GET", "/v1/nodes/"+id, "")
		return d, b.ask("GET", "/ui/nodes/"+id+"?find="+find, "").Body.String() + b.ask("GET", "/ui/nodes?find="+find,
			"").Body.String() + b.ask("GET", "/metrics", "").Body.String()
	}
	b.h.apply(t, &event.NodeSilenceChanged{Node: node, SinceMillis: now - 23_000})
	d, text := shown(host)
	if d.SilentSinceMillis != now-23_000 || d.Condition(time.UnixMilli(now)) != "RUNNING, silent for 23 s" {
		t.Errorf("silent since %d: %s", d.SilentSinceMillis, d.Condition(time.UnixMilli(now)))
	}
	if strings.Count(text, "<b>silent</b> since") != 2 || !strings.Contains(text, `rmd_nodes_silent{partition=""} 1`) ||
		!strings.Contains(text, "node has missed heartbeats, and gets no containers") {
		t.Errorf("a page, the metric or the decisions do not show it:\n%s", text)
	}
	b.h.apply(t, &event.NodeSilenceChanged{Node: node})
	if d, text := shown(host[1:]); d.Condition(time.UnixMilli(now)) != "RUNNING" ||
		strings.Contains(text, "<b>silent</b>") || !strings.Contains(text, "node is heard again") {
		t.Error("it is heard again, and still shown as silent")
	}
}
