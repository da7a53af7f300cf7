package httpserver

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// labelled extends the story of a history. The exclusive label gpu belongs to root.train and
// root.online and has the node sim-02, where application 1 uses a container. The label spot has
// sim-03 and a host that never registered. Application 5 waits for more nodes of gpu than there
// are.
func labelled(t testing.TB, h *history) {
	t.Helper()
	props := append(preset.Demo(), capacity.Property{Name: "yarn.node-labels.enabled", Value: "true"})
	for _, q := range []struct{ queue, labels, gpu string }{{"root", "", "100"}, {"root.online", "gpu,spot", "40"},
		{"root.train", "gpu", "60"}, {"root.batch", " ", ""}, {"root.adhoc", " ", ""}} {
		key := capacity.Prefix + q.queue + ".accessible-node-labels"
		if q.labels != "" {
			props = append(props, capacity.Property{Name: key, Value: q.labels})
		}
		if q.gpu != "" {
			props = append(props, capacity.Property{Name: key + ".gpu.capacity", Value: q.gpu})
		}
	}
	props = append(props, capacity.Property{Name: capacity.Prefix + "root.train.default-node-label-expression",
		Value: "gpu"},
		capacity.Property{Name: capacity.Prefix + "root.train.accessible-node-labels.gpu.maximum-capacity", Value: "80"})
	h.apply(t, configured(t, 3, props, "label the nodes"))
	h.apply(t, &event.LabelsSet{Labels: []event.Label{{Name: "gpu", Exclusive: true}, {Name: "spot"}}})
	h.apply(t, &event.NodesLabelled{Nodes: []event.LabelledNode{{ID: yarn.NodeID{Host: "sim-02"}, Label: "gpu"},
		{ID: yarn.NodeID{Host: "sim-03", Port: 8041}, Label: "spot"}, {ID: yarn.NodeID{Host: "later"}, Label: "spot"}}})
	submit(t, h, 5, "root.train", "bob")
	h.apply(t, &event.AskChanged{App: 5, Key: key, Name: "*", Count: 2, Size: gpu(65536, 16, 4), Relax: true},
		&event.AskLabelled{App: 5, Key: key, Label: "gpu"})
}

// TestMetricsAddUpOverLabels checks that the metrics of the partitions add up to the totals.
func TestMetricsAddUpOverLabels(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	body := b.ask("GET", "/metrics", "").Body.String()
	for _, want := range []string{
		`rmd_partition_resource{kind="total",partition="gpu",resource="memory-mb"} 65536`,
		`rmd_partition_resource{kind="used",partition="gpu",resource="memory-mb"} 32768`,
		`rmd_queue_resource{kind="guaranteed",partition="gpu",queue="root.train",resource="memory-mb"} 39321`,
		`rmd_queue_resource{kind="pending",partition="gpu",queue="root.train",resource="memory-mb"} 131072`,
		`rmd_nodes{partition="gpu",state="RUNNING"} 1`, `rmd_nodes_empty{partition=""} 0`,
		`rmd_nodes_empty{partition="spot"} 1`, `rmd_nodes_empty{partition="gpu"} 0`,
		`rmd_largest_fit{partition="gpu",resource="memory-mb"} 32768`,
		`rmd_queue_am_used_ratio{partition="gpu",queue="root.train"} 0`,
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
	use := st.TotalUse(st.Queues.Root())
	for kind, want := range map[string]yarn.Resource{"total": st.Meta.Cluster, "used": use.Used.Sub(use.Reserved),
		"reserved": use.Reserved, "pending": use.Pending} {
		if got := sum(fmt.Sprintf(`rmd_partition_resource\{kind="%s",partition="\w*",resource="memory-mb"\}`,
			kind)); got != want[yarn.Memory] || got == 0 {
			t.Errorf("%s sums up to %d, want %d", kind, got, want[yarn.Memory])
		}
	}
	if got := sum(`rmd_nodes\{partition="\w*",state="\w+"\}`); got != int64(st.Nodes.Len()) {
		t.Errorf("%d nodes, want %d", got, st.Nodes.Len())
	}
}

// TestLabels checks the documents of labels.
func TestLabels(t *testing.T) {
	b := newBench(t, nil)
	var before api.Labels
	b.into(200, &before, "GET", "/v1/labels", "")
	if before.Enabled || len(before.Labels) != 1 || before.Labels[0].Nodes != 3 || before.Labels[0].Queues != 4 {
		t.Errorf("without labels: %+v", before)
	}
	labelled(t, b.h)

	var list api.Labels
	b.into(200, &list, "GET", "/v1/labels", "")
	if !list.Enabled || list.Source != "centralized" || len(list.Labels) != 3 {
		t.Fatalf("GET /v1/labels: enabled %t, source %q, %d labels, want true, \"centralized\", 3",
			list.Enabled, list.Source, len(list.Labels))
	}
	none, gpus, spot := list.Labels[0], list.Labels[1], list.Labels[2]
	if none.Name != "" || none.Nodes != 1 || none.UsableNodes != 1 || none.Total[api.MemoryMB] != 65536 ||
		none.WaitingApps != 3 || none.Queues != 4 {
		t.Errorf("without a label: %+v", none)
	}
	if gpus.Name != "gpu" || !gpus.Exclusive || gpus.Nodes != 1 || gpus.UsableNodes != 1 || gpus.Queues != 2 ||
		gpus.WaitingApps != 1 ||
		gpus.Used[api.MemoryMB] != 32768 || gpus.Free[api.MemoryMB] != 32768 || gpus.Pending[api.MemoryMB] != 131072 {
		t.Errorf("gpu: %+v", gpus)
	}
	if spot.Name != "spot" || spot.Exclusive || spot.Queues != 1 || spot.Used[api.MemoryMB] != 0 {
		t.Errorf("spot: %+v", spot)
	}

	var one api.LabelDetails
	b.into(200, &one, "GET", "/v1/labels/gpu", "")
	if len(one.Apps) != 1 || one.Apps[0].ID != "application_1780000000000_0005" || one.Apps[0].Outstanding != 2 ||
		one.Apps[0].Pending[api.MemoryMB] != 131072 {
		t.Errorf("waiting: %+v", one.Apps)
	}
	shares := map[string]api.LabelShare{}
	for _, s := range one.Shares {
		shares[s.Queue] = s
	}
	train, online := shares["root.train"], shares["root.online"]
	if len(shares) != 3 || !train.Accessible || !train.Default || train.Capacity != 60 || train.AbsMax != 80 ||
		train.Pending[api.MemoryMB] != 131072 || online.Default {
		t.Errorf("shares: %+v", one.Shares)
	}
	if len(online.Users) != 1 || online.Users[0].Name != "alice" || online.Users[0].Used[api.MemoryMB] != 32768 ||
		online.AbsUsed != 50 {
		t.Errorf("root.online: %+v", online)
	}
}

// TestLabelsOfOtherDocuments checks the labels in the documents of nodes, queues, applications,
// asks and containers.
func TestLabelsOfOtherDocuments(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	b.h.apply(t, &event.ApplicationSubmitted{App: 6, Name: "am", User: "carol", Queue: "root.train", AM: gpu(1024, 1, 0),
		MaxAttempts: 2},
		&event.ApplicationLabelled{App: 6, Label: "gpu", AMLabel: "spot"})
	for query, want := range map[string]string{"label=gpu": "sim-02:8041 gpu", "label=spot": "sim-03:8041 spot",
		"label=": "sim-01:8041 "} {
		var nodes api.Nodes
		b.into(200, &nodes, "GET", "/v1/nodes?"+query, "")
		if len(nodes.Nodes) != 1 || nodes.Nodes[0].ID+" "+nodes.Nodes[0].Label != want {
			t.Errorf("GET /v1/nodes?%s = %+v, want only %q", query, nodes.Nodes, want)
		}
	}
	var m api.LabelMap
	b.into(200, &m, "GET", "/v1/labels:map?limit=2", "")
	if fmt.Sprint(m.Nodes) != "[{later spot 0} {sim-02 gpu 1}]" || m.Next != "sim-02" {
		t.Errorf("map: %+v", m)
	}
	b.into(200, &m, "GET", "/v1/labels:map?label=spot&after="+m.Next, "")
	if fmt.Sprint(m.Nodes) != "[{sim-03:8041 spot 1}]" {
		t.Errorf("the rest of the map: %+v", m)
	}
	var q api.Queue
	b.into(200, &q, "GET", "/v1/queues/root.train", "")
	if q.DefaultLabel != "gpu" || fmt.Sprint(q.AccessibleLabels) != "[gpu]" || len(q.Labels) != 1 ||
		q.Labels[0].Guaranteed[api.MemoryMB] != 39321 {
		t.Errorf("queue: %+v", q)
	}
	var batch api.Queue
	if b.into(200, &batch, "GET", "/v1/queues/root.batch", ""); batch.AccessibleLabels != nil || batch.Labels != nil {
		t.Errorf("root.batch: %+v", batch)
	}
	var a api.App
	if b.into(200, &a, "GET", "/v1/apps/6", ""); a.Label != "gpu" || a.AMLabel != "spot" {
		t.Errorf("application: %+v", a)
	}
	var asks api.Asks
	if b.into(200, &asks, "GET", "/v1/apps/5/asks", ""); len(asks.Asks) != 1 || asks.Asks[0].Label != "gpu" {
		t.Errorf("asks: %+v", asks)
	}
	var c api.Containers
	b.into(200, &c, "GET", "/v1/apps/1/containers", "")
	if c.Containers[0].Lent || c.Containers[1].Label != "gpu" || !c.Containers[1].Lent {
		t.Errorf("containers: %+v", c.Containers)
	}
	var totals api.Cluster
	if b.into(200, &totals, "GET", "/v1/cluster", ""); totals.Totals.Used[api.MemoryMB] != 65536 ||
		totals.Totals.Pending[api.MemoryMB] < 131072 {
		t.Errorf("totals: %+v", totals.Totals)
	}
	var spot api.LabelDetails
	if b.into(200, &spot, "GET", "/v1/labels/spot", ""); len(spot.Apps) != 1 || !spot.Apps[0].AM {
		t.Errorf("the AM of application 6 waits for spot: %+v", spot.Apps)
	}
	b.h.apply(t, &event.AttemptStarted{App: 6, Attempt: 1}, &event.AttemptActivated{App: 6},
		&event.AskChanged{App: 6, Name: "*", Count: 1, Size: gpu(1024, 1, 0), Relax: true},
		&event.AskLabelled{App: 6, Label: "spot"},
		&event.ContainerAllocated{App: 6, Number: 1, Node: 3, AM: true, Locality: yarn.OffSwitch})
	if b.into(200, &spot, "GET", "/v1/labels/spot", ""); len(spot.Apps) != 0 {
		t.Errorf("an AM that is placed waits for no label: %+v", spot.Apps)
	}
}

// TestLabelsTried checks that a dry run plans a change of labels and submits nothing.
func TestLabelsTried(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Planner.Try = func(st *state.State, in input.Input) error {
			if in, ok := in.(*input.RemoveLabels); ok {
				return input.Refusef(input.LabelInUse, "see the queues", "%s is used", in.Names[0])
			}
			return st.Apply(&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: yarn.NodeID{Host: "sim-01"}, Label: "gpu"},
				{ID: yarn.NodeID{Host: "sim-02"}}}})
		}
	})
	labelled(t, b.h)
	b.h.apply(t, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelOperator})
	var d api.LabelChange
	b.into(200, &d, "POST", "/v1/labels:map",
		`{"nodes":[{"node":"sim-01","label":"gpu"},{"node":"sim-02","label":""},{"node":"nowhere","label":"gpu"}],"dry_run":true}`)
	if !d.DryRun || d.Index != 0 || d.Relabelled != 2 || d.Containers != 2 || d.Reservations != 0 ||
		fmt.Sprint(d.Unregistered) != "[nowhere]" ||
		len(d.Nodes) != 2 || d.Nodes[1].Node != "sim-02:8041" || d.Nodes[1].From != "gpu" || d.Nodes[1].To != "" ||
		d.Nodes[1].Used[api.MemoryMB] != 32768 {
		t.Errorf("dry run of labels:map = %+v, want sim-02:8041 second, from gpu to none, and only nowhere unregistered",
			d)
	}
	b.fails(409, "LABEL_IN_USE", "POST", "/v1/labels:remove", `{"names":["gpu"],"dry_run":true}`)
	for _, r := range b.d.asked() {
		t.Errorf("%T was submitted", r.Input)
	}
	if st, _ := b.h.Fork(); st.Labels.Name(st.Nodes.Get(2).Label) != "gpu" {
		t.Error("the state changed")
	}
	b.into(200, &d, "POST", "/v1/labels:map", `{"nodes":[{"node":"nowhere","label":"gpu"}]}`)
	if got := b.d.last(t).Input.(*input.LabelNodes); len(got.Nodes) != 1 || d.Index != 99 || len(d.Unregistered) != 1 {
		t.Errorf("labels:map proposed %+v, answered %+v, want one node, index 99, one unregistered", got, d)
	}
}

// TestManyNodesLabelledAtOnce labels as many hosts in one request as a large cluster has.
func TestManyNodesLabelledAtOnce(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	var body strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&body, `,{"node":"worker-%05d.example.com:8041","label":"gpu"}`, i)
	}
	var d api.LabelChange
	b.into(200, &d, "POST", "/v1/labels:map", `{"nodes":[`+body.String()[1:]+`]}`)
	if got := b.d.last(t).Input.(*input.LabelNodes); len(got.Nodes) != 10_000 || len(d.Unregistered) != 100 {
		t.Errorf("%d nodes, %d unregistered", len(got.Nodes), len(d.Unregistered))
	}
}

// TestPagesOfLabels checks that the pages of labels, nodes, queues and applications show the
// labels.
func TestPagesOfLabels(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	for _, p := range []struct {
		path string
		says []string
	}{
		{"/ui/labels", []string{`href="/ui/labels/gpu"`, "spot", "Administrators give nodes", "Add the label", `data-key="l"`,
			`<td>no</td>`}},
		{"/ui/labels/gpu", []string{"Label gpu", "<b>Exclusive</b>", "root.train", "its default", "…_0005", "sim-02",
			"128 GiB", "Remove the label", "80%"}},
		{"/ui/labels/spot", []string{"<b>Not exclusive</b>", "later", "not yet", "sim-03:8041",
			"Nothing waits for nodes with this label."}},
		{"/ui/nodes", []string{`<option value="gpu">gpu</option>`, `href="/ui/labels/spot"`}},
		{"/ui/nodes?label=gpu", []string{"1 node", "sim-02:8041", "Show all"}},
		{"/ui/nodes?label=-", []string{"1 node", "sim-01:8041"}},
		{"/ui/nodes/sim-02:8041", []string{`<dt>label</dt><dd><a href="/ui/labels/gpu">`}},
		{"/ui/queues", []string{"all nodes without a label", `href="/ui/queues?label=gpu"`}},
		{"/ui/queues?label=gpu", []string{`aria-current="true">gpu`,
			"root.train: 0% used, 0% reserved, 200% pending, 60% guaranteed, at most 80%"}},
		{"/ui/queues/root.train", []string{"Requests that name no label are for nodes with the label", "128 GiB", "nothing of "}},
		{"/ui/queues/root.batch", []string{"It may use no label."}},
		{"/ui/apps/application_1780000000000_0005", []string{`<th scope="col">Label</th>`, `href="/ui/labels/gpu"`}},
		{"/ui/apps/" + appOne, []string{"lent"}},
	} {
		w := b.ask("GET", p.path, "")
		body := w.Body.String()
		for _, want := range p.says {
			if w.Code != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: status %d, does not say %q", p.path, w.Code, want)
			}
		}
		for _, found := range checkHTML(body) {
			t.Errorf("%s: %s", p.path, found)
		}
	}
	for path, want := range map[string]string{"/ui/labels/fpga": "there is no label",
		"/ui/nodes?label=fpga": "there is no label", "/ui/queues?label=fpga": "there is no label"} {
		if w := b.ask("GET", path, ""); w.Code != 404 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d, want it to say %q", path, w.Code, want)
		}
	}
}

// TestEventsOfLabels checks the events of labels in the log. An event with many nodes shows only
// some of them.
func TestEventsOfLabels(t *testing.T) {
	b := newBench(t, nil)
	labelled(t, b.h)
	var many event.NodesLabelled
	for i := range 1000 {
		many.Nodes = append(many.Nodes, event.LabelledNode{ID: yarn.NodeID{Host: fmt.Sprintf("worker-%d", i)}, Label: "spot"})
	}
	at := b.h.apply(t, &many)
	var log api.Log
	b.into(200, &log, "GET", fmt.Sprintf("/v1/log?from=%d&count=8", at-6), "")
	text := fmt.Sprint(log.Entries)
	for _, want := range []string{"LabelsSet", "exclusive:map[gpu:true spot:false]",
		"labels:map[later:spot sim-02:gpu sim-03:8041:spot] nodes:3", "AskLabelled", "label:gpu"} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q: %s", want, text)
		}
	}
	// the label of a host applies to all its nodes
	for node, want := range map[string]int{"worker-999:8041": 1, "sim-02": 1, "sim-03:8041": 1, "sim-01": 0} {
		var found api.Log
		b.into(200, &found, "GET", fmt.Sprintf("/v1/log?kind=NodesLabelled&from=%d&count=8&node=%s", at-6, node), "")
		n := 0
		for _, e := range found.Entries {
			n += len(e.Events)
		}
		if n != want {
			t.Errorf("%s: %d events", node, n)
		}
	}
	var last api.Log
	b.into(200, &last, "GET", fmt.Sprintf("/v1/log?from=%d&count=1", at), "")
	if text := fmt.Sprint(last.Entries); !strings.Contains(text, "nodes:1000") || strings.Count(text, "worker-") != 100 {
		t.Errorf("many nodes: %s", text)
	}
}
