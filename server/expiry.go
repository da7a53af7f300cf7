package server

import (
	"sync"
	"time"

	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/capacity"
	"rmd/transport/frontend"
)

// expiryCache has the timeouts that follow from the current queue configuration, so that the leader
// need not parse it at each question.
type expiryCache struct {
	heartbeats time.Duration // between the heartbeats of a node, in Hadoop's files; 0: there are none

	mu       sync.Mutex
	version  uint64 // of the queue configuration
	expiry   leader.Expiry
	observes bool // preemption only observes
}

// of returns the timeouts of nodes, AMs and unused containers in the queue configuration of a state.
func (c *expiryCache) of(st *state.State) leader.Expiry {
	v := st.Versions.Current()
	builtIn := leader.Expiry{NodeMillis: 600_000, AttemptMillis: 600_000, ContainerMillis: 600_000,
		UntrackedMillis: 60_000,
		SilentMillis:    c.silentMillis(1000, 2)}
	if v == nil {
		return builtIn
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == v.Version {
		return c.expiry
	}
	cfg, err := capacity.ParseStored(frontend.Properties(v))
	if err != nil {
		return builtIn
	}
	c.version, c.observes = v.Version, cfg.Preemption.ObserveOnly
	c.expiry = leader.Expiry{NodeMillis: cfg.NodeExpiryMillis, AttemptMillis: cfg.AMExpiryMillis,
		ContainerMillis: cfg.ContainerAllocationExpiryMillis,
		UntrackedMillis: cfg.NodeUntrackedMillis, ManageMillis: cfg.ManageMillis,
		SilentMillis: c.silentMillis(cfg.NodeHeartbeatMillis, cfg.SkipNodeMultiplier)}
	if cfg.Preemption.Enabled {
		c.expiry.PreemptionMillis = cfg.Preemption.IntervalMillis
	}
	return c.expiry
}

// onlyObserves reports whether preemption only observes.
func (c *expiryCache) onlyObserves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.observes
}

// silentMillis returns the time without heartbeats after which a node is silent. Nodes are told the
// interval in Hadoop's files of the replica that they call. If it differs from the interval in the
// queue configuration, the longer one counts, so that no node is silent between two heartbeats.
func (c *expiryCache) silentMillis(interval, multiplier int64) int64 {
	return multiplier * max(interval, c.heartbeats.Milliseconds())
}
