package logsim

import (
	"fmt"
	"math/rand/v2"

	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// services are HDFS and a KMS, and the leader's worker that calls them for the tokens of
// applications. Only some runs have them. They draw from a source of their own, so that the other
// runs do not depend on them.
type services struct {
	w    *world
	rng  *rand.Rand
	on   bool
	led  *leadership          // whose calls are in progress
	busy map[serviceCall]bool // calls in progress
	got  int                  // tokens that were got for replacement
}

// serviceCall is a call for a token, or for the first token of an application.
type serviceCall struct{ token, app uint32 }

func newServices(w *world) *services {
	s := &services{w: w, rng: rand.New(rand.NewPCG(w.opt.Seed, 3))}
	s.on = s.rng.IntN(3) == 0
	return s
}

// tokens returns what the submission of an application carries. Some applications share tokens.
func (s *services) tokens(n int) (t input.AppTokens) {
	if !s.on || s.rng.IntN(2) == 0 {
		return t
	}
	for range s.rng.IntN(3) {
		t.List = append(t.List, s.issue(pick(s.rng, apptoken.KindHDFS, "kms-dt"), n/4+s.rng.IntN(2)))
	}
	t.Fetch = len(t.List) == 0 && s.rng.IntN(2) == 0
	if !t.Empty() {
		t.Keep, t.DelayMillis = s.rng.IntN(4) == 0, pick[int64](s.rng, 0, 5_000)
	}
	return t
}

func (s *services) issue(kind string, n int) input.AppToken {
	return input.AppToken{Kind: kind, Service: "service:1", Identifier: fmt.Append(nil, n), Password: []byte("secret"),
		MaxMillis: pick[int64](s.rng, 0, epochMillis+s.w.now+60_000)}
}

// act makes one call that is due, and sends its result to the leader. The result of a call that
// another leader made may arrive as well.
func (s *services) act() {
	l := s.w.leads
	if !s.on || l == nil {
		return
	}
	if s.led != l {
		s.led, s.busy = l, map[serviceCall]bool{}
	}
	st, _ := l.r.m.Fork()
	for t := range st.AppTokens.Tokens() {
		if c := (serviceCall{token: t.Number}); t.NextMillis <= l.now() && !s.busy[c] &&
			(t.Phase == apptoken.New || t.Phase == apptoken.Ending || t.Phase == apptoken.Kept && l.now() < t.EndMillis) {
			s.report(c, s.call(t, l.now()))
			return
		}
	}
	for h := range st.AppTokens.Holders() {
		if c := (serviceCall{app: h.App}); h.FetchMillis != 0 && h.FetchMillis <= l.now() && !s.busy[c] {
			s.report(c, s.fetch(appOf(st, h)))
			return
		}
	}
}

// call returns the result of the call that a token needs.
func (s *services) call(t *apptoken.Token, now int64) input.Input {
	n := s.rng.IntN(20)
	switch {
	case n < 5 && !s.w.recovering:
		return &input.TokenCallFailed{Token: t.Number, Final: n == 0, AgainMillis: 200 + s.rng.Int64N(5_000), Why: "refused"}
	case t.Phase == apptoken.Ending:
		return &input.TokenCancelled{Token: t.Number}
	case n < 8 && t.Phase == apptoken.Kept && t.Kind == apptoken.KindHDFS:
		return s.fetched(&input.TokensFetched{Token: t.Number})
	}
	return &input.TokenRenewed{Token: t.Number, ExpiresMillis: now + 1 + s.rng.Int64N(40_000)}
}

// fetch returns the result of the call that gets the first token of an application.
func (s *services) fetch(app yarn.ApplicationID) input.Input {
	if s.rng.IntN(4) == 0 && !s.w.recovering {
		return &input.TokenFetchFailed{App: app, AgainMillis: 200, Why: "refused"}
	}
	return s.fetched(&input.TokensFetched{App: app})
}

func (s *services) fetched(in *input.TokensFetched) input.Input {
	s.got++
	in.List, in.Credentials = []input.AppToken{s.issue(apptoken.KindHDFS, -s.got)}, []byte("HDTS")
	return in
}

func (s *services) report(c serviceCall, in input.Input) {
	s.busy[c] = true
	s.w.wire.send(s, input.Request{Input: in})
}

// answered implements party.
func (s *services) answered(in input.Input, _ input.Reply) {
	switch in := in.(type) {
	case *input.TokenRenewed:
		delete(s.busy, serviceCall{token: in.Token})
	case *input.TokenCallFailed:
		delete(s.busy, serviceCall{token: in.Token})
	case *input.TokenCancelled:
		delete(s.busy, serviceCall{token: in.Token})
	case *input.TokensFetched:
		delete(s.busy, serviceCall{token: in.Token, app: in.App.Seq})
	case *input.TokenFetchFailed:
		delete(s.busy, serviceCall{app: in.App.Seq})
	}
}

// collecting returns an ended application whose logs a node still collects.
func (s *services) collecting() (apps []yarn.ApplicationID) {
	if !s.on || s.w.recovering || s.w.leads == nil || s.rng.IntN(4) > 0 {
		return nil
	}
	st, _ := s.w.leads.r.m.Fork()
	for h := range st.AppTokens.Holders() {
		if h.LeaveMillis != 0 && h.DelayMillis != 0 {
			return []yarn.ApplicationID{appOf(st, h)}
		}
	}
	return nil
}

func appOf(st *state.State, h *apptoken.Holder) yarn.ApplicationID {
	return st.Apps.Get(st.Apps.Find(h.App)).ID
}
