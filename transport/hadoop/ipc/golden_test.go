package ipc

import (
	"bytes"
	"context"
	"encoding/hex"
	"google.golang.org/protobuf/types/known/emptypb"
	"io"
	"net"
	"strings"
	"testing"

	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token/digest"
)

// The following bytes were captured between the client and the ResourceManager of Hadoop 3.4.2.
var (
	capturedHello = of(`68727063 09 00 00
		0000005d 1a|0802 1000 1805 2210 CC… 2801| 41|1207 0a05 "alice" 1a36 "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"`)
	capturedCall = of(`0000006a 1a|0802 1000 1800 2210 CC… 2800|
		4d|0a11 "getNewApplication" 1236 "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB" 1801| 00`)
	capturedReplyHead = of(`00000054 1a|0800 1000 1809 3a10 CC… 4000| 38|`)
	capturedNegotiate = of(`0000000e 0a|0802100018412200 2801| 02|1001`)
	capturedSuccess   = of(`00000012 0e|08dfffffff0f 1000 1809 3a00 4001| 02|1000`)
	saslReplyHeader   = of(`0e|08dfffffff0f 1000 1809 3a00 4001|`)
	saslPreamble      = of(`"hrpc" 09 00 df`)
)

// captured returns a server whose getNewApplication answers as in the capture.
func captured(t *testing.T) *Server {
	result := append(of(`0a09 0801 10bbb28ae59f34 122b`), bytes.Repeat([]byte{0}, 43)...)
	return openServer(t, &testMethods{}, func(c *Config) {
		c.Protocols = []Protocol{{Name: testProtocol, Methods: map[string]Method{
			"getNewApplication": HandleBytes(new(emptypb.Empty), func(_ context.Context, c *Call, req []byte) ([]byte, error) {
				if len(req) != 0 || c.Caller.User != "alice" || c.Caller.Kind != KindSimple || c.RetryCount != 0 ||
					c.ClientID != testClientID {
					t.Errorf("request %x, call %+v of %+v", req, c, c.Caller)
				}
				return result, nil
			}),
		}}}
	})
}

func TestCapturedSimpleExchange(t *testing.T) {
	b := dialBare(t, captured(t))
	b.send(capturedHello, capturedCall)
	b.want(append(capturedReplyHead, of(`0a09 0801 10bbb28ae59f34 122b`)...))
}

func TestCapturedExchangeByteByByte(t *testing.T) {
	b := dialBare(t, captured(t))
	for _, c := range append(capturedHello, capturedCall...) {
		b.send([]byte{c})
	}
	b.want(capturedReplyHead)
}

func TestCapturedSimpleOnlyNegotiation(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.Auth = AuthSimple })
	b := dialBare(t, s)
	b.send(saslPreamble, capturedNegotiate)
	b.want(capturedSuccess)
	b.send(hello("bob")[7:], call(4, "echo", "q"))
	if h, _ := b.frame(); h.GetCallId() != 4 || h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
		t.Errorf("got %v", h)
	}
}

// offer reads the answer to NEGOTIATE and returns the challenge.
func (b *bare) offer(auth Auth) []byte {
	b.t.Helper()
	head := of(`000000a2 0e|08dfffffff0f 1000 1809 3a00 4001| 9101|1001 22 8c01`)
	if auth == AuthTokenSimple {
		head = of(`000000ae 0e|08dfffffff0f 1000 1809 3a00 4001| 9d01|1001 22 8c01`)
	}
	b.want(head)
	b.want(of(`0a05 "TOKEN" 120a "DIGEST-MD5" 1a00 2207 "default" 2a6c`))
	challenge := make([]byte, 0x6c)
	if _, err := io.ReadFull(b, challenge); err != nil {
		b.t.Fatal(err)
	}
	if auth == AuthTokenSimple {
		b.want(of(`22 0a 0a06 "SIMPLE" 1200`))
	}
	return challenge
}

func TestCapturedTokenNegotiation(t *testing.T) {
	for _, auth := range []Auth{AuthToken, AuthTokenSimple} {
		t.Run(auth.String(), func(t *testing.T) {
			d := &testMethods{}
			s := openServer(t, d, func(c *Config) { c.Auth = auth })
			b := dialBare(t, s)
			b.send(saslPreamble, capturedNegotiate)
			challenge := b.offer(auth)
			for _, part := range []string{`realm="default",nonce="`, `",qop="auth",charset=utf-8,algorithm=md5-sess`} {
				if !strings.Contains(string(challenge), part) {
					t.Errorf("challenge %s lacks %s", challenge, part)
				}
			}
			c := digest.NewClient(b64([]byte(testToken)), b64(testPassword), digest.Authentication)
			answer, err := c.Answer(challenge)
			if err != nil {
				t.Fatal(err)
			}
			b.send(initiateToken(answer))
			b.want(of(`0000003c`))
			b.want(saslReplyHeader)
			b.want(of(`2c 1000 1a28 "rspauth="`))
			final := make([]byte, 32)
			_, _ = io.ReadFull(b, final)
			if err := c.Verify(append([]byte("rspauth="), final...)); err != nil {
				t.Error(err)
			}
			// The caller is the token's user. The connection context names no user.
			b.send(appendControl(nil, idContext, testClientID, append(of(`1200 1a36`), testProtocol...)), call(0, "echo", "q"))
			if h, _ := b.frame(); h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS {
				t.Fatalf("got %v", h)
			}
			if got := d.last().Caller; got.User != testUser || got.Kind != KindToken || string(got.Identifier) != testToken {
				t.Errorf("caller %+v", got)
			}
		})
	}
}

// initiateToken returns the frame that answers a TOKEN offer.
func initiateToken(answer []byte) []byte {
	m := of(`1002`)
	m = append(append(m, 0x1a, byte(len(answer)|0x80), byte(len(answer)>>7)), answer...)
	m = append(m, of(`221e 0a05 "TOKEN" 120a "DIGEST-MD5" 1a00 2207 "default"`)...)
	return appendControl(nil, idSasl, "", m)
}

func TestNoReplyToInitiateSimple(t *testing.T) {
	s := openServer(t, &testMethods{})
	b := dialBare(t, s)
	b.send(saslPreamble, capturedNegotiate)
	b.offer(AuthTokenSimple)
	b.send(appendControl(nil, idSasl, "", of(`1002 220a 0a06 "SIMPLE" 1200`)), hello("carol")[7:], call(7, "echo", "q"))
	if h, _ := b.frame(); h.GetCallId() != 7 || h.GetStatus() != proto.RpcResponseHeaderProto_SUCCESS ||
		string(h.GetClientId()) != testClientID {
		t.Errorf("the first reply is %v", h)
	}
}

func TestCapturedRefusalOfAToken(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.Auth = AuthToken })
	b := dialBare(t, s)
	b.send(saslPreamble, capturedNegotiate)
	answer, err := digest.NewClient(b64([]byte("unknown")), "", digest.Authentication).Answer(b.offer(AuthToken))
	if err != nil {
		t.Fatal(err)
	}
	b.send(initiateToken(answer))
	b.want(of(`0000009a 9801|08dfffffff0f 1002 1809 223b "org.apache.hadoop.security.token.SecretManager$InvalidToken"
		2a49 "the token is not known here, and this text has seventy-three bytes, yes!." 300f 3a00 4001|`))
	b.wantEnd()
}

func TestCapturedRefusalOfSimple(t *testing.T) {
	s := openServer(t, &testMethods{}, func(c *Config) { c.Auth = AuthToken })
	b := dialBare(t, s)
	b.send(capturedHello, capturedCall) // in one write, as in Java; the refusal must still arrive
	b.want(of(`0000007e 7d|08ffffffff0f 1002 1809 2231 "org.apache.hadoop.security.AccessControlException"
		2a38 "SIMPLE authentication is not enabled.  Available:[TOKEN]" 300f 3a00 4001|`))
	b.wantEnd()
}

func TestReplyHeaderBytes(t *testing.T) {
	for _, c := range []struct {
		h    responseHeader
		want []byte
	}{
		{responseHeader{call: 0, client: testClientID}, of(`0000001b 1a|0800 1000 1809 3a10 CC… 4000|`)},
		{responseHeader{call: idSasl, retry: noRetry}, of(`0000000f 0e|08dfffffff0f 1000 1809 3a00 4001|`)},
		{responseHeader{call: idAuthFailed, retry: noRetry, status: statusFatal,
			err: &Error{Class: "a.B", Message: "c", Detail: 15}},
			of(`00000019 18|08ffffffff0f 1002 1809 2203 "a.B" 2a01 "c" 300f 3a00 4001|`)},
		{responseHeader{call: 300, retry: 2, client: "x", status: statusError, err: &Error{Class: "a.B"}},
			of(`00000016 15|08ac02 1001 1809 2203 "a.B" 2a00 3001 3a01 "x" 4004|`)},
	} {
		if got := c.h.appendFrame(nil); !bytes.Equal(got, c.want) {
			t.Errorf("%+v:\n got %x\nwant %x", c.h, got, c.want)
		}
	}
}

// TestClientBytes compares the client's bytes with the captured ones.
func TestClientBytes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cl := openClient(t)
	cl.id = testClientID
	want := append(append([]byte(nil), capturedHello...), capturedCall...)
	got := make(chan []byte, 1)
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		b := make([]byte, len(want))
		_, _ = io.ReadFull(nc, b)
		got <- b
		_, _ = nc.Write(of(`0000001e 1a|0800 1000 1809 3a10 CC… 4000| 02|1a00`))
		_, _ = nc.Read(b)
	}()
	var reply proto.GetNewApplicationResponseProto
	to := Target{Address: l.Addr().String(), Protocol: testProtocol, User: "alice"}
	if err := cl.Call(t.Context(), to, "getNewApplication", &proto.GetNewApplicationRequestProto{}, &reply); err != nil {
		t.Fatal(err)
	}
	if b := <-got; !bytes.Equal(b, want) {
		t.Errorf("got\n%s\nwant\n%s", hex.Dump(b), hex.Dump(want))
	}
}

// TestClientRepeatsTheOfferedEntry checks that the client returns the offered entry unchanged,
// because Java servers compare it.
func TestClientRepeatsTheOfferedEntry(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first, second := make(chan []byte, 1), make(chan []byte, 1)
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		b := make([]byte, len(saslPreamble)+len(capturedNegotiate))
		_, _ = io.ReadFull(nc, b)
		first <- b
		offer := append(of(`1001 22 8c01 0a05 "TOKEN" 120a "DIGEST-MD5" 1a00 2207 "default" 2a6c`),
			digest.NewServer(digest.Authentication).Challenge()...)
		_, _ = nc.Write((&responseHeader{call: idSasl, retry: noRetry}).appendBytes(nil, offer))
		b = make([]byte, 1024)
		n, _ := nc.Read(b)
		second <- b[:n]
	}()
	cl := openClient(t)
	_, err = cl.Connect(t.Context(), Target{Address: l.Addr().String(), Protocol: testProtocol,
		Token: &Token{[]byte("id"), []byte("pw")}})
	if err == nil {
		t.Fatal("the server said nothing, and the client is content")
	}
	if got, want := <-first, append(append([]byte(nil), saslPreamble...), capturedNegotiate...); !bytes.Equal(got, want) {
		t.Errorf("first message %x, want %x", got, want)
	}
	got := <-second
	if entry := of(`221e 0a05 "TOKEN" 120a "DIGEST-MD5" 1a00 2207 "default"`); !bytes.HasSuffix(got, entry) {
		t.Errorf("INITIATE is %q and does not end with %q", got, entry)
	}
	if head := of(`0a|0802 1000 1841 2200 2801`); !bytes.HasPrefix(got[4:], head) {
		t.Errorf("INITIATE is %x", got)
	}
}
