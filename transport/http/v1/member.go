package v1

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"time"

	"rmd/api"
	"rmd/scheduler/input"
	"rmd/transport/http/problem"
	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// admin runs an administrative action for at most WriteTimeout. The action continues when the caller
// disconnects.
func (s *shared) admin(c *route.Call, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.R.Context()), s.cfg.WriteTimeout)
	defer cancel()
	return f(ctx)
}

func (s *cluster) initCluster(c *route.Call) error {
	var doc api.InitRequest
	if err := c.Read(&doc); err != nil {
		return err
	}
	doc.DryRun = doc.DryRun || c.Flag("dry_run")
	var out api.InitReply
	err := s.admin(c, func(ctx context.Context) (err error) {
		out, err = s.cfg.Consensus.Init(ctx, doc)
		return err
	})
	if err != nil {
		return err
	}
	if !doc.DryRun {
		c.Audit(out.ClusterID, nil)
	}
	return c.JSON(http.StatusOK, out)
}

func (s *cluster) joinCluster(c *route.Call) error {
	var doc api.JoinRequest
	if err := c.Read(&doc); err != nil {
		return err
	}
	if len(doc.Leaders) == 0 {
		return problem.Invalid("leaders is missing", `send {"leaders":["10.0.0.11:8034"],"token":"…"}`, "leaders")
	}
	doc.DryRun = doc.DryRun || c.Flag("dry_run")
	var out api.JoinReply
	err := s.admin(c, func(ctx context.Context) (err error) {
		out, err = s.cfg.Consensus.Join(ctx, doc)
		return err
	})
	if !doc.DryRun {
		c.Audit(s.cfg.ID, err)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, out)
}

func (s *cluster) transferLeader(c *route.Call) error {
	var doc api.TransferRequest
	if err := c.Read(&doc); err != nil {
		return err
	}
	before, _ := s.cfg.Consensus.Leader()
	err := s.admin(c, func(ctx context.Context) error { return s.cfg.Consensus.Transfer(ctx, doc.ID) })
	if err != nil || doc.ID == "" || doc.ID != before { // who leads already stays, and nothing changes
		c.Audit(doc.ID, err)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, api.Done{})
}

// changeMember promotes, demotes or removes a replica.
func (s *cluster) changeMember(c *route.Call, action string,
	f func(Consensus, context.Context, string, api.MemberRequest) error) error {
	var doc api.MemberRequest
	if err := c.Read(&doc); err != nil {
		return err
	}
	doc.DryRun = doc.DryRun || c.Flag("dry_run")
	id := c.Args["id"]
	do := func(doc api.MemberRequest) error {
		return s.admin(c, func(ctx context.Context) error { return f(s.cfg.Consensus, ctx, id, doc) })
	}
	told := false
	if action == "remove" && id == s.cfg.ID && !doc.DryRun {
		// This replica cannot write the audit after it is removed. Record the action before, if a
		// dry run succeeds.
		if do(api.MemberRequest{Force: doc.Force, DryRun: true}) == nil {
			c.Audit(id, nil)
			told = true
		}
	}
	err := do(doc)
	if !doc.DryRun && (err != nil || !told) {
		c.Audit(id, err)
	}
	if err != nil {
		return err
	}
	var d api.MemberChange
	if doc.DryRun {
		if d.After, err = s.after(c.R.Context(), action, id); err != nil {
			return err
		}
	}
	return c.JSON(http.StatusOK, d)
}

// after returns the verdict on the replicas as if one had been promoted, demoted or removed.
func (s *cluster) after(ctx context.Context, action, id string) (*api.Verdict, error) {
	list, err := s.members(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	if i := slices.IndexFunc(list, func(m api.Member) bool { return m.ID == id }); i >= 0 {
		list[i].Voter = action == "promote"
		if action == "remove" {
			list = slices.Delete(list, i, i+1)
		}
	}
	leader, _ := s.cfg.Consensus.Leader()
	v := view.Verdict(true, leader, list)
	return &v, nil
}

// tokenBytes is the size of an access token or a join token before it is encoded.
const tokenBytes = 32

// createToken makes a join token on this replica. Only the hash of the token goes into the log.
// Each call makes a new token: an idempotency key cannot bring an earlier one back, because nobody
// has it any more.
func (s *cluster) createToken(c *route.Call) error {
	var doc api.TokenRequest
	if err := c.Read(&doc); err != nil {
		return err
	}
	if doc.Role != "voter" && doc.Role != "nonvoter" {
		return problem.Invalid("role is voter or nonvoter", `send {"role":"voter","ttl":"1h"}`, "role")
	}
	ttl := time.Duration(doc.TTL)
	if ttl == 0 {
		ttl = s.cfg.DefaultJoinTokens
	}
	if ttl < time.Second || ttl > s.cfg.LongestJoinToken {
		return problem.Invalid("ttl is out of range", "give 1s to "+s.cfg.LongestJoinToken.String(), "ttl")
	}
	var raw [tokenBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return err
	}
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	hash := sha256.Sum256([]byte(token))
	in := &input.CreateJoinToken{Hash: hash[:], Voter: doc.Role == "voter", TTLMillis: ttl.Milliseconds(), Who: c.Who()}
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.WriteTimeout)
	defer cancel()
	reply, index, err := s.cfg.Submitter.Do(ctx, input.Request{Input: in})
	if err != nil {
		return err
	}
	// The hash is new. ALREADY_DONE therefore means that the forwarder repeated the call after an
	// unknown outcome.
	if f := reply.Refused(); f != nil && f.Reason != input.AlreadyDone {
		return f
	}
	c.AuditInput(in, nil)
	c.SetIndex(index)
	return c.JSON(http.StatusCreated, api.Token{Token: token, Role: doc.Role,
		ExpiresMillis: s.cfg.Now().Add(ttl).UnixMilli()})
}

func (s *cluster) showAutopilot(c *route.Call) error {
	c.RoleHeaders()
	d, err := s.Autopilot(c.R.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, d)
}

// Autopilot returns the settings of autopilot and its judgment of the replicas.
func (s *cluster) Autopilot(ctx context.Context) (api.AutopilotState, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	return s.cfg.Consensus.Autopilot(ctx)
}

// setAutopilot changes the settings. Settings that the document omits keep their values.
func (s *cluster) setAutopilot(c *route.Call) error {
	ctx, cancel := context.WithTimeout(c.R.Context(), s.cfg.WriteTimeout)
	defer cancel()
	now, err := s.cfg.Consensus.Autopilot(ctx)
	if err != nil {
		return err
	}
	settings := now.Settings
	if err := c.Read(&settings); err != nil {
		return err
	}
	if settings.CleanupDeadServers && settings.MinQuorum < 3 {
		return problem.Invalid("cleanup_dead_servers needs min_quorum of 3 or more", "set both together", "min_quorum")
	}
	if time.Duration(settings.DeadServerLastContactThreshold) < time.Minute {
		return problem.Invalid("dead_server_last_contact_threshold is below 1m", "give 1m or more; 24h is the default",
			"dead_server_last_contact_threshold")
	}
	err = s.cfg.Consensus.SetAutopilot(ctx, settings)
	c.AuditInput(&input.SetAutopilot{}, err)
	if err != nil {
		return err
	}
	return s.showAutopilot(c)
}
