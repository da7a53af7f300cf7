package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rmd/cluster/offline"
	"rmd/scheduler/input"
)

// TestRecover loses two of three replicas and makes a cluster from the disk of the third, as
// docs/operations/README.md says.
func TestRecover(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, quickPilot)
	call := newCaller(t, c.addrs())
	h := call.hold()
	before := c.reservations(c.all[0])
	work := c.work(call, 2)
	work.goesOn()
	work.end()
	was := c.facts(c.all[0])
	for _, p := range c.all {
		c.kill(p)
	}
	best := c.furthest()
	lost := c.others(best)
	oldDisk := c.keep(lost[0])
	for _, p := range lost {
		c.wipe(p)
	}
	peers := filepath.Join(t.TempDir(), "peers.json")
	if err := os.WriteFile(peers, fmt.Appendf(nil, `[{"id":%q,"address":%q,"non_voter":false}]`, best.id, best.peer),
		0o600); err != nil {
		t.Fatal(err)
	}
	without := lost[0].id + "," + lost[1].id
	c.done("recover", "--data", best.dir, "--peers", peers, "--without", without, "--dry-run")
	c.refused(2, "NEEDS_YES", "recover", "--data", best.dir, "--peers", peers, "--without", without)
	var report offline.RecoverReport
	if err := json.Unmarshal([]byte(c.done("recover", "--data", best.dir, "--peers", peers, "--without", without, "--yes",
		"-o", "json")), &report); err != nil || report.Epoch != 1 || report.Index == 0 {
		t.Fatalf("recover: decoding the report: %v, want epoch 1 and an index that is not 0; got %+v", err, report)
	}
	c.done("check", "--data", best.dir)
	c.start(best)
	c.awaitReady(best)
	if now := c.facts(best); now.Epoch <= was.Epoch || now.ClusterID != was.ClusterID || len(now.Members) != 1 {
		t.Errorf("epoch %d, cluster %s, %d members; it was %d and %s", now.Epoch, now.ClusterID, len(now.Members), was.Epoch,
			was.ClusterID)
	}
	// an id with the new epoch, because a lost container may have had the old id
	promised := c.reservations(best)[0].Container
	if promised == before[0].Container {
		t.Errorf("%s is promised still", promised)
	}
	before[0].Container = promised
	c.checkHeld(best, h, before[0])
	c.checkApps(best, work.apps)

	oldDisk() // a lost replica with its old disk is refused because of its epoch
	c.start(lost[0])
	c.await(lost[0].id+" says that it is of before", patience, func() bool {
		return strings.Contains(lost[0].logged(), "recovered by hand since this replica last ran")
	})
	if c.get(lost[0], "/v1/ready", nil) {
		t.Errorf("%s takes part with its old disk", lost[0].id)
	}
	if lost[0].cmd.ProcessState == nil {
		c.kill(lost[0])
	}
	c.wipe(lost[0])
	for _, p := range lost {
		c.start(p)
		c.join(p, best)
	}
	c.awaitVoters(c.all...)
	c.awaitReady(c.all...)
	c.awaitInStep()
	for _, p := range c.all {
		c.checkHeld(p, h, before[0])
		c.checkApps(p, work.apps)
	}
	c.fulfill(newCaller(t, c.addrs()), h, before[0])
	again := c.work(newCaller(t, c.addrs()), 2)
	again.goesOn()
	again.end()
	got := must[*input.AllocateReply](newCaller(t, c.addrs()),
		&input.Allocate{Attempt: h.waiting, Response: 2, Asks: asks(1, 512, "spare", "/spare")})
	if len(got.Granted) != 1 || uint32(got.Granted[0].Container.Number>>40) <= was.Epoch {
		t.Errorf("granted %+v; one container of an epoch above %d was asked for", got.Granted, was.Epoch)
	}
	c.done("cluster", "verify")
	contains(t, "rmd audit tail", c.done("audit", "tail"), "recover")
}

// TestRecoverSecond tries a recovery on several members of one cluster. Only one may succeed: two
// recovered disks are two clusters.
func TestRecoverSecond(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	newCaller(t, c.addrs()).application("ann", "root.batch")
	for _, p := range c.all {
		c.kill(p)
	}
	peers := func(of ...*process) string {
		var list []offline.RecoverPeer
		for _, p := range of {
			list = append(list, offline.RecoverPeer{ID: p.id, Address: p.peer})
		}
		b, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "peers.json")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first, second := c.all[0], c.all[1]
	for _, p := range c.all { // the same commands on every replica
		c.refused(8, "WOULD_LOSE_QUORUM: peers.json names ", "recover", "--data", p.dir, "--peers", peers(c.all...), "--yes")
		c.refused(8, "VOTERS_LEFT: ", "recover", "--data", p.dir, "--peers", peers(p), "--yes")
		c.refused(8, "VOTERS_LEFT: replica "+p.id+" owns", "recover", "--data", p.dir, "--peers", peers(p), "--without",
			"rm1,rm2,rm3", "--yes")
	}
	c.done("recover", "--data", first.dir, "--peers", peers(first), "--without", "rm2,rm3", "--yes")
	c.start(first)
	c.awaitReady(first)
	c.refused(8, "LIVE_PEER: replica rm1 still runs at "+first.peer+"; if there is a leader, no recovery is needed",
		"recover", "--data", second.dir, "--peers", peers(second), "--without", "rm1,rm3", "--yes")
	contains(t, "app list", c.done("app", "list", "--addr", first.http), "_0001")
}

// furthest checks all disks and returns the replica with the highest last term and index.
func (c *processes) furthest() *process {
	c.t.Helper()
	var best *process
	var top offline.Report
	for _, p := range c.all {
		var r offline.Report
		if err := json.Unmarshal([]byte(c.done("check", "--data", p.dir, "-o", "json")), &r); err != nil ||
			!r.Unclean || r.Last == 0 {
			c.t.Fatalf("check of %s: %+v %v", p.id, r, err)
		}
		if best == nil || r.LastTerm > top.LastTerm || r.LastTerm == top.LastTerm && r.Last > top.Last {
			best, top = p, r
		}
	}
	return best
}
