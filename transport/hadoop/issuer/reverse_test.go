package issuer

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"rmd/transport/hadoop/ipc"
)

// TestNameOfAnother does not believe the name of an address whose own addresses are others: who owns a
// network can give its addresses any name.
func TestNameOfAnother(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	net.DefaultResolver = fakeDNS(map[string]string{"9.0.0.127.in-addr.arpa.": "nn1.example.",
		"nn1.example.": "127.0.0.10", "10.0.0.127.in-addr.arpa.": "nn1.example."})
	w := newWorld(t)
	nn, site := w.serve("nn/nn1.example", protocolNameNode, ipc.Authentication), w.website(false)
	w.key("HTTP/nn1.example")
	s := w.services(map[string]string{keyNameNode: "nn/_HOST@TEST"}, func(c *Config) {
		c.Reverse = nil
		c.Dial = func(_ context.Context, network, address string) (net.Conn, error) {
			if strings.HasSuffix(address, ":80") {
				return net.Dial(network, site.addr())
			}
			return net.Dial(network, nn.addr())
		}
	})
	if _, err := s.Renew(t.Context(), hdfs("127.0.0.10:8020"), nil); err != nil {
		t.Error(err)
	}
	_, err := s.Renew(t.Context(), hdfs("127.0.0.9:8020"), nil)
	clean(t, err, "Server has invalid Kerberos principal: nn/nn1.example@TEST, expecting: nn/127.0.0.9@TEST")
	for host, want := range map[string]string{"127.0.0.10": "HTTP/nn1.example", "127.0.0.9": "HTTP/127.0.0.9"} {
		w.asked = nil
		tok := hdfs("kms://http@" + host + ":80/kms")
		tok.Kind = kindKMS
		_, _ = s.Renew(t.Context(), tok, nil)
		if !slices.Equal(w.asked, []string{want}) {
			t.Errorf("at %s a ticket for %v is shown, want %s", host, w.asked, want)
		}
	}
}

// fakeDNS returns a resolver that knows some names: "9.0.0.127.in-addr.arpa." has a name, others have an
// address.
func fakeDNS(records map[string]string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			size := make([]byte, 2)
			for {
				if _, err := io.ReadFull(server, size); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(server, query); err != nil {
					return
				}
				b := answerDNS(query, records)
				_, _ = server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
			}
		}()
		return client, nil
	}}
}

// answerDNS returns the answer to a query (RFC 1035).
func answerDNS(query []byte, records map[string]string) []byte {
	const head, typeA, typePTR = 12, 1, 12
	name, at := "", head
	for ; query[at] != 0; at += 1 + int(query[at]) {
		name += string(query[at+1:at+1+int(query[at])]) + "."
	}
	kind := query[at+2]
	out := append(slices.Clone(query[:2]), 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0)
	out = append(out, query[head:at+5]...)
	value := records[name]
	var data []byte
	if a, err := netip.ParseAddr(value); err == nil && kind == typeA {
		data = a.AsSlice()
	} else if value != "" && kind == typePTR {
		for _, label := range strings.Split(value, ".") {
			data = append(append(data, byte(len(label))), label...)
		}
	}
	if data == nil {
		return out
	}
	out[7] = 1
	out = append(out, 0xc0, head, 0, kind, 0, 1, 0, 0, 0, 1, 0, byte(len(data)))
	return append(out, data...)
}
