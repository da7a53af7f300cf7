// Package timers has the timers of Raft: their defaults, their lowest values and their order. The
// settings, a replica, and the tests that start one take them from here.
package timers

import (
	"fmt"
	"time"
)

// Timers are the timeouts of Raft: lease <= heartbeat <= election.
type Timers struct {
	Heartbeat time.Duration // a follower that hears no leader starts an election
	Election  time.Duration // a candidate starts a new election
	Lease     time.Duration // a leader that hears no majority steps down
}

// The defaults.
const (
	DefaultHeartbeat = 500 * time.Millisecond
	DefaultElection  = 500 * time.Millisecond
	DefaultLease     = 400 * time.Millisecond
)

// heartbeatMin is the shortest heartbeat that a replica takes.
const heartbeatMin = 100 * time.Millisecond

// Default returns the defaults.
func Default() Timers { return Timers{DefaultHeartbeat, DefaultElection, DefaultLease} }

// Lowest returns the lowest recommended timers.
func Lowest() Timers {
	return Timers{150 * time.Millisecond, 150 * time.Millisecond, 100 * time.Millisecond}
}

// Low reports whether one of the timers is below its lowest recommended value.
func (t Timers) Low() bool {
	low := Lowest()
	return t.Heartbeat < low.Heartbeat || t.Election < low.Election || t.Lease < low.Lease
}

// Fault says why a replica does not take a timer.
type Fault struct {
	Key  string // of rmd.yaml
	Text string
	Do   string // what the user can do; empty if the text says it
}

func (f Fault) Error() string { return f.Key + ": " + f.Text }

// Check returns all faults of timers.
func (t Timers) Check() []Fault {
	var faults []Fault
	if low := Lowest(); t.Heartbeat < heartbeatMin {
		faults = append(faults, Fault{"raft.heartbeat", fmt.Sprintf("%s is below %s", t.Heartbeat, heartbeatMin),
			fmt.Sprintf("the lowest recommended values are %s heartbeat, %s election, %s lease", low.Heartbeat,
				low.Election, low.Lease)})
	}
	return append(faults, t.CheckOrder()...)
}

// CheckOrder returns the faults of timers that may be as short as their owner likes.
func (t Timers) CheckOrder() []Fault {
	var faults []Fault
	if t.Lease <= 0 || t.Lease > t.Heartbeat {
		faults = append(faults, Fault{Key: "raft.lease",
			Text: fmt.Sprintf("%s must be above 0 and at most raft.heartbeat (%s)", t.Lease, t.Heartbeat)})
	}
	if t.Election < t.Heartbeat {
		faults = append(faults, Fault{Key: "raft.election",
			Text: fmt.Sprintf("%s must be at least raft.heartbeat (%s)", t.Election, t.Heartbeat)})
	}
	return faults
}
