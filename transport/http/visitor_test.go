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
	if !strings.Contains(page, `<body class="guest"`) || strings.Contains(open, "guest") {
		t.Error("only who must log in for changes gets links in the place of buttons")
	}
	conf := b.ask("GET", "/ui/conf", "").Body.String()
	if !strings.Contains(conf, `Log in to change this</a><a class="button primary change" href="/ui/conf/edit"`) {
		t.Errorf("the page of the configuration offers a change to who must log in:\n%s", conf)
	}
	v := visitor{b: b}
	if refused := v.post("/ui/cluster", "/ui/cluster/snapshot"); refused.Code != 401 ||
		!strings.Contains(refused.Body.String(), `href="/ui/login"`) {
		t.Errorf("a refusal that does not say where to log in: %d %s", refused.Code, refused.Body)
	}
	w := b.ask("GET", "/ui/apps", "", "Cookie", cookieOf(b.logIn("operator", "/ui/")))
	page = w.Body.String()
	if !strings.Contains(page, "<b>operator</b>, operator") || !strings.Contains(page, `action="/ui/logout"`) ||
		strings.Contains(page, "/ui/login") || strings.Contains(page, "guest") {
		t.Errorf("no way out:\n%s", page)
	}
	for role, guest := range map[string]bool{"read": true, "submit": false} {
		page := b.ask("GET", "/ui/apps", "", "Cookie", cookieOf(b.logIn(role, "/ui/"))).Body.String()
		if strings.Contains(page, `<body class="guest"`) != guest {
			t.Errorf("the role %s sees buttons that the server refuses, or misses those for it", role)
		}
	}
	for _, found := range checkHTML(page) {
		t.Errorf("HTML of the page: %s", found)
	}
}

// TestLoginLeadsBack checks that the login returns to the page whose link led there, if that is one of ours.
func TestLoginLeadsBack(t *testing.T) {
	b := guardedBench(t, nil)
	for from, want := range map[string]string{"/ui/queues/root.train?x=1": "/ui/queues/root.train?x=1", "/v1/apps": "/ui/"} {
		page := b.ask("GET", "/ui/login", "", "Referer", "http://127.0.0.1:8088"+from).Body.String()
		if !strings.Contains(page, `name="next" value="`+want+`"`) {
			t.Errorf("from %s the login does not lead to %s:\n%s", from, want, page)
		}
	}
	if page := b.ask("GET", "/ui/login", "", "Referer", "http://evil.example/ui/apps").Body.String(); !strings.Contains(
		page, `name="next" value="/ui/"`) {
		t.Errorf("another site chooses the page after the login:\n%s", page)
	}
}
