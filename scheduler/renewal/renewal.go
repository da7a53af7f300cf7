package renewal

import (
	"fmt"
	"slices"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// firstTries is how often the first renewal of a token is tried, and the call that gets the first
// token of the file system, before the application fails. A cancellation is tried as often.
const firstTries = 3

// Plan plans one input. Emit, Start and Fail are the planner's: they emit an event, start the first
// attempt of an application, and end an application that has none as failed.
type Plan struct {
	State     *state.State
	NowMillis int64
	Emit      func(e event.Event)
	Start     func(app state.AppSlot)
	Fail      func(app state.AppSlot, text string)
}

func (p Plan) ledger() *apptoken.Ledger { return &p.State.AppTokens }

// Submitted takes the tokens of a new application. It reports whether the application must wait for
// them.
func (p Plan) Submitted(seq uint32, t *input.AppTokens) (waits bool) {
	if t.Empty() {
		return false
	}
	p.Emit(&event.TokensAdded{App: seq, Tokens: tokensOf(t.List), Conf: t.Conf, Keep: t.Keep, Fetch: t.Fetch,
		DelayMillis: max(t.DelayMillis, 0)})
	return p.ledger().Waits(seq)
}

func tokensOf(list []input.AppToken) []event.AppToken {
	out := make([]event.AppToken, len(list))
	for i, t := range list {
		out[i] = event.AppToken(t)
	}
	return out
}

// Input plans an input about tokens. A result that comes too late changes nothing: the token may
// have gone since, or another leader may have made the same call.
func (p Plan) Input(in input.Input) input.Reply {
	switch in := in.(type) {
	case *input.TokenRenewed:
		p.renewed(in.Token, in.ExpiresMillis)
		for _, t := range in.Also {
			p.renewed(t.Token, t.ExpiresMillis)
		}
	case *input.TokenCallFailed:
		p.callFailed(in)
	case *input.TokenCancelled:
		if t := p.ledger().Token(in.Token); t != nil && t.Phase == apptoken.Ending {
			p.Emit(&event.TokenDropped{Token: in.Token})
		}
	case *input.TokensFetched:
		p.fetched(in)
	case *input.TokenFetchFailed:
		p.fetchFailed(in)
	}
	return in.NewReply()
}

func (p Plan) renewed(token uint32, expiresMillis int64) {
	t := p.ledger().Token(token)
	if t == nil || t.Phase != apptoken.New && t.Phase != apptoken.Kept {
		return
	}
	if expiresMillis <= p.NowMillis {
		p.failed(t, false, p.NowMillis+minuteMillis, "the service says that the token has ended; compare the clocks")
		return
	}
	p.Emit(&event.TokenRenewed{Token: token, EndMillis: expiresMillis, NextMillis: Next(p.NowMillis, expiresMillis)})
	p.start(t.Apps)
}

const minuteMillis = 60_000

// Next returns when to renew a token again that was renewed at a time and ends at another: as in
// YARN, after 90 % of the time between.
func Next(now, end int64) int64 { return end - (end-now)/10 }

// start starts those of the applications that wait no longer.
func (p Plan) start(apps []uint32) {
	for _, seq := range apps {
		slot := p.State.Apps.Find(seq)
		a := p.State.Apps.Get(slot)
		if a.AttemptState == state.AttemptNone && !a.State.Ended() && !p.ledger().Waits(seq) {
			p.Start(slot)
		}
	}
}

func (p Plan) callFailed(in *input.TokenCallFailed) {
	t := p.ledger().Token(in.Token)
	if t == nil || t.Phase == apptoken.Lost {
		return
	}
	p.failed(t, in.Final, p.NowMillis+max(in.AgainMillis, 1), in.Why)
}

// failed records a failed call. A token that is to be cancelled is given up after some tries. If
// applications wait for the token, they fail after as many.
func (p Plan) failed(t *apptoken.Token, final bool, again int64, why string) {
	last := final || t.Failures+1 >= firstTries
	if t.Phase == apptoken.Ending && last {
		p.Emit(&event.TokenDropped{Token: t.Number})
		return
	}
	waiting := p.waiting(t)
	if last && (len(waiting) > 0 || p.lostBefore(t)) {
		final = true
	}
	if t.Phase == apptoken.Kept && !final {
		again = min(again, t.EndMillis)
	}
	if final {
		again = 0
	}
	p.Emit(&event.TokenCallFailed{Token: t.Number, Final: final, NextMillis: again, Why: why})
	for _, seq := range waiting {
		if final {
			p.reject(seq, why)
		}
	}
}

// waiting returns the applications that wait for the first renewal of a token.
func (p Plan) waiting(t *apptoken.Token) (apps []uint32) {
	if t.Phase != apptoken.New {
		return nil
	}
	for _, seq := range t.Apps {
		if p.ledger().Waits(seq) {
			apps = append(apps, seq)
		}
	}
	return apps
}

// lostBefore reports whether a token was lost, and came again with an application that has gone since.
// Such a token is new although nobody waits for it, as are those of ended applications whose logs are
// collected, and those that replace others.
func (p Plan) lostBefore(t *apptoken.Token) bool {
	return t.Phase == apptoken.New && !slices.ContainsFunc(t.Apps, func(seq uint32) bool {
		h := p.ledger().Holder(seq)
		return h.Waits || h.LeaveMillis != 0 || h.Sequence != 0
	})
}

// reject fails an application that waits.
func (p Plan) reject(seq uint32, why string) {
	p.Fail(p.State.Apps.Find(seq), why)
	p.Emit(&event.TokensReleased{App: seq, Rejected: true})
}

func (p Plan) fetched(in *input.TokensFetched) {
	var apps []uint32
	if t := p.ledger().Token(in.Token); t != nil {
		apps = t.Apps
	} else if h := p.ledger().Holder(in.App.Seq); in.Token == 0 && h != nil && h.FetchMillis != 0 {
		apps = []uint32{h.App}
	}
	var running []uint32
	for _, seq := range apps {
		if p.ledger().Holder(seq).LeaveMillis == 0 {
			running = append(running, seq)
		}
	}
	if len(running) == 0 || len(in.List) == 0 {
		return
	}
	p.Emit(&event.TokensReplaced{Apps: running, Tokens: tokensOf(in.List), Credentials: in.Credentials})
	p.start(running)
}

func (p Plan) fetchFailed(in *input.TokenFetchFailed) {
	h := p.ledger().Holder(in.App.Seq)
	if h == nil || h.FetchMillis == 0 || p.State.Apps.ByID(in.App) == 0 {
		return
	}
	last := h.Failures+1 >= firstTries
	p.Emit(&event.TokenFetchFailed{App: h.App, NextMillis: p.NowMillis + max(in.AgainMillis, 1), Why: in.Why})
	if last && h.Waits {
		p.reject(h.App, in.Why)
	}
}

// Due does what is due because time has passed: tokens end, and ended applications release theirs.
func (p Plan) Due() {
	for old := range p.ledger().Tokens() { // a list that the events below do not change
		t := p.ledger().Token(old.Number)
		if t == nil || !t.Over(p.NowMillis) {
			continue
		}
		if t.Phase == apptoken.Ending {
			p.Emit(&event.TokenDropped{Token: t.Number})
			continue
		}
		p.failed(t, true, 0, lostWhy(t))
	}
	for h := range p.ledger().Holders() {
		if h.Over(p.NowMillis) && p.ledger().Holder(h.App) != nil {
			p.Emit(&event.TokensReleased{App: h.App})
		}
	}
}

func lostWhy(t *apptoken.Token) string {
	if t.Why == "" {
		return "it has reached its end"
	}
	return fmt.Sprintf("it has reached its end after %d failed renewals: %s", t.Failures, t.Why)
}

// Kept puts off the release of the tokens of ended applications whose logs a node still collects.
func (p Plan) Kept(apps []yarn.ApplicationID) {
	for _, id := range apps {
		h := p.ledger().Holder(id.Seq)
		if h == nil || h.LeaveMillis == 0 || p.State.Apps.ByID(id) == 0 {
			continue
		}
		// A node says it with every heartbeat. Once in a tenth of the delay is enough.
		if leave := p.NowMillis + h.DelayMillis; leave >= h.LeaveMillis+h.DelayMillis/10 && leave > h.LeaveMillis {
			p.Emit(&event.TokensKept{App: h.App, LeaveMillis: leave})
		}
	}
}
