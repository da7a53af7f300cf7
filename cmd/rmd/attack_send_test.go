package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
	"rmd/transport/hadoop/proto"
)

// Ends of the answer that exchange returns.
const (
	endClosed = "(closed)"
	endOpen   = "(open)" // no more data arrived in time
)

// exchange connects, sends, and returns the answer until the other side closes the connection or
// within has passed.
func exchange(d *net.Dialer, address string, secure *tls.Config, within time.Duration, send ...[]byte) string {
	nc, err := dialHostile(d, address, secure)
	if err != nil {
		return "no connection: " + err.Error()
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(within))
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for _, b := range send {
			if _, err := nc.Write(b); err != nil {
				return // the other side closed the connection before everything was sent
			}
		}
	})
	var got strings.Builder
	_, err = io.CopyN(&got, nc, 256<<10)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		return got.String() + endOpen
	}
	return got.String() + endClosed
}

func dialHostile(d *net.Dialer, address string, secure *tls.Config) (net.Conn, error) {
	if secure == nil {
		return d.Dial("tcp", address)
	}
	return tls.DialWithDialer(d, "tcp", address, secure)
}

// web returns the address of the REST port, and its TLS configuration or nil.
func (a *attack) web() (string, *tls.Config) {
	if a.certs == nil {
		return a.at.http, nil
	}
	return a.certs.web[a.at], a.certs.anonymous()
}

// raw sends text unchanged to the REST port.
func raw(text string) func(*attack) string {
	return func(a *attack) string {
		at, secure := a.web()
		return exchange(a.dialer(), at, secure, 20*time.Second, []byte(a.fill(text)))
	}
}

// req sends one request to the REST port. headers has one header per line. In all arguments, {ROLE}
// stands for the token of a role, and other names in braces for other values of the run.
func req(line, headers, body string) func(*attack) string {
	var b strings.Builder
	b.WriteString(line + " HTTP/1.1\r\nConnection: close\r\n")
	if !strings.Contains(headers, "Host:") {
		b.WriteString("Host: {host}\r\n")
	}
	for h := range strings.Lines(headers) {
		b.WriteString(strings.TrimSpace(h) + "\r\n")
	}
	if body != "" && !strings.Contains(headers, "Content-Length") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return raw(b.String() + "\r\n" + body)
}

// checkNotEchoed checks that an answer does not repeat text unchanged.
func checkNotEchoed(text string, send func(*attack) string) func(*attack) string {
	return func(a *attack) string {
		got := send(a)
		if strings.Contains(got, text) {
			return "it repeats " + text + ": " + got
		}
		return got
	}
}

// fill replaces the names in braces with the values of this run.
func (a *attack) fill(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	host, _ := a.web()
	if a.honest == nil {
		return strings.ReplaceAll(text, "{host}", host)
	}
	app := a.honest.master.id.App
	pairs := []string{"{host}", host, "{app}", app.String(), "{node}", "127.0.0.9:45454",
		"{ann}", fmt.Sprintf("id: %d cluster_timestamp: %d", app.Seq, app.ClusterTimestamp), "{stamp}",
		fmt.Sprint(app.ClusterTimestamp)}
	for role, secret := range a.secret {
		pairs = append(pairs, "{"+role+"}", secret)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// yarnPort is one of YARN's ports and its protocol.
type yarnPort struct {
	address  func(ports) string
	protocol string
}

var (
	clientPort  = yarnPort{func(p ports) string { return p.client }, clientProtocol}
	masterPort  = yarnPort{func(p ports) string { return p.scheduler }, masterProtocol}
	trackerPort = yarnPort{func(p ports) string { return p.tracker }, trackerProtocol}
	adminPort   = yarnPort{func(p ports) string { return p.admin }, adminProtocol}
)

// rpc calls a method as the given user. The request is in text format, where {ann} stands for an
// application of an honest user. It returns the refusal or the answer.
func rpc(port yarnPort, user, method string, req gproto.Message, text string) func(*attack) string {
	return func(a *attack) string {
		return a.callAs(port, ipc.Target{User: user}, method, a.parsed(req, text), &proto.RefreshQueuesResponseProto{})
	}
}

// rpcReply is like rpc, but the caller looks at the reply.
func rpcReply(port yarnPort, method string, req, reply gproto.Message, text string) func(*attack) string {
	return func(a *attack) string {
		return a.callAs(port, ipc.Target{User: "mallory"}, method, a.parsed(req, text), reply)
	}
}

// registration registers a NodeManager. text has more fields of the request.
func registration(text string) func(*attack) string {
	return rpcReply(trackerPort, "registerNodeManager", &proto.RegisterNodeManagerRequestProto{},
		&proto.RegisterNodeManagerResponseProto{},
		`node_id <host: "127.0.66.67" port: 1> http_port: 1 nm_version: "3.4.2" `+text)
}

// withToken calls a method with a token.
func withToken(port yarnPort, method string, identifier, password []byte) func(*attack) string {
	return func(a *attack) string {
		to := ipc.Target{Token: &ipc.Token{Identifier: identifier, Password: password}}
		return a.callAs(port, to, method, &proto.RefreshQueuesRequestProto{}, &proto.RefreshQueuesResponseProto{})
	}
}

// submission submits an application with the given id. {fresh} stands for an id from
// getNewApplication.
func submission(id, more string) func(*attack) string {
	return func(a *attack) string {
		id := id
		if id == "{fresh}" {
			var out proto.GetNewApplicationResponseProto
			a.must(clientPort.address(a.hadoopCluster.at[a.at]), clientProtocol, "mallory", "getNewApplication",
				&proto.GetNewApplicationRequestProto{}, &out)
			id = fmt.Sprintf("id: %d cluster_timestamp: %d", out.GetApplicationId().GetId(),
				out.GetApplicationId().GetClusterTimestamp())
		}
		if id != "" {
			id = "application_id <" + id + ">"
		}
		if !strings.Contains(more, "queue:") {
			more += ` queue: "b"`
		}
		if !strings.Contains(more, "resource <") {
			more += " resource <memory: 1024 virtual_cores: 1>"
		}
		if !strings.Contains(more, "am_container_spec") {
			more += " am_container_spec <>"
		}
		return rpc(clientPort, "mallory", "submitApplication", &proto.SubmitApplicationRequestProto{},
			"application_submission_context <"+id+" "+more+">")(a)
	}
}

// asMallory makes an allocate call of the attacker's own AM.
func asMallory(text string) func(*attack) string {
	return func(a *attack) string {
		a.mu.Lock()
		defer a.mu.Unlock()
		req := a.parsed(&proto.AllocateRequestProto{}, text).(*proto.AllocateRequestProto)
		if req.ResponseId == nil {
			req.ResponseId = new(a.mallory.response)
		}
		out := new(proto.AllocateResponseProto)
		got := a.callAs(masterPort, ipc.Target{Token: a.mallory.token}, "allocate", req, out)
		if strings.HasPrefix(got, "answered") {
			a.mallory.response++
		}
		return got
	}
}

// parsed parses a request from text format.
func (a *attack) parsed(req gproto.Message, text string) gproto.Message {
	out := gproto.CloneOf(req)
	if err := (prototext.UnmarshalOptions{AllowPartial: true}).Unmarshal([]byte(a.fill(text)), out); err != nil {
		a.Errorf("%T of %s: %v", req, oneLine(text, 200), err)
	}
	return out
}

func (a *attack) callAs(port yarnPort, to ipc.Target, method string, req, reply gproto.Message) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	to.Address, to.Protocol = port.address(a.hadoopCluster.at[a.at]), port.protocol
	reply = gproto.CloneOf(reply)
	err := a.rogue.Call(ctx, to, method, req, reply)
	var e *ipc.RemoteError
	switch {
	case errors.As(err, &e):
		return e.Class + ": " + e.Message
	case err != nil:
		return "error: " + err.Error()
	}
	return fmt.Sprintf("answered: %v", reply)
}

// frames sends bytes to one of YARN's ports.
func frames(port yarnPort, send ...[]byte) func(*attack) string {
	return func(a *attack) string {
		return exchange(a.dialer(), port.address(a.hadoopCluster.at[a.at]), nil, 3*time.Second, send...)
	}
}

// framed returns the parts as a frame, with the length first.
func framed(parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(n))
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// every sends an input to each of YARN's ports, and joins the answers.
func every(send func(yarnPort) func(*attack) string) func(*attack) string {
	return func(a *attack) string {
		var got []string
		for _, p := range []yarnPort{clientPort, masterPort, trackerPort, adminPort} {
			got = append(got, send(p)(a))
		}
		return strings.Join(got, " | ")
	}
}

// crowdOf opens n connections that send hello and then stay open. Then it calls meanwhile, unless
// that is nil. It returns how many connections were refused, and the result of meanwhile.
func crowdOf(n int, address func(*attack) (string, *tls.Config), hello string,
	meanwhile func(*attack) string) func(*attack) string {
	return func(a *attack) string {
		at, secure := address(a)
		var refused atomic.Int32
		var open sync.WaitGroup
		var conns []net.Conn
		for i := range n {
			if i%20 == 0 {
				time.Sleep(10 * time.Millisecond) // leave the processors to the replicas
			}
			d := a.dialer()
			d.Timeout = 2 * time.Second
			nc, err := dialHostile(d, at, secure)
			if err != nil {
				refused.Add(1)
				continue
			}
			conns = append(conns, nc)
			_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(nc, a.fill(hello)) // a refused connection accepts no data
			open.Go(func() {
				if _, err := nc.Read(make([]byte, 1)); err != nil && !errors.Is(err, net.ErrClosed) {
					refused.Add(1)
				}
			})
		}
		got := ""
		if meanwhile != nil {
			got = meanwhile(a)
		} else {
			time.Sleep(300 * time.Millisecond)
		}
		got = fmt.Sprintf("%d of %d refused; %s", refused.Load(), n, got)
		for _, nc := range conns {
			_ = nc.Close()
		}
		open.Wait()
		return got
	}
}
