package webapp

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files are those of a small web application.
var files = map[string]string{
	"index.html":        "<html>start</html>",
	"assets/a.js":       "run()",
	"config/a.env":      "ENV = {}",
	"docs/index.html":   "<html>docs</html>",
	"WEB-INF/web.xml":   "<secret/>",
	"META-INF/MANIFEST": "secret",
}

// asWar and asFolder write the files and return the path.
func asWar(t *testing.T, files map[string]string) string {
	file := filepath.Join(t.TempDir(), "ui.war")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func asFolder(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServe asks for what a browser asks for, and for what it must not get.
func TestServe(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := asFolder(t, files)
	if err := os.Symlink(outside, filepath.Join(folder, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{asWar(t, files), folder} {
		a, err := Open("/ui2", from)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for _, c := range []struct {
			path   string
			status int
			text   string
		}{
			{"/ui2", http.StatusFound, "/ui2/"},
			{"/ui2/", http.StatusOK, "start"},
			{"/ui2/index.html", http.StatusOK, "start"},
			{"/ui2/assets/a.js", http.StatusOK, "run()"},
			{"/ui2/docs/", http.StatusOK, "docs"},
			{"/ui2/queues/root.default", http.StatusOK, "start"}, // the page's script shows it
			{"/ui2/WEB-INF/web.xml", http.StatusNotFound, ""},
			{"/ui2/web-inf/web.xml", http.StatusNotFound, ""},
			{"/ui2/assets/../META-INF/MANIFEST", http.StatusNotFound, ""},
			{"/ui2/../../etc/passwd", http.StatusNotFound, ""},
			{"/ui2/link.txt", http.StatusNotFound, ""},
			{"/ui2/a\x00b.txt", http.StatusNotFound, ""},
		} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL.Path = c.path
			if strings.HasPrefix(c.path, "/ui2/queues/") { // a browser asks for a page
				r.Header.Set("Accept", "text/html,*/*")
			}
			a.ServeHTTP(w, r)
			body := w.Body.String()
			if w.Code != c.status || !strings.Contains(body, c.text) || strings.Contains(body, "secret") {
				t.Errorf("%s of %s: %d %q, want %d with %q", c.path, from, w.Code, body, c.status, c.text)
			}
			if w.Code == http.StatusOK && !strings.Contains(w.Header().Get("Content-Security-Policy"),
				"frame-ancestors 'none'") {
				t.Errorf("%s: the page may be in a frame of another site", c.path)
			}
		}
		missing := httptest.NewRecorder()
		a.ServeHTTP(missing, httptest.NewRequest(http.MethodGet, "/ui2/assets/b.js", nil))
		if missing.Code != http.StatusNotFound {
			t.Errorf("a script that is missing: %d", missing.Code)
		}
		addresses := httptest.NewRecorder()
		a.ServeHTTP(addresses, httptest.NewRequest(http.MethodGet, "/ui2/config/a.env", nil))
		if kind := addresses.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/javascript") {
			t.Errorf("a browser does not run the addresses of UI2: they are %q", kind)
		}
		if !strings.Contains(addresses.Header().Get("Content-Security-Policy"), "connect-src 'self' http: https:") {
			t.Error("UI2 may not call the servers that it shows")
		}
		again := httptest.NewRequest(http.MethodGet, "/ui2/assets/a.js", nil)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, again)
		again.Header.Set("If-None-Match", w.Header().Get("ETag"))
		w = httptest.NewRecorder()
		a.ServeHTTP(w, again)
		if w.Code != http.StatusNotModified {
			t.Errorf("the same file again: %d", w.Code)
		}
		w = httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/ui2/", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", w.Code)
		}
	}
}

// TestOpenFails opens what is no web application.
func TestOpenFails(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.war")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"/no/such.war":                          "no such file",
		text:                                    "not a valid zip file",
		asWar(t, map[string]string{"a.js": ""}): "no index.html",
		asFolder(t, map[string]string{"a.js": ""}): "no index.html",
	} {
		if _, err := Open("/ui2", from); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", from, err, want)
		}
	}
}

// TestFileTooLarge asks for a file of a war that unpacks to more than a replica keeps in memory.
func TestFileTooLarge(t *testing.T) {
	a, err := Open("/ui2", asWar(t, map[string]string{"index.html": "", "large.js": strings.Repeat("a", fileMax+1)}))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ui2/large.js", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("a file above the limit: %d with %d bytes", w.Code, w.Body.Len())
	}
}
