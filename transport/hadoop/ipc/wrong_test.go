package ipc

import (
	"bytes"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
	"rmd/transport/hadoop/proto"
)

// lines collects a server's log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestWrongSituations puts a client into each situation that sites meet. The client gets Java's text,
// from which it may know how to go on, and the log says what to do.
func TestWrongSituations(t *testing.T) {
	const initiate, final = "GSS initiate failed", "Final handshake failed"
	minutes := func(n time.Duration) time.Time { return time.Now().Add(n * time.Minute).UTC() }
	realm := func(r string) func(*messages.EncTicketPart) {
		return func(p *messages.EncTicketPart) { p.CRealm = r }
	}
	another := gsstest.NewKey(t, "rm/other.example@EXAMPLE", 18, 1)
	// token makes a client's first message. Without one, client does all.
	for name, c := range map[string]struct {
		offers Protection
		auth   Auth
		// of a ticket
		from     string // the client; "" is testPrincipal
		change   func(*messages.EncTicketPart)
		ticket   func(*gss.Ticket)
		key      *gsstest.Key // in place of the server's
		late     time.Duration
		twice    bool
		oneSided bool
		mangle   func([]byte) []byte
		choice   []byte // the client's layer
		as       string // the effective user
		client   func(t *testing.T, s *secured) *bare

		class, java, log string
	}{
		"a client's clock is late": {late: -6 * time.Minute, java: initiate,
			log: "They may differ by 5m0s: synchronize them"},
		"a client's clock is early": {late: 6 * time.Minute, java: initiate,
			log: "They may differ by 5m0s: synchronize them"},
		"the KDC's clock is early": {change: func(p *messages.EncTicketPart) {
			p.StartTime = minutes(6)
		}, java: initiate, log: "compare the clocks"},
		"the ticket has expired": {change: func(p *messages.EncTicketPart) {
			p.EndTime = minutes(-6)
		}, java: initiate, log: "get a new one with kinit"},
		"a token is replayed": {twice: true, java: initiate, log: "the token was used before"},
		"a token of another replica": {key: &another, java: initiate,
			log: "if these are two services, correct the name of this one in the client's files"},
		"the host has another name": {key: &another, ticket: func(k *gss.Ticket) {
			k.Ticket.SName.NameString = []string{"rm", "alias"}
		}, java: initiate, log: "the ticket for rm/alias cannot be decrypted"},
		"the keytab has no such type": {ticket: func(k *gss.Ticket) {
			k.Ticket.EncPart.EType = 20
		}, java: initiate, log: "add the key with ktadd or ktutil"},
		"the keytab is old": {ticket: func(k *gss.Ticket) {
			k.Ticket.EncPart.KVNO = 2
		}, java: initiate, log: "version 2, and the keytab"},
		"the key is another": {ticket: func(k *gss.Ticket) {
			k.Ticket.EncPart.Cipher[20] ^= 1
		}, java: initiate, log: "export the key again with ktadd"},
		"the KDC uses RC4": {ticket: func(k *gss.Ticket) {
			k.Ticket.EncPart.EType = 23
		}, java: initiate, log: "only AES is taken: give the service AES keys"},
		"the ticket is for addresses": {change: func(p *messages.EncTicketPart) {
			p.CAddr = types.HostAddresses{{AddrType: 2, Address: netip.MustParseAddr("192.0.2.1").AsSlice()}}
		}, java: initiate, log: "noaddresses in krb5.conf"},
		"the token is another client's": {ticket: func(k *gss.Ticket) {
			k.Client.Components = []string{"bob"}
		}, java: initiate, log: "the authenticator is of another client"},
		"the client speaks NTLM": {mangle: func([]byte) []byte {
			return []byte("NTLMSSP\x00\x01\x00\x00\x00")
		}, java: initiate, log: "the token has no header of GSS-API"},
		"no proof of the server is asked": {oneSided: true, java: initiate, log: "does not ask for mutual authentication"},
		"a realm between is not trusted": {from: "ann@OTHER", change: func(p *messages.EncTicketPart) {
			p.Transited = messages.TransitedEncoding{TRType: 1, Contents: []byte("HUB")}
		}, java: initiate, log: "write the path to [capaths] of krb5.conf"},
		"no rule for the realm": {from: "ann@OTHER", change: realm("OTHER"), class: ClassAccessControl,
			java: "Illegal principal name ann@OTHER: No rules applied to ann@OTHER",
			log:  "add a rule to hadoop.security.auth_to_local"},
		"protection is lowered": {offers: Privacy, choice: []byte{1, 0, 0, 0},
			java: "Client selected unsupported protection: 1", log: "set hadoop.rpc.protection in the client's core-site.xml"},
		"the client logs in for root": {choice: []byte("\x01\x00\x00\x00root@EXAMPLE"),
			java: "ann@EXAMPLE is not authorized to connect as root@EXAMPLE", log: "hadoop.proxyuser.*, and not by its login"},
		"no right to act for another": {choice: []byte{1, 0, 0, 0}, as: "root", class: ClassAuthorization,
			java: "ann may not act for root", log: "ann may not act for root"},
		"the client knows no Kerberos": {client: func(t *testing.T, s *secured) *bare {
			b := dialBare(t, s.Server)
			b.send(of(`"hrpc" 09 00 00`))
			return b
		}, class: ClassAccessControl, java: "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]",
			log: "get a ticket with kinit"},
		"a token at a port for tickets": {auth: AuthKerberos, client: func(t *testing.T, s *secured) *bare {
			b := dialBare(t, s.Server)
			b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
			b.frame()
			b.send(appendControl(nil, idSasl, "", append(saslMessage(proto.RpcSaslProto_INITIATE, []byte("x")),
				of(`22 13 0a05 "TOKEN" 120a "DIGEST-MD5"`)...)))
			return b
		}, class: ClassAccessControl, java: "TOKEN authentication is not enabled.  Available:[KERBEROS]",
			log: "this port is for other callers"},
		"the answer is forged": {choice: []byte("\x01\x00\x00\x00"), mangle: nil,
			client: func(t *testing.T, s *secured) *bare {
				g := s.begin(t)
				g.layers()
				b := g.ctx.Wrap(nil, []byte{1, 0, 0, 0}, false)
				b[16] = 2
				g.respond(b)
				return g.bare
			}, java: final, log: "wrapped message was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &lines{}
			auth := c.auth
			if auth == 0 {
				auth = AuthTokenKerberos
			}
			s := openSecured(t, &testMethods{}, auth, max(c.offers, Authentication), func(cfg *Config) {
				cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info})
			})
			var b *bare
			if c.client != nil {
				b = c.client(t, s)
			} else {
				from, key := c.from, &s.key
				if from == "" {
					from = testPrincipal
				}
				if c.key != nil {
					key = c.key
				}
				ticket := key.Ticket(t, from, c.change)
				if c.ticket != nil {
					c.ticket(&ticket)
				}
				ticket.OneSided = c.oneSided
				i, token, err := gss.Initiate(ticket, time.Now().Add(c.late))
				if err != nil {
					t.Fatal(err)
				}
				if c.mangle != nil {
					token = c.mangle(token)
				}
				open := func() {
					b = dialBare(t, s.Server)
					b.send(of(`"hrpc" 09 00 df`), capturedNegotiate)
					b.frame()
					b.initiate(token)
				}
				open()
				if c.twice {
					b.challenge()
					open()
				}
				if c.java != initiate {
					ctx, err := i.Finish(b.challenge())
					if err != nil {
						t.Fatal(err)
					}
					g := &gssClient{b, ctx}
					g.layers()
					choice := c.choice
					if choice == nil {
						choice = []byte{1, 0, 0, 0}
					}
					g.choose(choice...)
					if c.as != "" {
						g.frame()
						g.send(introduction(c.as))
					}
				}
			}
			h, _ := b.frame()
			class := c.class
			if class == "" {
				class = ClassSasl
			}
			if h.GetStatus() != proto.RpcResponseHeaderProto_FATAL || h.GetExceptionClassName() != class ||
				h.GetErrorMsg() != c.java {
				t.Errorf("the client gets %s: %q, not %s: %q", h.GetExceptionClassName(), h.GetErrorMsg(), class, c.java)
			}
			for end := time.Now().Add(time.Minute); !log.has(c.log); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the log does not say %q:\n%s", c.log, log.text())
				}
			}
		})
	}
}
