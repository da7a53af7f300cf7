package httpserver

import (
	"bytes"
	"fmt"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/yarn"
)

// A node's JSON that is written straight is that of its document.
func TestNodeJSONIsTheDocument(t *testing.T) {
	b := newBench(t, nil)
	b.h.apply(t, &event.NodeRegistered{Node: 4, ID: yarn.NodeID{Host: `odd"<&>\` + "é\x01", Port: 1}, HTTPPort: 1, Rack: "/r&1", Total: gpu(5, 1, 9), Version: "ä"},
		&event.NodeStateChanged{Node: 3, State: yarn.NodeUnhealthy, Report: "disk\nfull"})
	st, index := b.h.Fork()
	v := b.s.viewOf(st, index)
	st.Nodes.Each(func(_ uint32, n *state.Node) bool {
		var want bytes.Buffer
		writeJSON(&want, v.wsNode(n))
		if got := v.wsNodeJSON(nil, n); string(got) != want.String() {
			t.Errorf("%s\nis not\n%s", got, want.String())
		}
		return true
	})
	for i := range 600 { // more than one part of an answer
		b.h.apply(t, &event.NodeRegistered{Node: uint32(5 + i), ID: yarn.NodeID{Host: fmt.Sprint("h", i), Port: 1}, Rack: "/r", Total: gpu(1, 1, 1)})
	}
	var d struct {
		Nodes struct{ Node []struct{ ID string } }
	}
	b.into(200, &d, "GET", "/ws/v1/cluster/nodes", "")
	if len(d.Nodes.Node) != 604 {
		t.Errorf("%d nodes", len(d.Nodes.Node))
	}
	if w := b.ask("GET", "/ws/v1/cluster/nodes?states=lost", ""); w.Body.String() != `{"nodes":{}}` {
		t.Errorf("none: %s", w.Body)
	}
}

// What an event is about, told at once, is what its document tells.
func TestSubjectIsTheDocuments(t *testing.T) {
	b := newBench(t, nil)
	st, index := b.h.Fork()
	v := b.s.viewOf(st, index)
	known := 0
	for _, batch := range b.h.batches {
		for _, e := range batch.Events {
			s, d := v.subject(e), v.eventDoc(e)
			if !s.Known {
				continue
			}
			known++
			app, node := "", ""
			if s.App != 0 {
				app = v.appID(s.App).String()
			}
			if s.Node != 0 {
				node = v.nodeID(s.Node)
			}
			if app != d.App || node != d.Node {
				t.Errorf("%s: %+v is not %s at %s", d.Kind, s, d.App, d.Node)
			}
		}
	}
	if known < 8 {
		t.Errorf("%d events", known)
	}
}
