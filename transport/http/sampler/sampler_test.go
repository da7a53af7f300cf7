package sampler

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/transport/http/summary"
	"rmd/yarn"
)

const (
	step  = 5 * time.Second
	start = 1780000000000
)

// world is a state to which the test applies events, and a sampler of it.
type world struct {
	t    testing.TB
	st   *state.State
	at   time.Time
	sums summary.Keeper
	s    *series
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, st: state.New(), at: time.UnixMilli(start), s: newSeries(step, api.HistoryHour)}
	t.Cleanup(w.sums.Close)
	w.apply(&event.TimeAdvanced{NowMillis: start},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: start, Level: event.Level})
	return w
}

func (w *world) apply(events ...event.Event) {
	w.t.Helper()
	w.st = w.st.Fork()
	for _, e := range events {
		if err := w.st.Apply(e); err != nil {
			w.t.Fatal(err)
		}
	}
}

// take takes the given number of samples, one step apart.
func (w *world) take(times int) {
	for range times {
		sum := w.sums.At(w.st, 1)
		w.s.Take(w.at, w.st, sum, sum.Rooms(yarn.Calculator{Kinds: 2, Dominant: true}, yarn.NewResource(1, 1)))
		w.at = w.at.Add(step)
	}
}

// configure applies version v of the queue configuration.
func (w *world) configure(v uint64, queues ...string) {
	w.t.Helper()
	e := &event.QueuesConfigured{Version: v, Kinds: yarn.DefaultKinds(), Queues: []event.QueueDefinition{{Path: "root"}}}
	for _, q := range queues {
		e.Queues = append(e.Queues, event.QueueDefinition{Path: "root." + q, Leaf: true})
	}
	w.apply(e)
}

func (w *world) register(n state.NodeSlot) { w.apply(registered(n)) }

func registered(n state.NodeSlot) *event.NodeRegistered {
	return &event.NodeRegistered{Node: n, ID: nodeID(n), HTTPPort: 1, Rack: "/r",
		Total: yarn.NewResource(10_000, 10), Version: "v"}
}

func nodeID(n state.NodeSlot) yarn.NodeID { return yarn.NodeID{Host: fmt.Sprint("n", n), Port: 1} }

// run submits an application that gets a container of the given size on a node at once, and asks
// for another.
func (w *world) run(seq uint32, queue string, node state.NodeSlot, memory, vcores int64) {
	key := yarn.SchedulerKey{Priority: 1}
	w.apply(&event.ApplicationSubmitted{App: seq, User: "u", Queue: "root." + queue, Unmanaged: true, MaxAttempts: 1},
		&event.AttemptStarted{App: seq, Attempt: 1},
		&event.AttemptActivated{App: seq}, &event.AttemptRegistered{App: seq},
		&event.AskChanged{App: seq, Key: key, Name: "*", Count: 2, Size: yarn.NewResource(memory, vcores), Relax: true},
		&event.ContainerAllocated{App: seq, Number: 1, Key: key, Node: node, Locality: yarn.OffSwitch})
}

func (w *world) queue(path string) *api.History { return w.s.Queue(w.st.Queues.Find(path), path, w.at) }
func (w *world) node(n state.NodeSlot) *api.History {
	return w.s.Node(w.st.Nodes.Find(nodeID(n)), nodeID(n), w.at)
}

// values formats samples as used/reserved/waiting/decisions. – stands for a missing value.
func values(h *api.History) string {
	text := ""
	for _, n := range h.Samples {
		waiting, rate := "–", "–"
		if n.Waiting != nil {
			waiting = fmt.Sprint(*n.Waiting)
		}
		if n.Decisions != nil {
			rate = fmt.Sprint(*n.Decisions)
		}
		text += fmt.Sprintf("%v/%v/%s/%s ", n.Used, n.Reserved, waiting, rate)
	}
	return text
}

func (w *world) says(what string, h *api.History, want string) {
	w.t.Helper()
	if got := values(h); got != want {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestSamples(t *testing.T) {
	w := newWorld(t)
	w.take(1) // there are no queues: expect no sample, not zeros
	if h := w.s.Cluster(w.at); len(h.Samples) != 0 || h.BeginsMillis != 0 {
		t.Errorf("a cluster without queues has samples: %+v", h)
	}
	w.configure(1, "a", "b")
	w.register(1)
	w.register(2)
	w.take(1)
	w.run(1, "a", 1, 2_000, 4) // vcores is the kind with the largest share
	w.take(1)
	key := yarn.SchedulerKey{Priority: 1}
	w.run(2, "b", 2, 9_000, 1)
	w.apply(&event.ReservationMade{Reservation: 1, App: 2, Number: 2, Key: key, Node: 2})
	w.apply(&event.ApplicationSubmitted{App: 3, User: "u", Queue: "root.b", AM: yarn.NewResource(1, 1), MaxAttempts: 1})
	w.take(1)
	w.says("cluster", w.s.Cluster(w.at), "0/0/0/– 20/0/0/0.2 55/45/1/0.4 ")
	w.says("root", w.queue("root"), "0/0/0/– 20/0/0/– 55/45/1/– ")
	w.says("root.a", w.queue("root.a"), "0/0/0/– 20/0/0/– 20/0/0/– ")
	w.says("root.b", w.queue("root.b"), "0/0/0/– 0/0/0/– 45/45/1/– ")
	w.says("n1", w.node(1), "0/0/–/– 40/0/–/– 40/0/–/– ")
	w.says("n2", w.node(2), "0/0/–/– 0/0/–/– 90/10/–/– ")
	if h := w.s.Cluster(w.at); h.BeginsMillis != start+5000 || h.StepMillis != 5000 || len(h.Gaps) != 0 {
		t.Errorf("history begins at %d in steps of %d ms with gaps %v, want %d, 5000 and no gaps",
			h.BeginsMillis, h.StepMillis, h.Gaps, int64(start+5000))
	}
}

// TestSamplesOfLabels checks that the use of nodes with a label counts.
func TestSamplesOfLabels(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a", "b")
	w.register(1)
	w.register(2)
	w.run(1, "a", 1, 5_000, 5)
	w.run(2, "b", 2, 2_000, 2)
	w.apply(&event.LabelsSet{Labels: []event.Label{{Name: "x"}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: nodeID(2), Label: "x"}}})
	w.take(1)
	w.says("cluster", w.s.Cluster(w.at), "35/0/0/– ")
	w.says("root.b", w.queue("root.b"), "10/0/0/– ")
}

// TestSamplesOfRooms checks that the rooms of all labels count, and that each sample has its own.
func TestSamplesOfRooms(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a")
	w.register(1)
	w.register(2)
	w.apply(&event.LabelsSet{Labels: []event.Label{{Name: "x"}}},
		&event.NodesLabelled{Nodes: []event.LabelledNode{{ID: nodeID(2), Label: "x"}}},
		&event.NodeResourceChanged{Node: 2, Total: yarn.NewResource(20_000, 5), Set: true})
	w.take(1)
	w.run(1, "a", 2, 15_000, 1)
	w.take(2)
	h, text := w.s.Cluster(w.at), ""
	for _, n := range h.Samples {
		text += fmt.Sprintf("%d MB, %d vcores, %d of %d; ", n.LargestFree[api.MemoryMB], n.LargestFree[api.VCores],
			*n.EmptyNodes, *n.ServingNodes)
	}
	if want := "20000 MB, 10 vcores, 2 of 2; 10000 MB, 10 vcores, 1 of 2; 10000 MB, 10 vcores, 1 of 2; "; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if got, want := h.LargestNode, (api.Resource{api.MemoryMB: 20_000, api.VCores: 10}); !maps.Equal(got, want) {
		t.Errorf("the largest node has %v, want %v", got, want)
	}
	if h := w.queue("root.a"); h.LargestNode != nil || h.Samples[0].EmptyNodes != nil {
		t.Errorf("a queue has nodes: %+v", h)
	}
}

func TestOnlyTheLastHourIsKept(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a")
	w.take(3 * int(time.Hour/step))
	most := int(api.HistoryHour / step)
	if n := len(w.s.samples); n > most || cap(w.s.samples) > 2*most {
		t.Errorf("%d samples in room for %d, want %d", n, cap(w.s.samples), most)
	}
	h := w.queue("root.a")
	if n := len(h.Samples); n < most-1 || len(h.Gaps) != 0 {
		t.Errorf("%d samples of an hour, gaps %v", n, h.Gaps)
	}
	if h.BeginsMillis != start {
		t.Errorf("begins at %d", h.BeginsMillis)
	}
	w.at = w.at.Add(2 * time.Hour)
	if h := w.s.Cluster(w.at); len(h.Samples) != 0 {
		t.Errorf("%d samples are older than an hour", len(h.Samples))
	}
}

func TestMissingSamplesAreGaps(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a")
	w.register(1)
	w.register(2)
	w.take(2)
	w.at = w.at.Add(time.Minute)
	w.apply(&event.NodeStateChanged{Node: 1, State: yarn.NodeLost})
	w.run(1, "a", 2, 1_000, 1)
	w.take(3)
	gap := api.HistoryGap{FromMillis: start + 5_000, ToMillis: start + 70_000}
	h := w.s.Cluster(w.at)
	if len(h.Samples) != 5 || len(h.Gaps) != 1 || h.Gaps[0] != gap {
		t.Errorf("samples %s, gaps %v", values(h), h.Gaps)
	}
	w.says("no rate over a gap", h, "0/0/0/– 0/0/0/0 10/0/0/– 10/0/0/0 10/0/0/0 ")
	w.register(1)
	w.take(1)
	if h := w.node(1); values(h) != "0/0/–/– 0/0/–/– 0/0/–/– " || len(h.Gaps) != 1 || h.Gaps[0].ToMillis != start+85_000 {
		t.Errorf("a node that was not heard: %s, gaps %v", values(h), h.Gaps)
	}
	w.at = w.at.Add(time.Minute)
	if h := w.s.Cluster(w.at); len(h.Gaps) != 2 || h.Gaps[1].ToMillis != w.at.UnixMilli() {
		t.Errorf("the gap up to now is not told: %v", h.Gaps)
	}
}

func TestAClockThatIsSetBack(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a")
	w.take(4)
	w.at = time.UnixMilli(start + 7_000)
	w.take(1)
	h := w.s.Cluster(w.at)
	last := int64(math.MinInt64)
	for _, n := range h.Samples {
		if n.AtMillis <= last {
			t.Errorf("%d after %d", n.AtMillis, last)
		}
		last = n.AtMillis
	}
	if len(h.Samples) != 3 || last != start+7_000 {
		t.Errorf("%d samples, the last at %d", len(h.Samples), last)
	}
}

// TestReusedQueueSlot checks that a queue does not get the samples of a removed queue that had its
// slot before.
func TestReusedQueueSlot(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a", "b")
	w.take(3)
	slot := w.st.Queues.Find("root.b")
	w.configure(2, "a")
	w.configure(3, "a", "c")
	if w.st.Queues.Find("root.c") != slot {
		t.Fatal("the slot is not used again")
	}
	if n := len(w.queue("root.c").Samples); n != 0 {
		t.Errorf("%d samples before the first of root.c", n)
	}
	w.take(2)
	if n := len(w.queue("root.c").Samples); n != 2 {
		t.Errorf("%d samples of root.c, not 2", n)
	}
	if n := len(w.queue("root.a").Samples); n != 5 {
		t.Errorf("%d samples of root.a, not 5", n)
	}
}

// large returns a cluster with n queues and n nodes.
func large(t testing.TB, n int) *world {
	w := newWorld(t)
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("q", i))
	}
	w.configure(1, names...)
	var all []event.Event
	for i := range n {
		all = append(all, registered(state.NodeSlot(i+1)))
	}
	w.apply(all...)
	return w
}

// TestMemoryIsBounded counts the bytes of the samples of an hour with 10,000 queues and 10,000
// nodes.
func TestMemoryIsBounded(t *testing.T) {
	w := large(t, 10_000)
	w.take(int((time.Hour + time.Minute) / step))
	bytes := 0
	for i := range w.s.samples {
		if d := w.s.samples[i].detail; d != nil {
			bytes += len(d.queues)*queueUseBytes + len(d.nodes)*nodeUseBytes
		}
	}
	if most := 14_500_000; bytes > most || bytes < most*9/10 {
		t.Errorf("%d bytes of details, want just below %d", bytes, most)
	}
	h := w.queue("root.q77")
	if n := len(h.Samples); n < 115 || n > 120 || h.StepMillis != 30_000 || len(h.Gaps) != 0 {
		t.Errorf("%d samples, one every %d ms, gaps %v", n, h.StepMillis, h.Gaps)
	}
	if n := len(w.s.Cluster(w.at).Samples); n < 719 {
		t.Errorf("%d samples of the cluster", n)
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		used, reserved, whole yarn.Resource
		want                  string
	}{
		{yarn.Resource{}, yarn.Resource{}, yarn.Resource{}, "0 0"},
		{yarn.NewResource(1, 0), yarn.Resource{}, yarn.Resource{}, "0 0"},
		{yarn.NewResource(1, 1), yarn.NewResource(0, 8), yarn.NewResource(10, 10), "10 80"},
		{yarn.NewResource(9, 1), yarn.NewResource(1, 9), yarn.NewResource(10, 10), "90 10"},
		{yarn.NewResource(30, 1), yarn.Resource{}, yarn.NewResource(10, 10), "300 0"},
		{yarn.NewResource(1<<40, 1), yarn.Resource{}, yarn.NewResource(1, 10), "655.34 0"},
	} {
		u, r := shares(c.used, c.reserved, c.whole)
		if got := fmt.Sprint(u.percent(), r.percent()); got != c.want {
			t.Errorf("%v and %v of %v: %s, want %s", c.used, c.reserved, c.whole, got, c.want)
		}
	}
}

// BenchmarkTake measures a sample of a cluster with 10,000 queues and 10,000 nodes, including its
// share of the details, but not the summary. Budget: 50 ms, which is 1 % of a core.
func BenchmarkTake(b *testing.B) {
	w := large(b, 10_000)
	w.take(1)
	sum := w.sums.At(w.st, 1)
	b.ReportAllocs()
	for b.Loop() {
		w.s.Take(w.at, w.st, sum, sum.Rooms(yarn.Calculator{Kinds: 2, Dominant: true}, yarn.NewResource(1, 1)))
		w.at = w.at.Add(step)
	}
}

// BenchmarkHistory measures the history that the page of a queue asks for.
func BenchmarkHistory(b *testing.B) {
	w := newWorld(b)
	w.configure(1, "a")
	w.take(720)
	b.ReportAllocs()
	for b.Loop() {
		w.queue("root.a")
	}
}

// TestLongerTimes checks that the day and the week have samples at falling resolution, and how many at
// most.
func TestLongerTimes(t *testing.T) {
	w := newWorld(t)
	w.configure(1, "a")
	w.register(1)
	all, sum := New(time.Minute), w.sums.At(w.st, 1)
	for range 9 * 24 * 60 {
		w.at = w.at.Add(time.Minute)
		all.Take(w.at, w.st, sum, nil)
	}
	for span, want := range map[time.Duration]int{api.HistoryHour: 60, api.HistoryDay: 720, api.HistoryWeek: 672} {
		h := all.Cluster(w.at, span)
		if len(h.Samples) != want || h.SpanMillis != span.Milliseconds() || len(h.Gaps) != 0 {
			t.Errorf("over %s: %d samples over %d ms with the gaps %v, want %d samples", span, len(h.Samples),
				h.SpanMillis, h.Gaps, want)
		}
		if n := len(all.over(span).samples); n > want+1 {
			t.Errorf("over %s: %d samples are kept", span, n)
		}
	}
}
