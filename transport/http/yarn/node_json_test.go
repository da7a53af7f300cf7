package yarnweb

import (
	"bytes"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// TestNodeJSONIsTheDocument checks that wsNodeJSON writes the JSON of wsNode's document.
func TestNodeJSONIsTheDocument(t *testing.T) {
	st := state.New()
	for _, e := range []event.Event{
		&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "sim-01", Port: 8041}, HTTPPort: 8042, Rack: "/r1",
			Total: yarn.NewResource(65536, 16), Version: "3.4.2"},
		&event.NodeRegistered{Node: 2, ID: yarn.NodeID{Host: `odd"<&>\` + "é\x01", Port: 1}, HTTPPort: 1, Rack: "/r&1",
			Total: yarn.NewResource(5, 1), Version: "ä"},
		&event.NodeStateChanged{Node: 2, State: yarn.NodeUnhealthy, Report: "disk\nfull"},
	} {
		if err := st.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	v := newDocs(view.NewSource(nil, time.Now).At(st, 1))
	st.Nodes.Each(func(_ state.NodeSlot, n *state.Node) bool {
		var want bytes.Buffer
		writeJSON(&want, v.wsNode(n, 1234))
		if got := v.wsNodeJSON(nil, n, 1234); string(got) != want.String() {
			t.Errorf("%s\nis not\n%s", got, want.String())
		}
		return true
	})
}
