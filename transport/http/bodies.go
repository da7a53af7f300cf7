package httpserver

import (
	"io"
	"net/http"
	"sync"

	"rmd/api"
	"rmd/transport/http/auth"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
)

// bodies limits the bytes of request bodies that are being received or whose calls are in progress.
// Most calls read the whole body first, and a caller may send a body as slowly as BodyTimeout
// allows. One address may use half of the limit.
type bodies struct {
	most, largest int64 // most limits all bodies together, largest a single one

	mu   sync.Mutex
	held int64
	by   map[string]int64 // the part of held by address
}

func newBodies(most, largest int64) *bodies {
	return &bodies{most: most, largest: largest, by: map[string]int64{}}
}

// countedBody is a request body whose bytes count against the limit of bodies.
type countedBody struct {
	io.ReadCloser
	of         *bodies
	address    string
	declared   int64 // Content-Length, or −1; once more than SmallBody is read, all of it counts
	read, held int64
	over       bool // the call has ended
}

// count makes the body of a request count until the caller calls release. Bodies of streaming
// requests do not count: they are not read whole, or have their own limits.
func (b *bodies) count(r *http.Request) (release func()) {
	if r.Body == nil || r.Body == http.NoBody || streaming(r.URL.Path) {
		return func() {}
	}
	x := &countedBody{ReadCloser: r.Body, of: b, address: auth.Share(auth.HostOf(r.RemoteAddr)),
		declared: min(r.ContentLength, b.largest)}
	r.Body = x
	return x.release
}

func (x *countedBody) Read(p []byte) (int, error) {
	n, err := x.ReadCloser.Read(p)
	if !x.grow(int64(n)) {
		e := problem.New(api.CodeBusy, "this replica has no room for a large body now", "ask again, or ask another replica")
		e.RetryAfterMillis = 1000
		return 0, e // if bytes came with the error, io.CopyN could take them as the end and drop the error
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
