package main

import (
	"strings"
	"testing"
	"time"
)

// TestQuietWithoutMajority counts the log lines of a replica that reaches no other one. It
// campaigns for as long as that lasts, and must not fill the log with it.
func TestQuietWithoutMajority(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, lowest, "")
	for _, p := range c.all[1:] {
		c.kill(p)
	}
	lines := func() int { return strings.Count(c.all[0].logged(), "\n") }
	before := lines()
	c.await("it campaigns", patience, func() bool {
		return contain(c.all[0].logged(), "pre-vote campaign failed")
	})
	time.Sleep(20 * time.Second) // 50 to 100 campaigns of three lines each
	if n := lines() - before; n > 60 {
		t.Errorf("%d lines in 20 s:\n%s", n, c.all[0].log())
	}
}
