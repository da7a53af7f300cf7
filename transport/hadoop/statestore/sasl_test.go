package statestore

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"

	"rmd/internal/gss"
	"rmd/internal/gss/gsstest"
)

// loginServer is ZooKeeper's side of a login. It returns the next challenge, and whether the client
// is logged in.
type loginServer func(response []byte) (challenge []byte, done bool, err error)

// aLoginServer answers like ZooKeeper from znodes, but only to a client that has logged in.
func aLoginServer(t *testing.T, z znodes, begin func() loginServer) string {
	var server loginServer
	in := false
	return aServerOf(t, func(q []byte, first bool) []byte {
		switch {
		case first:
			server, in = begin(), false
			return answerGreeting()
		case binary.BigEndian.Uint32(q[4:]) == opSasl:
			a := append(append([]byte{}, q[:4]...), make([]byte, 12)...)
			challenge, done, err := server(q[12:])
			if in = done && err == nil; err != nil {
				binary.BigEndian.PutUint32(a[12:], 0xffffff84) // -124
				return a
			}
			if challenge == nil {
				return binary.BigEndian.AppendUint32(a, 0xffffffff)
			}
			return append(binary.BigEndian.AppendUint32(a, uint32(len(challenge))), challenge...)
		case !in && int32(binary.BigEndian.Uint32(q)) >= 0:
			a := append(append([]byte{}, q[:4]...), make([]byte, 12)...)
			binary.BigEndian.PutUint32(a[12:], 0xffffff9a) // -102, not allowed
			return a
		}
		return answerRequest(z, q)
	}, nil)
}

// digestServer is the server of DIGEST-MD5, computed as RFC 2831 writes it.
func digestServer(t *testing.T, user, password string) loginServer {
	const nonce, uri = "abc", "zookeeper/zk-sasl-md5"
	sum := func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }
	step := 0
	return func(response []byte) ([]byte, bool, error) {
		if step++; step == 1 {
			return []byte(`realm="zk-sasl-md5",nonce="` + nonce + `",charset=utf-8,algorithm=md5-sess`), false, nil
		}
		part := func(name string) string {
			m := regexp.MustCompile(name + `="?([^",]*)`).FindSubmatch(response)
			if m == nil {
				t.Errorf("the response has no %s: %s", name, response)
				return ""
			}
			return string(m[1])
		}
		secret := md5.Sum([]byte(user + ":zk-sasl-md5:" + password))
		a1 := md5.Sum(append(secret[:], ":"+nonce+":"+part("cnonce")...))
		proof := func(a2 string) string {
			return sum(hex.EncodeToString(a1[:]) + ":" + nonce + ":00000001:" + part("cnonce") + ":auth:" + sum(a2))
		}
		if part("username") != user || part("response") != proof("AUTHENTICATE:"+uri) {
			return nil, false, errors.New("wrong")
		}
		return []byte("rspauth=" + proof(":"+uri)), true, nil
	}
}

// gssServer is the server of GSSAPI.
func gssServer(t *testing.T, a *gss.Acceptor) loginServer {
	var ctx *gss.Context
	step := 0
	return func(response []byte) (challenge []byte, done bool, err error) {
		switch step++; step {
		case 1:
			ctx, challenge, err = a.Accept(response, gss.Peer{})
			return challenge, false, err
		case 2:
			if len(response) > 0 {
				t.Errorf("the client answers AP-REP with %x", response)
			}
			return ctx.Wrap(nil, []byte{7, 1, 0, 0}, false), false, nil
		}
		got, sealed, err := ctx.Unwrap(response)
		if !bytes.Equal(got, []byte{1, 0, 0, 0}) || sealed {
			t.Errorf("the client chooses %x", got)
		}
		return nil, true, err
	}
}

// TestLogin reads a store from a server that demands a login, with both mechanisms, and with wrong
// secrets.
func TestLogin(t *testing.T) {
	key, other := gsstest.NewKey(t, "zookeeper/zk1@TEST", 18, 1), gsstest.NewKey(t, "zookeeper/zk1@TEST", 18, 1)
	a, err := gss.OpenAcceptor(gss.Config{Principal: "zookeeper/zk1@TEST", Keytab: gsstest.Keytab(t, key)})
	if err != nil {
		t.Fatal(err)
	}
	ticket := func(k gsstest.Key) Login {
		return GSSAPI(func(net.Addr) (gss.Ticket, error) { return k.Ticket(t, "rm/one@TEST", nil), nil })
	}
	byDigest := func() loginServer { return digestServer(t, "rm", "secret") }
	byTicket := func() loginServer { return gssServer(t, a) }
	for name, c := range map[string]struct {
		server func() loginServer
		login  Login
		want   string // a part of the error, or ""
	}{
		"digest":         {byDigest, DigestMD5("rm", "secret"), ""},
		"wrong password": {byDigest, DigestMD5("rm", "guess"), "ZooKeeper refuses it with code -124"},
		"ticket":         {byTicket, ticket(key), ""},
		"wrong key":      {byTicket, ticket(other), "ZooKeeper refuses it with code -124"},
		"no login":       {byTicket, nil, "not authenticated"},
		"no ticket": {byTicket, GSSAPI(func(net.Addr) (gss.Ticket, error) {
			return gss.Ticket{}, errors.New("the KDC is down")
		}), "the KDC is down"},
		"a false server": {func() loginServer {
			return func([]byte) ([]byte, bool, error) { return []byte("x"), true, nil }
		}, ticket(key), "the login at ZooKeeper at 127.0.0.1:"},
		"an endless server": {func() loginServer {
			return func([]byte) ([]byte, bool, error) { return []byte("x"), false, nil }
		}, func(net.Addr) (Exchange, error) {
			return func([]byte) ([]byte, bool, error) { return []byte("y"), false, nil }, nil
		}, "more than 8 times"},
	} {
		t.Run(name, func(t *testing.T) {
			at := aLoginServer(t, recorded(t), c.server)
			s, err := Take(t.Context(), Config{Servers: []string{at}, Parent: "/rmstore", Login: c.login})
			switch {
			case c.want == "" && (err != nil || s.Version != "1.5" || len(s.Applications) == 0):
				t.Errorf("%+v, %v; want the whole store", s, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
