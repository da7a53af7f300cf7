package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
	"rmd/yarn"
)

func (s *Server) clusterRoutes() []route {
	return []route{
		get("/v1/health", "", health),
		get("/v1/ready", "", ready),
		get("/v1/leader", "role", leaderHealth),
		get("/v1/cluster", "", showCluster),
		get("/v1/cluster/members", "", members),
		get("/v1/cluster/verify", "", verifyCluster),
		post("/v1/cluster:init", "dry_run", initCluster),
		post("/v1/cluster:join", "dry_run", joinCluster),
		post("/v1/cluster:transfer", "", transferLeader),
		post("/v1/cluster/members/{id}:promote", "dry_run", func(c *call) error { return changeMember(c, "promote", Consensus.Promote) }),
		post("/v1/cluster/members/{id}:demote", "dry_run", func(c *call) error { return changeMember(c, "demote", Consensus.Demote) }),
		post("/v1/cluster/members/{id}:remove", "dry_run", func(c *call) error { return changeMember(c, "remove", Consensus.Remove) }),
		post("/v1/cluster/tokens", "", createToken),
		get("/v1/autopilot", "", showAutopilot),
		put("/v1/autopilot", "", setAutopilot),
		get("/v1/upgrade", "", showUpgrade),
		post("/v1/upgrade:finalize", "dry_run", finalizeUpgrade),
	}
}

// inStep is how many entries a replica may be behind and still count as healthy.
const inStep = 100

func (c *call) health() api.Health {
	st, index := c.s.cfg.Reader.Fork()
	k := c.s.cfg.Consensus
	id, addr := k.Leader()
	c.readHeaders(index)
	h := api.Health{Status: "ok", ID: c.s.cfg.ID, Role: k.Role(), Leader: id, Address: addr, Term: k.Term(), Index: index, StalenessMillis: -1, Problem: k.Problem()}
	if d := k.Staleness(); d >= 0 {
		h.StalenessMillis = d.Milliseconds()
	}
	switch {
	case st.Meta.ClusterID == "":
		h.Status, h.Message = "NOT_INITIALIZED", "the cluster is not initialized yet"
	case id == "":
		h.Status, h.Message = api.CodeNoLeader, "no leader is known"
	}
	return h
}

// health says that the process answers; it is not a verdict on the cluster.
func health(c *call) error { return c.json(http.StatusOK, c.health()) }

// ready says whether this replica can serve clients: it knows a leader, the
// cluster is initialized, and what the leader had committed is applied here.
func ready(c *call) error {
	h := c.health()
	if h.Status == "ok" {
		if ok, why := c.s.cfg.Consensus.Ready(); !ok {
			h.Status, h.Message = api.CodeCatchingUp, why
		}
	}
	if h.Status != "ok" {
		c.w.Header().Set("Retry-After", "1")
		return c.json(http.StatusServiceUnavailable, h)
	}
	return c.json(http.StatusOK, h)
}

// leaderHealth says who leads; with ?role=leader (or follower) it is 200 only on
// such a replica, which is what a load balancer asks.
func leaderHealth(c *call) error {
	want := c.q.Get("role")
	if want != "" && want != "leader" && want != "follower" {
		return invalid("role="+want+" is not known", "give leader or follower")
	}
	h := c.health()
	switch {
	case h.Leader == "":
		return c.json(http.StatusServiceUnavailable, h)
	case want != "" && want != h.Role:
		h.Status, h.Message = "NOT_"+strings.ToUpper(want), "this replica is the "+h.Role
		return c.json(http.StatusServiceUnavailable, h)
	}
	return c.json(http.StatusOK, h)
}

func showCluster(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	k := c.s.cfg.Consensus
	list, err := k.Members(ctx)
	if err != nil {
		return err
	}
	id, addr := k.Leader()
	d := api.Cluster{
		ClusterID: v.st.Meta.ClusterID, ClusterTimestamp: v.st.Meta.ClusterTimestamp, Epoch: v.st.Meta.Epoch, Level: v.st.Meta.Level, NowMillis: v.st.Meta.NowMillis,
		ID: c.s.cfg.ID, Role: k.Role(), Version: c.s.cfg.Version, Leader: id, LeaderAddress: addr, Term: k.Term(), Index: v.index,
		Digest: digestText(v.st.Digest()), LastFailover: k.LastFailover(), Failovers: k.Failovers(), Members: list, Totals: v.totals(),
	}
	d.LeaderSinceMs = c.s.leaders.since(k)
	d.Verdict = verdict(d.ClusterID != "", id, list)
	return c.json(http.StatusOK, d)
}

func digestText(digest uint64) string { return fmt.Sprintf("%016x", digest) }

// verdict judges the replicas: who is in step, how many more may be lost, and
// whether the digests told for one index are equal.
func verdict(initialized bool, leader string, list []api.Member) api.Verdict {
	var v api.Verdict
	v.DigestsEqual = digestsEqual(list)
	for _, m := range list {
		healthy := m.State == "alive" && m.Lag <= inStep && !m.DiskFull
		if healthy {
			v.InStep++
		}
		if m.Voter {
			v.Voters++
			if healthy {
				v.HealthyVoters++
			}
		}
	}
	v.Quorum = v.Voters/2 + 1
	v.CanLose = max(v.HealthyVoters-v.Quorum, 0)
	switch {
	case !initialized && len(list) == 0:
		v.Status, v.Text = "not-initialized", "not initialized yet"
	case v.DigestsEqual != nil && !*v.DigestsEqual:
		v.Status, v.Text = "diverged", "replicas differ in their state"
	case leader == "":
		v.Status, v.Text = "no-leader", fmt.Sprintf("no leader; %d of %d voters healthy, %d needed", v.HealthyVoters, v.Voters, v.Quorum)
	case v.InStep < len(list) || v.HealthyVoters < v.Quorum || len(problems(list)) > 0:
		v.Status = "degraded"
		v.Text = fmt.Sprintf("%d of %d replicas in step, can lose %d", v.InStep, len(list), v.CanLose)
	default:
		v.Status = "healthy"
		v.Text = fmt.Sprintf("%d of %d replicas in step, can lose %d", v.InStep, len(list), v.CanLose)
		if v.CanLose == 0 {
			v.Text += ": the loss of any voter stops it; add voters"
		}
	}
	v.Text = strings.Join(append([]string{v.Text}, problems(list)...), "; ")
	return v
}

// problems lists what is wrong with each replica.
func problems(list []api.Member) (out []string) {
	for _, m := range list {
		switch {
		case m.Problem != "":
			out = append(out, m.ID+": "+m.Problem)
		case m.DiskFull: // an older program says no more
			out = append(out, m.ID+": disk full")
		}
	}
	return out
}

// digestsEqual compares the digests that replicas told for the same index.
func digestsEqual(list []api.Member) *bool {
	at := map[uint64]string{}
	var compared, equal bool
	equal = true
	for _, m := range list {
		if m.Digest == "" {
			continue
		}
		have, ok := at[m.DigestIndex]
		if !ok {
			at[m.DigestIndex] = m.Digest
			continue
		}
		compared = true
		equal = equal && have == m.Digest
	}
	if !compared {
		return nil
	}
	return &equal
}

// totals counts what the state holds.
func (v *view) totals() api.Totals {
	m := &v.st.Meta
	t := api.Totals{Apps: v.st.Apps.Len(), Ended: int(m.EndedApps), Nodes: v.st.Nodes.Len(), UsableNodes: int(m.UsableNodes),
		Reservations: v.st.Reservations.Len(), Total: v.size(m.Cluster)}
	n := v.census().All()
	t.Running, t.Waiting = int(n.ByState[yarn.AppRunning]), n.ForAM()
	var used, reserved, pending yarn.Resource
	if root := v.st.Root(); root != 0 {
		q := v.st.Queues.Get(root)
		used, reserved, pending = q.Used.Sub(q.Reserved), q.Reserved, q.Pending
		t.Containers = q.Containers - int64(v.st.Reservations.Len())
	}
	t.Used, t.Reserved, t.Pending = v.size(used), v.size(reserved), v.size(pending)
	return t
}

func members(c *call) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	c.roleHeaders()
	list, err := c.s.cfg.Consensus.Members(ctx)
	if err != nil {
		return err
	}
	if list == nil {
		list = []api.Member{}
	}
	return c.json(http.StatusOK, api.Members{Members: list})
}

func verifyCluster(c *call) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	c.roleHeaders()
	d, err := c.s.cfg.Consensus.Verify(ctx)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, d)
}

func showUpgrade(c *call) error {
	v, err := c.view()
	if err != nil {
		return err
	}
	d, err := c.upgrade(v.st)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, d)
}

// upgrade finds the highest level that every voter knows.
func (c *call) upgrade(st *state.State) (api.Upgrade, error) {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	list, err := c.s.cfg.Consensus.Members(ctx)
	if err != nil {
		return api.Upgrade{}, err
	}
	d := api.Upgrade{Level: st.Meta.Level, Available: event.Level, Versions: map[string]string{}}
	for _, m := range list {
		d.Versions[m.ID] = m.Version
		if m.Voter {
			d.Available = min(d.Available, uint32(m.Level))
		}
	}
	for l := d.Level + 1; l <= d.Available; l++ {
		d.TurnsOn = append(d.TurnsOn, "the log entries of feature level "+strconv.Itoa(int(l)))
	}
	return d, nil
}

func finalizeUpgrade(c *call) error {
	st, _ := c.s.cfg.Reader.Fork()
	d, err := c.upgrade(st)
	if err != nil {
		return err
	}
	if d.Available <= d.Level {
		return problem("ALREADY_DONE", fmt.Sprintf("the feature level is %d, and not every voter knows a higher one", d.Level), "upgrade all replicas first; \"rmd upgrade status\" shows their versions")
	}
	if c.flag("dry_run") {
		return c.json(http.StatusOK, d)
	}
	_, index, err := do[*input.Done](c, &input.RaiseLevel{Level: d.Available})
	if err != nil {
		return err
	}
	d.Level, d.TurnsOn = d.Available, nil
	c.setIndex(index)
	return c.json(http.StatusOK, d)
}
