package httpserver

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/yarn"
)

// TestLifeOnThePage checks that the page of an application draws what /v1 answers, and says it in
// numbers.
func TestLifeOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hourOf(t)
		body := b.ask("GET", "/ui/apps/"+app1, "").Body.String()
		for _, want := range []string{"Resources over time", `aria-label="memory: at most 96 GiB used"`,
			`aria-label="vcores: at most 24 used"`, `aria-label="gpu: at most 6 used"`,
			`<th scope="row">memory</th><td class="num">96 GiB</td><td class="num">0 GiB</td><td class="num">0 GiB</td><td class="num">96 GiB</td><td class="num">0 GiB</td><td class="num">32 GiB</td>`, "Some are missing"} {
			if !strings.Contains(body, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		_, line, _ := strings.Cut(body, `<path class="line blue" d="M`)
		_, line, _ = strings.Cut(line, `<path class="line blue" d="`) // the first one is in the legend
		line, _, _ = strings.Cut(line, `"`)
		if strings.Count(line, "M") != 2 || strings.Contains(body, "NaN") {
			t.Errorf("the line has no gap: %s", line)
		}
		for _, found := range checkHTML(body) {
			t.Error(found)
		}
		if body := b.ask("GET", "/ui/apps/"+app4, "").Body.String(); !strings.Contains(body,
			"There are no samples of this application") {
			t.Error("the page of an application without samples does not say so")
		}
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// hourOf returns a server that took 3 samples, then lost contact with the leader for a while, then
// took 2 samples.
func hourOf(t *testing.T) *bench {
	began := time.Now()
	b := newBench(t, func(c *Config) {
		c.Now = func() time.Time { return time.UnixMilli(clusterTime).Add(time.Since(began)) }
	})
	synctest.Wait()
	sleep := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
	sleep(11 * time.Second)
	b.k.become(func(k *consensus) { k.role, k.staleness = "follower", time.Minute })
	sleep(10 * time.Second)
	b.k.become(func(k *consensus) { k.staleness, k.behind = 0, "catching up" })
	sleep(5 * time.Second)
	b.k.become(func(k *consensus) { k.behind = "" })
	sleep(5 * time.Second)
	b.h.apply(t, &event.ContainerAllocated{App: 1, Number: 3, Key: key, Node: 3, Locality: yarn.OffSwitch})
	sleep(5 * time.Second)
	return b
}

func TestLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hourOf(t)
		for file, path := range map[string]string{"history.json": "/v1/history",
			"history_queue.json": "/v1/history?queue=online", "history_node.json": "/v1/history?node=sim-03"} {
			b.golden(t, file, path)
		}
		b.golden(t, "history_week.json", "/v1/history?span=week")
		b.golden(t, "history_app.json", "/v1/apps/"+app1+"/history")
		b.fails(404, "NO_SUCH_APPLICATION", "GET", "/v1/apps/application_1780000000000_0099/history", "")
		b.fails(400, api.CodeInvalidRequest, "GET", "/v1/history?span=year", "")
		b.fails(404, "NO_SUCH_QUEUE", "GET", "/v1/history?queue=root.gone", "")
		b.fails(404, "NO_SUCH_NODE", "GET", "/v1/history?node=gone", "")
		b.fails(400, api.CodeInvalidRequest, "GET", "/v1/history?node=sim-01&queue=root.online", "")
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLastHourOnThePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := hourOf(t)
		for path, says := range map[string][]string{
			"/ui/": {"Used: 50% now, at most 50%", "Reserved: 33% now", "Waiting for their ApplicationMaster: 1 now",
				"Decisions a second: 0.2 over the last 5 s, at most 0.2", "Largest free room on a node: 32 GiB · 8 vc · 2 gpu now",
				"Empty nodes: 0 now, at most 1", "in per cent of the largest node"},
			"/ui/queues/root.train": {"Used: 0% now", "Reserved: 33% now", "Waiting for their ApplicationMaster: 0 now"},
			"/ui/nodes/sim-03:8041": {"Used: 50% now, at most 50%", "Reserved: 0% now", "Per cent of the node"},
		} {
			body := b.ask("GET", path, "").Body.String()
			for _, want := range append(says, "Last hour", "20:26:40 UTC: rm1 leads in place of rm2; this replica knew no leader for 214 ms",
				"Replica rm1 has samples since") {
				if !strings.Contains(body, want) {
					t.Errorf("%s does not say %q", path, want)
				}
			}
			if strings.Contains(body, "NaN") {
				t.Errorf("%s draws what is not there", path)
			}
			_, line, _ := strings.Cut(body, `<path class="line blue" d="`)
			line, _, _ = strings.Cut(line, `"`)
			if strings.Count(line, "M") != 2 {
				t.Errorf("%s: the line has no gap: %s", path, line)
			}
			for _, found := range checkHTML(body) {
				t.Errorf("%s: %s", path, found)
			}
		}
		b.h.apply(t, &event.AskChanged{App: 1, Key: key, Name: "*", Count: 1, Size: gpu(32768, 8, 2), Relax: true},
			&event.ContainerAllocated{App: 1, Number: 4, Key: key, Node: 3, Locality: yarn.OffSwitch})
		for path, now := range map[string]string{"/ui/nodes/sim-03:8041": "Used: 100% now, at most 100%",
			"/ui/apps/" + app1: `<td class="num">128 GiB</td><td class="num">0 GiB</td><td class="num">0 GiB</td>`} {
			if body := b.ask("GET", path, "").Body.String(); !strings.Contains(body, now) {
				t.Errorf("%s tells the last sample as if it were now", path)
			}
		}
		b.k.become(func(k *consensus) { k.staleness = time.Minute })
		time.Sleep(time.Minute)
		if body := b.ask("GET", "/ui/", "").Body.String(); strings.Contains(body, "% now") {
			t.Error("what was a minute ago is told as if it were now")
		}
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
}
