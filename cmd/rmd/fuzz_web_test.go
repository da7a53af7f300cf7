package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rmd/internal/gss/gsstest"
	"rmd/transport/hadoop/proto"
	"rmd/transport/http/route"
)

// fuzzWeb sends random requests to the REST port of a replica that demands Kerberos: without a login,
// with broken tickets and cookies, and as a user and as an administrator who have logged in.
func fuzzWeb(t *testing.T, total int64) {
	w := startWeb(t, 1, "yarn.acl.enable", "true")
	p := w.all[0]
	logins := []string{""}
	for _, user := range []string{"ann@TEST", "boss@TEST"} {
		ticket, _ := w.ticket(user)
		a, _ := w.ask(p, "GET", "/v1/access", "", "Authorization", ticket)
		unused, _ := w.ticket(user)
		logins = append(logins, "Authorization: "+unused, "Cookie: "+w.cookie(a))
	}
	before, seed := p.resident(), uint64(time.Now().UnixNano())
	var sent, silent atomic.Int64
	var mu sync.Mutex
	answers := map[int]int64{}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			var c webConn
			for sent.Load() < total {
				status, err := c.ask(rng, p.http, logins[rng.IntN(len(logins))])
				if err != nil {
					silent.Add(1)
					continue
				}
				sent.Add(1)
				mu.Lock()
				answers[status]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	w.must(w.at[p].client, clientProtocol, "honest", "getClusterMetrics", &proto.GetClusterMetricsRequestProto{},
		&proto.GetClusterMetricsResponseProto{})
	checkFuzzed(t, p, before, p.resident())
	for _, status := range []int{200, 400, 401, 403, 404} {
		if answers[status] == 0 {
			t.Errorf("no request is answered with %d: %v", status, answers)
		}
	}
	t.Logf("seed %d: %d requests, by status %v; %d connections ended without an answer", seed, sent.Load(), answers,
		silent.Load())
}

// webConn is a connection to a REST port. If it is closed, the next request opens it again.
type webConn struct {
	net.Conn
	in *bufio.Reader
}

var fuzzedBodies = []string{"", "{}", "[]", `{"queue":"root.a","name":"x"}`, `{"reason":"maintenance","timeout":"1h"}`,
	`{"app":{"state":"KILLED"}}`, `{"application-id":"application_1_0001","application-name":"n","queue":"a"}`,
	`{"role":"read","name":"token"}`, `{"update-queue":[{"queue-name":"root.a","params":{"capacity":"40"}}]}`,
	strings.Repeat(`{"a":`, 1000)}

// ask sends one request, every second one broken, and returns the status of the answer.
func (c *webConn) ask(rng *rand.Rand, address, login string) (status int, err error) {
	request := randomRequest(rng, login)
	if rng.IntN(2) == 0 {
		request = gsstest.Mutate(rng, request)
	}
	if c.Conn == nil {
		if c.Conn, err = net.Dial("tcp", address); err != nil {
			return 0, err
		}
		c.in = bufio.NewReader(c.Conn)
	}
	ends := true
	defer func() {
		if ends {
			_ = c.Close()
			c.Conn = nil
		}
	}()
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond)) // a broken length makes the server wait
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	a, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(a.Body, 1<<20))
	ends = err != nil || a.Close
	return a.StatusCode, nil
}

// randomRequest returns a request of a random endpoint.
func randomRequest(rng *rand.Rand, login string) []byte {
	endpoints := slices.Concat(route.Listed(), []string{"GET /v1/apps", "GET /v1/nodes", "GET /v1/apps/{id}", "GET /v1/queues",
		"GET /v1/apps/{id}/explain", "GET /v1/nodes/{id}", "GET /v1/events", "GET /v1/cluster", "GET /ui/", "GET /ui/apps",
		"GET /ui/apps/{id}", "GET /ws/v1/cluster/info", "GET /ws/v1/cluster/scheduler", "GET /ws/v1/cluster/apps",
		"POST /ws/v1/cluster/apps/new-application", "POST /ws/v1/cluster/apps", "PUT /ws/v1/cluster/apps/{id}/state",
		"GET /ws/v1/cluster/nodes/{id}", "PUT /ws/v1/cluster/scheduler-conf", "GET /proxy/{id}/", "GET /jmx", "GET /conf",
		"POST /ws/v1/cluster/delegation-token", "GET /cluster/app/{id}", "GET /v1/audit", "GET /logs/"})
	line := endpoints[rng.IntN(len(endpoints))]
	for strings.Contains(line, "{") {
		from, to := strings.IndexByte(line, '{'), strings.IndexByte(line, '}')
		id := []string{"application_1_0001", "node1:45454", "root.a", "rm1", "1", "..%2f", "%00", "é", ""}[rng.IntN(9)]
		line = line[:from] + id + line[to+1:]
	}
	body := fuzzedBodies[rng.IntN(len(fuzzedBodies))]
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s?doAs=%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n",
		line, []string{"", "ann", "%", "knox"}[rng.IntN(4)], len(body))
	if login != "" {
		b.WriteString(login + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}
