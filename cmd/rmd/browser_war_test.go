//go:build browser

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestBrowserUI2 opens the pages of Hadoop's UI2 on a leader and on a follower. RMD_UI2_WAR names its war
// file, which nobody publishes by itself: it is in Hadoop's archives, as share/hadoop/yarn/webapps/ui2.
func TestBrowserUI2(t *testing.T) {
	war := os.Getenv("RMD_UI2_WAR")
	if war == "" {
		t.Skip("RMD_UI2_WAR is not set: the war file of UI2, or the folder with its content")
	}
	browser := openBrowser(t)
	others := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		_, _ = io.WriteString(w, `{"historyInfo":{"startedOn":1}}`) // the browser may have gone
	}))
	t.Cleanup(others.Close)
	address := strings.TrimPrefix(others.URL, "http://")
	h := startHadoop(t, 3, "", "yarn.webapp.ui2.enable", "true", "yarn.webapp.ui2.war-file-path", war,
		"yarn.resourcemanager.cluster-id", "rmd", "mapreduce.jobhistory.webapp.address", address, "yarn.timeline-service.reader.webapp.address", address)
	node := h.node(0, "127.0.0.1")
	m := h.registered(1, "ann", "a", node)
	m.until(2, wants(1, 2, 512, "")...)
	app, leader := m.id.App.String(), h.leader()
	for _, p := range []*process{leader, h.others(leader)[0]} {
		b := newTab(t, browser)
		failed := b.failed()
		for _, page := range []struct {
			path string
			says []string
		}{
			{"cluster-overview", []string{"Cluster Resource Usage", app, "1.0 Gi"}},
			{"yarn-queues/a", []string{"capacity scheduler", "absolute capacity", "Active Apps = 1"}},
			{"yarn-apps/apps", []string{app, "ann"}},
			{"yarn-app/" + app + "/attempts", []string{app, "appattempt_"}},
			{"yarn-app/" + app + "/charts", []string{"Running #Containers by nodes"}},
			{"yarn-app-attempt/" + m.id.String(), []string{"NodeManager UI", "RUNNING"}},
			{"yarn-nodes/table", []string{"127.0.0.1", "RUNNING"}},
			{"yarn-nodes/heatmap", []string{"127.0.0.1"}},
			{"yarn-tools/yarn-conf", []string{"yarn.http.policy"}},
			{"yarn-tools/yarn-metrics", []string{"ClusterMetrics"}},
			{"yarn-services", []string{"Could not find any services"}},
		} {
			b.do("open", chromedp.Navigate("http://"+p.http+"/ui2/#/"+page.path), chromedp.WaitVisible(chromedp.CSS("body")))
			b.reads(page.says...)
			b.picture("ui2-" + p.id + "-" + strings.ReplaceAll(page.path, "/", "-"))
		}
		for _, f := range failed() {
			t.Errorf("%s: %s", p.id, f)
		}
	}
	h.finish(m)
}

// TestBrowserSchedulerUI adds a label, and changes a setting and capacities, with the Capacity Scheduler
// UI of Hadoop 3.5, on a leader and on a follower. RMD_SCHEDULER_UI_WAR names its war file.
func TestBrowserSchedulerUI(t *testing.T) {
	war := os.Getenv("RMD_SCHEDULER_UI_WAR")
	if war == "" {
		t.Skip("RMD_SCHEDULER_UI_WAR is not set: the war file of the Capacity Scheduler UI, or the folder with its content")
	}
	browser := openBrowser(t)
	h := startHadoop(t, 3, "", "yarn.webapp.scheduler-ui.enable", "true", "yarn.webapp.scheduler-ui.war-file-path", war,
		"yarn.node-labels.enabled", "true")
	node := h.node(0, "127.0.0.1")
	m := h.registered(1, "ann", "a", node)
	leader := h.leader()
	for i, p := range []*process{leader, h.others(leader)[0]} {
		b := newTab(t, browser)
		b.blocked = "https://fonts.googleapis.com" // rmd lets these pages load nothing from elsewhere
		useSchedulerUI(t, b, p.http, i)
	}
	h.finish(m)
}

// useSchedulerUI does it with the UI at an address. n makes the changes differ from the last ones.
func useSchedulerUI(t *testing.T, b *tab, address string, n int) {
	failed := b.failed()
	b.do("set the size", chromedp.EmulateViewport(1440, 900))
	open := func(path string, says ...string) {
		t.Helper()
		b.do("open "+path, chromedp.Navigate("http://"+address+"/scheduler-ui/"+path), chromedp.WaitVisible(chromedp.CSS("h1")))
		b.reads(says...)
		b.picture(fmt.Sprint("scheduler-ui-", n, "-", path))
	}
	apply := func() {
		t.Helper()
		b.press("View Staged Changes")
		b.press("Apply All Changes")
		b.reads("All changes applied successfully")
	}
	label, most, share := fmt.Sprint("gpu", n), fmt.Sprint(5000+n), 60+n
	open("node-labels", "RUNNING")
	b.press("Add")
	b.fill("#label-name", label)
	b.press("Add Label")
	b.reads(label)

	const field = `[id="yarn.scheduler.capacity.maximum-applications"]`
	open("global-settings", "Maximum Applications (Global)")
	b.retype(field, most)
	apply()
	open("global-settings")
	b.awaitTrue("the maximum is in force", fmt.Sprintf("document.querySelector(%q)?.value == %q", field, most))

	open("", "Queue Hierarchy", "root.b")
	b.awaitTrue("open the menu of a", `(() => {
		const e = [...document.querySelectorAll("*")].find(e => e.children.length == 0 && e.innerText == "root.a");
		return e?.dispatchEvent(new MouseEvent("contextmenu", {bubbles: true}));
	})()`)
	b.press("Edit Capacity")
	b.awaitTrue("the capacities are shown", `(() => {
		const fields = document.querySelectorAll("[role=dialog] input[placeholder^='e.g. 50']");
		fields.forEach((e, i) => e.id = "capacity" + i);
		return fields.length == 2;
	})()`)
	b.retype("#capacity0", fmt.Sprint(share))
	b.retype("#capacity1", fmt.Sprint(100-share))
	b.press("Save changes")
	apply()
	open("", fmt.Sprint(share, "%"), fmt.Sprint(100-share, "%"))
	open("placement-rules", "Placement Rules")
	for _, f := range failed() {
		t.Errorf("%s: %s", address, f)
	}
}

// press clicks a button or an entry of a menu that begins with a text.
func (b *tab) press(text string) {
	b.t.Helper()
	b.awaitTrue("press "+text, fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll("button, [role=menuitem]")].find(e => e.innerText.trim().startsWith(%q) && !e.disabled);
		e?.click();
		return e;
	})()`, text))
}

// retype replaces the text of a field as a person does, so that a page that keeps the text itself notices.
func (b *tab) retype(selector, text string) {
	b.t.Helper()
	b.awaitTrue("select "+selector, fmt.Sprintf("document.querySelector(%q)?.select() ?? true", selector))
	b.do("fill in "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// failed returns a function that returns the requests of a tab that were answered with an error.
func (b *tab) failed() func() []string {
	var mu sync.Mutex
	var failed []string
	if err := chromedp.Listen(b.ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		got, ok := ev.(*network.EventResponseReceived)
		if ok && got.Response.Status >= 400 && !strings.HasSuffix(got.Response.URL, "/favicon.ico") { // no page names it
			failed = append(failed, fmt.Sprint(got.Response.Status, " ", got.Response.URL))
		}
	}); err != nil {
		b.t.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return failed
	}
}
