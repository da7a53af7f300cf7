package planner

import (
	"slices"
	"testing"

	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/scheduler/placement"
)

// TestPlacement checks that the first matching rule decides, that a rejection has its own code, and
// that a tag can place for another user.
func TestPlacement(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:40, b:30, default:30) queue-mappings=u:ann:a,g:etl:root.%primary_group,u:%user:root.%user yarn.resourcemanager.application-tag-based-placement.enable=true yarn.resourcemanager.application-tag-based-placement.username.whitelist=hive
node add n1 80G`)
	submit := func(in input.SubmitApplication) input.Reply {
		in.Name, in.Unmanaged = "x", true
		return w.plan(&in)
	}
	for _, tc := range []struct {
		in   input.SubmitApplication
		want string
	}{
		{input.SubmitApplication{User: "ann"}, "root.a"},
		{input.SubmitApplication{User: "ann", Queue: "default"}, "root.a"},
		{input.SubmitApplication{User: "ann", Queue: "root.b"}, "root.b"},
		{input.SubmitApplication{User: "b"}, "root.b"},
		{input.SubmitApplication{User: "b", Groups: []string{"x", "etl"}}, "root.default"}, // not to root.b by the next rule
		{input.SubmitApplication{User: "hive", Tags: []string{"userid=ann"}}, "root.a"},
		{input.SubmitApplication{User: "hive", Tags: []string{"userid=eve"}, TagGroups: []string{"b", "etl"}}, "root.b"},
		{input.SubmitApplication{User: "eve", Tags: []string{"userid=ann"}}, "root.default"},
	} {
		r := submit(tc.in)
		if r.Refused() != nil || r.(*input.SubmitApplicationReply).Queue != tc.want {
			t.Errorf("%+v: %+v, want %s", tc.in, r, tc.want)
		}
		if slot := w.p.st.Apps.Find(r.(*input.SubmitApplicationReply).ID.Seq); w.p.st.Names.Text(
			w.p.st.Apps.Get(slot).User) != tc.in.User {
			t.Errorf("%+v does not run for its own user", tc.in)
		}
	}
	explained := func(in input.SubmitApplication) *explain.Placed {
		x, err := explain.Application(w.p.Scheduler(), submit(in).(*input.SubmitApplicationReply).ID)
		if err != nil {
			t.Fatal(err)
		}
		return x.Placed
	}
	for _, tc := range []struct {
		in   input.SubmitApplication
		want explain.Placed
	}{
		{input.SubmitApplication{User: "ann"}, explain.Placed{Rule: 1, Text: "u:ann:a"}},
		{input.SubmitApplication{User: "b", Groups: []string{"x", "etl"}},
			explain.Placed{Rule: 2, Text: "g:etl:root.%primary_group",
				Why: `there is no queue "root.x", and its parent does not create queues`}},
		{input.SubmitApplication{User: "hive", Tags: []string{"userid=ann"}},
			explain.Placed{Rule: 1, Text: "u:ann:a", For: "ann"}},
	} {
		if got := explained(tc.in); got == nil || *got != tc.want {
			t.Errorf("%+v: explained as %+v, want %+v", tc.in, got, tc.want)
		}
	}
	if got := explained(input.SubmitApplication{User: "ann", Queue: "root.b"}); got != nil {
		t.Errorf("a submission that no rule placed is explained as %+v, want nil", got)
	}
	w.tellAll(`conf queues=(a:40, b:30, default:30) mapping-rule-format=json mapping-rule-json={"rules":[{"type":"user","matches":"*","policy":"user","fallbackResult":"reject"}]}`)
	if r := submit(input.SubmitApplication{User: "eve"}); r.Refused() == nil ||
		r.Refused().Reason != input.PlacementRejected {
		t.Errorf("submission by eve: %+v, want a refusal with code %s", r, input.PlacementRejected)
	}
	if r := submit(input.SubmitApplication{User: "b"}); r.Refused() != nil ||
		r.(*input.SubmitApplicationReply).Queue != "root.b" {
		t.Errorf("submission by b: %+v, want it in root.b", r)
	}
}

// TestPlacementChangeCounts checks the count of applications that would be placed elsewhere:
// because of other rules, of missing queues, or of a rejection.
func TestPlacementChangeCounts(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:40, b:30, default:30)
node add n1 80G`)
	for _, in := range []input.SubmitApplication{{User: "ann"}, {User: "ann", Name: "etl"}, {User: "bob", Queue: "root.b"},
		{User: "eve", Queue: "a"}} {
		in.Unmanaged = true
		if r := w.plan(&in); r.Refused() != nil {
			t.Fatal(r.Refused())
		}
	}
	ofSubmission := func(slot state.AppSlot, a *state.App) placement.Submission {
		return explain.SubmissionOf(w.p.st, slot, a)
	}
	compare := func(more ...string) *explain.Landings {
		var props []capacity.Property
		for _, p := range w.props {
			props = append(props, capacity.Property(p))
		}
		for i := 0; i < len(more); i += 2 {
			props = append(props, capacity.Property{Name: confPrefix + more[i], Value: more[i+1]})
		}
		to, err := capacity.Parse(props)
		if err != nil {
			t.Fatal(err)
		}
		return explain.CompareLandings(w.p.st, w.p.Config(), to, ofSubmission, func() bool { return false })
	}
	if got := compare(); got.Apps != 4 || got.Elsewhere != 0 || !got.Complete {
		t.Errorf("without a change: %+v", got)
	}
	got := compare("queue-mappings", "u:ann:b,u:bob:a,u:eve:a")
	if want := []explain.Landing{{User: "ann", From: "root.default", To: "root.b", Apps: 2}}; got.Elsewhere != 2 ||
		!slices.Equal(got.Moves, want) {
		t.Errorf("rules without override: %+v", got)
	}
	got = compare("queue-mappings", "u:ann:b,u:bob:a,u:eve:a", "queue-mappings-override.enable", "true")
	if want := (explain.Landing{User: "bob", From: "root.b", To: "root.a", Apps: 1}); got.Elsewhere != 3 ||
		got.Moves[1] != want {
		t.Errorf("rules that override: %+v", got)
	}
	got = compare("mapping-rule-format", "json", "mapping-rule-json",
		`{"rules":[{"type":"application","matches":"etl","policy":"reject"}]}`)
	if want := []explain.Landing{{User: "ann", From: "root.default", Apps: 1}}; !slices.Equal(got.Moves, want) {
		t.Errorf("a rejection: %+v", got)
	}
	to, err := capacity.Parse([]capacity.Property{{Name: confPrefix + "root.queues", Value: "a"},
		{Name: confPrefix + "root.a.capacity", Value: "100"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := explain.CompareLandings(w.p.st, w.p.Config(), to, ofSubmission,
		func() bool { return false }); got.Elsewhere != 3 || got.Moves[0].To != "" {
		t.Errorf("queues that are gone: %+v", got)
	}
	if got := explain.CompareLandings(w.p.st, w.p.Config(), to, ofSubmission, func() bool { return true }); got.Complete ||
		got.Apps != 0 {
		t.Errorf("stopped at once: %+v", got)
	}
}
