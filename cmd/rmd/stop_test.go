package main

import (
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestStopUnderLoad stops a follower while callers use it, while other connections are silent, send
// less than announced or do not read their answer, and while its leader does not answer. The
// follower must close the connections and stop in order.
func TestStopUnderLoad(t *testing.T) {
	c := startProcesses(t, 3, defaults, "")
	work := c.work(newCaller(t, c.addrs()), 2)
	work.goesOn()
	for kind, says := range map[string]string{
		"silent": "",
		"half":   "POST /v1/inputs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc",
		"deaf":   "GET /v1/log?count=1000 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /v1/log?count=1000 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"leader": "",
	} {
		leader := c.leader()
		follower := c.others(leader)[0]
		load := c.crush(follower, "root.batch", 8, 100)
		var conns []net.Conn
		for range 20 {
			conn, err := net.Dial("tcp", follower.http)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(conn, says)
			conns = append(conns, conn)
		}
		c.await("the load is on", patience, func() bool {
			load.mu.Lock()
			defer load.mu.Unlock()
			return load.granted.Load() > 0 || len(load.others) > 0 // the queue becomes full in the end
		})
		if kind == "leader" {
			leader.signal(t, syscall.SIGSTOP)
		}
		began := time.Now()
		if code := c.terminate(follower); code != 0 {
			t.Errorf("%s: it ended with %d:\n%s", kind, code, follower.log())
		}
		t.Logf("%s: it took %s to stop", kind, time.Since(began).Round(time.Millisecond))
		if kind == "leader" {
			leader.signal(t, syscall.SIGCONT)
		}
		load.stop()
		load.wg.Wait()
		for _, conn := range conns {
			_ = conn.Close()
		}
		c.start(follower)
		c.awaitReady(follower)
	}
	work.end()
}

// TestStopWithFrozenFollowers stops a leader whose followers answer nothing any more, with calls to
// them in progress. It must not wait until these calls time out.
func TestStopWithFrozenFollowers(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, defaults, "")
	for try := 1; ; try++ {
		leader := c.leader()
		for _, p := range c.others(leader) {
			p.signal(t, syscall.SIGSTOP)
		}
		began := time.Now()
		leader.endsInOrder(c)
		took := time.Since(began)
		if took < 4500*time.Millisecond { // 1.5 s on an idle machine; one call takes 5 s
			return
		}
		if try == 5 {
			t.Fatalf("it never took less than 4.5 s to stop, the last time %s:\n%s", took, leader.log())
		}
		for _, p := range c.others(leader) {
			p.signal(t, syscall.SIGCONT)
		}
		c.start(leader)
		c.awaitReady(c.all...)
		c.awaitInStep()
	}
}
