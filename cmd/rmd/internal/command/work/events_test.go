package work

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"rmd/api"
)

// TestEventOnTerminal checks that a terminal of 80 columns shows an event below its kind, with whole ids,
// fields and amounts, and its cause on lines of its own, and that a pipe gets one line.
func TestEventOnTerminal(t *testing.T) {
	v := api.Event{Kind: "ContainerAllocated", Container: "container_1795944576026_0025_01_000003",
		App: "application_1795944576026_0025", Node: "sim-03:45454", Queue: "root.online",
		Data: map[string]any{"am": false, "locality": "OFF_SWITCH", "node_number": 2, "number": 3, "name": strings.Repeat("x", 60),
			"size": map[string]any{"memory-mb": 17408, "vcores": 5}},
		Because: &api.Because{Reason: "FIRST_IN_LINE", Text: "root.online used 27.9 % of its guarantee and alone wanted " +
			"something; it asks 17 GiB · 5 vc · 1 gpu, sim-03:45454 had 174 GiB · 36 vc · 4 gpu free"}}
	const head, indent = "09:29:48.849  245      ", "\n                       "
	want := head + strings.Join([]string{"ContainerAllocated",
		"container_1795944576026_0025_01_000003  sim-03:45454",
		"root.online  am=false  locality=OFF_SWITCH",
		"name=" + strings.Repeat("x", 52),
		"xxxxxxxx  size=17 GiB · 5 vc",
		"because FIRST_IN_LINE: root.online used 27.9 % of its",
		"guarantee and alone wanted something; it asks",
		"17 GiB · 5 vc · 1 gpu, sim-03:45454 had",
		"174 GiB · 36 vc · 4 gpu free"}, indent)
	if got := eventLine(head, v, 80, false); got != want {
		t.Errorf("at 80 columns:\n%s\nwant:\n%s", got, want)
	}
	if got := eventLine(head, v, 0, false); strings.Contains(got, "\n") || !strings.HasSuffix(got, "  because FIRST_IN_LINE: "+v.Because.Text) {
		t.Errorf("in a pipe: %s", got)
	}
	v = api.Event{Kind: "ContainerCompleted", Container: v.Container, Queue: v.Queue, Data: map[string]any{"exit_status": 0}}
	if got := eventLine(head, v, 80, false); got != head+"ContainerCompleted"+indent+v.Container+"  root.online"+indent+"exit_status=0" {
		t.Errorf("without a cause:\n%s", got)
	}
	if got := eventLine(head, api.Event{Kind: "TimeAdvanced"}, 80, false); got != head+"TimeAdvanced" {
		t.Errorf("a short event: %q", got)
	}
}

// TestEventCutsLongFields checks that a configuration of many keys does not hide the events around it.
func TestEventCutsLongFields(t *testing.T) {
	var keys []any
	for i := range 57 {
		keys = append(keys, map[string]any{"name": fmt.Sprintf("yarn.scheduler.capacity.root.q%d.capacity", i), "value": "5"})
	}
	v := api.Event{Kind: "QueuesConfigured", Data: map[string]any{"version": 3, "author": "ann", "properties": keys,
		"kinds": []any{"memory-mb", "vcores"}, "comment": strings.Repeat("word ", 40)}}
	got := eventLine("", v, 0, false)
	if !strings.Contains(got, `properties=57 values: [{"name":"yarn.scheduler.capacity.root.q0.capacity"`) ||
		!strings.Contains(got, "…  version=3") || !strings.Contains(got, `author=ann  comment=word word`) ||
		!strings.Contains(got, `kinds=["memory-mb","vcores"]`) || utf8.RuneCountInString(got) > 400 {
		t.Errorf("%d characters: %s", utf8.RuneCountInString(got), got)
	}
	if got := eventLine("", v, 0, true); !strings.Contains(got, "root.q56.capacity") || strings.Contains(got, "…") {
		t.Errorf("with -o wide: %s", got)
	}
}
