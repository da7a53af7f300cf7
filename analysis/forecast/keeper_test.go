package forecast

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"rmd/analysis/runner"
	"rmd/fsm/state"
	"rmd/fsm/state/change"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestKeeper checks that a waiting ask gets a promise, which comes due when the ask starts. A
// record that was saved and read continues, even if log entries are replayed or the start was
// missed.
func TestKeeper(t *testing.T) {
	c := newCluster(t)
	c.app("root.a", 1, 16384, 60_000)
	waits := c.app("root.a", 1, 16384, 0)
	k := NewKeeper(c.p.State(), 7, nil, RefreshOptions())
	if err := k.Forecast(c.p.State(), c.now); err != nil || k.Record.None != 0 || k.Record.Waiting() != 1 {
		t.Fatalf("%d promises, %d without a start, %v", k.Record.Waiting(), k.Record.None, err)
	}
	before := c.p.State().Fork()
	saved, err := json.Marshal(k.Record)
	if err != nil {
		t.Fatal(err)
	}
	read := func() *Record {
		t.Helper()
		r := &Record{}
		if err := json.Unmarshal(saved, r); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(r); err != nil || !bytes.Equal(again, saved) {
			t.Fatalf("%v: %s is read as %s", err, saved, again)
		}
		return r
	}
	c.now += 30_000
	n := c.p.State().Nodes.Get(1)
	c.p.Plan(c.now, input.Request{Input: &input.NodeHeartbeat{ID: n.ID, Statuses: []input.ContainerStatus{
		{Container: c.p.State().Apps.ContainerID(c.p.State().Containers.Get(n.Containers)),
			State: yarn.ContainerCompleted}}}})
	changes := slices.Clone(c.p.Changes())
	start := func(k *Keeper, index uint64) { k.Apply(index, c.now, changes) }
	start(k, 8)
	if k.Record.Due != 1 || k.Record.Newest[0].Delay != 30_000 || k.Record.Waiting() != 0 {
		t.Errorf("when %s starts: %+v", waits.App, k.Record.recorded)
	}
	start(k, 8) // replayed
	if k.Record.Due != 1 {
		t.Error("a start counts twice")
	}
	older := NewKeeper(before, 5, read(), RefreshOptions())
	if older.Apply(6, c.now, nil) || older.Record.Waiting() != 1 {
		t.Error("a replica that begins with an older state forgets its promises")
	}
	if start(older, 8); older.Record.Due != 1 {
		t.Error("it does not go on")
	}
	if same := NewKeeper(before, 9, read(), RefreshOptions()); same.Record.Waiting() != 1 {
		t.Error("the promise for what waits still is forgotten")
	}
	if missed := NewKeeper(c.p.State(), 9, read(), RefreshOptions()); missed.Record.Waiting() != 0 ||
		missed.Record.Gone != 1 || missed.Record.Due != 0 {
		t.Errorf("a start that was missed: %+v", missed.Record.recorded)
	}
	other := read()
	other.Cluster = "another"
	if k := NewKeeper(before, 9, other, RefreshOptions()); k.Record.Cluster != "c" || k.Record.Waiting() != 0 {
		t.Error("the record of another cluster is kept")
	}
	// An ask that is withdrawn must not count as late forever.
	gone := NewKeeper(before, 9, read(), RefreshOptions())
	if err := gone.Forecast(c.p.State(), c.now); err != nil || gone.Record.Waiting() != 0 || gone.Record.Gone != 1 {
		t.Errorf("%d promises wait, %d are gone, %v", gone.Record.Waiting(), gone.Record.Gone, err)
	}
}

// TestKeeperFollowsDuringForecast checks that an ask that starts while a forecast is computed still
// gets its promise, which comes due at once: leaving it out would favor long waits.
func TestKeeperFollowsDuringForecast(t *testing.T) {
	c := newCluster(t)
	c.app("root.a", 1, 16384, 60_000)
	c.app("root.a", 1, 16384, 0)
	k := NewKeeper(c.p.State(), 7, nil, RefreshOptions())
	st, now := c.p.State().Fork(), c.now
	asks := k.Begin(st)
	c.now += 10_000
	n := c.p.State().Nodes.Get(1)
	c.p.Plan(c.now, input.Request{Input: runner.Completion(c.p.State(),
		c.p.State().Apps.Ref(c.p.State().Containers.Get(n.Containers)))})
	k.Apply(8, c.now, c.p.Changes())
	starts, err := Run(st, now, asks, k.Options)
	if err != nil {
		t.Fatal(err)
	}
	if k.Promise(st, now, starts); len(asks) != 1 || k.Record.Due != 1 || k.Record.Newest[0].Delay != 10_000 ||
		k.Record.Waiting() != 0 {
		t.Errorf("%d asks, then %+v", len(asks), k.Record.recorded)
	}
}

// TestKeeperCountsUnanswered checks that an ask for which no start is foreseen counts once, and has
// no promise.
func TestKeeperCountsUnanswered(t *testing.T) {
	c := newCluster(t)
	c.app("root.a", 1, 16384, 0)
	c.app("root.a", 1, 16384, 0)
	o := RefreshOptions()
	o.MaxEnds = 0
	k := NewKeeper(c.p.State(), 7, nil, o)
	for range 2 {
		if err := k.Forecast(c.p.State(), c.now); err != nil || k.Record.None != 1 || k.Record.Waiting() != 0 {
			t.Errorf("%d without a start, %d promises, %v", k.Record.None, k.Record.Waiting(), err)
		}
	}
}

// TestReadRecord checks that invalid files are rejected.
func TestReadRecord(t *testing.T) {
	good, err := json.Marshal(NewRecord("c"))
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty": "", "a list": "[]", "cut": string(good[:len(good)/2]),
		"more held than due": strings.Replace(string(good), `"held":0`, `"held":1`, 1),
		"wide":               strings.Replace(string(good), `"outside":0.08`, `"outside":50`, 1),
		"negative":           strings.Replace(string(good), `"open":[]`, `"open":[{"App":1,"forecast_ms":-1}]`, 1),
		"backwards":          strings.Replace(string(good), `"open":[]`, `"open":[{"App":1,"from_ms":5}]`, 1),
	} {
		if bad == string(good) {
			t.Fatalf("%s: nothing is replaced in %s", name, good)
		}
		if err := json.Unmarshal([]byte(bad), &Record{}); err == nil {
			t.Errorf("%s is taken: %s", name, bad)
		}
	}
}

// TestReservedIncrease checks that a container that grows on a node reserved for that counts as no
// start of the ask under its key.
func TestReservedIncrease(t *testing.T) {
	c := newCluster(t)
	grows := c.app("root.a", 1, 4096, 0)
	st := c.p.State()
	id := st.Apps.ContainerID(st.Containers.Get(st.Nodes.Get(1).Containers))
	other := c.app("root.a", 1, 11264, 0)
	// the queue may use more
	c.do(&input.RegisterNode{ID: yarn.NodeID{Host: "n2", Port: 1}, Rack: "/r", Total: yarn.NewResource(16384, 16)})
	c.do(&input.NodeHeartbeat{ID: st.Nodes.Get(1).ID,
		Statuses: []input.ContainerStatus{{Container: id, State: yarn.ContainerRunning}}})
	a := st.Apps.Get(st.Apps.ByID(grows.App))
	c.do(&input.Allocate{Attempt: grows, Response: a.Response,
		Updates: []input.Update{{Container: id, Type: input.IncreaseResource, Size: yarn.NewResource(8192, 1)}}})
	c.do(&input.NodesHeard{Nodes: []state.NodeSlot{1}})
	k := NewKeeper(st, 7, nil, RefreshOptions())
	held := yarn.ContainerID{App: other.App, Attempt: 1, Number: 1}
	c.do(&input.NodeHeartbeat{ID: st.Nodes.Get(1).ID,
		Statuses: []input.ContainerStatus{{Container: held, State: yarn.ContainerCompleted}}})
	if !slices.ContainsFunc(c.p.Changes(), func(x change.Change) bool {
		return x.Kind == change.ReservationClosed && x.Increase && x.Cancelled == 0
	}) {
		t.Fatalf("no reservation for an increase is fulfilled: %+v", c.p.Changes())
	}
	if k.Apply(8, c.now, c.p.Changes()); len(k.since) != 0 {
		t.Errorf("starts: %v", k.since)
	}
}
