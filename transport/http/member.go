package httpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/http/v1/api"
)

// admin runs a change of membership under the write timeout. A change is not
// bound to the caller's connection: it goes on when the caller goes.
func (c *call) admin(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.s.cfg.WriteTimeout)
	defer cancel()
	return f(ctx)
}

func initCluster(c *call) error {
	var doc api.InitRequest
	if err := c.read(&doc); err != nil {
		return err
	}
	doc.DryRun = doc.DryRun || c.flag("dry_run")
	var out api.InitReply
	err := c.admin(func(ctx context.Context) (err error) {
		out, err = c.s.cfg.Consensus.Init(ctx, doc)
		return err
	})
	if err != nil {
		return err
	}
	if !doc.DryRun {
		c.audit("cluster init", out.ClusterID, nil)
	}
	return c.json(http.StatusOK, out)
}

func joinCluster(c *call) error {
	var doc api.JoinRequest
	if err := c.read(&doc); err != nil {
		return err
	}
	if len(doc.Leaders) == 0 {
		return invalid("leaders is missing", `send {"leaders":["10.0.0.11:8034"],"token":"…"}`, "leaders")
	}
	doc.DryRun = doc.DryRun || c.flag("dry_run")
	var out api.JoinReply
	err := c.admin(func(ctx context.Context) (err error) {
		out, err = c.s.cfg.Consensus.Join(ctx, doc)
		return err
	})
	if err != nil {
		return err
	}
	if !doc.DryRun {
		c.audit("cluster join", out.ID, nil)
	}
	return c.json(http.StatusOK, out)
}

func transferLeader(c *call) error {
	var doc api.TransferRequest
	if err := c.read(&doc); err != nil {
		return err
	}
	err := c.admin(func(ctx context.Context) error { return c.s.cfg.Consensus.Transfer(ctx, doc.ID) })
	c.audit("cluster transfer", doc.ID, err)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Done{})
}

// changeMember promotes, demotes or removes.
func changeMember(c *call, action string, f func(Consensus, context.Context, string, api.MemberRequest) error) error {
	var doc api.MemberRequest
	if err := c.read(&doc); err != nil {
		return err
	}
	doc.DryRun = doc.DryRun || c.flag("dry_run")
	id := c.args["id"]
	do := func(doc api.MemberRequest) error {
		return c.admin(func(ctx context.Context) error { return f(c.s.cfg.Consensus, ctx, id, doc) })
	}
	told := false
	if action == "remove" && id == c.s.cfg.ID && !doc.DryRun {
		// This replica cannot write any more once it is out: what is going to
		// be done is recorded before.
		if do(api.MemberRequest{Force: doc.Force, DryRun: true}) == nil {
			c.audit("cluster "+action, id, nil)
			told = true
		}
	}
	err := do(doc)
	if !doc.DryRun && (err != nil || !told) {
		c.audit("cluster "+action, id, err)
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, api.Done{})
}

// tokenBytes is the size of a join token before its encoding.
const tokenBytes = 32

// createToken makes a join token here; only its hash goes into the log. Each
// call makes a new one, so an idempotency key does not bring an old one back:
// nobody can.
func createToken(c *call) error {
	var doc api.TokenRequest
	if err := c.read(&doc); err != nil {
		return err
	}
	if doc.Role != "voter" && doc.Role != "nonvoter" {
		return invalid("role is voter or nonvoter", `send {"role":"voter","ttl":"1h"}`, "role")
	}
	ttl := time.Duration(doc.TTL)
	if ttl == 0 {
		ttl = c.s.cfg.DefaultJoinTokens
	}
	if ttl < time.Second || ttl > c.s.cfg.LongestJoinToken {
		return invalid("ttl is out of range", "give 1s to "+c.s.cfg.LongestJoinToken.String(), "ttl")
	}
	var raw [tokenBytes]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return err
	}
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	hash := sha256.Sum256([]byte(token))
	in := &input.CreateJoinToken{Hash: hash[:], Voter: doc.Role == "voter", ExpiresMillis: c.s.cfg.Now().Add(ttl).UnixMilli(), Who: c.who()}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.WriteTimeout)
	defer cancel()
	reply, index, err := c.s.cfg.Door.Do(ctx, input.Request{Input: in})
	if err != nil {
		return err
	}
	// The hash is fresh: that it is there already means that the door repeated
	// the call after an unknown outcome.
	if f := reply.Refused(); f != nil && f.Reason != input.AlreadyDone {
		return f
	}
	c.auditInput(in, nil)
	c.setIndex(index)
	return c.json(http.StatusCreated, api.Token{Token: token, Role: doc.Role, ExpiresMillis: in.ExpiresMillis})
}

func showAutopilot(c *call) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.ReadTimeout)
	defer cancel()
	c.roleHeaders()
	d, err := c.s.cfg.Consensus.Autopilot(ctx)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, d)
}

// setAutopilot replaces the settings. Those left out keep their values.
func setAutopilot(c *call) error {
	ctx, cancel := context.WithTimeout(c.r.Context(), c.s.cfg.WriteTimeout)
	defer cancel()
	now, err := c.s.cfg.Consensus.Autopilot(ctx)
	if err != nil {
		return err
	}
	settings := now.Settings
	if err := c.read(&settings); err != nil {
		return err
	}
	if settings.CleanupDeadServers && settings.MinQuorum < 3 {
		return invalid("cleanup_dead_servers needs min_quorum of 3 or more", "set both together", "min_quorum")
	}
	if time.Duration(settings.DeadServerLastContactThreshold) < time.Minute {
		return invalid("dead_server_last_contact_threshold is below 1m", "give 1m or more; 24h is the default", "dead_server_last_contact_threshold")
	}
	err = c.s.cfg.Consensus.SetAutopilot(ctx, settings)
	c.auditInput(&input.SetAutopilot{}, err)
	if err != nil {
		return err
	}
	return showAutopilot(c)
}
