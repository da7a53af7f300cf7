package httpserver

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/explain"
	"rmd/yarn"
)

// rowOf returns the table row of a container, or "".
func rowOf(body, id string) string {
	for row := range strings.SplitSeq(body, "<tr>") {
		if strings.Contains(row, `title="`+id+`"`) {
			row, _, _ = strings.Cut(row, "</tr>")
			return row
		}
	}
	return ""
}

var preemptionParagraph = regexp.MustCompile(`(?s)<p class="preemption">(.*?)</p>`)

// paragraphs returns the texts about preemption on a page, without tags.
func paragraphs(body string) string {
	var out []string
	for _, m := range preemptionParagraph.FindAllStringSubmatch(body, -1) {
		out = append(out, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], ""))
	}
	return strings.Join(out, " | ")
}

// TestPagesShowWarnings checks where a preemption warning of a container is shown: on the pages of
// its node, of its queue and that queue's parents, of the queue that gains, of both applications,
// and in the container's row. Other pages do not show it, and none does after the warning is
// withdrawn.
func TestPagesShowWarnings(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Planner.Explain = func(st *state.State, id yarn.ApplicationID) (*api.Explanation, error) {
			return explain.Application(planOn(st.Fork()).Scheduler(), id)
		}
	})
	first, second := "container_1780000000000_0001_01_000001", "container_1780000000000_0001_01_000002"
	warned := event.ContainerRef{App: 1, Attempt: 1, Number: 1}
	b.h.apply(t, &event.PreemptionAsked{Container: warned, Reservation: 1, Queue: "root.train",
		Cause:          yarn.PreemptGuarantee,
		DeadlineMillis: clusterTime + 135_000, Under: gpu(65536, 16, 4), Over: gpu(4096, 1, 0), Sets: 3})
	page := func(path string) string {
		t.Helper()
		w := b.ask("GET", path, "")
		if w.Code != http.StatusOK {
			t.Fatalf("GET %s: status %d, want 200: %s", path, w.Code, w.Body)
		}
		for _, found := range checkHTML(w.Body.String()) {
			t.Errorf("%s: %s", path, found)
		}
		return w.Body.String()
	}
	at := "2026-05-28 20:28:55 UTC" // the deadline
	for path, want := range map[string]string{
		"/ui/nodes/sim-01:8041":  "1 container of this node must end to make room, by " + at + ".",
		"/ui/nodes/sim-02:8041":  "",
		"/ui/queues/root.online": "1 container of its applications must end for others, by " + at + ".",
		"/ui/queues/root.train":  "1 container of other queues must end to make room for it, by " + at + ".",
		"/ui/queues/root":        "1 container of its applications must end for others, by " + at + ".",
		"/ui/queues/root.batch":  "",
		"/ui/apps/" + appOne: "Warned of preemption " + at +
			", for …_0002: …_0001_01_000001. root.train was 64 GiB · 16 vc · 4 gpu under its guarantee, root.online was 4 GiB · 1 vc over its own; cheapest of 3 sets.",
		"/ui/apps/" + appTwo: "1 container on sim-01:8041 will end to make room for it " + at +
			". root.train was 64 GiB · 16 vc · 4 gpu under its guarantee, root.online was 4 GiB · 1 vc over its own; cheapest of 3 sets.",
		"/ui/apps/" + appThree: "",
		"/ui/reservations/r1":  "",
	} {
		if got := paragraphs(page(path)); got != want {
			t.Errorf("%s says %q, want %q", path, got, want)
		}
	}
	badge := regexp.MustCompile(`<span class="badge warn" title="It is warned: it must end for others.">ends <time datetime="2026-05-28T20:28:55.000Z">`)
	for _, path := range []string{"/ui/nodes/sim-01:8041", "/ui/apps/" + appOne} {
		body := page(path)
		if !badge.MatchString(rowOf(body, first)) || len(badge.FindAllString(body, -1)) != 1 {
			t.Errorf("%s: the row of the warned container: %q", path, rowOf(body, first))
		}
	}
	for _, path := range []string{"/ui/nodes/sim-02:8041", "/ui/apps/" + appOne} {
		if row := rowOf(page(path), second); row == "" || strings.Contains(row, "ends ") {
			t.Errorf("%s: the row of the other container: %q", path, row)
		}
	}
	if body := page("/ui/decisions"); !strings.Contains(body, "PreemptionAsked") {
		t.Error("the decision is not shown")
	}
	b.h.apply(t, &event.PreemptionWithdrawn{Container: warned, Cause: yarn.WithdrawNotEntitled})
	for _, path := range []string{"/ui/nodes/sim-01:8041", "/ui/queues/root.online", "/ui/queues/root.train",
		"/ui/apps/" + appOne} {
		// the server may answer with the old page while it renders the new one
		soon(t, path+" says nothing of it any more", func() bool {
			body := page(path)
			return paragraphs(body) == "" && !badge.MatchString(body)
		})
	}
}

// TestPageSaysWhatIsTooDear checks that the page of a waiting application says which preemption
// costs too much, and when that changes.
func TestPageSaysWhatIsTooDear(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Planner.Explain = func(_ *state.State, id yarn.ApplicationID) (*api.Explanation, error) {
			return &api.Explanation{ID: id.String(), Waiting: true, Reason: "NODE_TOO_SMALL_FREE",
				Preemption: &api.AppPreemption{Text: "nothing is killed",
					Dear: &api.PreemptionDear{Node: "sim-01:8041", EndsMillis: clusterTime + 135_000}}}, nil
		}
	})
	body := b.ask("GET", "/ui/apps/"+appTwo, "").Body.String()
	if got, want := paragraphs(body), "nothing is killed, 2026-05-28 20:28:55 UTC."; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
