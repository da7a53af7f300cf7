package main

import (
	"strings"
	"syscall"
	"testing"

	"rmd/api"
)

// often configures frequent snapshots and the shortest possible log.
const often = "  snapshot_threshold: 100\n  snapshot_interval: 1s\n  trailing: 1024\n"

// TestCatchUp stops a follower, by a signal and by a kill, until the log no longer contains the
// entries that the follower needs. The follower must catch up with a snapshot and have the same
// state.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n"+often, "")
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	work := c.work(newCaller(t, c.addrs()), 6)
	for _, way := range []struct {
		name       string
		away, back func(p *process)
	}{
		{"stopped", func(p *process) { p.signal(t, syscall.SIGSTOP) }, func(p *process) { p.signal(t, syscall.SIGCONT) }},
		{"killed", c.kill, c.start},
	} {
		leader := c.leader()
		follower := c.others(leader)[0]
		from := c.members(leader)[follower.id].LastIndex
		work.goesOn()
		way.away(follower)
		work.goesOn()
		c.await("the log that it needs is gone", patience, func() bool {
			var log api.Log
			return c.get(leader, "/v1/log?count=1", &log) && log.First > from+200
		})
		installed := installs(follower)
		way.back(follower)
		c.awaitReady(follower)
		c.awaitInStep()
		if way.name == "killed" {
			installed = 0 // the count begins at the start of the process
		}
		if now := installs(follower); now <= installed {
			t.Errorf("%s: %s was to come back by a snapshot:\n%s", way.name, follower.id, follower.log())
		}
		c.done("cluster", "verify")
		work.goesOn()
	}
	work.end()
	c.done("cluster", "verify")
	c.awaitHealthy()
}

// installs returns how many snapshots the process has received since its start.
func installs(p *process) int { return strings.Count(p.logged(), "nstalled remote snapshot") }
