package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"rmd/cluster"
	"rmd/transport/rest/api"
)

// methodReplica is this package's method on the replicas' wire: small questions
// that are not the consensus part's. Numbers are part of the wire.
const methodReplica byte = 33

// The questions.
const (
	opAbout        = "about"
	opAutopilot    = "autopilot"
	opSetAutopilot = "set-autopilot"
)

const (
	askTimeout = 500 * time.Millisecond
	aboutFresh = 5 * time.Second
)

type question struct {
	Op       string                   `json:"op"`
	Settings *cluster.AutopilotConfig `json:"settings,omitempty"`
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
	case opSetAutopilot:
		if q.Settings == nil {
			return answer{}, errors.New("no settings")
		}
		return answer{}, r.cluster.SetAutopilot(*q.Settings)
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

// SetAutopilot implements rest.Consensus: every replica is told, since any may
// lead next. One that does not answer keeps its own settings until it is told
// again.
func (c consensus) SetAutopilot(ctx context.Context, doc api.Autopilot) error {
	conf := c.r.cluster.AutopilotConfig()
	conf.CleanupDeadServers, conf.MinQuorum, conf.MaxTrailingLogs = doc.CleanupDeadServers, doc.MinQuorum, doc.MaxTrailingLogs
	conf.DeadServerLastContactThreshold = time.Duration(doc.DeadServerLastContactThreshold)
	conf.LastContactThreshold = time.Duration(doc.LastContactThreshold)
	conf.ServerStabilizationTime = time.Duration(doc.ServerStabilizationTime)
	if err := c.r.cluster.SetAutopilot(conf); err != nil {
		return err
	}
	for _, m := range c.r.cluster.Members() {
		if m.State != cluster.StateAlive || m.Address == c.r.PeerAddr() {
			continue
		}
		if _, err := c.r.ask(ctx, m.Address, question{Op: opSetAutopilot, Settings: &conf}); err != nil {
			c.r.log.Warn("a replica was not told the autopilot settings", "replica", m.ID, "error", err)
		}
	}
	return nil
}

func settingsDoc(a cluster.AutopilotConfig) api.Autopilot {
	return api.Autopilot{
		CleanupDeadServers: a.CleanupDeadServers, MinQuorum: a.MinQuorum, MaxTrailingLogs: a.MaxTrailingLogs,
		DeadServerLastContactThreshold: api.Duration(a.DeadServerLastContactThreshold), LastContactThreshold: api.Duration(a.LastContactThreshold),
		ServerStabilizationTime: api.Duration(a.ServerStabilizationTime),
	}
}
