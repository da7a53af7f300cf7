package httpserver

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/scheduler/capacity"
	"rmd/yarn"
)

// labelled goes on with the story of a history: label gpu, exclusive, is for root.train and
// root.online and has sim-02, on which application 1 uses a container; label spot has sim-03 and a
// host that never registered. Application 5 waits for more of gpu than there is.
func labelled(t testing.TB, h *history) {
	t.Helper()
	props := append(capacity.DefaultProperties(), capacity.Property{Name: "yarn.node-labels.enabled", Value: "true"})
	for _, q := range []struct{ queue, labels, gpu string }{{"root", "", "100"}, {"root.online", "gpu,spot", "40"}, {"root.train", "gpu", "60"}, {"root.batch", " ", ""}} {
		key := capacity.Prefix + q.queue + ".accessible-node-labels"
		if q.labels != "" {
			props = append(props, capacity.Property{Name: key, Value: q.labels})
		}
		if q.gpu != "" {
			props = append(props, capacity.Property{Name: key + ".gpu.capacity", Value: q.gpu})
		}
	}
	props = append(props, capacity.Property{Name: capacity.Prefix + "root.train.default-node-label-expression", Value: "gpu"},
		capacity.Property{Name: capacity.Prefix + "root.train.accessible-node-labels.gpu.maximum-capacity", Value: "80"})
	h.apply(t, &event.LevelRaised{Level: event.LevelLabels}, configured(t, 3, props, "label the nodes"))
	h.apply(t, &event.LabelsSet{Labels: []event.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}})
	h.apply(t, &event.NodesLabelled{Nodes: []event.LabelledNode{{ID: yarn.NodeID{Host: "sim-02"}, Label: "gpu"}, {ID: yarn.NodeID{Host: "sim-03", Port: 8041}, Label: "spot"}, {ID: yarn.NodeID{Host: "later"}, Label: "spot"}}})
	submit(t, h, 5, "root.train", "bob")
	h.apply(t, &event.AskChanged{App: 5, Key: key, Name: "*", Count: 2, Size: gpu(65536, 16, 4), Relax: true}, &event.AskLabelled{App: 5, Key: key, Label: "gpu"})
}

// TestMetricsAddUpOverLabels sums the parts of each amount.
func TestMetricsAddUpOverLabels(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	body := b.ask("GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`rmd_partition_resource{kind="total",partition="gpu",resource="memory-mb"} 65536`, `rmd_partition_resource{kind="used",partition="gpu",resource="memory-mb"} 32768`,
		`rmd_queue_resource{kind="guaranteed",partition="gpu",queue="root.train",resource="memory-mb"} 39321`, `rmd_queue_resource{kind="pending",partition="gpu",queue="root.train",resource="memory-mb"} 131072`,
		`rmd_nodes{partition="gpu",state="RUNNING"} 1`, `rmd_largest_fit{partition="gpu",resource="memory-mb"} 32768`, `rmd_queue_am_used_ratio{partition="gpu",queue="root.train"} 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(body, `partition="gpu",queue="root.batch"`) {
		t.Error("root.batch may not use gpu, and yet has series of it")
	}
	sum := func(pattern string) (sum int64) {
		for _, m := range regexp.MustCompile(`(?m)^`+pattern+` (\S+)$`).FindAllStringSubmatch(body, -1) {
			f, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += int64(f)
		}
		return sum
	}
	st, _ := b.h.Fork()
	use := st.TotalUse(st.Root())
	for kind, want := range map[string]yarn.Resource{"total": st.Meta.Cluster, "used": use.Used, "reserved": use.Reserved, "pending": use.Pending} {
		if got := sum(fmt.Sprintf(`rmd_partition_resource\{kind="%s",partition="\w*",resource="memory-mb"\}`, kind)); got != want[yarn.Memory] || got == 0 {
			t.Errorf("%s sums up to %d, want %d", kind, got, want[yarn.Memory])
		}
	}
	if got := sum(`rmd_nodes\{partition="\w*",state="\w+"\}`); got != int64(st.Nodes.Len()) {
		t.Errorf("%d nodes, want %d", got, st.Nodes.Len())
	}
}
