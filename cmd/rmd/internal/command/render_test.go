package command

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"rmd/api"
	"rmd/scheduler/explain"
)

// TestExplanationShowsEveryField fills every field of the document and checks that the output
// contains it.
func TestExplanationShowsEveryField(t *testing.T) {
	x := api.Explanation{ID: anApp, State: "ACCEPTED", Queue: "root.train", Waiting: true, WaitingMillis: 242_000, Position: 2, Of: 14, Reason: "NODE_TOO_SMALL", Never: true,
		Text: "it asks for more than there is", Diagnostic: "Node does not have sufficient resource for request",
		Asks:     []api.ExplainedAsk{{Priority: 1, AllocationID: 7, Count: 3, Size: "327680MB 88vc", Where: "any host", AM: true}},
		Limits:   []api.ExplainedLimit{{Name: "maximum of root.train", Used: "1MB", Most: "2MB", Binds: true}, {Name: "limit of user ann", Used: "0MB", Most: "2MB"}},
		Nodes:    []api.ExplainedNodes{{Reason: "NODE_TOO_SMALL_FREE", Verdict: "too little is free", Count: 3, Example: "sim-01:45454"}},
		Reserved: []api.ExplainedReservation{{ID: "r41", Node: "sim-03:45454", Needs: "8gpu", Free: "3gpu", AgeMillis: 60_000, WaitsFor: []string{"container_a", "container_b"}}},
		Ahead:    []string{"application_a"}, Behind: []string{"application_b", "application_c"},
		WhatIf:  []api.ExplainedAlternative{{If: "with no reservations", Then: "not sooner", Reason: "QUEUE_MAX_CAPACITY"}, {If: "asking for 4 GPUs", Now: true}},
		MustEnd: &api.ExplainedMustEnd{Node: "sim-02:45454", Missing: "5gpu", Containers: []string{"container_d"}},
	}
	var b bytes.Buffer
	if err := writeExplanation(&b, x, "", 0); err != nil {
		t.Fatal(err)
	}
	want := `WAITING  4m02s in root.train, 2nd of 14 in the queue
  reason    NODE_TOO_SMALL (never fits)
            it asks for more than there is
            in YARN: Node does not have sufficient resource for request
  asks      3 × 327680MB 88vc, any host, priority 1, allocation id 7, its AM
  limits    maximum of root.train: 1MB of 2MB, at its limit
            limit of user ann: 0MB of 2MB, ok
  nodes     3: too little is free, for instance sim-01:45454 (NODE_TOO_SMALL_FREE)
  reserved  r41 on sim-03:45454 since 1m00s: needs 8gpu, free 3gpu
            waits until one or more of 2 containers end: container_a, container_b
  must end  on sim-02:45454 (5gpu is missing): container_d
  ahead     application_a
  behind    application_b, application_c and 10 more
  what if   with no reservations: not sooner (QUEUE_MAX_CAPACITY)
            asking for 4 GPUs: now
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := writeExplanation(&b, x, "", 50); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 50 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Join(strings.Fields(b.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("folding loses words:\n%s", b.String())
	}
}

func TestWhatIf(t *testing.T) {
	doc := api.WhatIf{Changes: []api.Change{{Key: "k"}}, Comparison: explain.Comparison{Version: 3, Complete: false, Turns: 50, Warnings: []string{"a warning"},
		Queues: []api.WhatIfQueue{{Path: "root.train", Before: api.WhatIfQueueShare{Guaranteed: "30MB", Used: "10MB"}, After: api.WhatIfQueueShare{Guaranteed: "40MB", Used: "10MB"}, Over: true}},
		Starts: []api.WhatIfApp{{ID: anApp, User: "ann", Queue: "root.train", Before: api.WhatIfAppShare{Reason: "QUEUE_MAX_CAPACITY"}, After: api.WhatIfAppShare{Containers: 2, Used: "8MB"}}},
		Totals: api.WhatIfTotals{Starts: 120}}}
	var sent api.PutConf
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/whatif" {
			t.Errorf("request %s %s, want POST /v1/whatif", r.Method, r.URL)
		}
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_ = json.NewEncoder(w).Encode(doc)
	}))
	defer s.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	file := queueFile(t)
	r := rmd(t, env, "conf", "diff", file, "--whatif")
	for _, want := range []string{"in place of version 3: 1 keys change\n120 applications would start at once, 0 would wait", "warning: a warning", "stopped after 50 node passes",
		"root.train  30MB → 40MB  10MB  yes", "120 would start at once (wait now), of them 1\n", anApp + "  root.train  0 → 2  - → 8MB  QUEUE_MAX_CAPACITY → -", "nothing was changed"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s%s", want, r.out, r.err)
		}
	}
	if sent.Properties["yarn.scheduler.capacity.root.a.capacity"] != "100" {
		t.Errorf("sent: %+v", sent)
	}
	if r := rmd(t, env, "conf", "diff", "--whatif", file, "-o", "name"); r.out != anApp+"\n" {
		t.Errorf("conf diff --whatif -o name: stdout %q, want %q; stderr %q", r.out, anApp+"\n", r.err)
	}
	var back api.WhatIf
	if r := rmd(t, env, "conf", "diff", "--whatif", file, "-o", "json"); json.Unmarshal([]byte(r.out), &back) != nil || back.Totals.Starts != 120 {
		t.Errorf("conf diff --whatif -o json: stdout %q, want JSON with 120 starts in all; stderr %q", r.out, r.err)
	}
}
