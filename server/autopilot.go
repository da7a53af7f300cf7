package server

import (
	"context"
	"fmt"
	"time"

	"rmd/api"
	"rmd/cluster"
	"rmd/scheduler/input"
)

// Autopilot implements v1.Consensus. It asks the leader, since only the leader knows the health of
// the replicas.
func (c consensus) Autopilot(ctx context.Context) (api.AutopilotState, error) {
	_, addr := c.r.cluster.Leader()
	if addr == "" {
		return api.AutopilotState{}, cluster.ErrNoLeader
	}
	a, err := c.r.ask(ctx, addr, question{Op: opAutopilot})
	if err != nil {
		return api.AutopilotState{}, fmt.Errorf("ask the leader: %w", err)
	}
	voters := map[string]bool{}
	for _, m := range c.r.cluster.Members() {
		voters[m.ID] = m.Voter
	}
	s := api.AutopilotState{Settings: settingsDoc(a.Settings), Healthy: a.Health.Healthy,
		FailureTolerance: a.Health.FailureTolerance, Servers: []api.ServerVerdict{}}
	for _, h := range a.Health.Servers {
		v := api.ServerVerdict{ID: h.ID, Healthy: h.Healthy, Voter: voters[h.ID]}
		if !h.StableSince.IsZero() {
			v.StableSinceMillis = h.StableSince.UnixMilli()
		}
		if !h.Healthy {
			v.Why = fmt.Sprintf("last contact %s ago, at index %d", h.LastContact.Round(time.Millisecond), h.LastIndex)
		}
		s.Servers = append(s.Servers, v)
	}
	return s, nil
}

// SetAutopilot implements v1.Consensus. The settings are stored in the log, so every later leader
// has them.
func (c consensus) SetAutopilot(ctx context.Context, doc api.Autopilot) error {
	conf := cluster.AutopilotConfig{CleanupDeadServers: doc.CleanupDeadServers, MinQuorum: doc.MinQuorum,
		MaxTrailingLogs:                doc.MaxTrailingLogs,
		DeadServerLastContactThreshold: time.Duration(doc.DeadServerLastContactThreshold),
		LastContactThreshold:           time.Duration(doc.LastContactThreshold),
		ServerStabilizationTime:        time.Duration(doc.ServerStabilizationTime)}
	if err := c.r.cluster.CheckAutopilot(conf); err != nil {
		return err
	}
	in := &input.SetAutopilot{CleanupDeadServers: conf.CleanupDeadServers, MinQuorum: uint32(conf.MinQuorum),
		MaxTrailingLogs:     conf.MaxTrailingLogs,
		DeadServerMillis:    conf.DeadServerLastContactThreshold.Milliseconds(),
		LastContactMillis:   conf.LastContactThreshold.Milliseconds(),
		StabilizationMillis: conf.ServerStabilizationTime.Milliseconds()}
	reply, _, err := c.r.forwarder.Do(ctx, input.Request{Input: in})
	if err != nil {
		return err
	}
	if f := reply.Refused(); f != nil {
		return f
	}
	return nil
}

// autopilot returns the settings in the state. It returns false if they were never set.
func (r *Replica) autopilot() (cluster.AutopilotConfig, bool) {
	st, _ := r.machine.Fork()
	a := st.Autopilot
	return cluster.AutopilotConfig{CleanupDeadServers: a.CleanupDeadServers, MinQuorum: uint(a.MinQuorum),
		MaxTrailingLogs:                a.MaxTrailingLogs,
		DeadServerLastContactThreshold: time.Duration(a.DeadServerMillis) * time.Millisecond,
		LastContactThreshold:           time.Duration(a.LastContactMillis) * time.Millisecond,
		ServerStabilizationTime:        time.Duration(a.StabilizationMillis) * time.Millisecond}, a.Set
}

func settingsDoc(a cluster.AutopilotConfig) api.Autopilot {
	return api.Autopilot{
		CleanupDeadServers: a.CleanupDeadServers, MinQuorum: a.MinQuorum, MaxTrailingLogs: a.MaxTrailingLogs,
		DeadServerLastContactThreshold: api.Duration(a.DeadServerLastContactThreshold),
		LastContactThreshold:           api.Duration(a.LastContactThreshold),
		ServerStabilizationTime:        api.Duration(a.ServerStabilizationTime),
	}
}
