//go:build browser

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"rmd/api"
)

// scheme makes the browser prefer light or dark pages.
func (b *tab) scheme(name string) {
	b.t.Helper()
	b.do("choose "+name, chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	}))
}

// picture saves a screenshot if RMD_SCREENSHOTS names a directory.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("RMD_SCREENSHOTS")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// eachLook calls f for both widths with light and dark pages, and once without scripts.
func (b *tab) eachLook(f func(look string)) {
	b.t.Helper()
	for _, width := range []int64{1280, 640} {
		b.do("set the size", chromedp.EmulateViewport(width, 900))
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			f(fmt.Sprintf("%s-%d", scheme, width))
		}
	}
	b.scheme("light")
	b.script(false)
	f("plain-640")
	b.script(true)
	b.do("set the size", chromedp.EmulateViewport(1280, 900))
}

// shows opens a page and checks that its parts are visible, that the page is not wider than the
// window, and that the text is readable.
func (b *tab) shows(address string, parts ...string) {
	b.t.Helper()
	b.do("open "+address, chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("main h1")))
	for _, part := range parts {
		b.do("find "+part+" at "+address, chromedp.WaitVisible(chromedp.CSS(part)))
	}
}

// fits checks that the page is not wider than the window, and that the text contrasts with the
// background.
func (b *tab) fits(what string) {
	b.t.Helper()
	b.awaitTrue(what+" fits", "document.documentElement.scrollWidth <= document.documentElement.clientWidth")
	b.awaitTrue(what+" can be read", `(() => {
		const light = (color) => { const [r, g, b] = color.match(/\d+/g).map(Number); return 0.299 * r + 0.587 * g + 0.114 * b; };
		const body = getComputedStyle(document.body);
		return Math.abs(light(body.color) - light(body.backgroundColor)) > 120;
	})()`)
}

// browserLooks opens the pages without actions, at both widths, light and dark, and without
// scripts.
func browserLooks(t *testing.T, b *tab, p *process, app, reservation string) {
	pages := []struct {
		name, path string
		parts      []string
	}{
		{"user", "users/u2", []string{"#queues tbody tr", `#waits a[href="/ui/apps/` + app + `"]`,
			`#queues th[aria-sort="descending"]`}},
		{"queues-sorted", "queues?sort=-guaranteed", []string{`#tree th[aria-sort="descending"] a`}},
		{"queue-capacities", "queues/root", []string{"#capacities output", `#capacities input[name="capacity.root.batch"]`}},
		{"app-containers", "apps/" + app + "?sort=-size", []string{"#containers", "#explain"}},
		{"apps", "apps", []string{`#list a.why[href="/ui/apps/` + app + `"]`}},
		{"reservations-sorted", "reservations?sort=-short", []string{`[aria-label="Sort by"] [aria-current]`}},
		{"reservation", "reservations/" + reservation + "?sort=-size", []string{`#ahead th[aria-sort="descending"]`}},
		{"search", "search?q=u2", []string{`#found a[href="/ui/users/u2"]`}},
	}
	b.eachLook(func(look string) {
		for _, page := range pages {
			b.shows("http://"+p.http+"/ui/"+page.path, page.parts...)
			if !strings.HasPrefix(look, "plain") { // expressions need scripts
				b.fits(page.path + " " + look)
				b.awaitTrue(page.path+" has what an application wants in view "+look, `[...document.querySelectorAll("main th")]
					.every((th) => th.textContent !== "Wants" || th.getBoundingClientRect().right <= innerWidth)`)
			}
			b.picture(page.name + "-" + look)
		}
	})
	b.open("http://" + p.http + "/ui/search?q=u2")
	b.click(`#found a[href="/ui/users/u2"]`)
	b.reads("User u2 uses nothing at present", "Queues and limits", "root.train")
	b.click(`#queues thead a[href*="sort=queue"]`)
	b.awaitTrue("the queues of the user are sorted",
		`document.querySelector('#queues th[aria-sort="ascending"]').textContent === "Queue"`)
	b.open("http://" + p.http + "/ui/queues")
	b.click(`#tree thead a[href*="sort=-guaranteed"]`)
	b.awaitTrue("root stays above its children",
		`document.querySelector('#tree tbody tr th').textContent.trim() === "root"`)
	b.open("http://" + p.http + "/ui/apps/2")
	b.awaitTrue("the number of an application is enough", `document.querySelector("h1").textContent.endsWith("_0002")`)
}

// browserTimes checks that a page shows the times of the viewer's own zone, also after it has renewed
// itself.
func browserTimes(t *testing.T, b *tab, call *caller, p *process) {
	b.do("live in India", chromedp.Func(func(ctx context.Context, at *chromedp.Target) error {
		_, err := cdp.Call(ctx, at, emulation.SetTimezoneOverride,
			emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
		return err
	}))
	b.open("http://" + p.http + "/ui/decisions")
	const local = `(() => {
		const el = document.querySelector("td.time time"), utc = new Date(el.dateTime), shown = el.textContent.trim();
		const there = new Date(utc.getTime() + 330 * 60000).toISOString().replace("T", " ").slice(0, 19);
		return shown.startsWith(there) && el.title.endsWith(" UTC") && document.querySelector("th .zone").textContent !== "UTC";
	})()`
	b.awaitTrue("the times are local", local)
	const newest = `document.querySelector("td.time time").dateTime`
	b.awaitTrue("the newest time is remembered", "window.newestBefore = "+newest)
	call.application("timely", "root.batch")
	b.awaitTrue("the page has renewed itself", newest+" !== window.newestBefore")
	b.awaitTrue("the new times are local", local)
	b.open("http://" + p.http + "/ui/")
	b.awaitTrue("the axes of plots are local",
		`[...document.querySelectorAll("#hour text[data-at]")].every((el) => el.textContent.startsWith(new Date(Number(el.dataset.at) + 330 * 60000).toISOString().slice(11, 16)))`)
}

// browserCapacities moves capacity from one queue to another. The page updates the sum while the
// user types, and shows the effects before the change is made. Without scripts, the server reports
// the sum.
func browserCapacities(t *testing.T, b *tab, p *process) {
	address := "http://" + p.http + "/ui/queues/root"
	wrong := `document.querySelector("#capacities output.bad")`
	b.open(address)
	b.awaitTrue("the sum is right", `document.querySelector("#capacities output.good").textContent === "100%"`)
	value := func(queue string) string {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		s,
			err := chromedp.Run(ctx, chromedp.Evaluate[string](
			fmt.Sprintf(`document.querySelector('#capacities input[name="capacity.%s"]').value`, queue)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	batch, train := value("root.batch"), value("root.train")
	var nBatch, nTrain float64
	if _, err := fmt.Sscan(batch+" "+train, &nBatch, &nTrain); err != nil {
		t.Fatalf("the capacities %q and %q: %v", batch, train, err)
	}
	b.fill(`#capacities input[name="capacity.root.batch"]`, fmt.Sprint(nBatch-1.5))
	b.awaitTrue("the sum follows", wrong+` && `+wrong+`.textContent === "98.5%"`)
	b.picture("capacities-wrong")
	b.fill(`#capacities input[name="capacity.root.train"]`, fmt.Sprint(nTrain+1.5))
	b.awaitTrue("the sum is right again", `!`+wrong+
		` && document.querySelector("#capacities output").textContent === "100%"`)
	b.click("#capacities button.primary")
	b.reads("Staged change", "Nothing has been written", "What would happen", "would start at once", "Apply it",
		fmt.Sprint(nTrain+1.5))
	for _, scheme := range []string{"dark", "light"} {
		b.scheme(scheme)
		b.eachWidth("staged-"+scheme, func() { b.fits("the staged change") })
	}

	b.script(false)
	b.do("open without scripts", chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS("#capacities")))
	b.do("type", chromedp.Clear(chromedp.CSS(`#capacities input[name="capacity.root.batch"]`)),
		chromedp.SendKeys(chromedp.CSS(`#capacities input[name="capacity.root.batch"]`), "77"))
	b.click("#capacities button.primary")
	b.do("the server tells the wrong sum and the form again", chromedp.WaitVisible(chromedp.CSS("#capacities output.bad")),
		chromedp.WaitVisible(chromedp.CSS(`#capacities input[value="77"]`)))
	b.picture("staged-wrong-plain")
	b.script(true)
}

// eachWidth calls f at both widths and takes a screenshot after each.
func (b *tab) eachWidth(name string, f func()) {
	b.t.Helper()
	for _, width := range []int64{640, 1280} {
		b.do("set the size", chromedp.EmulateViewport(width, 900))
		f()
		b.picture(fmt.Sprintf("%s-%d", name, width))
	}
}

// browserNoMajority kills the other replicas. An open page then names them and the command that
// starts them, and every page still shows the state. After the replicas are back, the warning
// disappears.
func browserNoMajority(t *testing.T, b *tab, c *processes, last *process) {
	b.open("http://" + last.http + "/ui/")
	b.reads("live")
	b.awaitTrue("a mark", "window.mark = true")
	for _, p := range c.others(last) {
		c.kill(p)
	}
	b.reads("There is no leader", "2 of 3 voters must answer", "systemctl start rmd", "rmd recover")
	for _, p := range c.others(last) {
		b.reads(p.id+" at "+p.peer, "Last decisions")
	}
	b.awaitTrue("the page was not loaded again", "window.mark === true")
	b.eachLook(func(look string) {
		for _, path := range []string{"", "apps", "queues/root.train", "nodes", "reservations", "users/u2",
			"conf", "cluster"} {
			b.shows("http://"+last.http+"/ui/"+path, "#banner li b")
			if !strings.HasPrefix(look, "plain") {
				b.fits(path + " without a leader " + look)
			}
		}
		b.picture("no-majority-" + look)
	})
	b.open("http://" + last.http + "/ui/")
	for _, p := range c.others(last) {
		c.start(p)
	}
	b.awaitTrue("the banner goes when there is a leader again", `document.getElementById("banner").hidden`)
}

// browserLabels adds a label, gives it to a node and removes it, and checks the pages that show it.
func browserLabels(t *testing.T, b *tab, c *processes, p *process, held string) {
	var nodes api.Nodes
	c.get(p, "/v1/nodes", &nodes)
	free := slices.IndexFunc(nodes.Nodes, func(n api.Node) bool { return n.ID != held })
	if free < 0 {
		t.Fatalf("no node but %s", held)
	}
	node := nodes.Nodes[free].ID
	b.open("http://" + p.http + "/ui/labels")
	b.reads("Node labels are off")
	key := "root.train.accessible-node-labels"
	c.done("conf", "set", "yarn.node-labels.enabled=true", key+"=gpu", key+".gpu.capacity=100",
		"root.accessible-node-labels.gpu.capacity=100")
	b.open("http://" + p.http + "/ui/labels")
	b.click(".actions summary")
	b.fill(`input[name="name"]`, "gpu")
	b.click(`form[action="/ui/labels/add"] button`)
	b.reads("The label was added", "gpu")
	b.click(`#labels a[href="/ui/labels/gpu"]`)
	b.reads("Exclusive: its nodes serve only requests that name it", "No host has this label.")
	b.click(".actions summary")
	nodesField := chromedp.CSS(`textarea[name="nodes"]`)
	b.do("type", chromedp.SendKeys(nodesField, node+" spare-1.example.com"))
	b.click(`form[action="/ui/labels/gpu/map"] button:not([name])`)
	b.reads("The nodes’ labels were changed.", "of 1 node usable", "spare-1.example.com", "not yet")
	at := "http://" + p.http + "/ui/"
	b.eachLook(func(look string) {
		for _, page := range []struct {
			name, path string
			parts      []string
		}{
			{"labels", "labels", []string{`#labels a[href="/ui/labels/gpu"]`, `#labels a[href="/ui/nodes?label=gpu"]`}},
			{"label", "labels/gpu", []string{"#shares tbody tr", "#hosts tbody tr", "#waiting"}},
			{"nodes-labelled", "nodes", []string{`#list a[href="/ui/labels/gpu"]`, `select[name="label"]`}},
			{"queues-of-label", "queues?label=gpu", []string{`#tree tbody tr`, `.tabs a[aria-current="true"]`}},
			{"queue-labels", "queues/root.train", []string{`#labels a[href="/ui/labels/gpu"]`}},
		} {
			b.shows(at+page.path, page.parts...)
			if !strings.HasPrefix(look, "plain") {
				b.fits(page.path + " " + look)
			}
			b.picture(page.name + "-" + look)
		}
	})
	b.do("set the size", chromedp.EmulateViewport(400, 900))
	b.open(at + "labels/gpu")
	b.fits("a label on a narrow screen")
	b.do("set the size", chromedp.EmulateViewport(1280, 900))

	b.script(false) // the forms work without scripts
	b.do("open without scripts", chromedp.Navigate(at+"labels/gpu"), chromedp.WaitVisible(chromedp.CSS("#hosts")))
	b.click(".actions summary")
	b.do("type", chromedp.SendKeys(nodesField, node))
	b.click(`form[action="/ui/labels/gpu/map"] button[name="take"]`)
	b.do("the node is gone", chromedp.WaitVisible(chromedp.CSS(".banner.good")))
	b.script(true)
	var l api.LabelDetails
	if c.get(p, "/v1/labels/gpu?consistent", &l); l.Nodes != 0 {
		t.Errorf("%d nodes still have the label", l.Nodes)
	}
}
