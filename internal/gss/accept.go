package gss

import (
	"bytes"
	"crypto/md5"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	krbasn1 "github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// TokenMax limits the first token of a client, in bytes. Those of Active Directory may contain a
// list of groups of 64 KiB.
const TokenMax = 1 << 18

// DefaultSkew is the greatest difference of the clocks of a client and a server.
const DefaultSkew = 5 * time.Minute

// Config is the configuration of an Acceptor.
type Config struct {
	// Principal is the service's own name: service/host@REALM. Without a realm, keys of every realm
	// are used. service/* stands for all hosts.
	Principal string
	// Keytab is the file with the service's keys.
	Keytab string
	// Skew is the allowed difference of clocks. 0 means DefaultSkew.
	Skew time.Duration
	// Paths has the paths between realms that are not those of their names. It may be nil.
	Paths Paths
	// Warn is called when the keytab has changed and cannot be read. It may be nil.
	Warn func(error)
	// Now returns the time. If it is nil, the system's clock is used.
	Now func() time.Time
}

// Acceptor accepts security contexts. It may be used by several goroutines.
type Acceptor struct {
	cfg    Config
	keys   *keytab
	replay *replays
	panics atomic.Uint64
	turns  chan struct{} // limits the tokens that are decoded at the same time
}

// OpenAcceptor reads the keytab.
func OpenAcceptor(cfg Config) (*Acceptor, error) {
	want, err := ParsePrincipal(cfg.Principal)
	if err != nil {
		return nil, fmt.Errorf("principal %q: %w", cfg.Principal, err)
	}
	if cfg.Skew == 0 {
		cfg.Skew = DefaultSkew
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Paths == nil {
		cfg.Paths = func(string, string) ([]string, bool) { return nil, false }
	}
	if cfg.Warn == nil {
		cfg.Warn = func(error) {}
	}
	keys, err := openKeytab(cfg.Keytab, want, cfg.Now(), cfg.Warn)
	if err != nil {
		return nil, err
	}
	return &Acceptor{cfg: cfg, keys: keys, replay: newReplays(2 * cfg.Skew),
		turns: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}, nil
}

// Panics returns how many panics were recovered while tokens were decoded.
func (a *Acceptor) Panics() uint64 { return a.panics.Load() }

// KeytabError returns why the present file cannot be read, or nil. Keys that were read before are
// used meanwhile.
func (a *Acceptor) KeytabError() error { return a.keys.err() }

// Peer is what a server knows of a connection before its client is authenticated.
type Peer struct {
	// Address is the client's address. Tickets may be limited to addresses. An invalid address is
	// in no such list.
	Address netip.Addr
	// Binding is the data of the channel (for TLS: RFC 5929), or nil. A client need not send it, but
	// if it does, it must be the same.
	Binding []byte
}

// Accept checks a client's first token. It returns the context and, if the client asked for it, the
// reply that proves to the client who the server is. All its errors are *Error.
//
// It takes the time of a processor and does not wait for the network, so more calls at the same time
// than there are processors take turns: a stranger's token may need ten times its size.
func (a *Acceptor) Accept(token []byte, from Peer) (ctx *Context, reply []byte, err error) {
	a.turns <- struct{}{}
	defer func() {
		<-a.turns
		if p := recover(); p != nil {
			a.panics.Add(1)
			ctx, reply, err = nil, nil, refuse(Internal, "the token cannot be decoded: %v", p)
		}
	}()
	req, e := decodeRequest(token)
	if e != nil {
		return nil, nil, e
	}
	t, realm, e := a.decryptTicket(req)
	if e != nil {
		return nil, nil, e
	}
	client := Principal{t.CName.NameString, t.CRealm}
	ctx, reply, e = a.establish(req, t, realm, from)
	if e != nil {
		e.Client = client.String()
		return nil, nil, e
	}
	ctx.Client, ctx.Expires = client.String(), t.EndTime
	return ctx, reply, nil
}

// establish makes the checks that need the decrypted ticket. realm is that of the service.
func (a *Acceptor) establish(req *messages.APReq, t *messages.EncTicketPart, realm string, from Peer) (*Context,
	[]byte, *Error) {
	now := a.cfg.Now()
	if e := a.checkTicket(t, realm, from, now); e != nil {
		return nil, nil, e
	}
	if err := decryptAuthenticator(req, t.Key); err != nil {
		return nil, nil, refuse(Integrity, "the authenticator cannot be decrypted: %v", err)
	}
	auth := &req.Authenticator
	if e := a.checkAuthenticator(auth, t, now); e != nil {
		return nil, nil, e
	}
	flags, e := checkChecksum(auth.Cksum, from.Binding)
	if e != nil {
		return nil, nil, e
	}
	client := Principal{t.CName.NameString, t.CRealm}.String()
	if why, ok := a.replay.add(client, req.EncryptedAuthenticator.Cipher, now); !ok {
		if why == Crowded {
			return nil, nil, refuse(why, "%d tokens were accepted within %v, or %d of this client, and more are not remembered",
				tokensMax, 2*a.cfg.Skew, tokensMax/ownPart)
		}
		return nil, nil, refuse(why, "the token was used before")
	}
	if flags&flagMutual != 0 {
		return answer(auth, t.Key)
	}
	key := t.Key
	if len(auth.SubKey.KeyValue) > 0 {
		key = auth.SubKey
	}
	seq := uint64(uint32(auth.SeqNumber))
	ctx, err := newContext(true, key, false, seq, seq)
	if err != nil {
		return nil, nil, refuse(Unsupported, "%v", err)
	}
	return ctx, nil, nil
}

// The header of a token (RFC 2743, section 3.1): Kerberos' identifier after its length.
const mechanism = "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"

// The kinds of tokens (RFC 4121, section 4.1).
const (
	kindRequest = "\x01\x00"
	kindReply   = "\x02\x00"
	kindError   = "\x03\x00"
)

// frame adds the header of a token.
func frame(kind string, message []byte) []byte {
	return asn1tools.AddASNAppTag(append([]byte(mechanism+kind), message...), 0)
}

// unframe removes the header of a token.
func unframe(token []byte) (kind string, message []byte, err error) {
	var outer asn1.RawValue
	rest, err := asn1.Unmarshal(token, &outer)
	if err != nil || len(rest) > 0 || outer.Class != asn1.ClassApplication || outer.Tag != 0 {
		return "", nil, errors.New("the token has no header of GSS-API")
	}
	body, ok := bytes.CutPrefix(outer.Bytes, []byte(mechanism))
	if !ok || len(body) < 2 {
		return "", nil, errors.New("the token is not for Kerberos")
	}
	return string(body[:2]), body[2:], nil
}

// The options of an AP-REQ, and the flags of an authenticator's checksum that matter here.
const (
	optionSessionKey = 1
	optionMutual     = 2
	flagMutual       = 2
	checksumType     = 0x8003
)

func decodeRequest(token []byte) (*messages.APReq, *Error) {
	if len(token) > TokenMax {
		return nil, refuse(Malformed, "the token has %d bytes, at most %d are taken", len(token), TokenMax)
	}
	kind, body, err := unframe(token)
	if err != nil {
		return nil, refuse(Malformed, "%v", err)
	}
	if kind != kindRequest {
		return nil, refuse(Malformed, "the token is not a request")
	}
	var req messages.APReq
	if err := req.Unmarshal(body); err != nil {
		return nil, refuse(Malformed, "AP-REQ: %v", err)
	}
	if req.PVNO != 5 || req.Ticket.TktVNO != 5 {
		return nil, refuse(Malformed, "AP-REQ: it is not version 5 of Kerberos")
	}
	if req.APOptions.At(optionSessionKey) != 0 {
		return nil, refuse(Unsupported, "the ticket is for a user, and not for a service")
	}
	return &req, nil
}

// The usages of keys (RFC 4120, section 7.5.1).
const (
	usageTicket        = 2
	usageAuthenticator = 11
	usageReply         = 12
)

// decryptTicket tries the keys of the keytab, and returns the realm of the one that fits. The
// service's name and realm in the ticket are clear text, which a client may change, so they are not
// used: that the key fits proves for whom the ticket is.
func (a *Acceptor) decryptTicket(req *messages.APReq) (*messages.EncTicketPart, string, *Error) {
	part := req.Ticket.EncPart
	keys := a.keys.find(part.EType, uint32(part.KVNO), a.cfg.Now())
	if _, known := profiles[part.EType]; !known {
		return nil, "",
			refuse(NoKey,
				"the ticket for %s is encrypted with type %d, and only AES is taken: give the service AES keys in the KDC, and export them again",
				clip(req.Ticket.SName.PrincipalNameString()), part.EType)
	}
	if len(keys) == 0 {
		return nil, "",
			refuse(NoKey, "the ticket for %s is encrypted with type %d, version %d, and the keytab %s has no such key of %s: "+
				"add the key with ktadd or ktutil, or let the client get a new ticket",
				clip(req.Ticket.SName.PrincipalNameString()), part.EType, part.KVNO, a.cfg.Keytab, a.cfg.Principal)
	}
	for _, k := range keys {
		b, err := open(k.key, usageTicket, part.Cipher)
		if err != nil {
			continue
		}
		var t messages.EncTicketPart
		if err := t.Unmarshal(b); err != nil {
			return nil, "", refuse(Malformed, "ticket: %v", err)
		}
		if err := (Principal{t.CName.NameString, t.CRealm}).check(); err != nil {
			return nil, "", refuse(Malformed, "ticket: %v", err)
		}
		return &t, k.principal.Realm, nil
	}
	return nil, "", refuse(Integrity, "the ticket for %s cannot be decrypted with the keys of %s in %s: "+
		"if these are two services, correct the name of this one in the client's files, or else export the key again with ktadd",
		clip(req.Ticket.SName.PrincipalNameString()), a.cfg.Principal, a.cfg.Keytab)
}

// The flags of a ticket (RFC 4120, section 5.3).
const (
	ticketInvalid        = 7
	ticketTransitChecked = 12
)

// transitedDomains is the form of a list of realms that expand reads (RFC 4120, section 3.3.3.2).
const transitedDomains = 1

func (a *Acceptor) checkTicket(t *messages.EncTicketPart, realm string, from Peer, now time.Time) *Error {
	start := t.StartTime
	if start.IsZero() {
		start = t.AuthTime
	}
	switch {
	case start.Sub(now) > a.cfg.Skew || t.Flags.At(ticketInvalid) != 0:
		return refuse(NotYetValid, "the ticket is valid from %s, and here it is %s: compare the clocks",
			stamp(start), stamp(now))
	case now.Sub(t.EndTime) > a.cfg.Skew:
		return refuse(Expired, "the ticket expired at %s, and here it is %s: get a new one with kinit",
			stamp(t.EndTime), stamp(now))
	case len(t.CAddr) > 0 && !types.HostAddressesContains(t.CAddr,
		types.HostAddressFromNetIP(from.Address.Unmap().AsSlice())):
		return refuse(Address,
			"the ticket is for other addresses than %s: get one without addresses (noaddresses in krb5.conf)", from.Address)
	}
	if t.CRealm == realm || len(t.Transited.Contents) == 0 || t.Flags.At(ticketTransitChecked) != 0 {
		return nil
	}
	if t.Transited.TRType != transitedDomains {
		return refuse(Transit,
			"the ticket came from %s to %s through realms that are written in the form %d, which is not read", t.CRealm, realm,
			t.Transited.TRType)
	}
	if err := checkPath(t.CRealm, realm, string(t.Transited.Contents), a.cfg.Paths); err != nil {
		return refuse(Transit, "the ticket came from %s to %s through %q: %v", t.CRealm, realm,
			clip(string(t.Transited.Contents)), err)
	}
	return nil
}

func decryptAuthenticator(req *messages.APReq, session types.EncryptionKey) error {
	b, err := open(session, usageAuthenticator, req.EncryptedAuthenticator.Cipher)
	if err != nil {
		return err
	}
	return req.Authenticator.Unmarshal(b)
}

func (a *Acceptor) checkAuthenticator(auth *types.Authenticator, t *messages.EncTicketPart, now time.Time) *Error {
	if auth.CRealm != t.CRealm || !slices.Equal(auth.CName.NameString, t.CName.NameString) {
		return refuse(Mismatch, "the authenticator is of another client than the ticket")
	}
	at := auth.CTime.Add(time.Duration(auth.Cusec) * time.Microsecond)
	if off := now.Sub(at); off > a.cfg.Skew || off < -a.cfg.Skew {
		return refuse(Skew, "the client's clock says %s, and the clock here %s. They may differ by %v: synchronize them",
			stamp(at), stamp(now), a.cfg.Skew)
	}
	return nil
}

// checkChecksum returns the flags that a client asks for (RFC 4121, section 4.1.1).
func checkChecksum(sum types.Checksum, binding []byte) (uint32, *Error) {
	b := sum.Checksum
	if sum.CksumType != checksumType || len(b) < 24 || binary.LittleEndian.Uint32(b) != 16 {
		return 0, refuse(Malformed, "the authenticator has no checksum of GSS-API")
	}
	if sent := [16]byte(b[4:20]); binding != nil && sent != [16]byte{} && sent != hashBinding(binding) {
		return 0, refuse(Binding, "the client is connected to another server than this one: something between them ends TLS")
	}
	return binary.LittleEndian.Uint32(b[20:]), nil
}

// hashBinding returns the hash of a channel's data without addresses.
func hashBinding(data []byte) [16]byte {
	return md5.Sum(append(binary.LittleEndian.AppendUint32(make([]byte, 16), uint32(len(data))), data...))
}

// answer returns a context with a key of its own, and the AP-REP.
func answer(auth *types.Authenticator, session types.EncryptionKey) (*Context, []byte, *Error) {
	sub := newKey(session.KeyType)
	seq := rand.Uint32() >> 2 // some clients read it as a signed number
	ctx, err := newContext(true, sub, true, uint64(seq), uint64(uint32(auth.SeqNumber)))
	if err != nil {
		return nil, nil, refuse(Unsupported, "%v", err)
	}
	part, err := krbasn1.Marshal(messages.EncAPRepPart{CTime: auth.CTime, Cusec: auth.Cusec, Subkey: sub,
		SequenceNumber: int64(seq)})
	if err != nil {
		return nil, nil, refuse(Malformed, "AP-REP: %v", err)
	}
	sealed, err := seal(session, usageReply, asn1tools.AddASNAppTag(part, 27))
	if err != nil {
		return nil, nil, refuse(Unsupported, "%v", err)
	}
	rep, err := krbasn1.Marshal(messages.APRep{PVNO: 5, MsgType: 15,
		EncPart: types.EncryptedData{EType: session.KeyType, Cipher: sealed}})
	if err != nil {
		return nil, nil, refuse(Malformed, "AP-REP: %v", err)
	}
	return ctx, frame(kindReply, asn1tools.AddASNAppTag(rep, 15)), nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// clip shortens text of a stranger, and replaces what cannot be printed.
func clip(s string) string {
	if len(s) > 128 {
		s = s[:128] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
