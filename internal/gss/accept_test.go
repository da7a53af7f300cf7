package gss_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
)

const service = "rm/host.example@EXAMPLE"

var etypes = []int32{17, 18, 19, 20}

func open(t testing.TB, keytab string, change func(*gss.Config)) *gss.Acceptor {
	t.Helper()
	cfg := gss.Config{Principal: service, Keytab: keytab}
	if change != nil {
		change(&cfg)
	}
	a, err := gss.OpenAcceptor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func initiate(t testing.TB, ticket gss.Ticket) (*gss.Initiator, []byte) {
	t.Helper()
	i, token, err := gss.Initiate(ticket, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return i, token
}

// pair returns both sides of a context.
func pair(t testing.TB, etype int32, oneSided bool) (server, client *gss.Context) {
	t.Helper()
	k := gsstest.NewKey(t, service, etype, 3)
	ticket := k.Ticket(t, "ann@EXAMPLE", nil)
	ticket.OneSided = oneSided
	i, token := initiate(t, ticket)
	server, reply, err := open(t, gsstest.Keytab(t, k), nil).Accept(token, gss.Peer{})
	if err != nil {
		t.Fatal(err)
	}
	if (reply == nil) != oneSided {
		t.Fatalf("reply %x", reply)
	}
	if client, err = i.Finish(reply); err != nil {
		t.Fatal(err)
	}
	return server, client
}

func TestContext(t *testing.T) {
	for _, etype := range etypes {
		for _, oneSided := range []bool{false, true} {
			server, client := pair(t, etype, oneSided)
			if server.Client != "ann@EXAMPLE" || time.Until(server.Expires) > time.Hour {
				t.Errorf("the client is %q until %v", server.Client, server.Expires)
			}
			for n := range 70 {
				for _, seal := range []bool{true, false} {
					text := bytes.Repeat([]byte{'x'}, n*n)
					for _, d := range [][2]*gss.Context{{client, server}, {server, client}} {
						w := d[0].Wrap([]byte("before"), text, seal)
						if len(w) > len("before")+len(text)+gss.Overhead {
							t.Errorf("%d bytes were added", len(w)-len("before")-len(text))
						}
						got, sealed, err := d[1].Unwrap(w[len("before"):])
						if err != nil || !bytes.Equal(got, text) || sealed != seal {
							t.Fatalf("type %d, %d bytes: got %x, sealed %v, %v", etype, len(text), got, sealed, err)
						}
					}
				}
			}
		}
	}
}

// TestRotation unwraps messages whose sender has rotated them, as Windows does.
func TestRotation(t *testing.T) {
	for _, etype := range etypes {
		for _, seal := range []bool{true, false} {
			for _, rotation := range []int{1, 12, 28, 1000} {
				server, client := pair(t, etype, false)
				w := client.Wrap(nil, []byte("some text"), seal)
				body := w[16:]
				n := rotation % len(body)
				copy(body, append(bytes.Clone(body[len(body)-n:]), body[:len(body)-n]...))
				binary.BigEndian.PutUint16(w[6:], uint16(rotation))
				if got, _, err := server.Unwrap(w); err != nil || string(got) != "some text" {
					t.Errorf("type %d, rotation %d: %q, %v", etype, rotation, got, err)
				}
			}
		}
	}
}

func TestUnwrapRefuses(t *testing.T) {
	for _, etype := range etypes {
		for _, seal := range []bool{true, false} {
			server, client := pair(t, etype, false)
			first := client.Wrap(nil, []byte("first"), seal)
			second := client.Wrap(nil, []byte("second"), seal)
			for i := range first {
				for bit := range 8 {
					b := bytes.Clone(first)
					b[i] ^= 1 << bit
					if got, _, err := server.Unwrap(b); err == nil {
						t.Fatalf("type %d: bit %d of byte %d changed, and got %q", etype, bit, i, got)
					}
				}
				if _, _, err := server.Unwrap(bytes.Clone(first[:i])); err == nil {
					t.Fatalf("type %d: %d of %d bytes are accepted", etype, i, len(first))
				}
			}
			if _, _, err := server.Unwrap(bytes.Clone(second)); !errors.Is(err, gss.ErrOrder) {
				t.Errorf("the second message before the first: %v", err)
			}
			if _, _, err := client.Unwrap(bytes.Clone(first)); err == nil {
				t.Error("a message comes back, and is accepted")
			}
			if _, _, err := server.Unwrap(bytes.Clone(first)); err != nil {
				t.Error(err)
			}
			if _, _, err := server.Unwrap(bytes.Clone(first)); !errors.Is(err, gss.ErrOrder) {
				t.Errorf("the first message twice: %v", err)
			}
		}
	}
}

// TestRefusals has one token for each reason.
func TestRefusals(t *testing.T) {
	key := gsstest.NewKey(t, service, 18, 3)
	path := gsstest.Keytab(t, key, gsstest.NewKey(t, service, 17, 3))
	foreign := func(p *messages.EncTicketPart) { p.CRealm = "OTHER" }
	for name, c := range map[string]struct {
		change func(*messages.EncTicketPart)
		client string
		ticket func(*gss.Ticket)
		late   time.Duration // of the client's clock
		from   gss.Peer
		token  func([]byte) []byte
		twice  bool
		want   gss.Reason
	}{
		"good":           {},
		"a little late":  {late: -4 * time.Minute},
		"a little early": {late: 4 * time.Minute},
		"late":           {late: -6 * time.Minute, want: gss.Skew},
		"early":          {late: 6 * time.Minute, want: gss.Skew},
		"expired": {change: func(p *messages.EncTicketPart) {
			p.EndTime = time.Now().Add(-6 * time.Minute).UTC()
		}, want: gss.Expired},
		"expired in skew": {change: func(p *messages.EncTicketPart) { p.EndTime = time.Now().Add(-4 * time.Minute).UTC() }},
		"future": {change: func(p *messages.EncTicketPart) {
			p.StartTime = time.Now().Add(6 * time.Minute).UTC()
		}, want: gss.NotYetValid},
		"future, no start": {change: func(p *messages.EncTicketPart) {
			p.StartTime, p.AuthTime = time.Time{}, time.Now().Add(6*time.Minute).UTC()
		}, want: gss.NotYetValid},
		"invalid": {change: func(p *messages.EncTicketPart) {
			types.SetFlag(&p.Flags, 7)
		}, want: gss.NotYetValid},
		"replay":           {twice: true, want: gss.Replay},
		"other realm":      {change: foreign, ticket: func(t *gss.Ticket) { t.Client.Realm = "OTHER" }},
		"realm of another": {change: foreign, want: gss.Mismatch},
		"name of another":  {ticket: func(t *gss.Ticket) { t.Client.Components = []string{"bob"} }, want: gss.Mismatch},
		"odd name": {change: func(p *messages.EncTicketPart) {
			p.CName.NameString = []string{"ann/admin"}
		}, want: gss.Malformed},
		"control character": {change: func(p *messages.EncTicketPart) {
			p.CName.NameString = []string{"ann\u009bm"}
		}, want: gss.Malformed},
		"other direction": {change: func(p *messages.EncTicketPart) {
			p.CName.NameString = []string{"ann\u202e"}
		}, want: gss.Malformed},
		"address": {change: onlyFrom("192.0.2.1"), from: gss.Peer{Address: netip.MustParseAddr("192.0.2.2")},
			want: gss.Address},
		"right address": {change: onlyFrom("192.0.2.1"),
			from: gss.Peer{Address: netip.MustParseAddr("::ffff:192.0.2.1")}},
		"no address": {change: onlyFrom("192.0.2.1"), want: gss.Address},
		"through": {change: through("MIDDLE", false), ticket: func(t *gss.Ticket) {
			t.Client.Realm = "OTHER"
		}, want: gss.Transit},
		"through, checked": {change: through("MIDDLE", true), ticket: func(t *gss.Ticket) { t.Client.Realm = "OTHER" }},
		"through a parent": {change: func(p *messages.EncTicketPart) {
			through("EXAMPLE", false)(p)
			p.CRealm = "A.EXAMPLE"
		}, ticket: func(t *gss.Ticket) { t.Client.Realm = "A.EXAMPLE" }},
		"through a stranger": {change: func(p *messages.EncTicketPart) {
			through("EVIL", false)(p)
			p.CRealm = "A.EXAMPLE"
		}, ticket: func(t *gss.Ticket) { t.Client.Realm = "A.EXAMPLE" }, want: gss.Transit},
		"realm rewritten": {change: func(p *messages.EncTicketPart) {
			through("EVIL", false)(p)
			p.CRealm = "A.EXAMPLE"
		}, ticket: func(t *gss.Ticket) {
			t.Client.Realm, t.Ticket.Realm = "A.EXAMPLE", "A.EXAMPLE"
		}, want: gss.Transit},
		"binding": {ticket: func(t *gss.Ticket) {
			t.Binding = []byte("a")
		}, from: gss.Peer{Binding: []byte("b")}, want: gss.Binding},
		"right binding": {ticket: func(t *gss.Ticket) {
			t.Binding = []byte("a")
		}, from: gss.Peer{Binding: []byte("a")}},
		"binding not asked":    {ticket: func(t *gss.Ticket) { t.Binding = []byte("a") }},
		"binding not sent":     {from: gss.Peer{Binding: []byte("a")}},
		"other service's name": {ticket: func(t *gss.Ticket) { t.Ticket.SName.NameString = []string{"hdfs", "nn"} }},
		"version":              {ticket: func(t *gss.Ticket) { t.Ticket.EncPart.KVNO = 4 }, want: gss.NoKey},
		"no version":           {ticket: func(t *gss.Ticket) { t.Ticket.EncPart.KVNO = 0 }},
		"type":                 {ticket: func(t *gss.Ticket) { t.Ticket.EncPart.EType = 19 }, want: gss.NoKey},
		"wrong type":           {ticket: func(t *gss.Ticket) { t.Ticket.EncPart.EType = 17 }, want: gss.Integrity},
		"RC4":                  {ticket: func(t *gss.Ticket) { t.Ticket.EncPart.EType = 23 }, want: gss.NoKey},
		"changed ticket":       {ticket: func(t *gss.Ticket) { t.Ticket.EncPart.Cipher[20] ^= 1 }, want: gss.Integrity},
		"other session": {ticket: func(t *gss.Ticket) {
			t.Key.KeyValue = bytes.Repeat([]byte{1}, 32)
		}, want: gss.Integrity},
		"RC4 session": {change: func(p *messages.EncTicketPart) {
			p.Key = types.EncryptionKey{KeyType: 23, KeyValue: make([]byte, 16)}
		}, want: gss.Integrity},
		"short session": {change: func(p *messages.EncTicketPart) {
			p.Key.KeyValue = p.Key.KeyValue[:24]
		}, want: gss.Integrity},
		"empty": {token: func([]byte) []byte { return nil }, want: gss.Malformed},
		"short": {token: func(b []byte) []byte { return b[:len(b)-1] }, want: gss.Malformed},
		"more":  {token: func(b []byte) []byte { return append(b, 0) }, want: gss.Malformed},
		"NTLM":  {token: func([]byte) []byte { return []byte("NTLMSSP\x00\x01\x00\x00\x00") }, want: gss.Malformed},
		"long":  {token: func([]byte) []byte { return make([]byte, gss.TokenMax+1) }, want: gss.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			ticket := key.Ticket(t, "ann@EXAMPLE", c.change)
			if c.ticket != nil {
				c.ticket(&ticket)
			}
			_, token, err := gss.Initiate(ticket, time.Now().Add(c.late))
			if err != nil {
				t.Fatal(err)
			}
			if c.token != nil {
				token = c.token(token)
			}
			a := open(t, path, nil)
			_, _, err = a.Accept(bytes.Clone(token), c.from)
			if c.twice {
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = a.Accept(token, c.from)
			}
			var e *gss.Error
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (!errors.As(err, &e) || e.Reason != c.want):
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if err != nil {
				t.Log(err)
			}
			if a.Panics() != 0 {
				t.Error("a panic was recovered")
			}
		})
	}
}

func onlyFrom(ip string) func(*messages.EncTicketPart) {
	return func(p *messages.EncTicketPart) {
		p.CAddr = types.HostAddresses{{AddrType: 2, Address: netip.MustParseAddr(ip).AsSlice()}}
	}
}

func through(realm string, checked bool) func(*messages.EncTicketPart) {
	return func(p *messages.EncTicketPart) {
		p.CRealm, p.Transited = "OTHER", messages.TransitedEncoding{TRType: 1, Contents: []byte(realm)}
		if checked {
			types.SetFlag(&p.Flags, 12)
		}
	}
}

// TestParallelClients has many authenticators of one client within one moment, which are no
// replays.
func TestParallelClients(t *testing.T) {
	k := gsstest.NewKey(t, service, 18, 1)
	a := open(t, gsstest.Keytab(t, k), nil)
	ticket, now := k.Ticket(t, "ann@EXAMPLE", nil), time.Now()
	for range 100 {
		_, token, err := gss.Initiate(ticket, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Accept(token, gss.Peer{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplayMemory replays a token until it is too old for the check of the time.
func TestReplayMemory(t *testing.T) {
	k := gsstest.NewKey(t, service, 18, 1)
	start := time.Now()
	now := start
	a := open(t, gsstest.Keytab(t, k), func(c *gss.Config) { c.Now = func() time.Time { return now } })
	ticket := k.Ticket(t, "ann@EXAMPLE", nil)
	for early := -4 * time.Minute; early <= 4*time.Minute; early += time.Minute {
		now = now.Add(time.Minute)
		_, token, err := gss.Initiate(ticket, now.Add(early))
		if err != nil {
			t.Fatal(err)
		}
		first := now
		if _, _, err := a.Accept(bytes.Clone(token), gss.Peer{}); err != nil {
			t.Fatal(err)
		}
		for ; now.Sub(first) < 30*time.Minute; now = now.Add(10 * time.Second) {
			if _, _, err := a.Accept(bytes.Clone(token), gss.Peer{}); err == nil {
				t.Fatalf("a token is accepted again after %v", now.Sub(first))
			}
		}
		now = first
	}
}

// TestKeytabChanges changes the file under an acceptor.
func TestKeytabChanges(t *testing.T) {
	var warned []error
	first, second := gsstest.NewKey(t, service, 18, 1), gsstest.NewKey(t, service, 18, 2)
	path := gsstest.Keytab(t, first)
	now := time.Now()
	a := open(t, path, func(c *gss.Config) {
		c.Now = func() time.Time { return now }
		c.Warn = func(err error) { warned = append(warned, err) }
	})
	accept := func(k gsstest.Key) error {
		t.Helper()
		_, token, err := gss.Initiate(k.Ticket(t, "ann@EXAMPLE",
			func(p *messages.EncTicketPart) { p.EndTime = now.Add(time.Hour).UTC() }), now)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = a.Accept(token, gss.Peer{})
		return err
	}
	if err := accept(second); err == nil {
		t.Error("a key is taken that the file does not have")
	}
	replace := func(write func(path string)) {
		now = now.Add(2 * time.Second)
		write(path + ".new")
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(func(p string) { gsstest.WriteKeytab(t, p, second) })
	if err := accept(second); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if err := accept(first); err != nil {
		t.Errorf("the key before: %v", err)
	}
	replace(func(p string) {
		if err := os.WriteFile(p, []byte("\x05\x02\x00\x00\x00\x50damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if err := accept(second); err != nil || len(warned) != 1 || a.KeytabError() == nil {
		t.Errorf("with a damaged file: %v, warned %v", err, warned)
	}
	now = now.Add(2 * time.Second)
	if err := accept(second); err != nil || len(warned) != 1 {
		t.Errorf("with the same damaged file: %v, warned %v", err, warned)
	}
	replace(func(p string) { gsstest.WriteKeytab(t, p, second) })
	if err := accept(second); err != nil || a.KeytabError() != nil {
		t.Errorf("with the file repaired: %v, %v", err, a.KeytabError())
	}
	now = now.Add(49 * time.Hour)
	if err := accept(first); err == nil {
		t.Error("a key is taken that left the file two days ago")
	}
}

// TestKeytabRefused opens files that cannot be used. No error may contain bytes of a key.
func TestKeytabRefused(t *testing.T) {
	secret := gsstest.NewKey(t, service, 18, 1)
	other, rc4 := secret, gsstest.NewKey(t, service, 23, 1)
	other.Service.Components = []string{"hdfs", "nn"}
	good, err := os.ReadFile(gsstest.Keytab(t, secret))
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"empty":     nil,
		"text":      []byte("key = value"),
		"version 1": {5, 1},
		"cut":       good[:len(good)-1],
		"other":     must(os.ReadFile(gsstest.Keytab(t, other, rc4))),
		"nothing":   {5, 2},
	} {
		path := filepath.Join(t.TempDir(), "keytab")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := gss.OpenAcceptor(gss.Config{Principal: service, Keytab: path})
		if err == nil || !strings.Contains(err.Error(), path) ||
			bytes.Contains([]byte(err.Error()), secret.Key.KeyValue[:8]) {
			t.Errorf("%s: %v", name, err)
		}
		t.Log(err)
	}
	if _, err := gss.OpenAcceptor(gss.Config{Principal: service, Keytab: "/nowhere"}); err == nil {
		t.Error("a missing file is opened")
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestAnyHost accepts for each host of the keytab, as a web server does.
func TestAnyHost(t *testing.T) {
	one, two, other := gsstest.NewKey(t, "HTTP/a@EXAMPLE", 18, 1), gsstest.NewKey(t, "HTTP/b@EXAMPLE", 18, 1),
		gsstest.NewKey(t, service, 18, 1)
	a := open(t, gsstest.Keytab(t, one, two, other), func(c *gss.Config) { c.Principal = "HTTP/*" })
	for _, c := range []struct {
		key gsstest.Key
		ok  bool
	}{{one, true}, {two, true}, {other, false}} {
		_, token := initiate(t, c.key.Ticket(t, "ann@EXAMPLE", nil))
		if _, _, err := a.Accept(token, gss.Peer{}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.key.Service, err)
		}
	}
}

// TestChangedTokens changes bytes of a good token. None may be accepted that differs where it
// matters, and nothing may panic in this package's own code.
func TestChangedTokens(t *testing.T) {
	k := gsstest.NewKey(t, service, 18, 1)
	path := gsstest.Keytab(t, k)
	_, token := initiate(t, k.Ticket(t, "ann@EXAMPLE", nil))
	a := open(t, path, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := bytes.Clone(token)
		for range 1 + r.IntN(3) {
			b[r.IntN(min(len(b), 1<<(2+r.IntN(9))))] = byte(r.Uint32())
		}
		if r.IntN(3) == 0 {
			b = b[:r.IntN(len(b))]
		}
		_, _, _ = a.Accept(b, gss.Peer{})
	}
	t.Logf("%d panics were recovered", a.Panics())
}

func FuzzAccept(f *testing.F) {
	k := gsstest.NewKey(f, service, 18, 1)
	a := open(f, gsstest.Keytab(f, k), nil)
	_, token := initiate(f, k.Ticket(f, "ann@EXAMPLE", nil))
	f.Add(token)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, _, err := a.Accept(b, gss.Peer{})
		var e *gss.Error
		if err != nil && (!errors.As(err, &e) || e.Detail == "") {
			t.Errorf("the error is %v", err)
		}
		if err == nil && c.Client != "ann@EXAMPLE" {
			t.Errorf("the client is %s", c.Client)
		}
	})
}

func FuzzUnwrap(f *testing.F) {
	server, client := pair(f, 18, false)
	f.Add(client.Wrap(nil, []byte("text"), true))
	_, client = pair(f, 18, false)
	f.Add(client.Wrap(nil, []byte("text"), false))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, _, err := server.Unwrap(bytes.Clone(b)); err == nil && string(m) != "text" {
			t.Errorf("%x is unwrapped to %q", b, m)
		}
	})
}

func BenchmarkAccept(b *testing.B) {
	k := gsstest.NewKey(b, service, 18, 1)
	a := open(b, gsstest.Keytab(b, k), nil)
	ticket := k.Ticket(b, "ann@EXAMPLE", nil)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		_, token := initiate(b, ticket)
		b.StartTimer()
		if _, _, err := a.Accept(token, gss.Peer{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrap4K(b *testing.B) {
	server, client := pair(b, 18, false)
	text := make([]byte, 4096)
	var buf []byte
	b.SetBytes(4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = client.Wrap(buf[:0], text, true)
		if _, _, err := server.Unwrap(buf); err != nil {
			b.Fatal(err)
		}
	}
}
