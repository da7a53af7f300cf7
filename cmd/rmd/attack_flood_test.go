package main

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"rmd/transport/hadoop/proto"
)

// Expected results of hostileCrowds.
const (
	tooMany  = `^[1-9]\d* of 2000 refused`
	newcomer = `refused; HTTP/1\.1 200 `
)

// hostileCrowds returns inputs that are hostile by their number. The replica refuses connections above
// its limits. Below the limits, it serves a new caller while the hostile connections are open.
func hostileCrowds() []hostile {
	return []hostile{
		{"2,000 silent connections to REST", tooMany, crowdOf(2000, (*attack).web, "", nil)},
		{"500 headers that never end", newcomer,
			crowdOf(500, (*attack).web, "GET / HTTP/1.1\r\nHost: {host}\r\nX-A: ", newcomerWeb)},
		{"300 bodies that never come", newcomer,
			crowdOf(300, (*attack).web,
				"POST /v1/apps HTTP/1.1\r\nHost: {host}\r\nX-Rmd-Token: {submit}\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{", newcomerWeb)},
		{"60 bodies of 4 MB that never end", newcomer,
			crowdOf(60, (*attack).web,
				"POST /v1/conf:validate HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n"+strings.Repeat(" ", 3_900_000), newcomerWeb)},
		{"300 listeners to events that never read", newcomer,
			crowdOf(300, (*attack).web, "GET /v1/events HTTP/1.1\r\nHost: {host}\r\n\r\n", newcomerWeb)},
		{"200 listeners to the pages that never read", newcomer,
			crowdOf(200, (*attack).web, "GET /ui/live HTTP/1.1\r\nHost: {host}\r\n\r\n", newcomerWeb)},
		{"100 lists asked for and never read", newcomer,
			crowdOf(100, (*attack).web, "GET /v1/apps HTTP/1.1\r\nHost: {host}\r\n\r\n", newcomerWeb)},
		{"100 connections with 100 requests each at once", newcomer,
			crowdOf(100, (*attack).web, strings.Repeat("GET /v1/health HTTP/1.1\r\nHost: {host}\r\n\r\n", 100), newcomerWeb)},
		{"2,000 silent connections to the clients' port", tooMany, crowdOf(2000, at(clientPort), "", nil)},
		{"1,200 silent connections to the clients' port from one address", `^[1-9]\d* of 1200 refused; answered`,
			oneAddress(crowdOf(1200, at(clientPort), "", newcomerYarn))},
		{"2,000 silent connections to the nodes' port", tooMany,
			crowdOf(2000, at(trackerPort), string(hello(trackerProtocol)), nil)},
		{"2,000 half introductions to the AMs' port", tooMany, crowdOf(2000, at(masterPort), "hrpc\x09\x00", nil)},
		{"200 frames of 4 MB that never end", `refused; answered`,
			crowdOf(200, at(clientPort), string(hello(clientProtocol))+"\x00\x3f\xff\xff"+strings.Repeat("x", 1000),
				newcomerYarn)},
		{"40 frames of 4 MB from one address that never end", `refused; answered`, largeFromOne},
		{"100 clients that ask for lists and never read", `refused; answered`,
			crowdOf(100, at(clientPort), string(hello(clientProtocol))+strings.Repeat(string(listApplications), 256),
				newcomerYarn)},
		{"100 client ids of 1 MB", `refused; answered`,
			crowdOf(100, at(clientPort), "hrpc\x09\x00\x00"+
				string(framed(delimited(append([]byte{0x18, 5}, field(4, make([]byte, 1<<20))...)))), newcomerYarn)},
		{"500 silent connections between replicas", newcomer, crowdOf(500, atPeer, "", newcomerWeb)},
		{"500 half TLS hellos between replicas", newcomer, crowdOf(500, atPeer, "\x16\x03\x01\x02\x00\x01\x00", newcomerWeb)},
		{"1,100 connections between replicas of a replica that is no member", `refused; hello 0 `,
			crowdOf(1100, atPeer, string(peerHello(3, "", "test", "rm9", "0000000000000000", "")), newcomerPeer)},
		{"20 connections between replicas with 20,000 calls each, whose answers nobody reads", newcomer,
			crowdOf(20, atPeer, string(peerHello(3, "", "test", "rm9", "0000000000000000", ""))+strings.Repeat(unknownCall,
				20_000), newcomerWeb)},
		{"40 requests to play the log again, without a role", `^40 of 40 refused`,
			manyRequests(40, req("POST /v1/replay:rerun", "", "{}"))},
		{"40 requests to play the log again, at once", `^\d+ of 40 refused; the first: HTTP/1\.1 (200|503|429|409) `,
			manyRequests(40, req("POST /v1/replay:rerun", asJSON+"{operator}", "{}"))},
		{"40 previews of preemption, without a role", `^40 of 40 refused`,
			manyRequests(40, req("POST /v1/preemption:preview", "", `{"from_ms":1}`))},
		{"40 previews of preemption, at once", `^\d+ of 40 refused; the first: HTTP/1\.1 (200|503|429|410) `,
			manyRequests(40, req("POST /v1/preemption:preview", asJSON+"{operator}", `{"from_ms":1}`))},
		{"40 requests for what-if, at once", `of 40 refused`,
			manyRequests(40, req("POST /v1/whatif", asJSON+"{operator}",
				`{"properties":{"yarn.scheduler.capacity.root.queues":"a"}}`))},
		{"40 configurations of 1,000 queues checked, at once", `^\d+ of 40 refused; the first: HTTP/1\.1 (200|503) `,
			manyRequests(40, req("POST /v1/conf:validate", asJSON+"{read}", manyQueues()))},
		{"40 placements by configurations that multiply, at once", `^\d+ of 40 refused; the first: HTTP/1\.1 (200|503) `,
			manyRequests(40, req("POST /v1/queues:place", asJSON+"{read}", doublingRules()))},
		{"200 guesses of a token, at once", `^200 of 200 refused`,
			manyRequests(200, req("GET /v1/apps?limit=1", "Authorization: Bearer rmd_guess", ""))},
	}
}

// newcomerPeer connects to the peer port as another replica that is not a member, and returns the
// answer to its hello.
func newcomerPeer(a *attack) string {
	nc, err := dialHostile(a.dialer(), a.at.peer, nil)
	if err != nil {
		return "no connection: " + err.Error()
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := nc.Write(peerHello(3, "", "test", "rm8", "0000000000000000", "")); err != nil {
		return "the hello was not taken: " + err.Error()
	}
	head := make([]byte, len("RMDP")+3) // with the version and the length of the body
	if _, err := io.ReadFull(nc, head); err != nil {
		return "no answer: " + err.Error()
	}
	body := make([]byte, binary.BigEndian.Uint16(head[5:]))
	if _, err := io.ReadFull(nc, body); err != nil {
		return "half an answer: " + err.Error()
	}
	return answerText(string(head) + string(body) + endOpen)
}

// unknownCall is a call with a method that the peer port does not have.
const unknownCall = "\x00\x00\x00\x0a\x01\x63\x00\x00\x00\x00\x00\x00\x00\x07"

// largeFromOne sends large frames from one address until that address has used its share of the
// clients' port. Meanwhile, another address sends one large frame.
func largeFromOne(a *attack) string {
	large := rpc(clientPort, "ann", "getQueueInfo", &proto.GetQueueInfoRequestProto{},
		`queueName: "`+strings.Repeat("q", 100<<10)+`"`)
	b := *a
	b.pinned = &net.TCPAddr{IP: a.dialer().LocalAddr.(*net.TCPAddr).IP}
	frame := string(hello(clientProtocol)) + "\x00\x3f\xff\xff" + strings.Repeat("x", 4_000_000)
	return crowdOf(40, at(clientPort), frame, func(*attack) string { return large(a) })(&b)
}

// oneAddress makes all connections of send come from one address.
func oneAddress(send func(*attack) string) func(*attack) string {
	return func(a *attack) string {
		b := *a
		b.pinned = &net.TCPAddr{IP: a.dialer().LocalAddr.(*net.TCPAddr).IP}
		return send(&b)
	}
}

func at(port yarnPort) func(*attack) (string, *tls.Config) {
	return func(a *attack) (string, *tls.Config) { return port.address(a.hadoopCluster.at[a.at]), nil }
}

func atPeer(a *attack) (string, *tls.Config) { return a.at.peer, nil }

// Calls of a new caller while hostile connections are open.
var (
	newcomerWeb  = req("GET /v1/health", "", "")
	newcomerYarn = rpc(clientPort, "ann", "getClusterMetrics", &proto.GetClusterMetricsRequestProto{}, "")
)

// manyRequests sends a request n times at once and counts the refused ones.
func manyRequests(n int, send func(*attack) string) func(*attack) string {
	return func(a *attack) string {
		var wg sync.WaitGroup
		got := make([]string, n)
		for i := range got {
			wg.Go(func() { got[i] = send(a) })
		}
		wg.Wait()
		refused := 0
		for _, g := range got {
			if strings.HasPrefix(g, "HTTP/1.1 4") || strings.HasPrefix(g, "HTTP/1.1 503") {
				refused++
			}
		}
		return fmt.Sprintf("%d of %d refused; the first: %s", refused, n, got[0])
	}
}
