package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"rmd/api"
	"rmd/scheduler/explain"
)

func TestWhatIf(t *testing.T) {
	doc := api.WhatIf{Changes: []api.Change{{Key: "k"}},
		Comparison: explain.Comparison{Version: 3, Complete: false, Turns: 50, Warnings: []string{"a warning"},
			Queues: []api.WhatIfQueue{{Path: "root.train", Before: api.WhatIfQueueShare{Guaranteed: "30MB", Used: "10MB"},
				After: api.WhatIfQueueShare{Guaranteed: "40MB", Used: "10MB"}, Over: true}},
			Starts: []api.WhatIfApp{{ID: anApp, User: "ann", Queue: "root.train",
				Before: api.WhatIfAppShare{Reason: "QUEUE_MAX_CAPACITY"}, After: api.WhatIfAppShare{Containers: 2, Used: "8MB"}}},
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
		"root.train  30MB → 40MB  10MB  yes", "120 would start at once (wait now), of them 1\n",
		anApp + "  root.train  0 → 2  - → 8MB  QUEUE_MAX_CAPACITY → -", "nothing was changed"} {
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
	if r := rmd(t, env, "conf", "diff", "--whatif", file, "-o", "json"); json.Unmarshal([]byte(r.out), &back) != nil ||
		back.Totals.Starts != 120 {
		t.Errorf("conf diff --whatif -o json: stdout %q, want JSON with 120 starts in all; stderr %q", r.out, r.err)
	}
}

// TestConfDiffOfAVersion checks that one version is compared as a file is: with what is in force, in
// the direction of a rollback.
func TestConfDiffOfAVersion(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/conf") {
			asked = append(asked, r.URL.Path)
		}
		_ = json.NewEncoder(w).Encode(api.ConfDiff{})
	}))
	defer s.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	rmd(t, env, "conf", "diff", "1")
	rmd(t, env, "conf", "diff", "1", "2")
	if want := []string{"/v1/conf/versions/current/diff/1", "/v1/conf/versions/1/diff/2"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}
