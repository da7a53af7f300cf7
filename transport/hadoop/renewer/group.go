package renewer

import (
	"context"
	"sync"
	"time"

	"rmd/scheduler/input"
)

// groups gathers the renewals of each Config.Gather in one input.
type groups struct {
	mu   sync.Mutex
	open *group // nil if no renewal waits
}

// group is the renewals that are reported together.
type group struct {
	in       input.TokenRenewed
	reported chan struct{} // closed when that is done
}

// join adds a renewal to the open group, if it has room, or opens one. The one who opened a group must
// report it.
func (s *groups) join(in *input.TokenRenewed) (g *group, opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.open; g != nil && len(g.in.Also) < input.MaxRenewals {
		g.in.Also = append(g.in.Also, input.TokenRenewal{Token: in.Token, ExpiresMillis: in.ExpiresMillis})
		return g, false
	}
	s.open = &group{in: *in, reported: make(chan struct{})}
	return s.open, true
}

// leave ends the gathering of a group.
func (s *groups) leave(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == g {
		s.open = nil
	}
}

// reportLater reports a result for which nobody waits, together with others, before a quarter of the
// time has passed that is left to its token.
func (r *Renewer) reportLater(ctx context.Context, in input.Input, left time.Duration) {
	now := r.cfg.Now()
	pause := now.Truncate(r.cfg.Gather).Add(r.cfg.Gather).Sub(now)
	renewed, ok := in.(*input.TokenRenewed)
	switch {
	case pause > left/4:
		r.report(ctx, in)
	case ok:
		r.reportGroup(ctx, renewed, pause)
	default:
		wait(ctx, pause)
		r.report(ctx, in)
	}
}

func (r *Renewer) reportGroup(ctx context.Context, in *input.TokenRenewed, pause time.Duration) {
	g, opened := r.groups.join(in)
	if !opened {
		<-g.reported
		return
	}
	defer close(g.reported)
	wait(ctx, pause)
	r.groups.leave(g)
	r.report(ctx, &g.in)
}
