package main

import (
	"fmt"
	"testing"
	"time"

	"rmd/api"
)

// TestAutopilotCleanup kills two of five replicas. Autopilot must remove as many of them as
// min_quorum allows, once they were dead for the threshold, and the rest must decide on. It waits for a
// minute, so it stands where it starts among the first: go test starts parallel tests from the last
// file on.
func TestAutopilotCleanup(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 5, calm,
		"autopilot:\n  cleanup_dead_servers: true\n  min_quorum: 4\n  dead_server_last_contact_threshold: 1m\n  last_contact_threshold: 5s\n")
	leader := c.leader()
	dead, stay := c.others(leader)[:2], append(c.others(leader)[2:], leader)
	began := time.Now()
	for _, p := range dead {
		c.kill(p)
	}
	var doc api.AutopilotState
	c.await("autopilot calls the dead unhealthy", patience, func() bool {
		return c.get(leader, "/v1/autopilot", &doc) && !doc.Healthy && doc.FailureTolerance == 0
	})
	c.await("one of the dead is removed", 2*patience, func() bool { return len(c.members(leader)) == 4 })
	if took := time.Since(began); took < 50*time.Second { // the last answer came a little before the kill
		t.Errorf("a replica was removed after %s, before the threshold", took)
	}
	time.Sleep(6 * time.Second) // three rounds
	if n := len(c.members(leader)); n != 4 {
		t.Fatalf("min_quorum is 4, and %d members remain", n)
	}
	c.done("autopilot", "set", "min_quorum=3")
	c.awaitVoters(stay...)
	if n := len(c.members(leader)); n != 3 {
		t.Errorf("%d members remain, want 3: %v", n, c.members(leader))
	}
	c.awaitHealthy()
	work := c.work(newCaller(t, c.addrs()), 2)
	work.goesOn()
	work.end()
	contains(t, "the leader's log", leader.logged(),
		fmt.Sprintf("autopilot removes a dead replica: replica=%s", dead[0].id))
}
