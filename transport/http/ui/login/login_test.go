package login

import "testing"

func TestLoginRedirect(t *testing.T) {
	for next, want := range map[string]string{"/ui/apps?x=1": "/ui/apps?x=1", "/cluster/apps": "/cluster/apps", "": "/ui/",
		"https://evil.example": "/ui/", "//evil.example": "/ui/",
		"/ui//evil.example": "/ui/", "/ui/\\evil": "/ui/", "/ui/login?next=/ui/": "/ui/", "javascript:alert(1)": "/ui/",
		"/v1/apps": "/ui/", "/ui/a\r\nX: y": "/ui/"} {
		if got := localPage(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}
