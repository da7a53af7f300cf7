package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"rmd/api"
)

// Allowed answers of the peer port to callers that are not members.
const (
	noHello = `^\((closed|open)\)$` // no answer
	// refused by TLS or by the hello; no frame is answered
	noPeer   = `^no connection|^\(closed\)$|^hello [1-9]\d* [^|]*\(closed\)$`
	tlsAlert = `^\x15|^no connection|` + noHello
)

// hostilePeer returns inputs for the peer port from callers that are not replicas, with and without
// TLS.
func hostilePeer() []hostile {
	return []hostile{
		{"noise", tlsAlert, peerRaw(bytes.Repeat([]byte{0x80, 0xff, 0, 0x13}, 1024))},
		{"HTTP", tlsAlert, peerRaw([]byte("GET /v1/cluster HTTP/1.1\r\nHost: a\r\n\r\n"))},
		{"a TLS hello cut off", tlsAlert, peerRaw([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))},
		{"a TLS record of 64 KB", tlsAlert, peerRaw([]byte("\x16\x03\x01\xff\xff"), make([]byte, 65535))},
		{"half a hello", tlsAlert, peerRaw([]byte("RMDP\x01"))},
		{"a hello of 64 KB", tlsAlert, peerRaw([]byte("RMDP\x01\xff\xff"), make([]byte, 65535))},
		{"a hello of another version", tlsAlert, peerRaw([]byte("RMDP\xff\x00\x10"), make([]byte, 16))},
		{"an empty hello", tlsAlert, peerRaw([]byte("RMDP\x01\x00\x00"))},
		{"a hello whose words are longer than it", tlsAlert,
			peerRaw([]byte("RMDP\x01\x00\x0b\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff"))},
		{"Raft's own bytes without a hello", tlsAlert, peerRaw([]byte{0}, bytes.Repeat([]byte{0x8a}, 4096))},
		{"a kind of connection that does not exist", noPeer + `|` + tlsAlert, peerPlain(99, "test", "rm2")},
		{"another cluster's name", noPeer + `|` + tlsAlert, peerPlain(3, "other", "rm2")},
		{"no name", noPeer + `|` + tlsAlert, peerPlain(3, "", "")},
	}
}

// hostileCertificates returns callers that have no certificate of a member. They try every method.
func hostileCertificates() []hostile {
	return []hostile{
		{"no certificate", noPeer, stranger(func(c *certificates) *tls.Config { return c.anonymous() }, "test", "rm2")},
		{"a certificate of another authority", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.showing(c.other, "test", "rm2")
		}, "test", "rm2")},
		{"a certificate of another cluster", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.showing(c.ca, "other", "rm2")
		}, "test", "rm2")},
		{"a certificate of another cluster, and its name", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.showing(c.ca, "other", "rm2")
		}, "other", "rm2")},
		{"a certificate of a replica that was never let in", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.showing(c.ca, "test", "rm9")
		}, "test", "rm9")},
		{"a certificate of a replica that was removed", noPeer, stranger((*certificates).ofRemoved, "test", "rm4")},
		{"a stranger's, called by a member's name", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.showing(c.ca, "test", "rm9")
		}, "test", "rm2")},
		{"a second certificate in a member's name", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.showing(c.ca, "test", "rm2")
		}, "test", "rm2")},
		{"a role's certificate", noPeer, stranger(func(c *certificates) *tls.Config {
			return c.role("admin")
		}, "test", "rm2")},
		{"TLS 1.2", noPeer, stranger(func(c *certificates) *tls.Config {
			cfg := c.showing(c.ca, "test", "rm2")
			cfg.MaxVersion = tls.VersionTLS12
			return cfg
		}, "test", "rm2")},
	}
}

// peerRaw sends bytes unchanged to the peer port.
func peerRaw(send ...[]byte) func(*attack) string {
	return func(a *attack) string { return exchange(a.dialer(), a.at.peer, nil, 10*time.Second, send...) }
}

// peerHello returns the hello of a replica.
func peerHello(kind byte, words ...string) []byte {
	body := append([]byte{kind, 0}, make([]byte, 8)...)
	for _, w := range words {
		body = append(append(body, byte(len(w))), w...)
	}
	return append(binary.BigEndian.AppendUint16([]byte("RMDP\x01"), uint16(len(body))), body...)
}

// peerPlain sends a hello without TLS.
func peerPlain(kind byte, cluster, id string) func(*attack) string {
	return func(a *attack) string {
		return answerText(exchange(a.dialer(), a.at.peer, nil, 10*time.Second,
			peerHello(kind, "", cluster, id, "0000000000000000", "")))
	}
}

// stranger connects with a certificate that is not the member's, sends the hello of the member id
// for each kind of connection, and calls every method.
func stranger(shows func(*certificates) *tls.Config, cluster, id string) func(*attack) string {
	return func(a *attack) string {
		secure := shows(a.certs)
		incarnation, clusterID := a.identityOf(id)
		var calls bytes.Buffer
		for m := range 256 {
			calls.Write(binary.BigEndian.AppendUint32(nil, 10))
			calls.Write([]byte{1, byte(m)})
			calls.Write(binary.BigEndian.AppendUint64(nil, uint64(m)))
		}
		worst := ""
		for _, kind := range []byte{1, 2, 3} {
			got := answerText(exchange(a.dialer(), a.at.peer, secure, 10*time.Second,
				peerHello(kind, "", cluster, id, incarnation, clusterID), calls.Bytes()))
			if worst == "" || strings.HasPrefix(got, "hello 0") {
				worst = got
			}
		}
		return worst
	}
}

// identityOf returns the incarnation and the cluster id for a hello. If id was never a member, the
// incarnation is invented.
func (a *attack) identityOf(id string) (incarnation, clusterID string) {
	var c api.Cluster
	a.get(a.all[0], "/v1/cluster", &c)
	incarnation = "0123456789abcdef"
	if known := a.incarnation[id]; known != "" {
		incarnation = known
	}
	return incarnation, c.ClusterID
}

// answerText converts an answer of the peer port to text.
func answerText(got string) string {
	if !strings.HasPrefix(got, "RMDP") || len(got) < 18 {
		return got
	}
	n := 7 + int(binary.BigEndian.Uint16([]byte(got[5:7])))
	text := got[18:min(len(got), 18+int(got[17]))]
	end, more := endClosed, len(got)-n
	if strings.HasSuffix(got, endOpen) {
		end = endOpen
	}
	if more -= len(end); more > 0 {
		return fmt.Sprintf("hello %d %s| %d bytes more%s", got[8], text, more, end)
	}
	return fmt.Sprintf("hello %d %s%s", got[8], text, end)
}
