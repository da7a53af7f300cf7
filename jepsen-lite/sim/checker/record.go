package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"rmd/jepsen-lite/history"
)

// recordMax limits the lines that a run keeps for its report.
const recordMax = 400_000

// record appends a line to the history. The caller holds the lock.
func (c *Checker) record(l history.Line) {
	if len(c.lines) < recordMax {
		c.lines = append(c.lines, l)
	}
}

// ns returns the virtual time since the start of the run, in nanoseconds.
func (c *Checker) ns() int64 { return int64(time.Since(c.begin)) + 1 }

// replicaLine returns a line for the history of a replica.
func (c *Checker) replicaLine(id string, kind history.ReplicaKind) *history.Replica {
	return &history.Replica{ID: id, Incarnation: c.lives[id], Kind: kind, NS: c.ns()}
}

// Fault records that a fault begins.
func (c *Checker) Fault(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(&history.Fault{Kind: kind, When: history.Once, NS: c.ns()})
}

// Mark records a moment of the run.
func (c *Checker) Mark(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record(&history.Mark{Name: name, NS: c.ns()})
}

// Stopped records the end of a process. code is 0 if it was killed.
func (c *Checker) Stopped(id string, code int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.replicaLine(id, history.Stop)
	l.Code, l.Text = code, text
	c.record(l)
}

// membersOf returns the names of a membership's voters and non-voters.
func membersOf(conf raft.Configuration) (voters, others []string) {
	for _, s := range conf.Servers {
		id, _, _ := strings.Cut(string(s.ID), ".")
		if s.Suffrage == raft.Voter {
			voters = append(voters, id)
		} else {
			others = append(others, id)
		}
	}
	slices.Sort(voters)
	slices.Sort(others)
	return voters, others
}
