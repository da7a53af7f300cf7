package ipc

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// between is somebody on the way between a client and a server. It passes everything on, and can add
// to what the client gets.
type between struct {
	net.Listener
	client chan net.Conn
}

func openBetween(t *testing.T, server string) *between {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	b := &between{l, make(chan net.Conn, 1)}
	go func() {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", server)
		if err != nil {
			t.Error(err)
			return
		}
		b.client <- in
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	return b
}

// TestForgedRefusal sends a client errors that are not wrapped. They must not be taken for those of
// the server, because a caller believes them: that a call has failed, or that a token has ended.
func TestForgedRefusal(t *testing.T) {
	for _, p := range []Protection{Integrity, Privacy} {
		for _, status := range []uint64{statusError, statusFatal} {
			d := &testMethods{}
			s := openSecured(t, d, AuthTokenKerberos, p)
			b := openBetween(t, s.Addr().String())
			to := s.target(t, testPrincipal, nil)
			to.Address = b.Addr().String()
			cl := openClient(t, takes(p))
			defer d.block("wait")()
			result := make(chan error, 1)
			go func() {
				_, err := echo(context.Background(), cl, to, "wait")
				result <- err
			}()
			waitFor(t, func() bool {
				d.mu.Lock()
				defer d.mu.Unlock()
				return len(d.seen) == 1
			})
			forged := responseHeader{call: 0, status: status, err: InvalidToken("forged")}
			if _, err := (<-b.client).Write(forged.appendFrame(nil)); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-result:
				var remote *RemoteError
				if errors.As(err, &remote) || err == nil {
					t.Errorf("%s, status %d: the client believes %v", p, status, err)
				}
			case <-time.After(time.Minute):
				t.Error("the call does not end")
			}
		}
	}
}
