//go:build browser

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	devlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is one tab of a real browser. It does what a user does: read, click and type.
type tab struct {
	t       testing.TB
	ctx     context.Context
	blocked string // what the page may not load, and says so

	mu   sync.Mutex
	said []string // errors of the page: exceptions and violations of its policy
}

// openBrowser starts a browser with its own profile, and with more options. If there is no browser, it
// skips the test, or fails it if RMD_BROWSER is set.
func openBrowser(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	options = append(options, more...)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		if os.Getenv("RMD_BROWSER") == "" {
			t.Skipf("no browser: %v", err)
		}
		t.Fatal(err)
	}
	return ctx
}

// newTab opens a tab. At the end of the test, it fails the test if the page reported errors.
func newTab(t testing.TB, browser context.Context) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.recordError); err != nil {
		t.Fatal(err)
	}
	b.do("listen to the page's log", chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, devlog.Enable, cdp.Empty{})
		return err
	}))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, s := range b.said {
			t.Errorf("the page complained: %s", s)
		}
		cancel()
	})
	return b
}

// recordError records exceptions and errors of the page. Failed requests while a replica is down do
// not count.
func (b *tab) recordError(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, fmt.Sprintf("%+v", ev.ExceptionDetails))
	case *devlog.EventEntryAdded:
		if string(ev.Entry.Level) == "error" && string(ev.Entry.Source) != "network" &&
			(b.blocked == "" || !strings.Contains(ev.Entry.Text, b.blocked)) {
			b.said = append(b.said, ev.Entry.Text+" "+ev.Entry.URL)
		}
	}
}

// do does what a person does, again if the page replaced the element meanwhile.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := chromedp.Do(ctx, steps...)
	for err != nil && strings.Contains(err.Error(), replaced) {
		err = chromedp.Do(ctx, steps...)
	}
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.text())
	}
}

// replaced is what the browser says of an element that is not in the page any more.
const replaced = "Could not find node with given id"

func (b *tab) open(address string) {
	b.t.Helper()
	b.do("open "+address, chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("main h1")))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// fill replaces the text of a field.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.do("fill in "+selector, chromedp.Clear(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// text returns the visible text of the page.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body ? document.body.innerText : ''"))
	if err != nil {
		return err.Error()
	}
	return s
}

// address returns the URL of the page.
func (b *tab) address() string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href"))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// reads waits until the page shows all of the texts.
func (b *tab) reads(says ...string) {
	b.t.Helper()
	text := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text = b.text()
		missing := false
		for _, s := range says {
			missing = missing || !strings.Contains(text, s)
		}
		if !missing {
			return
		}
	}
	b.t.Fatalf("the page does not say %q:\n%s", says, text)
}

// awaitTrue waits until a JavaScript expression is true on the page.
func (b *tab) awaitTrue(what, expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		cancel()
		if err == nil && ok {
			return
		}
	}
	b.t.Fatalf("%s: %s does not hold:\n%s", what, expression, b.text())
}

// missesOne makes the page miss one update: the next answer that would show something new is
// replaced with the previous answer. A replica does this when many pages are open.
func (b *tab) missesOne() {
	b.t.Helper()
	b.awaitTrue("the next renewal misses what is new", `(() => {
		const real = window.fetch, index = (r) => Number(r.headers.get("X-Rmd-Index"));
		const before = real(location.href, { headers: { "X-Rmd-Live": "1" } });
		window.fetch = async (...asked) => {
			const old = await before, now = await real(...asked);
			if (index(now) <= index(old)) return now;
			window.fetch = real;
			window.missed = true;
			return old;
		};
		return true;
	})()`)
}

// script turns JavaScript on or off.
func (b *tab) script(on bool) {
	b.t.Helper()
	b.do("turn scripts on or off", chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// TestBrowser does an operator's work in a real browser, on the leader and on a follower of a
// cluster of real processes.
func TestBrowser(t *testing.T) {
	browser := openBrowser(t)
	c := startProcesses(t, 3, calm, "")
	call := newCaller(t, c.addrs())
	h := call.hold()
	c.awaitInStep()
	leader := c.leader()
	follower := c.others(leader)[0]
	held := c.reservations(leader)
	if len(held) != 1 {
		t.Fatalf("%d reservations are held, not 1", len(held))
	}
	app := h.waiting.App.String()
	for _, p := range []*process{leader, follower} {
		role := map[bool]string{true: "leader", false: "follower"}[p == leader]
		t.Run("why on the "+role, func(t *testing.T) { browserWhy(t, newTab(t, browser), p, role, app, held[0].ID) })
		t.Run("queue on the "+role, func(t *testing.T) { browserQueue(t, newTab(t, browser), c, p) })
		t.Run("every page on the "+role,
			func(t *testing.T) { browserPages(t, newTab(t, browser), p, app, held[0].ID, held[0].Node) })
	}
	t.Run("replay", func(t *testing.T) {
		call.application("late", "root.batch") // creates decisions after the reservation, for the replay
		browserReplay(t, newTab(t, browser), follower, held[0].ID)
	})
	t.Run("without scripts", func(t *testing.T) { browserPlain(t, newTab(t, browser), c, follower, app) })
	t.Run("last hour", func(t *testing.T) { browserLastHour(t, newTab(t, browser), leader, held[0].Node) })
	t.Run("looks", func(t *testing.T) { browserLooks(t, newTab(t, browser), follower, app, held[0].ID) })
	t.Run("times", func(t *testing.T) { browserTimes(t, newTab(t, browser), call, follower) })
	t.Run("capacities", func(t *testing.T) { browserCapacities(t, newTab(t, browser), follower) })
	t.Run("labels", func(t *testing.T) { browserLabels(t, newTab(t, browser), c, follower, held[0].Node) })
	t.Run("cancel", func(t *testing.T) {
		browserCancel(t, newTab(t, browser), newTab(t, browser), c, leader, follower, held[0].ID)
	})
	t.Run("failover",
		func(t *testing.T) { browserFailover(t, newTab(t, browser), newTab(t, browser), c, leader, follower) })
	t.Run("no majority", func(t *testing.T) { browserNoMajority(t, newTab(t, browser), c, follower) })
}

// browserWhy finds out why an application waits. It starts on the overview page.
func browserWhy(t *testing.T, b *tab, p *process, role, app, reservation string) {
	b.open("http://" + p.http + "/ui/")
	b.reads(p.id+" "+role, "Waiting longest", "live")
	b.do("g a leads to the applications", chromedp.KeyEvent("g"), chromedp.KeyEvent("a"),
		chromedp.WaitVisible(chromedp.CSS("#states")))
	b.click(`#list a.why[href="/ui/apps/` + app + `"]`)
	b.reads("Why waiting", "NODE_TOO_SMALL_FREE", reservation, "4 GiB", "It waits for 2 containers", "in root.train")
	b.click(`#explain a[href="/ui/reservations/` + reservation + `"]`)
	b.reads("Reservation "+reservation, "Containers on the node", "Short", "2 GiB")
}

// browserQueue changes the maximum of a queue, looks at the difference before, and rolls the change
// back.
func browserQueue(t *testing.T, b *tab, c *processes, p *process) {
	version := func() uint64 {
		var conf struct {
			Version uint64 `json:"version"`
		}
		c.get(p, "/v1/conf", &conf)
		return conf.Version
	}
	most := func() float64 {
		var q struct {
			Most float64 `json:"max_capacity"`
		}
		c.get(p, "/v1/queues/root.batch", &q)
		return q.Most
	}
	began, usual := version(), most()
	b.open("http://" + p.http + "/ui/queues")
	b.click(`a[href="/ui/queues/root.batch"]`)
	b.reads("Change this queue", "Nothing changes until")
	b.fill(`input[name="set.maximum-capacity"]`, "64")
	b.click(`form[action="/ui/conf/stage"] button.primary`)
	b.reads("Staged change", "Nothing has been written", "maximum-capacity", "64", "Valid")
	if version() != began {
		t.Fatal("a staged change was written")
	}
	b.fill(`input[name="comment"]`, "tried in a browser")
	b.click(`form[action="/ui/conf/apply"] button.primary`)
	b.reads("The new configuration is in force", "tried in a browser", fmt.Sprintf("Version %d is in force", began+1))
	if most() != 64 {
		t.Fatalf("the maximum is %v, not 64", most())
	}
	b.click(fmt.Sprintf(`a[href="/ui/conf/rollback?to=%d"]`, began))
	b.reads(fmt.Sprintf("Roll back to version %d", began), "What would change", "maximum-capacity")
	b.click(`form[action="/ui/conf/rollback"] button.primary`)
	b.reads("The earlier configuration is in force again", fmt.Sprintf("Version %d is in force", began+2))
	if most() != usual {
		t.Fatalf("the maximum is %v, not %v again", most(), usual)
	}
}

// browserPages opens every page on a wide and on a narrow screen. It checks that no page is wider
// than the screen, and that the keyboard reaches everything.
func browserPages(t *testing.T, b *tab, p *process, app, reservation, node string) {
	for _, width := range []int64{1400, 640, 400} {
		b.do("set the size", chromedp.EmulateViewport(width, 900))
		for _, path := range []string{"", "apps", "apps?all=1", "apps/" + app, "queues", "queues/root.train", "nodes",
			"nodes/" + node, "reservations", "reservations/" + reservation,
			"cluster", "cluster?verify=1", "decisions", "decisions?kind=all", "conf", "conf/edit", "labels", "users",
			"preemption", "forecasts", "replay", "nowhere"} {
			b.open("http://" + p.http + "/ui/" + path)
			b.awaitTrue(fmt.Sprintf("/ui/%s at %d fits", path, width),
				"document.documentElement.scrollWidth <= document.documentElement.clientWidth")
			b.do("tab", chromedp.KeyEvent("\t"))
			b.awaitTrue("/ui/"+path+" leads past the navigation first", `document.activeElement.className === "skip"`)
		}
	}
}

// browserReplay rewinds the recorded log, steps to the reservation, plays to the end, and compares
// scheduling with and without reservations. Then it steps without JavaScript.
func browserReplay(t *testing.T, b *tab, p *process, reservation string) {
	b.open("http://" + p.http + "/ui/replay")
	b.reads("Paused at index", "1 active", "Reserved at this index", reservation)
	b.click(`.controls a[href="/ui/replay?at=1"]`)
	b.reads("Paused at index 1\n", "0 of 0 nodes usable")
	steps := 0
	for ; steps < 60 && !strings.Contains(b.text(), "node reserved"); steps++ {
		before := b.address()
		b.click(`.controls a[href^="/ui/replay?at="]:nth-last-of-type(2)`)
		b.awaitTrue("the replay has moved on", fmt.Sprintf("location.href !== %q", before))
	}
	if steps == 60 {
		t.Fatalf("the reservation is not found:\n%s", b.text())
	}
	b.reads("1 active, 1 made, 0 fulfilled", "Reserved at this index", reservation)
	b.awaitTrue("the place is marked", `document.querySelector("#decided tr[aria-current=step]")`)
	paused := b.address()
	b.click(`.controls a[href*="speed=300"]`)
	b.reads("At the end at index")
	b.awaitTrue("it stays there", `document.querySelector("#playback[data-still]")`)
	b.awaitTrue("the address has followed the replay", fmt.Sprintf("location.href !== %q", paused))
	b.click(`form[action="/ui/replay/rerun"] button.primary`)
	b.reads("The recorded applications have been played", "Large containers", "Reservations made", "With", "Without")
	b.script(false)
	b.do("go back without scripts", chromedp.Navigate(paused), chromedp.WaitVisible(chromedp.CSS("#playback")))
	b.click(`.controls a[href="/ui/replay?at=1"]`)
	b.do("it is rewound", chromedp.WaitVisible(chromedp.CSS(`input[name="at"][value="1"]`)))
	b.script(true)
}

// browserPlain does an action without JavaScript.
func browserPlain(t *testing.T, b *tab, c *processes, p *process, app string) {
	b.script(false)
	b.do("open", chromedp.Navigate("http://"+p.http+"/ui/apps/"+app), chromedp.WaitVisible(chromedp.CSS("#explain")))
	b.click(".actions details:nth-of-type(3) summary")
	b.do("type", chromedp.Clear(chromedp.CSS(`input[name="priority"]`)),
		chromedp.SendKeys(chromedp.CSS(`input[name="priority"]`), "7"))
	b.click(`form[action$="/priority"] button`)
	b.do("note", chromedp.WaitVisible(chromedp.CSS(".banner.good")))
	var doc struct {
		Priority int32 `json:"priority"`
	}
	c.await("the priority is 7", patience, func() bool { return c.get(p, "/v1/apps/"+app, &doc) && doc.Priority == 7 })
	b.script(true)
}

// browserLastHour checks the plots, light and dark, wide and narrow: each plot is on the page,
// large enough to read, and drawn in a color. Then it finds them without JavaScript.
func browserLastHour(t *testing.T, b *tab, p *process, node string) {
	pages := []struct {
		path  string
		plots int
	}{{"", 6}, {"queues/root.batch", 3}, {"nodes/" + node, 2}}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, width := range []int64{1280, 640} {
			b.do("set the size", chromedp.EmulateViewport(width, 900))
			for _, page := range pages {
				b.open("http://" + p.http + "/ui/" + page.path)
				b.reads("Last hour", "has samples since")
				b.awaitTrue(fmt.Sprintf("/ui/%s at %d in %s has its plots", page.path, width, scheme), fmt.Sprintf(`(() => {
					const plots = [...document.querySelectorAll("#hour .plot")];
					return plots.length === %d && plots.every((svg) => {
						const box = svg.getBoundingClientRect(), line = svg.querySelector(".line");
						return box.width >= 200 && box.width <= 640 && line.getBBox().width > 0 && getComputedStyle(line).stroke !== "none";
					});
				})()`, page.plots))
				b.awaitTrue("it fits", "document.documentElement.scrollWidth <= document.documentElement.clientWidth")
			}
		}
	}
	b.open("http://" + p.http + "/ui/")
	b.click(`#hour a[href*="span=week"]`)
	b.reads("Last week", "Waiting for their ApplicationMaster")
	b.awaitTrue("the script is loaded, which reads the keys", `document.readyState === "complete"`)
	b.do("/ searches everywhere", chromedp.KeyEvent("/"))
	b.awaitTrue("the field of the search has the focus", `document.activeElement.name === "q"`)
	b.open("http://" + p.http + "/ui/search?q=batch")
	b.awaitTrue("the queue is found", `document.querySelector('#found a[href="/ui/queues/root.batch"]')`)
	b.script(false)
	b.do("open the overview without scripts", chromedp.Navigate("http://"+p.http+"/ui/"),
		chromedp.WaitVisible(chromedp.CSS("#hour .plot .line")))
	b.script(true)
}

// browserCancel cancels a reservation on a follower. A tab on the leader sees the reservation
// disappear.
func browserCancel(t *testing.T, b, watcher *tab, c *processes, leader, follower *process, reservation string) {
	watcher.open("http://" + leader.http + "/ui/reservations")
	watcher.reads(reservation, "1 active", "live")
	watcher.awaitTrue("a mark", "window.mark = true")
	watcher.missesOne()
	b.open("http://" + follower.http + "/ui/reservations")
	b.reads("1 active", "reserved for")
	b.click(`a[href="/ui/reservations/` + reservation + `#cancel"]`)
	b.fill(`input[name="reason"]`, "holds up others")
	b.click(`form[action="/ui/reservations/` + reservation + `/cancel"] button.danger`)
	b.reads("The reservation was cancelled", "0 active", "1 operator")
	watcher.reads("0 active", "No node is reserved")
	watcher.awaitTrue("a page of before was served", "window.missed === true")
	watcher.awaitTrue("the page was not loaded again", "window.mark === true")
	if n := len(c.reservations(follower)); n != 0 {
		t.Errorf("%d reservations are held", n)
	}
}

// browserFailover kills the leader. A page of a survivor shows the new leader without a reload. A
// page of the killed replica says that the replica does not answer, and continues when the replica
// is back.
func browserFailover(t *testing.T, b, dead *tab, c *processes, leader, survivor *process) {
	b.open("http://" + survivor.http + "/ui/cluster")
	b.reads("Healthy", "live")
	dead.open("http://" + leader.http + "/ui/")
	dead.reads("live")
	b.awaitTrue("a mark", "window.mark = true")
	dead.awaitTrue("a mark", "window.mark = true")
	c.kill(leader)
	dead.reads("This replica does not answer", "reconnecting")
	next := c.leader()
	b.awaitTrue("the new leader is told", `document.querySelector('[data-status="leader"]').textContent === "`+next.id+`"`)
	b.reads(next.id+" leads", "unreachable", "Degraded", "Last election")
	b.awaitTrue("the page was not loaded again", "window.mark === true")
	c.start(leader)
	c.awaitReady(leader)
	dead.awaitTrue("it is live again",
		`document.getElementById("lost").hidden && document.querySelector('[data-status="leader"]').textContent === "`+
			next.id+`"`)
	b.reads("Healthy")
	dead.awaitTrue("the page was not loaded again", "window.mark === true")
}
