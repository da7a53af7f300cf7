package main

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"

	"rmd/api"
)

// TestWitness runs two ResourceManagers and a witness, which has hadoop.ports false: it opens none
// of YARN's ports, the cluster is healthy, and an AM gets containers while the witness leads and
// after it has died.
func TestWitness(t *testing.T) {
	t.Parallel()
	h := newHadoop(t, 3, "", "yarn.resourcemanager.ha.rm-ids", "rm1,rm2")
	witness := h.all[2]
	text, err := os.ReadFile(witness.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(witness.config, []byte(
		strings.Replace(string(text), "hadoop:\n", "hadoop:\n  ports: false\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range h.all {
		h.start(p)
	}
	h.awaitReady(h.all...)
	h.awaitInStep()
	if conn, err := net.Dial("tcp", h.at[witness].client); err == nil {
		t.Errorf("the witness listens on %v", conn.RemoteAddr())
	}
	var status api.Cluster
	if err := json.Unmarshal([]byte(h.done("cluster", "status", "-o", "json")), &status); err != nil {
		t.Fatal(err)
	}
	if status.Verdict.Status != "healthy" || len(status.Verdict.Problems) > 0 {
		t.Errorf("with a witness the cluster is %+v", status.Verdict)
	}
	node := h.node(0, "127.0.0.1")
	m := h.registered(1, "ann", "a", node)
	if h.leader() != witness {
		h.done("cluster", "transfer", witness.id)
	}
	m.until(1, wants(1, 1, 512, "")...)
	h.kill(witness)
	m.until(2, wants(1, 1, 512, "")...)
	h.finish(m)
}
