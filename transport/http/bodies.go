package httpserver

import (
	"io"
	"net/http"
	"sync"

	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/v1/api"
)

// bodies bounds what bodies that are read, or whose calls are in work, hold together: most calls read
// the whole body first, and a caller may send it as slowly as BodyTimeout allows. One address has half
// of it.
type bodies struct {
	most, largest int64 // largest is the most of one

	mu   sync.Mutex
	held int64
	by   map[string]int64 // of it, by address
}

func newBodies(most, largest int64) *bodies {
	return &bodies{most: most, largest: largest, by: map[string]int64{}}
}

// countedBody is one of them.
type countedBody struct {
	io.ReadCloser
	of         *bodies
	address    string
	declared   int64 // its length, if the caller has said it: a large body is counted whole from then on
	read, held int64
	over       bool // the call has ended
}

// count has the body of a request counted, until release is called; but for those that are not read
// whole, or that have bounds of their own.
func (b *bodies) count(r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody || streaming(r.URL.Path) {
		return func() {}
	}
	x := &countedBody{ReadCloser: r.Body, of: b, address: auth.Share(auth.HostOf(r.RemoteAddr)), declared: min(r.ContentLength, b.largest)}
	r.Body = x
	return x.release
}

// Read implements io.Reader.
func (x *countedBody) Read(p []byte) (int, error) {
	n, err := x.ReadCloser.Read(p)
	if !x.grow(int64(n)) {
		e := problem.New(api.CodeBusy, "this replica has no room for a large body now", "ask again, or ask another replica")
		e.RetryAfterMillis = 1000
		return 0, e // with bytes io.CopyN may take the last of them for the end and drop the error
	}
	return n, err
}

func (x *countedBody) grow(n int64) bool {
	b := x.of
	b.mu.Lock()
	defer b.mu.Unlock()
	x.read += n
	if x.read <= route.SmallBody || x.over {
		return true
	}
	more := max(x.read, x.declared) - route.SmallBody - x.held
	if b.held+more > b.most || b.by[x.address]+more > b.most/2 {
		return false
	}
	x.held += more
	b.held += more
	b.by[x.address] += more
	return true
}

func (x *countedBody) release() {
	b := x.of
	b.mu.Lock()
	defer b.mu.Unlock()
	x.over = true
	b.held -= x.held
	if b.by[x.address] -= x.held; b.by[x.address] <= 0 {
		delete(b.by, x.address)
	}
	x.held = 0
}
