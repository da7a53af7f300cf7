package apptoken

import (
	"cmp"
	"fmt"
	"slices"

	"rmd/fsm/event"
)

// Kinds are the events that Apply applies.
var Kinds = []event.Kind{event.KindTokensAdded, event.KindTokenRenewed, event.KindTokenCallFailed,
	event.KindTokensReleased,
	event.KindTokenDropped, event.KindTokensReplaced, event.KindTokenFetchFailed, event.KindTokensKept}

// writer applies one event to a copy of the ledger and remembers what it writes, for the digest.
type writer struct {
	l       Ledger
	now     int64
	tokens  []*Token
	holders []*Holder
}

// Apply applies an event at a time. It returns a hash of all that the event has changed, or why the
// event does not fit; then the ledger is as before. exists says whether there is an application that
// has not ended.
func (l *Ledger) Apply(e event.Event, now int64, runs func(app uint32) bool) (hash uint64, why string) {
	w := writer{l: *l, now: now}
	if why := w.apply(e, runs); why != "" {
		return 0, why
	}
	*l = w.l
	return digest(e, w.tokens, w.holders) ^ uint64(l.last)<<32 ^ l.sequence, ""
}

func (w *writer) apply(e event.Event, runs func(app uint32) bool) string {
	switch e := e.(type) {
	case *event.TokensAdded:
		if !runs(e.App) || w.l.Holder(e.App) != nil || len(e.Tokens) == 0 && !e.Fetch {
			return "there is no such application, it has tokens, or there are none"
		}
		return w.added(e)
	case *event.TokenRenewed:
		return w.renewed(e)
	case *event.TokenCallFailed:
		return w.callFailed(e)
	case *event.TokensReleased:
		return w.released(e)
	case *event.TokenDropped:
		t := w.l.Token(e.Token)
		if t == nil || t.Phase != Ending {
			return "there is no such token to cancel"
		}
		w.l.drop(t)
	case *event.TokensReplaced:
		return w.replace(e)
	case *event.TokenFetchFailed:
		return w.fetchFailed(e)
	case *event.TokensKept:
		h := w.l.Holder(e.App)
		if h == nil || h.LeaveMillis == 0 || e.LeaveMillis < h.LeaveMillis {
			return "no such application has ended with tokens, or they are kept longer"
		}
		w.holder(h, func(h *Holder) { h.LeaveMillis = e.LeaveMillis })
	default:
		return "it does not concern tokens"
	}
	return ""
}

// token replaces a token by a changed copy.
func (w *writer) token(t *Token, change func(t *Token)) {
	next := *t
	change(&next)
	w.tokens = append(w.tokens, &next)
	w.l.tokens.put(&next)
}

// holder replaces a holder by a changed copy.
func (w *writer) holder(h *Holder, change func(h *Holder)) {
	next := *h
	change(&next)
	w.holders = append(w.holders, &next)
	w.l.hold(&next)
}

func (w *writer) added(e *event.TokensAdded) string {
	h := &Holder{App: e.App, DelayMillis: e.DelayMillis}
	if e.Fetch {
		h.FetchMillis = w.now
	}
	for i := range e.Tokens {
		w.enter(h, &e.Tokens[i], e.Conf, e.Keep)
	}
	h.Waits = !w.l.Ready(h)
	w.holders = append(w.holders, h)
	w.l.hold(h)
	return ""
}

// enter gives a holder a token, which may be one that others have. A token that was lost, or that
// was to be cancelled, is renewed again.
func (w *writer) enter(h *Holder, of *event.AppToken, conf []byte, keep bool) {
	t := w.l.equalTo(contentOf(of.Kind, of.Service, of.Identifier, of.Password))
	if t == nil {
		w.l.last++
		t = &Token{Number: w.l.last, Kind: of.Kind, Service: of.Service, Identifier: of.Identifier,
			Password: of.Password, Conf: conf,
			MaxMillis: of.MaxMillis, Apps: []uint32{h.App}, Keep: keep, NextMillis: w.now}
		h.Tokens = append(h.Tokens, t.Number)
		w.tokens = append(w.tokens, t)
		w.l.add(t)
		return
	}
	if slices.Contains(h.Tokens, t.Number) {
		return
	}
	h.Tokens = with(h.Tokens, t.Number)
	w.token(t, func(t *Token) {
		t.Apps, t.Keep = with(t.Apps, h.App), t.Keep || keep
		if t.Phase == Lost || t.Phase == Ending {
			t.Phase, t.NextMillis, t.EndMillis, t.Failures, t.Why = New, w.now, 0, 0, ""
		}
	})
}

// with returns a copy of a sorted list with one more number.
func with(list []uint32, n uint32) []uint32 {
	at, _ := slices.BinarySearch(list, n)
	return slices.Insert(slices.Clone(list), at, n)
}

// without returns a copy of a list without a number.
func without(list []uint32, n uint32) []uint32 {
	return slices.DeleteFunc(slices.Clone(list), func(m uint32) bool { return m == n })
}

func (w *writer) renewed(e *event.TokenRenewed) string {
	t := w.l.Token(e.Token)
	if t == nil || t.Phase != New && t.Phase != Kept || e.EndMillis <= w.now || e.NextMillis > e.EndMillis {
		return fmt.Sprintf("there is no such token to renew, or it does not end after %d", w.now)
	}
	w.token(t, func(t *Token) {
		t.Phase, t.EndMillis, t.NextMillis, t.Failures, t.Why = Kept, e.EndMillis, e.NextMillis, 0, ""
	})
	w.letStart(t.Apps)
	return ""
}

// letStart lets applications start that have all that they wait for.
func (w *writer) letStart(apps []uint32) {
	for _, app := range apps {
		if h := w.l.Holder(app); h.Waits && w.l.Ready(h) {
			w.holder(h, func(h *Holder) { h.Waits = false })
		}
	}
}

func (w *writer) callFailed(e *event.TokenCallFailed) string {
	t := w.l.Token(e.Token)
	if t == nil || t.Phase == Lost || e.Final && t.Phase == Ending {
		return "there is no such token, or nothing is to be done with it"
	}
	w.token(t, func(t *Token) {
		t.Failures, t.Why, t.NextMillis = t.Failures+1, e.Why, e.NextMillis
		if e.Final {
			t.Phase, t.NextMillis = Lost, 0
		}
	})
	return ""
}

func (w *writer) released(e *event.TokensReleased) string {
	h := w.l.Holder(e.App)
	if h == nil || h.LeaveMillis == 0 {
		return "no such application has ended with tokens"
	}
	for _, n := range h.Tokens {
		w.leave(w.l.Token(n), h.App, !e.Rejected)
	}
	w.l.unhold(h)
	return ""
}

// giveUpMillis is how long a token that was never renewed waits for its cancellation.
const giveUpMillis = 24 * 60 * 60 * 1000

// leave takes an application from a token. A token without one is cancelled, or else removed.
func (w *writer) leave(t *Token, app uint32, cancel bool) {
	if len(t.Apps) == 1 && (!cancel || t.Keep || t.Phase == Lost) {
		w.l.drop(t)
		return
	}
	w.token(t, func(t *Token) {
		if t.Apps = without(t.Apps, app); len(t.Apps) == 0 {
			t.Apps, t.Phase, t.NextMillis, t.Failures, t.Why = nil, Ending, w.now, 0, ""
			t.EndMillis = cmp.Or(t.EndMillis, w.now+giveUpMillis)
		}
	})
}

func (w *writer) replace(e *event.TokensReplaced) string {
	if len(e.Tokens) == 0 || len(e.Apps) == 0 {
		return "there are no new tokens, or no applications"
	}
	for i, app := range e.Apps {
		if h := w.l.Holder(app); h == nil || h.LeaveMillis != 0 || i > 0 && e.Apps[i-1] >= app {
			return fmt.Sprintf("application %d holds no tokens, has ended, or is out of order", app)
		}
	}
	w.l.sequence++
	for _, app := range e.Apps {
		h, keep := *w.l.Holder(app), false
		old := h.Tokens
		h.Tokens = nil
		for _, n := range old {
			t := w.l.Token(n)
			if t.Kind != KindHDFS {
				h.Tokens = append(h.Tokens, n)
				continue
			}
			keep = keep || t.Keep
			w.leave(t, app, false)
		}
		h.FetchMillis, h.Failures, h.Why, h.Sequence, h.Credentials = 0, 0, "", w.l.sequence, e.Credentials
		for i := range e.Tokens {
			w.enter(&h, &e.Tokens[i], nil, keep)
		}
		w.holders = append(w.holders, &h)
		w.l.hold(&h)
	}
	w.letStart(e.Apps)
	return ""
}

func (w *writer) fetchFailed(e *event.TokenFetchFailed) string {
	h := w.l.Holder(e.App)
	if h == nil || h.FetchMillis == 0 {
		return "no such application needs a token of the file system"
	}
	w.holder(h, func(h *Holder) { h.FetchMillis, h.Failures, h.Why = e.NextMillis, h.Failures+1, e.Why })
	return ""
}

// Ended notes that an application has ended at a time. Its tokens are released after its delay.
func (l *Ledger) Ended(app uint32, now int64) {
	h := l.Holder(app)
	if h == nil {
		return
	}
	next := *h
	next.Waits, next.FetchMillis, next.LeaveMillis = false, 0, now+h.DelayMillis
	l.hold(&next)
}
