package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"rmd/cluster"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// methodReplica is this package's method on the replicas' wire: small questions
// that are not the consensus part's. Numbers are part of the wire.
const methodReplica byte = 33

// The questions.
const (
	opAbout     = "about"
	opAutopilot = "autopilot"
)

const (
	askTimeout = 500 * time.Millisecond
	aboutFresh = 5 * time.Second
)

type question struct {
	Op string `json:"op"`
}

type answer struct {
	HTTP     string                  `json:"http,omitempty"`
	Settings cluster.AutopilotConfig `json:"settings,omitzero"`
	Health   cluster.Health          `json:"health,omitzero"`
}

// serveQuestions answers the other replicas.
func (r *Replica) serveQuestions() {
	r.peer.Handle(methodReplica, func(_ context.Context, _ string, req []byte) ([]byte, error) {
		var q question
		if err := json.Unmarshal(req, &q); err != nil {
			return nil, fmt.Errorf("question: %w", err)
		}
		a, err := r.answer(q)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	})
}

func (r *Replica) answer(q question) (answer, error) {
	switch q.Op {
	case opAbout:
		return answer{HTTP: r.HTTPAddr()}, nil
	case opAutopilot:
		return answer{Settings: r.cluster.AutopilotConfig(), Health: r.cluster.Health()}, nil
	}
	return answer{}, fmt.Errorf("unknown question %q", q.Op)
}

// ask puts a question to the replica at an address, which may be this one.
func (r *Replica) ask(ctx context.Context, addr string, q question) (answer, error) {
	if addr == r.PeerAddr() {
		return r.answer(q)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	b, err := r.peer.Call(ctx, addr, methodReplica, req)
	if err != nil {
		return answer{}, err
	}
	var a answer
	return a, json.Unmarshal(b, &a)
}

// aboutCache keeps the others' REST addresses for a while.
type aboutCache struct {
	mu   sync.Mutex
	http map[string]string
	at   map[string]time.Time
}

// aboutAll returns the REST addresses of those that are alive.
func (r *Replica) aboutAll(ctx context.Context, members []cluster.Member) map[string]string {
	out := map[string]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range members {
		if m.State != cluster.StateAlive {
			continue
		}
		wg.Go(func() {
			http := r.about(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			out[m.ID] = http
		})
	}
	wg.Wait()
	return out
}

func (r *Replica) about(ctx context.Context, m cluster.Member) string {
	c := &r.abouts
	c.mu.Lock()
	known, fresh := c.http[m.ID], time.Since(c.at[m.ID]) < aboutFresh
	c.mu.Unlock()
	if fresh {
		return known
	}
	a, err := r.ask(ctx, m.Address, question{Op: opAbout})
	if err != nil {
		return known
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http == nil {
		c.http, c.at = map[string]string{}, map[string]time.Time{}
	}
	c.http[m.ID], c.at[m.ID] = a.HTTP, time.Now()
	return a.HTTP
}

// Autopilot implements rest.Consensus: only the leader judges.
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
	s := api.AutopilotState{Settings: settingsDoc(a.Settings), Healthy: a.Health.Healthy, FailureTolerance: a.Health.FailureTolerance, Servers: []api.ServerVerdict{}}
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

// SetAutopilot implements rest.Consensus: the settings are in the log, and every
// replica that may lead has them.
func (c consensus) SetAutopilot(ctx context.Context, doc api.Autopilot) error {
	conf := cluster.AutopilotConfig{CleanupDeadServers: doc.CleanupDeadServers, MinQuorum: doc.MinQuorum, MaxTrailingLogs: doc.MaxTrailingLogs,
		DeadServerLastContactThreshold: time.Duration(doc.DeadServerLastContactThreshold), LastContactThreshold: time.Duration(doc.LastContactThreshold),
		ServerStabilizationTime: time.Duration(doc.ServerStabilizationTime)}
	if err := c.r.cluster.CheckAutopilot(conf); err != nil {
		return err
	}
	in := &input.SetAutopilot{CleanupDeadServers: conf.CleanupDeadServers, MinQuorum: uint32(conf.MinQuorum), MaxTrailingLogs: conf.MaxTrailingLogs,
		DeadServerMillis: conf.DeadServerLastContactThreshold.Milliseconds(), LastContactMillis: conf.LastContactThreshold.Milliseconds(),
		StabilizationMillis: conf.ServerStabilizationTime.Milliseconds()}
	reply, _, err := c.r.door.Do(ctx, input.Request{Input: in})
	if err != nil {
		return err
	}
	if f := reply.Refused(); f != nil {
		return f
	}
	return nil
}

// autopilot are the settings that the state has, once somebody has set them.
func (r *Replica) autopilot() (cluster.AutopilotConfig, bool) {
	st, _ := r.machine.Fork()
	a := st.Autopilot
	return cluster.AutopilotConfig{CleanupDeadServers: a.CleanupDeadServers, MinQuorum: uint(a.MinQuorum), MaxTrailingLogs: a.MaxTrailingLogs,
		DeadServerLastContactThreshold: time.Duration(a.DeadServerMillis) * time.Millisecond,
		LastContactThreshold:           time.Duration(a.LastContactMillis) * time.Millisecond,
		ServerStabilizationTime:        time.Duration(a.StabilizationMillis) * time.Millisecond}, a.Set
}

// isMember says whether a replica is in the membership that this one knows. One
// that is in none yet knows itself.
func (r *Replica) isMember(id string) bool {
	if id == r.ID() {
		return true
	}
	return r.cluster.HasMember(id)
}

func settingsDoc(a cluster.AutopilotConfig) api.Autopilot {
	return api.Autopilot{
		CleanupDeadServers: a.CleanupDeadServers, MinQuorum: a.MinQuorum, MaxTrailingLogs: a.MaxTrailingLogs,
		DeadServerLastContactThreshold: api.Duration(a.DeadServerLastContactThreshold), LastContactThreshold: api.Duration(a.LastContactThreshold),
		ServerStabilizationTime: api.Duration(a.ServerStabilizationTime),
	}
}
