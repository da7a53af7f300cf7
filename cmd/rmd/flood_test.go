package main

import (
	"net"
	"strings"
	"testing"
)

// TestFloodOfConnections opens more connections at the leader's ports than the leader has file
// descriptors. The leader must stay leader and take snapshots, because it reserves descriptors for
// its log and the other replicas.
func TestFloodOfConnections(t *testing.T) {
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n"+often, "")
	for _, p := range c.all {
		p.files = 600
		c.start(p)
	}
	c.awaitReady(c.all...)
	leader := c.leader()
	var others []string
	for _, p := range c.others(leader) {
		others = append(others, p.http)
	}
	newest := func() (index uint64) {
		for _, f := range c.allSnapshotFiles(leader) {
			index = max(index, snapshotIndex(f))
		}
		return index
	}
	call := newCaller(t, others)
	call.node("n1", 65536, "/r") // an application starts only in a cluster with nodes
	submit := func(what string, beyond uint64) {
		c.await(what, patience, func() bool {
			call.application("flood", "root.batch")
			return newest() > beyond
		})
	}
	submit("snapshots are taken", 0)
	term := c.term(leader)
	for range 1000 {
		for _, at := range []string{leader.http, leader.peer} {
			if conn, err := net.Dial("tcp", at); err == nil { // the backlog may be full
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}
	submit("a snapshot is taken under the flood", newest())
	submit("and another one", newest())
	if got := c.term(c.others(leader)[0]); got != term {
		t.Errorf("term %d, it was %d before the flood", got, term)
	}
	if code := c.terminate(leader); code != 0 {
		t.Errorf("the leader ended with %d", code)
	}
	contains(t, leader.id, leader.logged(),
		"too many connections for the limit of open files: one is refused: port=http.listen")
	if strings.Contains(leader.logged(), "too many open files") {
		t.Errorf("the leader had no descriptor left:\n%s", leader.log())
	}
}
