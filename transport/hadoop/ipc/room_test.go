package ipc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/bounded"
	"rmd/transport/hadoop/proto"
)

// from dials from a loopback address.
func from(t *testing.T, s *Server, address string) *bare {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	nc, err := d.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	return &bare{t, nc}
}

// served reports whether the server answers a call.
func (b *bare) served(id int32) bool {
	b.t.Helper()
	if _, err := b.Write(call(id, "echo", "x")); err != nil {
		return false
	}
	_, err := io.ReadFull(b, make([]byte, 4))
	if err == nil {
		_, err = b.Read(make([]byte, 1000))
	}
	return err == nil
}

// TestOneHostDoesNotLockOutOthers opens as many connections as allowed from one host and uses all
// of them. Other hosts must still be able to connect.
func TestOneHostDoesNotLockOutOthers(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.ConnsMax, c.ConnsPerAddressMax = 8, 8 })
	for range 10 {
		b := from(t, s, "127.0.0.1")
		_, _ = b.Write(append(hello("flood"), call(1, "echo", "x")...))
		_, _ = b.Read(make([]byte, 100))
	}
	for i := range 4 {
		b := from(t, s, fmt.Sprintf("127.0.0.%d", 2+i))
		b.send(hello("nm"))
		if !b.served(1) || !b.served(2) {
			t.Errorf("the node at 127.0.0.%d is locked out: %+v", 2+i, s.Stats())
		}
	}
	if n := s.Stats().Connections; n > 8 {
		t.Errorf("%d connections are open", n)
	}
}

// TestConnectionShareOfAddress checks that one address gets only its part of the connections, and
// that a refused connection does not end one that is in use.
func TestConnectionShareOfAddress(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.ConnsMax = 8 })
	var mine []*bare
	for range 4 {
		b := from(t, s, "127.0.0.1")
		b.send(hello("a"))
		if !b.served(1) {
			t.Fatal("a connection within the share is refused")
		}
		mine = append(mine, b)
	}
	if b := from(t, s, "127.0.0.1"); func() bool { _, _ = b.Write(hello("a")); return b.served(1) }() {
		t.Error("half of the port is not the limit of an address")
	}
	for i, b := range mine {
		if !b.served(2) {
			t.Errorf("connection %d gave way though it is in use", i)
		}
	}
}

// TestIdleConnectionsReplaced checks that when an address has used its part, a new connection
// replaces one without calls, even if that one sends pings.
func TestIdleConnectionsReplaced(t *testing.T) {
	inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
		idle, used := p.bare(t), p.bare(t)
		for _, b := range []*bare{idle, used} {
			b.send(hello("a"), call(1, "echo", "x"))
			b.frame()
		}
		ping := of(`0000001b 1a|0802 1000 1807 2210 CC… 2801|`)
		for range 12 {
			time.Sleep(time.Second)
			idle.send(ping)
			used.send(call(2, "echo", "x"))
			used.frame()
		}
		late := p.bare(t)
		late.send(hello("nm"), call(1, "echo", "x"))
		late.frame()
		if reason := <-closed; reason != endCrowded {
			t.Errorf("a connection ended by %s", reason)
		}
		used.send(call(3, "echo", "x"))
		used.frame()
	}, func(c *Config) { c.ConnsMax, c.ConnsPerAddressMax = 4, 2 })
}

// TestFirstCall checks that pings do not extend the time limits: FirstCallTimeout before the first
// call, IdleTimeout after a call.
func TestFirstCall(t *testing.T) {
	ping := of(`0000001b 1a|0802 1000 1807 2210 CC… 2801|`)
	for name, c := range map[string]struct {
		first  []byte
		reason string
		after  time.Duration
	}{
		"without a call": {nil, endSlow, DefaultConfig().FirstCallTimeout},
		"after a call":   {call(1, "echo", "x"), endIdle, DefaultConfig().IdleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
				b, since := p.bare(t), time.Now()
				b.send(hello("a"), c.first)
				if c.first != nil {
					b.frame()
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					for {
						if _, err := b.Write(ping); err != nil {
							return
						}
						time.Sleep(time.Second)
					}
				}()
				ends(t, closed, c.reason, since, c.after)
				<-done
			})
		})
	}
}

// TestConnectionMemoryBounded checks that a connection keeps at most a few hundred bytes of what
// its peer says about itself.
func TestConnectionMemoryBounded(t *testing.T) {
	s := openServer(t, &testMethods{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const n = 50
	long := strings.Repeat("i", 4<<20-1000)
	for i := range n {
		b := dialBare(t, s)
		b.send(hello("alice"), call(1, "echo", "x"))
		b.frame()
		frame, err := appendRequest(nil, 2, long, testProtocol, 1, "echo",
			func(b []byte) ([]byte, error) { return appendDelimited(b, ask("x")) })
		if err != nil {
			t.Fatal(err)
		}
		_, _ = b.Write(frame)
		if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_FATAL && i == 0 {
			t.Errorf("a client id of 4 MB is taken: %v", h.GetStatus())
		}
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := (int64(after.HeapInuse) - int64(before.HeapInuse)) / n
	t.Logf("%d bytes a connection, both ends", held)
	if held > 100<<10 {
		t.Errorf("a connection holds %d bytes", held)
	}
	for name, user := range map[string]string{"effective user": strings.Repeat("u", nameMax+1)} {
		b := dialBare(t, s)
		body,
			err := protobuf.Marshal(&proto.IpcConnectionContextProto{
			UserInfo: &proto.UserInformationProto{EffectiveUser: &user}})
		if err != nil {
			t.Fatal(err)
		}
		b.send(of(`"hrpc" 09 00 00`), appendControl(nil, idContext, testClientID, body))
		if text := b.wantError(idContext, proto.RpcResponseHeaderProto_FATAL, ClassServer,
			13); !strings.Contains(text, name) {
			t.Errorf("refusal of a long %s = %q, want it to name that", name, text)
		}
	}
}

// TestBytesBeforeTheDecoder checks that a message which becomes large in memory is refused before
// it is decoded, in every phase of a connection and for each way to handle a method.
func TestBytesBeforeTheDecoder(t *testing.T) {
	s := openServer(t, &testMethods{})
	many := func(n int, field protowire.Number) []byte {
		return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), nil), n)
	}
	request := func(method string, body []byte) []byte {
		frame, err := appendRequest(nil, 1, testClientID, testProtocol, 1, method,
			func(b []byte) ([]byte, error) { return protowire.AppendBytes(b, body), nil })
		if err != nil {
			t.Fatal(err)
		}
		return frame
	}
	for name, tc := range map[string]struct {
		send   []byte
		status proto.RpcResponseHeaderProto_RpcStatusProto
	}{
		"SASL": {append(of(`"hrpc" 09 00 df`), appendControl(nil, idSasl, "", append(of(`1001`), many(30_000, 4)...))...),
			proto.RpcResponseHeaderProto_FATAL},
		"context": {append(of(`"hrpc" 09 00 00`), appendControl(nil, idContext, "", many(30_000, 2))...),
			proto.RpcResponseHeaderProto_FATAL},
		"decoded": {append(hello("alice"), request("echo", many(1_900_000, 1))...), proto.RpcResponseHeaderProto_ERROR},
		"bytes":   {append(hello("alice"), request("bytes", many(1_900_000, 1))...), proto.RpcResponseHeaderProto_ERROR},
		"inline": {append(hello("alice"), request("bytesInline", many(1_900_000, 1))...),
			proto.RpcResponseHeaderProto_ERROR},
	} {
		t.Run(name, func(t *testing.T) {
			b := dialBare(t, s)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.send(tc.send)
			h, _ := b.frame()
			runtime.ReadMemStats(&after)
			if h.GetStatus() != tc.status || !strings.Contains(h.GetErrorMsg(), bounded.ErrTooLarge.Error()) {
				t.Errorf("answered with %v, want %v: %v", h, tc.status, bounded.ErrTooLarge)
			}
			if used := int64(after.TotalAlloc - before.TotalAlloc); used > 4*int64(len(tc.send))+1<<20 {
				t.Errorf("%d bytes made the server allocate %d", len(tc.send), used)
			}
		})
	}
}

// TestCallersWithoutTokens checks that callers without a token always leave some of the memory for
// requests to callers with one.
func TestCallersWithoutTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(64, 8, AuthTokenSimple)
		take := func(from string, proven bool, n int64) bool {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			return turns.acquire(ctx, netip.MustParsePrefix(from), proven, n) == nil
		}
		if !take("10.0.0.1/32", false, 32) || take("10.0.0.1/32", false, 1) || take("10.0.0.1/32", true, 1) {
			t.Error("an address may not use half, or may use more")
		}
		if !take("10.0.0.2/32", false, 16) || take("10.0.0.3/32", false, 1) {
			t.Error("callers without a token may not use three quarters, or may use more")
		}
		if !take("10.0.0.4/32", true, 16) || take("10.0.0.5/32", true, 1) {
			t.Error("a caller with a token gets nothing")
		}
		turns.release(netip.MustParsePrefix("10.0.0.2/32"), false, 16)
		if !take("10.0.0.3/32", false, 16) {
			t.Error("what was given back is not free")
		}
	})
}

// TestLargeRequestsWait checks that a large request that exceeds LargeRequestsMax waits and is then
// served.
func TestLargeRequestsWait(t *testing.T) {
	d := &testMethods{}
	big := strings.Repeat("b", 700<<10)
	release := d.block(big)
	defer release()
	s := openServer(t, d, func(c *Config) { c.FrameMax, c.LargeRequestsMax = 1<<20, 1<<20 })
	first, second := dialBare(t, s), dialBare(t, s)
	first.send(hello("a"), call(1, "echo", big))
	for s.Stats().Calls < 1 {
		runtime.Gosched()
	}
	second.send(hello("a"), call(1, "echo", big+"!"))
	_ = second.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := second.Read(make([]byte, 1)); err == nil {
		t.Error("a second large request is served beside the first")
	}
	_ = second.SetReadDeadline(time.Time{})
	release()
	for _, b := range []*bare{first, second} {
		if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
			t.Errorf("status of a large request = %v, want SUCCESS", h.GetStatus())
		}
	}
}
