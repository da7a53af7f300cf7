package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/view"
	"rmd/yarn"
)

// strict decodes JSON and fails on unknown fields. It shows that the planner's document and the
// API's have the same fields.
func strict(t *testing.T, text []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func TestExplainDocument(t *testing.T) {
	b := recordedBench(t)
	var x api.Explanation
	strict(t, b.ask("GET", "/v1/apps/"+app3+"/explain", "").Body.Bytes(), &x)
	if x.Reason != "NODE_TOO_SMALL_FREE" || !x.Waiting || x.WaitingMillis < 0 || x.Asks[0].Size == "" ||
		x.MustEnd == nil || len(x.WhatIf) == 0 || x.Nodes[0].Diagnostic == "" {
		t.Errorf("explanation of %s = %+v, want NODE_TOO_SMALL_FREE, waiting, with ask sizes, must_end, what_if and node diagnostics",
			app3, x)
	}
}

// TestListSaysWhatExplainSays checks that a list and the document of an application give the reason
// and the text of its explanation.
func TestListSaysWhatExplainSays(t *testing.T) {
	b := recordedBench(t)
	var list api.Apps
	strict(t, b.ask("GET", "/v1/apps", "").Body.Bytes(), &list)
	var waiting int
	for _, a := range list.Apps {
		var x api.Explanation
		strict(t, b.ask("GET", "/v1/apps/"+a.ID+"/explain", "").Body.Bytes(), &x)
		if !x.Waiting {
			x.Reason, x.Text = "", ""
		} else {
			waiting++
		}
		var one api.App
		strict(t, b.ask("GET", "/v1/apps/"+a.ID, "").Body.Bytes(), &one)
		if a.Why != x.Reason || a.WhyText != x.Text || one.Why != x.Reason || one.WhyText != x.Text {
			t.Errorf("%s: explain says %s %q, the list %s %q, its own document %s %q", a.ID, x.Reason, x.Text, a.Why, a.WhyText,
				one.Why, one.WhyText)
		}
	}
	if waiting == 0 {
		t.Errorf("none of %d applications waits", len(list.Apps))
	}
}

func TestWhatIf(t *testing.T) {
	b := recordedBench(t)
	body := func(batch, standard string) string {
		props := map[string]string{}
		st, _ := b.h.Fork()
		for _, p := range st.Versions.Current().Properties {
			props[p.Name] = p.Value
		}
		props[capacity.Prefix+"root.batch.maximum-capacity"] = batch
		props[capacity.Prefix+"root.default.maximum-capacity"] = standard
		text, _ := json.Marshal(api.PutConf{Properties: props})
		return string(text)
	}
	st, index := b.h.Fork()
	digest := st.Digest()
	var d api.WhatIf
	w := b.ask("POST", "/v1/whatif", body("50", "100"))
	strict(t, w.Body.Bytes(), &d)
	if w.Code != 200 || !d.Complete || d.Version != 1 || len(d.Changes) != 1 || d.Changes[0].New != "50" ||
		len(d.Queues) == 0 {
		t.Errorf("POST /v1/whatif: status %d, want 200 and a complete answer on version 1 with the one change to 50: %+v",
			w.Code, d)
	}
	if now, at := b.h.Fork(); now.Digest() != digest || at != index {
		t.Error("the question changed the state")
	}
	if e := b.fails(422, "INVALID_QUEUES", "POST", "/v1/whatif",
		`{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"40"}}`); len(
		e.Details) == 0 {
		t.Errorf("POST /v1/whatif of invalid queues: no details in %+v", e)
	}
	b.fails(400, "INVALID_REQUEST", "POST", "/v1/whatif", `{}`)
}

// TestComparisonDocumentFields checks that the API's document has every field of the planner's
// comparison.
func TestComparisonDocumentFields(t *testing.T) {
	h := recordedStory(t)
	st, _ := h.Fork()
	var props []input.Property
	for _, p := range st.Versions.Current().Properties {
		props = append(props, input.Property{Name: p.Name, Value: p.Value})
	}
	for i := range props {
		switch props[i].Name {
		case capacity.Prefix + "root.batch.capacity", capacity.Prefix + "root.default.capacity":
			props[i].Value = "50"
		}
	}
	c, err := explain.WhatIf(planOn(st.Fork()), planOn(st.Fork()), props, explain.DefaultWhatIfLimits())
	if err != nil {
		t.Fatal(err)
	}
	c.Starts = append(c.Starts, explain.ComparedApp{ID: "a", Before: explain.AppShare{Reason: "USER_LIMIT"}})
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var d api.WhatIf
	strict(t, text, &d)
	again, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, text) {
		t.Errorf("%s\nis not\n%s", again, text)
	}
}

// TestWhatIfOneAtATime checks that a replica answers one what-if at a time. The next waits and then
// gets BUSY.
func TestWhatIfOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, leave := make(chan struct{}), make(chan struct{})
		b := newBench(t, func(c *Config) {
			c.ReadTimeout = time.Second
			c.Planner.WhatIf = func(_ *state.State, _ []input.Property, stop func() bool) (*api.WhatIf, error) {
				close(entered)
				<-leave
				for !stop() { // stop is true when the time of this request or the test ends
					time.Sleep(time.Millisecond)
				}
				return &api.WhatIf{}, nil
			}
		})
		body := `{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}}`
		done := make(chan int)
		go func() { done <- b.ask("POST", "/v1/whatif", body).Code }()
		<-entered
		b.fails(503, "BUSY", "POST", "/v1/whatif", body)
		if e := b.fails(503, "BUSY", "GET", "/v1/preemption", ""); e.Message != "this replica is busy answering a what-if" {
			t.Errorf("message = %q, want that the replica is busy answering a what-if", e.Message)
		}
		close(leave)
		if code := <-done; code != http.StatusOK {
			t.Errorf("status %d", code)
		}
		none := newBench(t, func(c *Config) { c.Planner.WhatIf = nil })
		none.fails(501, "NOT_AVAILABLE", "POST", "/v1/whatif", body)
	})
}

// TestPrivateForks checks that WhatIf gets a private fork, because it changes the state. Explain
// only reads, and gets the state whose index the answer names.
func TestPrivateForks(t *testing.T) {
	var explained, planned *state.State
	mine := state.New()
	b := newBench(t, func(c *Config) {
		c.Planner.Private = func() *state.State { return mine }
		c.Planner.Explain = func(st *state.State, _ yarn.ApplicationID) (*api.Explanation, error) {
			explained = st
			return &api.Explanation{}, nil
		}
		c.Planner.WhatIf = func(st *state.State, _ []input.Property, _ func() bool) (*api.WhatIf, error) {
			planned = st
			return &api.WhatIf{}, nil
		}
	})
	b.into(200, nil, "GET", "/v1/apps/"+app3+"/explain", "")
	if shared, _ := b.h.Fork(); explained != shared {
		t.Error("the explanation is not of the state that is shown")
	}
	b.into(200, nil, "POST", "/v1/whatif",
		`{"properties":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":"100"}}`)
	if planned != mine {
		t.Error("not the private fork")
	}
}

func TestReservationHistory(t *testing.T) {
	b := newBench(t, nil)
	var d api.ReservationHistory
	b.into(200, &d, "GET", "/v1/reservations/r1/history", "")
	if !d.Held || !d.Whole || len(d.Events) != 1 || d.Events[0].What != "made" || d.Events[0].Node != "sim-01:8041" ||
		d.App != app2 || d.Events[0].AtMillis != clusterTime+60_000 {
		t.Fatalf("history of r1 = %+v, want it held and whole, with one event: made on sim-01:8041 for %s",
			d, app2)
	}
	b.h.apply(t, &event.ReservationCancelled{Reservation: 1, Cause: yarn.CancelExchanged},
		&event.ReservationMade{Reservation: 2, App: 2, Number: 2, Key: key, Node: 1})
	b.into(200, &d, "GET", "/v1/reservations/r1/history", "")
	if d.Held || len(d.Events) != 2 || d.Events[1].What != "moved" || d.Events[1].Cause == "" ||
		d.Events[1].AtMillis == 0 {
		t.Errorf("history of r1 after the move = %+v, want it not held, and a second event: moved, with cause and time",
			d)
	}
	b.fails(404, "NO_SUCH_RESERVATION", "GET", "/v1/reservations/r99/history", "")
	reserveResize(t, b.h, 3)
	b.into(200, &d, "GET", "/v1/reservations/r3/history", "")
	if !d.Held || !d.Whole || len(d.Events) != 1 || d.Events[0].What != "made" || d.Events[0].Node != "sim-02:8041" ||
		d.App != app1 {
		t.Errorf("a reservation for a larger container: %+v", d)
	}
	b.h.forget(18) // compacted: only the entries that are kept are shown
	b.fails(404, "NO_SUCH_RESERVATION", "GET", "/v1/reservations/r1/history", "")
}

func TestLeaderSince(t *testing.T) {
	b := newBench(t, nil)
	var d api.Cluster
	b.into(200, &d, "GET", "/v1/cluster", "")
	if d.LeaderSinceMs != clusterTime { // the time of the last election
		t.Errorf("since %d", d.LeaderSinceMs)
	}
}

func TestUninitialized(t *testing.T) {
	b := newBench(t, nil)
	b.h.mu.Lock()
	b.h.st, b.h.index = state.New(), 0
	b.h.mu.Unlock()
	b.d.answering(func(context.Context, input.Request) (input.Reply, uint64, error) { return nil, 0, problem.ErrNoLeader })
	b.fails(409, "NOT_INITIALIZED", "POST", "/v1/apps", `{"unmanaged":true,"user":"ann"}`)
	b.k.readIndex = func(context.Context) (uint64, error) { return 0, problem.ErrNoLeader }
	b.fails(409, "NOT_INITIALIZED", "GET", "/v1/apps?consistent", "")
}

func TestVerdictWithoutSpare(t *testing.T) {
	one := []api.Member{{ID: "rm1", Voter: true, State: "alive"}}
	v := view.Verdict(true, "rm1", one)
	if v.Status != "healthy" || v.CanLose != 0 || !strings.Contains(v.Text, "the loss of any voter stops it") {
		t.Errorf("Verdict of one replica = %+v, want healthy, none to lose, and that any loss stops it", v)
	}
	three := []api.Member{{ID: "rm1", Voter: true, State: "alive"}, {ID: "rm2", Voter: true, State: "alive"},
		{ID: "rm3", Voter: true, State: "alive"}}
	if v := view.Verdict(true, "rm1", three); strings.Contains(v.Text, "stops") {
		t.Errorf("Verdict of three replicas = %+v, want no text about stopping", v)
	}
}

// TestAttemptHistory checks that the attempts of an application include those that ended.
func TestAttemptHistory(t *testing.T) {
	b := recordedBench(t)
	var d api.Attempts
	b.into(200, &d, "GET", "/v1/apps/"+app1+"/attempts", "")
	if len(d.Attempts) != 1 || d.Attempts[0].State != "ENDED" || d.Attempts[0].LaunchedMillis == 0 ||
		d.Attempts[0].EndedMillis == 0 || d.Attempts[0].AMContainer == "" || d.Attempts[0].AMNode != "node-1:8041" ||
		!d.Attempts[0].Current {
		t.Errorf("attempts of %s = %+v, want one that ended, with times, AM container and node-1:8041",
			app1, d)
	}
}

// TestDryRunIsExplained checks that the answer to a dry run of a submission says what the
// application would wait for, planned on a private fork. If the planner cannot say, the answer
// omits it.
func TestDryRunIsExplained(t *testing.T) {
	var given *input.SubmitApplication
	mine := state.New()
	b := newBench(t, func(c *Config) {
		c.Planner.Private = func() *state.State { return mine }
		c.Planner.ExplainSubmission = func(st *state.State, in *input.SubmitApplication) (*api.Explanation, error) {
			if given = in; st != mine {
				t.Error("not a private fork")
			}
			if in.Queue == "root.batch" {
				return nil, input.Refusef(input.NoSuchQueue, "", "no")
			}
			return &api.Explanation{Reason: "AM_LIMIT_QUEUE", Waiting: true}, nil
		}
	})
	var d api.Submitted
	b.into(200, &d, "POST", "/v1/apps?dry_run", `{"user":"u","queue":"root.online","am":{"memory-mb":2048}}`)
	if d.Explain == nil || d.Explain.Reason != "AM_LIMIT_QUEUE" || given == nil ||
		given.AM[yarn.Memory] != 2048 || !d.DryRun {
		t.Errorf("%+v of %+v", d, given)
	}
	d = api.Submitted{}
	b.into(200, &d, "POST", "/v1/apps?dry_run", `{"user":"u","queue":"root.batch"}`)
	if d.Explain != nil {
		t.Errorf("dry run in root.batch: explanation %+v, want none", d.Explain)
	}
	given = nil
	b.into(201, &d, "POST", "/v1/apps", `{"user":"u","queue":"root.online"}`)
	if given != nil {
		t.Error("a real submission is foreseen")
	}
}
