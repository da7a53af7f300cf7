package v1

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// okOrNot lists the answers of health probes.
var okOrNot = route.Answers{http.StatusOK: api.Health{}, http.StatusServiceUnavailable: api.Health{}}

// cluster serves the replicas, their membership and their health.
type cluster struct{ *shared }

func (s *cluster) routes() []route.Route {
	return []route.Route{
		route.Get("/v1/health", "", s.showHealth).Doc("Report that this replica answers; the status is 200 in any case", nil,
			api.Health{}),
		route.Get("/healthz", "", s.showHealth).Doc("Report that this replica answers, as /v1/health does", nil,
			api.Health{}),
		route.Get("/v1/ready", "", s.ready).Doc("Report whether this replica can serve clients", nil, okOrNot),
		route.Get("/readyz", "", s.ready).Doc("Report whether this replica can serve clients, as /v1/ready does",
			nil, okOrNot),
		route.Get("/v1/leader", "role", s.leaderHealth).Doc("Report who leads; with role, 200 only on a replica of that role",
			nil, okOrNot),
		route.Get("/v1/jobs", "", s.listJobs).Doc("List the background jobs of this replica", nil, api.Jobs{}),
		route.Get("/v1/cluster", "", s.showCluster).Doc("Show the cluster with its replicas, its health and its totals", nil,
			api.Cluster{}),
		route.Get("/v1/cluster/members", "", s.listMembers).Doc("List the replicas", nil, api.Members{}),
		route.Get("/v1/cluster/verify", "", s.verifyCluster).Doc("Compare the state digests of all replicas at one index",
			nil, api.Verify{}),
		route.Post("/v1/cluster:init", "dry_run", s.initCluster).As("cluster init").Doc(
			"Create a cluster with this replica as its first member",
			api.InitRequest{}, api.InitReply{}),
		route.Post("/v1/cluster:join", "dry_run", s.joinCluster).As("cluster join").Doc(
			"Join this replica to a cluster", api.JoinRequest{},
			api.JoinReply{}),
		route.Post("/v1/cluster:transfer", "", s.transferLeader).As("cluster transfer").Doc("Transfer the leadership",
			api.TransferRequest{}, api.Done{}),
		route.Post("/v1/cluster/members/{id}:promote", "dry_run",
			func(c *route.Call) error {
				return s.changeMember(c, "promote", Consensus.Promote)
			}).As("cluster promote").Doc("Make a non-voter a voter", api.MemberRequest{}, api.MemberChange{}),
		route.Post("/v1/cluster/members/{id}:demote", "dry_run",
			func(c *route.Call) error {
				return s.changeMember(c, "demote", Consensus.Demote)
			}).As("cluster demote").Doc("Make a voter a non-voter", api.MemberRequest{}, api.MemberChange{}),
		route.Post("/v1/cluster/members/{id}:remove", "dry_run",
			func(c *route.Call) error {
				return s.changeMember(c, "remove", Consensus.Remove)
			}).As("cluster remove").Doc("Remove a replica from the cluster", api.MemberRequest{}, api.MemberChange{}),
		route.Post("/v1/cluster/tokens", "", s.createToken).Makes(&input.CreateJoinToken{}).Doc(
			"Create a join token; the answer shows it once",
			api.TokenRequest{}, route.Answers{http.StatusCreated: api.Token{}}),
		route.Get("/v1/autopilot", "", s.showAutopilot).Doc("Show autopilot's settings and its judgment of the replicas", nil,
			api.AutopilotState{}),
		route.Put("/v1/autopilot", "", s.setAutopilot).Makes(&input.SetAutopilot{}).Doc(
			"Change autopilot's settings; those left out keep their values",
			route.Partial{Of: api.Autopilot{}}, api.AutopilotState{}),
		route.Get("/v1/upgrade", "", s.showUpgrade).Doc("Show the feature level and the versions of the replicas", nil,
			api.Upgrade{}),
		route.Post("/v1/upgrade:finalize", "dry_run",
			s.finalizeUpgrade).Makes(&input.RaiseLevel{}).Doc(
			"Raise the feature level to the highest that all voters know", nil, api.Upgrade{}),
	}
}

func (s *cluster) health(c *route.Call) api.Health {
	st, index := s.cfg.Reader.Fork()
	k := s.cfg.Consensus
	id, addr := k.Leader()
	c.ReadHeaders(index)
	h := api.Health{Status: "ok", ID: s.cfg.ID, Role: k.Role(), Leader: id, Address: addr, Term: k.Term(), Index: index,
		StalenessMillis: -1, Warning: k.Warning()}
	h.Problem = strings.Join(slices.DeleteFunc([]string{k.Problem(), failingJobs(k.Jobs())},
		func(s string) bool { return s == "" }), "; ")
	if d := k.Staleness(); d >= 0 {
		h.StalenessMillis = d.Milliseconds()
	}
	switch {
	case st.Meta.ClusterID == "":
		e := k.NoState()
		h.Status, h.Message = e.Code, e.Message
	case id == "":
		h.Status, h.Message = api.CodeNoLeader, "no leader is known"
		if m := k.Missing(); m != "" {
			h.Message += "; " + m
		}
	}
	return h
}

// showHealth reports that the process answers. Its status does not depend on the cluster.
func (s *cluster) showHealth(c *route.Call) error {
	return c.JSON(http.StatusOK, s.health(c))
}

// listJobs shows the background jobs of this replica.
func (s *cluster) listJobs(c *route.Call) error {
	c.RoleHeaders()
	return c.JSON(http.StatusOK, api.Jobs{ID: s.cfg.ID, Jobs: append([]api.Job{}, s.Jobs()...)})
}

// failingJobs names the background jobs that fail, or returns "". It leaves out their errors, because
// everybody may ask for the health of a replica, and an error may contain names of users and files.
func failingJobs(jobs []api.Job) string {
	var names []string
	for _, j := range jobs {
		if j.Problem != "" {
			names = append(names, j.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "background jobs fail: " + strings.Join(names, ", ")
}

// Jobs returns how the background jobs of this replica are doing.
func (s *cluster) Jobs() []api.Job { return s.cfg.Consensus.Jobs() }

// ready reports whether this replica can serve clients: the cluster is initialized, the replica
// knows a leader, and it has caught up with the leader (see Consensus.Ready).
func (s *cluster) ready(c *route.Call) error {
	h := s.health(c)
	if h.Status == "ok" {
		if ok, why := s.cfg.Consensus.Ready(); !ok {
			h.Status, h.Message = api.CodeCatchingUp, why
		}
	}
	if h.Status != "ok" {
		c.W.Header().Set("Retry-After", "1")
		return c.JSON(http.StatusServiceUnavailable, h)
	}
	return c.JSON(http.StatusOK, h)
}

// leaderHealth reports who leads. With ?role=leader or ?role=follower, the status is 200 only on
// such a replica, as load balancers need it.
func (s *cluster) leaderHealth(c *route.Call) error {
	want := c.Query.Get("role")
	if want != "" && want != "leader" && want != "follower" {
		return problem.Invalid("role="+want+" is not known", "give leader or follower")
	}
	h := s.health(c)
	switch {
	case h.Leader == "":
		return c.JSON(http.StatusServiceUnavailable, h)
	case want != "" && want != h.Role:
		h.Status, h.Message = "NOT_"+strings.ToUpper(want), "this replica is the "+h.Role
		return c.JSON(http.StatusServiceUnavailable, h)
	}
	return c.JSON(http.StatusOK, h)
}

func (s *cluster) showCluster(c *route.Call) error {
	v, err := c.OwnView()
	if err != nil {
		return err
	}
	d, err := s.Cluster(c.R.Context(), v)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// Cluster returns the document of the cluster, with its replicas and with totals of the view's
// state.
func (s *cluster) Cluster(ctx context.Context, v *view.View) (api.Cluster, error) {
	k := s.cfg.Consensus
	list, err := s.members(ctx)
	if err != nil {
		return api.Cluster{}, err
	}
	id, addr := k.Leader()
	m := &v.State.Meta
	d := api.Cluster{
		Name: s.cfg.Cluster, ClusterID: m.ClusterID, ClusterTimestamp: m.ClusterTimestamp, Epoch: m.Epoch, Level: m.Level,
		NowMillis: m.NowMillis, ID: s.cfg.ID, Role: k.Role(), Version: s.cfg.Version, Leader: id, LeaderAddress: addr,
		Term: k.Term(), Index: v.Index,
		Digest: digestText(v.State.Digest()), LastFailover: k.LastFailover(), Failovers: k.Failovers(), Members: list,
		Totals: v.Totals(), Rooms: v.LabelRooms(),
	}
	if d.LeaderSinceMs = k.LeaderSince(ctx); d.LeaderSinceMs != 0 {
		d.LeaderForMs = max(s.cfg.Now().UnixMilli()-d.LeaderSinceMs, 0)
	}
	d.Verdict = view.Verdict(d.ClusterID != "", id, list)
	if d.Verdict.Status == "not-initialized" {
		e := k.NoState()
		d.Verdict.Text = e.Message + "; " + e.Remedy
		if e.Code == api.CodeNotReady { // it has data, and does not know yet what of it is committed
			d.Verdict.Status = "starting"
		}
	}
	return d, nil
}

// members asks for the replicas, for at most ReadTimeout.
func (s *shared) members(ctx context.Context) ([]api.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	return s.cfg.Consensus.Members(ctx)
}

func digestText(digest uint64) string { return fmt.Sprintf("%016x", digest) }

func (s *cluster) listMembers(c *route.Call) error {
	c.RoleHeaders()
	list, err := s.members(c.R.Context())
	if err != nil {
		return err
	}
	if list == nil {
		list = []api.Member{}
	}
	return c.JSON(http.StatusOK, api.Members{Members: list})
}

func (s *cluster) verifyCluster(c *route.Call) error {
	c.RoleHeaders()
	d, err := s.Verify(c.R.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

func (s *cluster) Verify(ctx context.Context) (api.Verify, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	return s.cfg.Consensus.Verify(ctx)
}

func (s *cluster) showUpgrade(c *route.Call) error {
	v, err := c.View()
	if err != nil {
		return err
	}
	d, err := s.Upgrade(c.R.Context(), v.State)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// Upgrade returns the feature level, and the highest level that every voter knows.
func (s *cluster) Upgrade(ctx context.Context, st *state.State) (api.Upgrade, error) {
	list, err := s.members(ctx)
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

func (s *cluster) finalizeUpgrade(c *route.Call) error {
	st, _ := s.cfg.Reader.Fork()
	d, err := s.Upgrade(c.R.Context(), st)
	if err != nil {
		return err
	}
	if d.Available <= d.Level {
		return problem.New("ALREADY_DONE", fmt.Sprintf("the feature level is %d, and not every voter knows a higher one",
			d.Level), "upgrade all replicas first; \"rmd upgrade status\" shows their versions")
	}
	if c.Flag("dry_run") {
		return c.JSON(http.StatusOK, d)
	}
	_, index, err := route.Do[*input.Done](c, &input.RaiseLevel{Level: d.Available})
	if err != nil {
		return err
	}
	d.Level, d.TurnsOn = d.Available, nil
	c.SetIndex(index)
	return c.JSON(http.StatusOK, d)
}
