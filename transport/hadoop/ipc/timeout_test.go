package ipc

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rmd/transport/hadoop/proto"
)

// pipes is a listener whose connections are in memory, so that they can use virtual time.
type pipes struct {
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }
func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.accepted <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inVirtualTime runs f in virtual time with a server that listens on pipes.
func inVirtualTime(t *testing.T, d *testMethods, f func(t *testing.T, s *Server, p *pipes, closed chan string),
	change ...func(*Config)) {
	synctest.Test(t, func(t *testing.T) {
		p, closed := newPipes(), make(chan string, 10)
		s := openServer(t, d, append(change, func(c *Config) {
			c.Listener = p
			c.Observe.Closed = func(reason string) { closed <- reason }
		})...)
		f(t, s, p, closed)
	})
}

func (p *pipes) bare(t *testing.T) *bare {
	nc, err := p.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &bare{t, nc}
}

// ends waits for the end of a connection and checks its reason and time.
func ends(t *testing.T, closed chan string, reason string, from time.Time, after time.Duration) {
	t.Helper()
	got := <-closed
	if took := time.Since(from); got != reason || took < after || took > after+after/4+2*time.Second {
		t.Errorf("ended by %s after %v, want %s after %v", got, took, reason, after)
	}
}

func TestTimeouts(t *testing.T) {
	def := DefaultConfig()
	t.Run("nothing at all", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			p.bare(t)
			ends(t, closed, endSlow, time.Now(), def.HandshakeTimeout)
		})
	})
	t.Run("a handshake byte by byte", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			b, from := p.bare(t), time.Now()
			var writer sync.WaitGroup
			defer writer.Wait()
			writer.Go(func() {
				for _, c := range hello("alice") {
					if _, err := b.Write([]byte{c}); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			ends(t, closed, endSlow, from, def.HandshakeTimeout)
		})
	})
	t.Run("pings do not stretch the handshake", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			b, from := p.bare(t), time.Now()
			var writer sync.WaitGroup
			defer writer.Wait()
			writer.Go(func() {
				ping := of(`0000001b 1a|0802 1000 1807 2210 CC… 2801|`)
				for first := of(`"hrpc" 09 00 00`); ; first = nil {
					if _, err := b.Write(append(first, ping...)); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			ends(t, closed, endSlow, from, def.HandshakeTimeout)
		})
	})
	t.Run("half a frame", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			b := p.bare(t)
			b.send(hello("alice"), call(0, "echo", "x"), call(1, "echo", "y")[:20])
			b.frame()
			ends(t, closed, endSlow, time.Now(), def.FrameTimeout)
		})
	})
	t.Run("idle", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			b := p.bare(t)
			b.send(hello("alice"), call(0, "echo", "x"))
			b.frame()
			ends(t, closed, endIdle, time.Now(), def.IdleTimeout)
		})
	})
	t.Run("a call is not idle, and neither is its end", func(t *testing.T) {
		d := &testMethods{}
		release := d.block("slow")
		inVirtualTime(t, d, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			hold := make(chan struct{})
			d.mu.Lock()
			d.hold["slow"] = hold // a channel of this synctest bubble
			d.mu.Unlock()
			b := p.bare(t)
			b.send(hello("alice"), call(0, "echo", "slow"))
			time.Sleep(5 * def.IdleTimeout)
			close(hold)
			b.frame()
			ends(t, closed, endIdle, time.Now(), def.IdleTimeout)
		})
		release()
	})
	t.Run("a password that takes long is not the caller's fault", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			cl := openClient(t, func(c *ClientConfig) { c.Dial, c.ConnectTimeout = p.Dial, time.Hour })
			to := Target{Address: "memory", Protocol: testProtocol, Token: &Token{[]byte(testToken), testPassword}}
			cc, err := cl.get(t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(cl.cfg.IdleTimeout / 2)
			if cc.Err() != nil {
				t.Errorf("ended after its handshake: %v", cc.Err())
			}
			if got, err := echo(t.Context(), cl, to, "x"); err != nil || got != "x" {
				t.Errorf("got %q, %v", got, err)
			}
		}, func(c *Config) {
			find := c.Password
			c.Password = func(ctx context.Context, id []byte) (string, []byte, error) {
				time.Sleep(time.Minute)
				return find(ctx, id)
			}
		})
	})
	t.Run("replies that nobody reads", func(t *testing.T) {
		inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
			b, from := p.bare(t), time.Now()
			var writer sync.WaitGroup
			defer writer.Wait()
			writer.Go(func() {
				out := hello("alice")
				for i := int32(0); ; i++ {
					if _, err := b.Write(append(out, call(i, "echo", strings.Repeat("x", 1000))...)); err != nil {
						return
					}
					out = nil
				}
			})
			time.Sleep(def.WriteTimeout / 2)
			synctest.Wait()
			if n := len(s.slots); n != 0 {
				t.Errorf("%d calls hold slots for a peer that does not read", n)
			}
			ends(t, closed, endUnread, from, def.WriteTimeout)
		}, func(c *Config) { c.OutputMax = 10000 })
	})
}

func TestClientTimeouts(t *testing.T) {
	d := &testMethods{hold: map[string]chan struct{}{}}
	inVirtualTime(t, d, func(t *testing.T, s *Server, p *pipes, closed chan string) {
		hold := make(chan struct{})
		d.hold["slow"] = hold
		cl := openClient(t, func(c *ClientConfig) { c.Dial = p.Dial })
		to := Target{Address: "memory", Protocol: testProtocol, User: "alice"}
		from := time.Now()
		_, err := echo(t.Context(), cl, to, "slow")
		if took := time.Since(from); !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrOutcomeUnknown) ||
			took < cl.cfg.CallTimeout || took > cl.cfg.CallTimeout*5/4 {
			t.Errorf("%v after %v", err, took)
		}
		close(hold)
		if got, err := echo(t.Context(), cl, to, "x"); err != nil || got != "x" {
			t.Errorf("the connection serves no more: %q, %v", got, err)
		}
		ends(t, closed, endPeer, time.Now(), cl.cfg.IdleTimeout)
	})
}

// TestClientPings checks that a client that waits for a reply sends pings, so that the server does
// not close the connection as idle.
func TestClientPings(t *testing.T) {
	inVirtualTime(t, &testMethods{}, func(t *testing.T, s *Server, p *pipes, closed chan string) {
		cl := openClient(t, func(c *ClientConfig) { c.Dial, c.CallTimeout = p.Dial, time.Hour })
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		go func() { _, _ = echo(ctx, cl, Target{Address: "memory", Protocol: testProtocol, User: "alice"}, "wait") }()
		synctest.Wait()
		c := s.open()[0]
		first := c.last.Load()
		time.Sleep(24 * time.Second)
		if later := c.last.Load(); later-first < int64(15*time.Second) {
			t.Errorf("nothing came for %v", 24*time.Second-time.Duration(later-first))
		}
	}, func(c *Config) {
		c.Protocols = []Protocol{{Name: testProtocol, Methods: map[string]Method{
			"echo": Handle(func(ctx context.Context, _ *Call,
				_ *proto.GetQueueInfoRequestProto) (*proto.GetQueueInfoResponseProto, error) {
				time.Sleep(time.Minute)
				return nil, ctx.Err()
			}),
		}}}
	})
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		cl := openClient(t, func(c *ClientConfig) { c.Dial = p.Dial })
		var silent net.Conn
		go func() { silent, _ = p.Accept(); _, _ = io.Copy(io.Discard, silent) }()
		from := time.Now()
		_, err := echo(t.Context(), cl, Target{Address: "memory", Protocol: testProtocol,
			Token: &Token{[]byte("i"), []byte("p")}}, "x")
		if took := time.Since(from); !errors.Is(err, ErrNotConnected) || !errors.Is(err, context.DeadlineExceeded) ||
			took != cl.cfg.ConnectTimeout {
			t.Errorf("%v after %v", err, took)
		}
	})
}
