package ipc

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	protobuf "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/proto"
)

// FuzzServer sends any bytes to a server. The server must answer in frames, end the connection when
// the peer does, and continue to serve others.
func FuzzServer(f *testing.F) {
	f.Add(append(hello("alice"), call(1, "echo", "x")...))
	f.Add(append(hello("alice"), call(1, "echoInline", "class")...))
	f.Add(append(hello("alice"), call(1, "bytesInline", "dd")...))
	f.Add(append(append([]byte(nil), saslPreamble...), capturedNegotiate...))
	f.Add(append(append(append([]byte(nil), saslPreamble...), capturedNegotiate...),
		initiateToken(bytes.Repeat([]byte(`username="x",`), 12))...))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	p := newPipes()
	s := openServer(f, &testMethods{}, func(c *Config) { c.Listener = p })
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		p.accepted <- there
		_ = here.SetDeadline(time.Now().Add(time.Minute))
		got := make(chan []byte)
		go func() {
			all, _ := io.ReadAll(here)
			got <- all
		}()
		if _, err := here.Write(b); err == nil && len(b) > 0 {
			_ = here.Close()
		}
		out := <-got
		_ = here.Close()
		if len(out) > 4 && !bytes.HasPrefix(out, []byte("HTTP/")) {
			var h replyHeader
			if head, _, err := cut(out[4:]); err == nil {
				if err := h.read(head); err != nil {
					t.Errorf("answer %x: %v", out, err)
				}
			}
		}
		if s.closing.Load() {
			t.Error("the server is closing")
		}
	})
}

// FuzzRequestHeader compares the hand-written decoder with the generated code.
func FuzzRequestHeader(f *testing.F) {
	f.Add(appendRequestHeader(nil, 5, testClientID, 2)[1:])
	f.Add(appendRequestHeader(nil, idSasl, "", noRetry)[1:])
	f.Add(of(`0803 1000 1806 2200`))
	f.Add(of(`18ffffffffff7f 2200 28ffffffffff7f`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h requestHeader
		var m proto.RpcRequestHeaderProto
		err, ref := h.read(b), protobuf.Unmarshal(b, &m)
		if ref != nil {
			return // the generated code also checks fields that are not read here
		}
		if err != nil {
			t.Fatalf("read(%x) = %v, but the generated code accepts it", b, err)
		}
		if h.call != m.GetCallId() || h.retry != m.GetRetryCount() || !bytes.Equal(h.client, m.GetClientId()) {
			t.Errorf("%x: %+v, want %v", b, h, &m)
		}
		if k := m.GetRpcKind(); m.RpcKind != nil && k >= 0 && k <= 2 && (!h.hasKind || h.kind != int64(k)) {
			t.Errorf("%x: kind %d, want %v", b, h.kind, k)
		}
	})
}

// FuzzMethodHeader does the same for the second header of a request.
func FuzzMethodHeader(f *testing.F) {
	f.Add(appendMethodHeader(nil, "echo", testProtocol, 1)[1:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var h methodHeader
		var m proto.RequestHeaderProto
		err, ref := h.read(b), protobuf.Unmarshal(b, &m)
		if ref != nil {
			return
		}
		if err != nil || string(h.method) != m.GetMethodName() || string(h.protocol) != m.GetDeclaringClassProtocolName() ||
			h.version != m.GetClientProtocolVersion() {
			t.Errorf("%x: %+v, %v, want %v", b, h, err, &m)
		}
	})
}

// FuzzReplyHeader compares the hand-written encoder and decoder of a reply header with the
// generated code.
func FuzzReplyHeader(f *testing.F) {
	f.Add(int32(0), int32(0), testClientID, uint8(0), "", "", int32(0))
	f.Add(int32(idSasl), int32(-1), "", uint8(2), ClassSasl, "text", int32(15))
	f.Fuzz(func(t *testing.T, id, retry int32, client string, status uint8, class, message string, detail int32) {
		h := responseHeader{call: id, retry: retry, client: client, status: uint64(status % 3)}
		if h.status != statusSuccess {
			h.err = &Error{Class: class, Message: message, Detail: detail}
		}
		frame := h.appendFrame(nil)
		head, rest, err := cut(frame[4:])
		if err != nil || len(rest) != 0 {
			t.Fatalf("cut of the reply %x: %v, %d bytes left, want none", frame, err, len(rest))
		}
		var m proto.RpcResponseHeaderProto
		if err := protobuf.Unmarshal(head, &m); err != nil {
			t.Fatalf("Unmarshal of the header in %x: %v", frame, err)
		}
		var back replyHeader
		if err := back.read(head); err != nil {
			t.Fatalf("read of the header in %x: %v", frame, err)
		}
		if back.call != id || m.GetCallId() != uint32(id) || m.GetRetryCount() != retry || string(back.client) != client ||
			string(m.GetClientId()) != client ||
			uint64(back.status) != h.status || string(back.class) != m.GetExceptionClassName() ||
			string(back.message) != m.GetErrorMsg() {
			t.Errorf("%+v became %+v and %v", h, back, &m)
		}
	})
}

// FuzzClient answers a client with any bytes.
func FuzzClient(f *testing.F) {
	f.Add(of(`0000001e 1a|0800 1000 1809 3a10 CC… 4000| 02|1a00`), false)
	f.Add((&responseHeader{call: 0, status: statusFatal, client: testClientID, err: Denied("no")}).appendFrame(nil), false)
	f.Add((&responseHeader{call: idSasl, retry: noRetry}).appendBytes(nil, of(`1000`)), true)
	f.Add((&responseHeader{call: idSasl, retry: noRetry}).appendBytes(nil,
		of(`1001 22 14 0a05 "TOKEN" 120a "DIGEST-MD5" 2a00`)), true)
	p := newPipes()
	cl := openClient(f, func(c *ClientConfig) { c.Dial, c.ConnectTimeout = p.Dial, 10*time.Second })
	cl.id = testClientID
	f.Fuzz(func(t *testing.T, b []byte, token bool) {
		to := Target{Address: "memory", Protocol: testProtocol, User: "u"}
		if token {
			to.Token = &Token{[]byte("id"), []byte("pw")}
		}
		go func() {
			nc, err := p.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, nc) }()
			_, _ = nc.Write(b)
			_ = nc.Close()
		}()
		cc, err := cl.Connect(t.Context(), to)
		if err != nil {
			return
		}
		var reply proto.GetQueueInfoResponseProto
		_ = cc.Call(t.Context(), "echo", ask("x"), &reply)
		_ = cc.Close()
	})
}
