package httpserver

import (
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/yarn"
)

// TestRooms checks that REST and the pages show the same rooms, the nodes without a label first.
func TestRooms(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	var cluster api.Cluster
	b.into(200, &cluster, "GET", "/v1/cluster", "")
	var labels api.Labels
	b.into(200, &labels, "GET", "/v1/labels", "")
	text := func(label string, r api.Room) string {
		out := label + ":"
		for _, l := range r.Largest {
			out += " " + l.Free.String() + " on " + l.Node + " (" + strings.Join(l.Kinds, ", ") + ")"
		}
		return out
	}
	want := []string{":", "gpu: 32 GiB · 8 vc · 2 gpu on sim-02:8041 (memory-mb, vcores, yarn.io/gpu)",
		"spot: 64 GiB · 16 vc · 4 gpu on sim-03:8041 (memory-mb, vcores, yarn.io/gpu)"}
	empty := []int{0, 0, 1}
	if len(cluster.Rooms) != len(want) || len(labels.Labels) != len(want) {
		t.Fatalf("rooms of %d labels and %d labels, want %d", len(cluster.Rooms), len(labels.Labels), len(want))
	}
	for i, r := range cluster.Rooms {
		if got := text(r.Label, r.Room); got != want[i] || r.EmptyNodes != empty[i] || r.ServingNodes != 1 {
			t.Errorf("/v1/cluster: %q, %d of %d nodes empty; want %q, %d of 1", got, r.EmptyNodes, r.ServingNodes,
				want[i], empty[i])
		}
		if l := labels.Labels[i]; text(l.Name, l.Room) != want[i] || l.EmptyNodes != empty[i] {
			t.Errorf("/v1/labels: %q, %d nodes empty; want %q, %d", text(l.Name, l.Room), l.EmptyNodes, want[i], empty[i])
		}
	}
	for path, says := range map[string][]string{
		"/ui/": {`>default</a></th><td class="stretch"><span class="none">none: no container can start</span></td><td class="num">0 of 1</td>`,
			`>gpu</a></th><td class="stretch">32 GiB · 8 vc · 2 gpu on <a href="/ui/nodes/sim-02:8041">sim-02:8041</a></td><td class="num">0 of 1</td>`,
			`>spot</a></th><td class="stretch">64 GiB · 16 vc · 4 gpu on <a href="/ui/nodes/sim-03:8041">sim-03:8041</a></td><td class="num">1 of 1</td>`},
		"/ui/labels/gpu": {`on <a href="/ui/nodes/sim-02:8041">sim-02:8041</a></td><td class="num">0 of 1</td>`},
	} {
		showsOn(t, b, path, says...)
	}
	b.h.apply(t, &event.NodeStateChanged{Node: 3, State: yarn.NodeDecommissioning})
	// a page that was shown before could come from the state before the drain
	showsOn(t, b, "/ui/labels/spot",
		`<span class="none">none: no node takes containers</span></td><td class="num"><span class="none">–</span></td>`)
}

// TestRoomsOfSeveralNodes checks that the page says which resource a node has most of if no node
// has most of all.
func TestRoomsOfSeveralNodes(t *testing.T) {
	b := newBench(t, nil)
	b.h.apply(t, &event.NodeResourceChanged{Node: 3, Total: gpu(65536, 16, 1), Set: true})
	b.h.apply(t, &event.NodeResourceChanged{Node: 2, Total: gpu(65536, 16, 4), Set: true})
	showsOn(t, b, "/ui/", `sim-03:8041</a> <span class="small">(most memory, vcores)</span><br>`,
		`sim-02:8041</a> <span class="small">(most gpu)</span>`)
}

// showsOn checks that a page has each of the texts, and that it is valid.
func showsOn(t *testing.T, b *bench, path string, texts ...string) {
	t.Helper()
	body := b.ask("GET", path, "").Body.String()
	for _, want := range texts {
		if !strings.Contains(body, want) {
			t.Errorf("%s does not show %s", path, want)
		}
	}
	for _, found := range checkHTML(body) {
		t.Errorf("%s: %s", path, found)
	}
}
