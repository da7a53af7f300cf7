package httpserver

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"rmd/transport/http/route"
)

// heldBody sends its first part and then blocks until it is released.
type heldBody struct {
	first         io.Reader
	held, release chan struct{}
}

func (h *heldBody) Read(p []byte) (int, error) {
	if n, _ := h.first.Read(p); n > 0 {
		return n, nil
	}
	close(h.held)
	<-h.release
	return 0, io.ErrUnexpectedEOF
}

// TestBodiesAreBounded checks that large bodies have a common limit and that one address gets at
// most half of it. It also checks that small bodies are always accepted, and that the end of a call
// frees its bytes.
func TestBodiesAreBounded(t *testing.T) {
	const room = 1 << 20
	b := newBench(t, func(c *Config) { c.MaxBodiesBytes = room })
	send := func(address, path, media string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", path, body)
		r.Host, r.RemoteAddr = "127.0.0.1:8088", address+":40000"
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		b.s.Handler().ServeHTTP(w, r)
		return w
	}
	conf := func(size int) io.Reader {
		return strings.NewReader(`{"properties":{"a":"` + strings.Repeat("x", size) + `"}}`)
	}
	hold := func(address string) (release func()) {
		h := &heldBody{io.LimitReader(conf(room), room/2), make(chan struct{}), make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			send(address, "/v1/conf:validate", "application/json", h)
		}()
		<-h.held
		return func() { close(h.release); <-done }
	}
	ask := func(address string, size, want int) {
		t.Helper()
		w := send(address, "/v1/conf:validate", "application/json", conf(size))
		if w.Code != want || want == http.StatusServiceUnavailable &&
			(w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "no room for a large body")) {
			t.Errorf("%d bytes from %s: %d %s", size, address, w.Code, w.Body)
		}
	}
	first := hold("127.0.0.1")
	ask("127.0.0.1", room/4, http.StatusServiceUnavailable)
	ask("127.0.0.1", route.SmallBody/2, http.StatusOK)
	ask("127.0.0.2", room/4, http.StatusOK)
	second := hold("127.0.0.2")
	ask("127.0.0.3", room/4, http.StatusServiceUnavailable)
	ask("127.0.0.3", route.SmallBody/2, http.StatusOK)
	if w := send("127.0.0.3", "/ui/conf/rollback", "application/x-www-form-urlencoded",
		strings.NewReader("to="+strings.Repeat("x", room/4))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a large form: %d %s", w.Code, w.Body)
	}
	large := conf(3 * room)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if w := send("127.0.0.3", "/v1/conf:validate", "application/json", large); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a body above the bound: %d %s", w.Code, w.Body)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > room {
		t.Errorf("a body that is refused took %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
	first()
	ask("127.0.0.1", room/4, http.StatusOK)
	second()
	if b.s.bodies.held != 0 || len(b.s.bodies.by) != 0 {
		t.Errorf("%d bytes are held of %v", b.s.bodies.held, b.s.bodies.by)
	}
}
