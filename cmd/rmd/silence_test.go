package main

import (
	"syscall"
	"testing"
	"time"

	"rmd/api"
)

// silent returns the hosts that a replica shows as silent.
func (h *hadoopCluster) silent(p *process) map[string]bool {
	var d api.Nodes
	if !h.get(p, "/v1/nodes", &d) {
		return nil
	}
	out := map[string]bool{}
	for _, n := range d.Nodes {
		if n.SilentSinceMillis != 0 {
			out[n.Host] = true
		}
	}
	return out
}

// quiet stops the heartbeats of nodes until the replicas show that, and exactly that.
func (h *hadoopCluster) quiet(at []*process, nodes ...*nodeManager) {
	h.t.Helper()
	for _, n := range nodes {
		n.paused.Store(true)
	}
	h.shows(at, nodes...)
}

func (h *hadoopCluster) heard(at []*process, nodes ...*nodeManager) {
	h.t.Helper()
	for _, n := range nodes {
		n.paused.Store(false)
	}
	h.shows(at)
}

func (h *hadoopCluster) shows(at []*process, nodes ...*nodeManager) {
	h.t.Helper()
	for _, p := range at {
		h.await(p.id+" shows which nodes are silent", patience, func() bool {
			got := h.silent(p)
			for _, n := range nodes {
				if !got[n.id.GetHost()] {
					return false
				}
			}
			return got != nil && len(got) == len(nodes)
		})
	}
}

// avoids gets small containers, and checks that none is on the given nodes. Then it gives them back.
func (h *hadoopCluster) avoids(at int, live []*nodeManager, quiet ...*nodeManager) {
	h.t.Helper()
	m := h.registered(at, "u", "root.a", append(live[:len(live):len(live)], quiet...)...)
	m.until(6, wants(1, 6, 512, "")...)
	for i := range m.held {
		for _, n := range quiet {
			if n.runs(m.container(i)) {
				h.t.Errorf("container %s is on %s, which is silent", m.container(i), n.id.GetHost())
			}
		}
	}
	h.finish(m)
}

// TestSilentNodeManagers stops the heartbeats of one node of four, of half the nodes, and of the
// leader's machine with its node. No container may go to such a node, although it is the emptiest,
// until it is heard again. A node that sends heartbeats is never silent.
func TestSilentNodeManagers(t *testing.T) {
	t.Parallel()
	h := startHadoop(t, 3, "")
	leader := h.leader()
	at, other := h.index(leader), (h.index(leader)+1)%3
	big := h.node(at, "n0") // at the leader; all others call followers
	nodes := []*nodeManager{big, h.node(other, "n1"), h.node((at+2)%3, "n2"), h.node(other, "n3")}
	for range 5 {
		h.shows(h.all)
		time.Sleep(time.Second)
	}
	h.quiet(h.all, nodes[3])
	h.avoids(other, nodes[:3], nodes[3])
	h.quiet(h.all, nodes[2], nodes[3])
	h.avoids(other, nodes[:2], nodes[2], nodes[3])
	h.heard(h.all, nodes[2], nodes[3])

	big.paused.Store(true) // its machine stops
	leader.signal(t, syscall.SIGSTOP)
	h.await("another replica leads", patience, func() bool {
		for _, p := range h.others(leader) {
			if h.get(p, "/v1/leader?role=leader", nil) {
				return true
			}
		}
		return false
	})
	h.shows(h.others(leader), big)
	h.avoids(other, nodes[1:], big)
	leader.signal(t, syscall.SIGCONT)
	h.heard(h.all, big)
	m := h.registered(other, "u", "root.a", nodes...)
	m.until(1, wants(1, 1, 1024, "n0")...)
	if !big.runs(m.container(0)) {
		t.Error("a node that is heard again gets no container")
	}
}
