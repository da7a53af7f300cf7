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
			t.Fatal(err)
		}
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
		mu.Lock()
		for _, f := range failed {
			t.Errorf("%s: %s", p.id, f)
		}
		mu.Unlock()
	}
	h.finish(m)
}
