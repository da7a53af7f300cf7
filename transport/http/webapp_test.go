package httpserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/api"
	"rmd/transport/http/auth"
	"rmd/transport/http/webapp"
)

// TestWebAppHasTheSession opens a web application of Hadoop with a session, and sends what its page
// would send, and what the page of another site would.
func TestWebAppHasTheSession(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("<html>queues</html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := webapp.Open("/scheduler-ui", dir)
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	b := guardedBench(t, func(c *Config) {
		c.Auth.Mode, c.Hadoop.WebApps = auth.Required, []*webapp.App{app}
	})
	if w := b.ask("GET", "/scheduler-ui/", ""); w.Code != 303 ||
		w.Header().Get("Location") != "/ui/login?next=%2Fscheduler-ui%2F" {
		t.Fatalf("without a session: %d %v", w.Code, w.Header())
	}
	if w := b.ask("GET", "/ui2/", ""); w.Code != 404 {
		t.Errorf("an application that is not there: %d", w.Code)
	}
	cookie := cookieOf(b.logIn("read", "/scheduler-ui/"))
	if w := b.ask("GET", "/scheduler-ui/", "", "Cookie", cookie); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "queues") {
		t.Fatalf("with a session: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/ws/v1/cluster/scheduler", "/ws/v1/cluster/nodes", "/conf"} {
		if w := b.ask("GET", path, "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin"); w.Code != 200 {
			t.Errorf("%s from its page: %d %s", path, w.Code, w.Body)
		}
		if w := b.ask("GET", path, "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site"); w.Code != 401 {
			t.Errorf("%s from the page of another site: %d", path, w.Code)
		}
		if w := b.ask("GET", path, "", "Cookie", cookie); w.Code != 401 {
			t.Errorf("%s without saying from where: %d", path, w.Code)
		}
	}
	b.fails(401, api.CodeUnauthenticated, "GET", "/v1/apps", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	change := func(header ...string) int {
		return b.ask("PUT", "/ws/v1/cluster/scheduler-conf", `{"global-updates":[]}`,
			append([]string{"Content-Type", "application/json"}, header...)...).Code
	}
	if code := change("Cookie", cookie, "Sec-Fetch-Site", "same-origin"); code != 403 {
		t.Errorf("a change by a reader: %d", code)
	}
	operator := cookieOf(b.logIn("operator", ""))
	if code := change("Cookie", operator, "Sec-Fetch-Site", "cross-site"); code != 401 && code != 403 {
		t.Errorf("a change by the page of another site: %d", code)
	}
	if code := change("Cookie", operator, "Sec-Fetch-Site", "same-origin"); code == 401 || code == 403 {
		t.Errorf("a change by an operator is refused: %d", code)
	}
}
