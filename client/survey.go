package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"rmd/api"
	"rmd/internal/sleep"
)

const (
	surveyMax   = 3 * time.Second        // limit of a survey
	surveyGrace = 300 * time.Millisecond // for the other replicas, once one that is in step has answered
	waitQuiet   = time.Second            // how long a request may wait before Config.Waits hears of it
	healthMax   = 1 << 20
)

// Standing is what a replica says of itself.
type Standing struct {
	Addr   string     // URL of the replica
	Health api.Health // zero if it did not answer, or answered something else
	Err    error      // why there is no answer

	left bool // a stream from it has just ended
}

// The ranks of replicas, best first.
const (
	rankLeads = iota
	rankFollows
	rankUntold     // it does not say how it stands
	rankLeft       // a stream from it has just ended
	rankLeaderless // a member that knows no leader: its state may be old
	rankEmpty      // no member of a cluster
	rankSilent     // it did not answer
)

func (s Standing) rank() int {
	rank := rankUntold
	switch {
	case s.Err != nil:
		return rankSilent
	case s.Health.Status == api.CodeNotInitialized:
		return rankEmpty
	case s.Health.ID != "" && s.Health.Status != "ok":
		return rankLeaderless
	case s.Health.ID != "" && s.Health.Role == "leader":
		rank = rankLeads
	case s.Health.ID != "":
		rank = rankFollows
	}
	if s.left {
		return rankLeft
	}
	return rank
}

// InStep reports whether the replica leads or follows a leader.
func (s Standing) InStep() bool { return s.rank() <= rankFollows }

// Empty reports whether the replica is no member of a cluster.
func (s Standing) Empty() bool { return s.rank() == rankEmpty }

// String names the replica and says how it stands.
func (s Standing) String() string {
	switch {
	case s.Err != nil:
		return s.name() + " does not answer: " + reason(s.Err)
	case s.Health.Message != "":
		return s.name() + ": " + s.Health.Message
	case s.Health.Role != "":
		return s.name() + ": " + s.Health.Role
	}
	return s.name()
}

func (s Standing) name() string {
	if s.Health.ID == "" {
		return "the replica at " + s.Addr
	}
	return "replica " + s.Health.ID + " at " + s.Addr
}

// compare sorts the better replica first: by rank, then by term and index, since of two leaders that
// of the higher term is the leader, and of two replicas without a leader one may be older.
func compare(a, b Standing) int {
	if c := cmp.Compare(a.rank(), b.rank()); c != 0 || a.rank() == rankFollows {
		return c
	}
	return cmp.Or(cmp.Compare(b.Health.Term, a.Health.Term), cmp.Compare(b.Health.Index, a.Health.Index))
}

// Survey asks every replica how it stands and returns them best first: the leader, its followers,
// and at last those that cannot serve. It waits only shortly for the others once a replica that is
// in step has answered.
func (c *Client) Survey(ctx context.Context) []Standing {
	return c.survey(ctx, func(Standing) bool { return false })
}

// survey ends early after an answer that is enough.
func (c *Client) survey(ctx context.Context, enough func(Standing) bool) []Standing {
	ctx, cancel := context.WithTimeout(ctx, surveyMax)
	defer cancel()
	type answer struct {
		at int
		Standing
	}
	answers := make(chan answer, len(c.bases))
	all := make([]Standing, len(c.bases))
	for at, base := range c.bases {
		all[at] = Standing{Addr: base, Err: errNoAnswer}
		go func() { answers <- answer{at, c.look(ctx, base)} }()
	}
	var grace <-chan time.Time
	for range c.bases {
		select {
		case a := <-answers:
			all[a.at] = a.Standing
			if a.InStep() && grace == nil {
				grace = time.After(surveyGrace)
			}
			if !enough(a.Standing) {
				continue
			}
		case <-grace:
		}
		break
	}
	return all
}

// errNoAnswer means that a replica did not answer a survey in time.
var errNoAnswer = errors.New("no answer in time")

// look asks one replica how it stands. That needs no role and no leader.
func (c *Client) look(ctx context.Context, base string) Standing {
	s := Standing{Addr: base}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/health", nil)
	if err != nil {
		s.Err = err
		return s
	}
	req.Header.Set("User-Agent", "rmd/"+c.cfg.Version)
	res, err := c.http.Do(req)
	if err != nil {
		s.Err = err
		return s
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, healthMax))
	if err != nil {
		s.Err = err
		return s
	}
	if res.StatusCode != http.StatusOK || json.Unmarshal(b, &s.Health) != nil {
		s.Health = api.Health{}
	}
	return s
}

// standings returns the replicas in the order in which a request tries them. A client with several
// addresses surveys them before its first request, and again after a replica has failed.
func (c *Client) standings(ctx context.Context) []Standing {
	if len(c.bases) == 1 {
		return []Standing{{Addr: c.bases[0]}}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.order == nil {
		c.order = c.survey(ctx, func(s Standing) bool { return s.rank() == rankLeads && s.Addr != c.left })
		for i := range c.order {
			c.order[i].left = c.order[i].Addr == c.left
		}
		c.left = ""
		slices.SortStableFunc(c.order, compare)
	}
	return c.order
}

// forget makes the next request survey the replicas again.
func (c *Client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = nil
}

// leave makes the next request prefer another replica than that at a URL.
func (c *Client) leave(base string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order, c.left = nil, base
}

// passedOver reports whether another replica may serve a request that this one refuses: it is no
// member of a cluster, it does not lead and only the leader does this, or it may not know the
// caller's token yet because it is not in step.
func (c *Client) passedOver(ctx context.Context, s *Standing, doc *api.Error) bool {
	switch doc.Code {
	case api.CodeNotLeader:
		return true
	case api.CodeNotInitialized, api.CodeUnauthenticated, api.CodeNotAllowed:
		if len(c.bases) == 1 || s.Err != nil { // it was not asked, or has not answered then
			*s = c.look(ctx, s.Addr)
		}
		return doc.Code == api.CodeNotInitialized || s.rank() == rankLeaderless || s.rank() == rankEmpty
	}
	return false
}

// ofReplica are the codes of refusals that concern the replica and not the cluster.
var ofReplica = map[string]bool{api.CodeNotInitialized: true, api.CodeNotLeader: true, api.CodeNoLeader: true,
	api.CodeNotReady: true, api.CodeCatchingUp: true, api.CodeNotAvailable: true}

// named adds to a refusal which replica it is from. That a replica is no member of a cluster is the
// reason for all that it refuses, unless it was chosen: then the request may be one that makes it a member.
func (c *Client) named(doc *api.Error, s Standing) *api.Error {
	d := *doc
	chosen := len(c.bases) == 1 && d.Code != api.CodeUnauthenticated
	if s.rank() == rankEmpty && d.Code != api.CodeNotInitialized && !chosen {
		d = api.Error{Code: api.CodeNotInitialized, Message: s.Health.Message, Status: http.StatusConflict,
			Remedy: api.JoinAdvice}
	}
	d.Message = s.name() + ": " + d.Message
	if why := s.Health.Message; why != "" && !ofReplica[d.Code] {
		d.Message += fmt.Sprintf(" (%s)", why)
	}
	return &d
}

// withSilent adds to a refusal which replicas do not answer: they may know more.
func withSilent(refusal error, silent []string) error {
	var doc *api.Error
	if len(silent) > 0 && errors.As(refusal, &doc) {
		doc.Message += "; " + strings.Join(silent, " and ") + map[bool]string{true: " does not answer",
			false: " do not answer"}[len(silent) == 1]
	}
	return refusal
}

// tellWaiting calls Config.Waits if a request still waits after waitQuiet and no replica leads. It
// returns a function that ends this.
func (c *Client) tellWaiting(ctx context.Context) (stop func()) {
	if c.cfg.Waits == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !sleep.For(ctx, waitQuiet) {
			return
		}
		all := c.survey(ctx, Standing.InStep)
		if ctx.Err() == nil && !slices.ContainsFunc(all, Standing.InStep) {
			c.cfg.Waits(all)
		}
	}()
	return func() { cancel(); <-done }
}
