package main

import (
	"testing"

	"rmd/internal/exitcode"
)

const quickPilot = "autopilot:\n  server_stabilization_time: 200ms\n"

// birth starts the first n replicas and makes a cluster of them with commands.
func (c *processes) birth(n int) {
	c.t.Helper()
	for _, p := range c.all[:n] {
		c.start(p)
	}
	c.awaitUp(c.all[:n]...)
	c.done("cluster", "init", "--addr", c.all[0].http)
	c.leader() // wait for the first election
	for _, p := range c.all[1:n] {
		c.join(p, c.all[0])
	}
	c.awaitVoters(c.all[:n]...)
	c.awaitReady(c.all[:n]...)
}

// TestMembership makes all kinds of membership changes under load. Decisions must continue, and
// nothing acknowledged may be lost.
func TestMembership(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 5, calm, "", quickPilot)
	c.birth(3)
	work := c.work(newCaller(t, c.addrs()), 2)
	work.goesOn()
	for _, p := range c.all[3:] {
		c.start(p)
		c.join(p, c.all[1]) // the follower forwards to the leader
	}
	c.awaitVoters(c.all...)
	work.goesOn()
	changeVotes(c, work)
	left := removeTwo(c, work)
	emptied := replaceDisk(c, work, left)
	c.done("cluster", "verify")
	c.awaitHealthy()
	work.end()
	if emptied.cmd.ProcessState != nil {
		t.Error("the replica with the new disk does not run")
	}
}

// changeVotes demotes, promotes and transfers leadership.
func changeVotes(c *processes, work *work) {
	leader := c.leader()
	follower := c.others(leader)[0]
	c.done("cluster", "demote", follower.id)
	if m := c.members(leader)[follower.id]; m.Voter {
		c.t.Fatalf("%s was demoted and votes", follower.id)
	}
	c.refused(8, "NOT_A_VOTER: replica "+follower.id+" is not a voter; promote it first", "cluster",
		"transfer", follower.id)
	work.goesOn()
	c.done("cluster", "promote", follower.id, "--max-lag", "10000")
	c.awaitVoters(c.all...)
	c.done("cluster", "transfer", follower.id)
	if now := c.leader(); now != follower {
		c.t.Fatalf("%s leads, leadership was handed to %s", now.id, follower.id)
	}
	work.goesOn()
	c.done("cluster", "transfer")
	if now := c.leader(); now == follower {
		c.t.Fatalf("%s leads still", now.id)
	}
	work.goesOn()
	c.done("cluster", "demote", c.leader().id) // the leader transfers leadership first
	work.goesOn()
	for id, m := range c.members(c.leader()) {
		if !m.Voter {
			c.done("cluster", "promote", id, "--max-lag", "10000")
		}
	}
	c.awaitVoters(c.all...)
}

// removeTwo removes a follower and the leader, and returns the remaining replicas.
func removeTwo(c *processes, work *work) []*process {
	leader := c.leader()
	follower := c.others(leader)[0]
	var stay []*process
	for _, p := range c.all {
		if p != leader && p != follower {
			stay = append(stay, p)
		}
	}
	for _, p := range []*process{follower, leader} {
		c.refused(2, "NEEDS_YES", "cluster", "remove", p.id)
		c.done("cluster", "remove", p.id, "--dry-run")
		c.done("cluster", "remove", p.id, "--yes", "--addr", p.http)
		if code := c.exited(p); code != exitcode.Removed {
			c.t.Fatalf("%s was removed and ended with %d:\n%s", p.id, code, p.log())
		}
		work.goesOn()
		c.refuses(p, exitcode.Removed, "CANNOT_START", "removed from the cluster by ",
			"only if the other replicas have a leader")
	}
	c.awaitVoters(stay...)
	return stay
}

// replaceDisk wipes a replica's disk. The replica can join again only after its old incarnation was
// removed.
func replaceDisk(c *processes, work *work, left []*process) *process {
	leader := c.leader()
	victim := left[0]
	if victim == leader {
		victim = left[1]
	}
	old := c.members(leader)[victim.id].Incarnation
	c.kill(victim)
	c.wipe(victim)
	c.start(victim)
	c.awaitUp(victim)
	token := c.token("--addr", leader.http)
	join := []string{"cluster", "join", leader.peer, "--addr", victim.http, "--token-file", token}
	c.refused(8, `ID_IN_USE: id `+victim.id+` is already used by a member at `+victim.peer+
		`; choose another id; if the new replica replaces `+victim.id+`, whose disk is lost, "rmd cluster remove `+victim.id+
		`" first`, join...)
	work.goesOn()
	c.done("cluster", "remove", victim.id, "--yes", "--addr", leader.http)
	c.done(join...)
	c.awaitVoters(left...)
	c.awaitReady(victim)
	if now := c.members(leader)[victim.id].Incarnation; now == old || now == "" {
		c.t.Fatalf("the incarnation was %q and is %q", old, now)
	}
	work.goesOn()
	return victim
}
