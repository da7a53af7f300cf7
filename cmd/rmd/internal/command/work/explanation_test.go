package work

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"rmd/api"
)

// TestExplanationShowsEveryField fills every field of the document and checks that the output
// contains it.
func TestExplanationShowsEveryField(t *testing.T) {
	x := api.Explanation{ID: "application_1780000000000_0107", State: "ACCEPTED", Queue: "root.train", Waiting: true,
		WaitingMillis: 242_000, Position: 2, Of: 14, Reason: "NODE_TOO_SMALL", Never: true,
		Text: "it asks for more than there is", Diagnostic: "Node does not have sufficient resource for request",
		Asks: []api.ExplainedAsk{{Priority: 1, AllocationID: 7, Count: 3, Size: "327680MB 88vc",
			Where: "any host", AM: true}},
		Limits: []api.ExplainedLimit{{Name: "maximum of root.train", Used: "1MB", Most: "2MB", Binds: true},
			{Name: "limit of user ann", Used: "0MB", Most: "2MB"}},
		Nodes: []api.ExplainedNodes{{Reason: "NODE_TOO_SMALL_FREE", Verdict: "too little is free", Count: 3,
			Example: "sim-01:45454"}},
		Reserved: []api.ExplainedReservation{{ID: "r41", Node: "sim-03:45454", Needs: "8gpu", Free: "3gpu", AgeMillis: 60_000,
			WaitsFor: []string{"container_a", "container_b"}}},
		Ahead: []string{"application_a"}, Behind: []string{"application_b", "application_c"},
		WhatIf: []api.ExplainedAlternative{{If: "with no reservations", Then: "not sooner", Reason: "QUEUE_MAX_CAPACITY"},
			{If: "asking for 4 GPUs", Now: true}},
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

// TestLimitsDoNotRepeatTheReason checks that the limits say only what the reason does not say.
func TestLimitsDoNotRepeatTheReason(t *testing.T) {
	x := api.Explanation{State: "ACCEPTED", Queue: "root.a", Reason: "AM_LIMIT_QUEUE",
		Text: "its AM needs 4 GiB; the AMs of root.a use 4 GiB of 4 GiB; with it memory would be 8 GiB of 4 GiB",
		Limits: []api.ExplainedLimit{
			{Name: "AM share of queue", Used: "4 GiB", Most: "4 GiB", Binds: true, Over: "memory would be 8 GiB of 4 GiB"},
			{Name: "AM share of user", Used: "4 GiB", Most: "6 GiB", Binds: true, Over: "memory would be 8 GiB of 6 GiB"}}}
	var b bytes.Buffer
	if err := writeExplanation(&b, x, "", 0); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); strings.Count(got, "memory would be 8 GiB of 4 GiB") != 1 ||
		!strings.Contains(got, "AM share of queue: 4 GiB of 4 GiB, at its limit\n") ||
		!strings.Contains(got, "AM share of user: 4 GiB of 6 GiB, at its limit: with it memory would be 8 GiB of 6 GiB\n") {
		t.Errorf("got\n%s", got)
	}
}
