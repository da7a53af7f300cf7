package httpserver

import (
	"strings"
	"testing"
)

// TestPageLoginAndLogoutLinks checks that pages offer a login where a role is needed, a logout to
// callers who logged in, and neither where nothing is guarded.
func TestPageLoginAndLogoutLinks(t *testing.T) {
	open := newBench(t, nil).ask("GET", "/ui/apps", "").Body.String()
	if strings.Contains(open, "/ui/login") || strings.Contains(open, "/ui/logout") {
		t.Error("there is nothing to log in for, and the page offers it")
	}
	b := guardedBench(t, nil)
	page := b.ask("GET", "/ui/apps?state=RUNNING", "").Body.String()
	if !strings.Contains(page, `href="/ui/login?next=%2fui%2fapps%3fstate%3dRUNNING"`) ||
		strings.Contains(page, "/ui/logout") {
		t.Errorf("no way in:\n%s", page)
	}
	v := visitor{b: b}
	if refused := v.post("/ui/cluster", "/ui/cluster/snapshot"); refused.Code != 401 ||
		!strings.Contains(refused.Body.String(), `href="/ui/login"`) {
		t.Errorf("a refusal that does not say where to log in: %d %s", refused.Code, refused.Body)
	}
	w := b.ask("GET", "/ui/apps", "", "Cookie", cookieOf(b.logIn("operator", "/ui/")))
	page = w.Body.String()
	if !strings.Contains(page, "<b>operator</b>, operator") || !strings.Contains(page, `action="/ui/logout"`) ||
		strings.Contains(page, "/ui/login") {
		t.Errorf("no way out:\n%s", page)
	}
	for _, found := range checkHTML(page) {
		t.Errorf("HTML of the page: %s", found)
	}
}
