package main

import (
	"syscall"
	"testing"
)

// TestSignals stops replicas with SIGTERM under load. A leader must transfer leadership and exit
// with 0, without an election timeout.
func TestSignals(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	work := c.work(newCaller(t, c.addrs()), 2)
	work.goesOn()
	for quick, round := 0, 1; quick < 3; round++ {
		leader := c.leader()
		leader.endsInOrder(c)
		next := c.leader()
		if next == leader {
			t.Fatalf("%s leads and has stopped", leader.id)
		}
		f := c.facts(next).LastFailover
		if f == nil || f.OldLeader != leader.id || f.NewLeader != next.id {
			t.Errorf("%s to %s, and the last failover was %+v", leader.id, next.id, f)
		} else if f.Millis < 2500 { // with calm timers an election takes at least 3 s
			quick++
		}
		if round == 10 {
			t.Fatalf("%d of %d leaders were followed sooner than by an election; the last failover was %+v", quick, round, f)
		}
		work.goesOn()
		c.start(leader)
		c.awaitReady(leader)
		c.awaitInStep()
	}
	follower := c.others(c.leader())[0]
	follower.signal(t, syscall.SIGHUP)
	c.await("the log level is read again", patience,
		func() bool { return contain(follower.logged(), "reloaded the log level") })
	if code := c.terminate(follower); code != 0 {
		t.Fatalf("%s ended with %d", follower.id, code)
	}
	c.done("check", "--data", follower.dir)
	work.goesOn()
	c.start(follower)
	c.awaitReady(follower)
	work.end()
}

// TestStrangers starts replicas that must be refused: with a data directory in use, with the id of
// a member, with a copy of a member's disk, with a disk of another cluster, and with ports in use.
func TestStrangers(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	work := c.work(newCaller(t, c.addrs()), 2)
	first := c.all[0]

	second := newProcesses(t, 1, calm, "", "")
	second.reconfigure(second.all[0], "data: "+second.all[0].dir, "data: "+first.dir)
	c.refuses(second.all[0], 8, "IN_USE: ", first.dir, "stop the replica that runs on it first")

	twin := newProcesses(t, 1, calm, "", "").all[0]
	c.start(twin) // an empty disk and the id of a member: the replica waits and does not take part
	c.awaitUp(twin)
	c.refused(8, "ID_IN_USE", "cluster", "join", first.peer, "--addr", twin.http, "--token-file",
		c.token("--addr", first.http))
	work.goesOn()
	if c.get(twin, "/v1/ready", nil) {
		t.Error("a replica that was not let in is ready")
	}
	c.kill(twin)

	copied := newProcesses(t, 1, calm, "", "") // a copy of a member's disk at another address
	if code := c.terminate(first); code != 0 {
		t.Fatalf("%s ended with %d", first.id, code)
	}
	restore := c.keep(first)
	c.start(first)
	c.awaitReady(first)
	dir := first.dir
	first.dir = copied.all[0].dir
	restore()
	first.dir = dir
	stranger := copied.all[0]
	c.start(stranger)
	c.await("the copy is refused", patience, func() bool {
		return contain(stranger.logged(), "replica rm1.") && contain(stranger.logged(), "already runs at "+first.peer)
	})
	if m := c.members(c.all[1])[first.id]; m.Address != first.peer {
		t.Errorf("%s is at %s for the others, not at %s", first.id, m.Address, first.peer)
	}
	work.goesOn()
	c.kill(stranger)

	other := newProcesses(t, 1, calm, "", "")
	one := other.all[0]
	other.reconfigure(one, "cluster: test", "cluster: other")
	c.start(one)
	c.awaitUp(one)
	other.done("cluster", "init")
	if code := c.terminate(one); code != 0 {
		t.Fatalf("%s ended with %d", one.id, code)
	}
	other.reconfigure(one, "cluster: other", "cluster: test") // the disk still belongs to the other cluster
	c.refuses(one, 8, "FOREIGN_DATA: ", one.dir+" belongs to replica rm1 of cluster other, not to rm1 of test",
		"correct data, id or cluster")
	other.reconfigure(one, "id: rm1", "id: rm5")
	c.refuses(one, 8, "FOREIGN_DATA: ", "not to rm5 of test")
	work.goesOn()

	taken := newProcesses(t, 2, calm, "", "")
	taken.reconfigure(taken.all[0], taken.all[0].peer, first.peer)
	c.refuses(taken.all[0], 8, "ADDRESS_IN_USE: ", first.peer, "choose another port")
	taken.reconfigure(taken.all[1], taken.all[1].http, first.http)
	c.refuses(taken.all[1], 8, "ADDRESS_IN_USE: ", first.http, "choose another port")
	work.end()
	c.done("cluster", "verify")
	c.awaitHealthy()
}
