package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rmd/api"
	"rmd/yarn"
)

// hostileOwners returns callers that use what belongs to others: a tracking page that is not the AM's
// own, an idempotency key of another user, a replay whose environment names a running cluster.
func hostileOwners() []hostile {
	return []hostile{
		{"a page at the address of a cloud's secrets", `^HTTP/1\.1 (403|508) `,
			pageAt("http://169.254.169.254/latest/meta-data/")},
		{"a page at the same address in IPv6", `^HTTP/1\.1 (403|502|508) `, pageAt("http://[fe80::a9fe:a9fe]/")},
		{"a page at a replica's own port", `^HTTP/1\.1 (403|508) `, pageAt("http://{own}/v1/snapshot")},
		{"a page at a port of another scheme", `^HTTP/1\.1 302 `, pageAt("gopher://127.0.0.1:1/")},
		{"a page that sets cookies and policies", `^HTTP/1\.1 200 (?s:.*)here`,
			hostilePage("Set-Cookie", "Service-Worker-Allowed", "Strict-Transport-Security", "Clear-Site-Data")},
		{"a page that takes the sandbox off", `^HTTP/1\.1 200 (?s:.*)Content-Security-Policy: [^\r\n]*sandbox`,
			hostilePage()},
		{"another's idempotency key", `^another application$`, othersKey},
		{"a replay with the cluster in the environment", `(?s)^0 .*private cluster`, (*attack).replayElsewhere},
	}
}

// pageAt makes the attacker's AM report a tracking URL, and opens the page through the proxy.
func pageAt(where string) func(*attack) string {
	return func(a *attack) string {
		got := asMallory(`tracking_url: "` + strings.ReplaceAll(where, "{own}", a.at.http) + `"`)(a)
		if !strings.HasPrefix(got, "answered") {
			return got
		}
		return req("GET /proxy/"+a.mallory.id.App.String()+"/", "", "")(a)
	}
}

// hostilePage opens, through the proxy, a page that sets headers which only rmd may set. It checks
// that none of them arrives.
func hostilePage(headers ...string) func(*attack) string {
	return func(a *attack) string {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, h := range headers {
				w.Header().Set(h, "evil")
			}
			w.Header().Set("Content-Security-Policy", "script-src *")
			_, _ = fmt.Fprint(w, "here")
		}))
		defer page.Close()
		return checkNotEchoed("evil", pageAt(page.URL))(a)
	}
}

// othersKey submits an application with an idempotency key that another user has used.
func othersKey(a *attack) string {
	body := `{"queue":"root.b","unmanaged":true}`
	key := fmt.Sprintf("attack/%d", a.source.Add(1))
	said := ""
	submit := func(as string) (out api.Submitted) {
		said = req("POST /v1/apps", "Idempotency-Key: "+key+"\n"+asJSON+"{"+as+"}", body)(a)
		_, doc, _ := strings.Cut(said, "\r\n\r\n")
		_ = json.Unmarshal([]byte(strings.TrimSuffix(doc, endClosed)), &out) // without a document, the id is empty
		return out
	}
	first, second := submit("honest"), submit("submit")
	for _, id := range []string{first.ID, second.ID} {
		req("POST /v1/apps/"+id+":kill", asJSON+"{operator}", "{}")(a)
	}
	switch {
	case first.ID == "" || second.ID == "":
		return said
	case first.ID == second.ID:
		return "the same application"
	}
	return "another application"
}

// replayElsewhere replays a trace while the environment names the cluster. The replay must not use
// that cluster.
func (a *attack) replayElsewhere() string {
	file := filepath.Join(a.TempDir(), "trace.csv")
	if err := os.WriteFile(file,
		[]byte("submit_s,app,user,queue,priority,containers,memory_mb,vcores,gpus,duration_s\n0,a,u,root.b,0,1,1024,1,0,1\n"),
		0o600); err != nil {
		return err.Error()
	}
	out, errs, code := a.rmd("replay", file)
	return fmt.Sprintf("%d %s%s", code, out, errs)
}

// killTheNext sends requests that kill the next applications, but without the last bytes. Then
// other users submit applications, and the requests are completed.
func (a *attack) killTheNext() string {
	submitted := func() (out api.Submitted) {
		said := req("POST /v1/apps", asJSON+"{operator}", `{"user":"ann","queue":"root.b","unmanaged":true}`)(a)
		_, doc, _ := strings.Cut(said, "\r\n\r\n")
		_ = json.Unmarshal([]byte(strings.TrimSuffix(doc, endClosed)), &out) // without a document, the id is empty
		return out
	}
	first, err := yarn.ParseApplicationID(submitted().ID)
	if err != nil {
		return err.Error()
	}
	const n = 10
	got := make([]string, n)
	release := make(chan struct{})
	var wg sync.WaitGroup
	at, secure := a.web()
	for i := range n {
		id := first
		id.Seq += uint32(1 + i)
		head := a.fill("POST /v1/apps/" + id.String() +
			":kill HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\nContent-Type: application/json\r\nX-Rmd-Token: {submit}\r\nContent-Length: 2\r\n\r\n")
		wg.Go(func() {
			nc, err := dialHostile(a.dialer(), at, secure)
			if err != nil {
				got[i] = err.Error()
				return
			}
			defer nc.Close()
			_, _ = io.WriteString(nc, head) // a refused connection accepts no data
			<-release
			_, _ = io.WriteString(nc, "{}")
			_ = nc.SetReadDeadline(time.Now().Add(20 * time.Second))
			b := make([]byte, len("HTTP/1.1 404 "))
			_, _ = io.ReadFull(nc, b)
			got[i] = string(b)
		})
	}
	time.Sleep(50 * time.Millisecond) // wait until the headers have arrived
	ids := []string{first.String()}
	for range 3 {
		ids = append(ids, submitted().ID)
	}
	close(release)
	wg.Wait()
	for _, id := range ids {
		req("POST /v1/apps/"+id+":kill", asJSON+"{operator}", "{}")(a)
	}
	slices.Sort(got)
	return fmt.Sprintf("%d times %s", n, strings.Join(slices.Compact(got), ", "))
}
