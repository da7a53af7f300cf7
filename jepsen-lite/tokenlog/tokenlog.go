// Package tokenlog judges what a log says about the tokens of applications. It follows the events
// from the first one on, knows the rules from the documentation, and shares no code with those who
// write the events.
package tokenlog

import (
	"fmt"
	"slices"

	"rmd/fsm/event"
)

// hdfs is the kind of tokens that are replaced.
const hdfs = "HDFS_DELEGATION_TOKEN"

// lateMost is how late the result of a call may be that was made before the end of its token: there
// may have been no leader meanwhile.
const lateMost = 30_000

// Judge follows a log. Its zero value is before the first entry.
type Judge struct {
	now    int64
	last   uint32
	tokens map[uint32]*token
	apps   map[uint32]*app
	wrong  []string
	Counts Counts
}

// Counts counts what the judge has seen.
type Counts struct{ Added, Renewed, Failed, Lost, Replaced, Cancelled int }

type token struct {
	event.AppToken
	users   []uint32
	keep    bool // an application asked not to cancel it
	renewed bool
	lost    bool
	end     int64
}

// ending reports whether nobody uses the token, so that it is to be cancelled.
func (t *token) ending() bool { return len(t.users) == 0 }

type app struct {
	tokens  []uint32
	ended   bool
	fetches bool
	ready   bool  // all its tokens were renewed once: it may start, also when one is lost since
	leaves  int64 // when its tokens may be released
	delay   int64
}

// Batch follows the events of a log entry. It returns what is wrong with them.
func (j *Judge) Batch(events []event.Event) (wrong []string) {
	if j.tokens == nil {
		j.tokens, j.apps = map[uint32]*token{}, map[uint32]*app{}
	}
	for _, e := range events {
		j.follow(e)
	}
	wrong, j.wrong = j.wrong, nil
	return wrong
}

func (j *Judge) follow(e event.Event) {
	switch e := e.(type) {
	case *event.TimeAdvanced:
		j.now = e.NowMillis
	case *event.AttemptStarted:
		if e.Attempt == 1 { // later ones begin with the tokens that there are
			j.starts(e.App)
		}
	case *event.ApplicationEnded:
		if a := j.apps[e.App]; a != nil {
			a.ended, a.fetches, a.leaves = true, false, j.now+a.delay
		}
	case *event.ApplicationForgotten:
		if j.apps[e.App] != nil {
			j.violate("application %d is forgotten with its tokens", e.App)
		}
	case *event.TokensAdded:
		j.added(e)
	case *event.TokenRenewed:
		j.renewed(e)
	case *event.TokenCallFailed:
		j.failed(e)
	case *event.TokensReleased:
		j.released(e)
	case *event.TokenDropped:
		j.dropped(e.Token)
	case *event.TokensReplaced:
		j.replaced(e)
	case *event.TokenFetchFailed:
		if a := j.apps[e.App]; a == nil || !a.fetches {
			j.violate("application %d needs no token of the file system", e.App)
		}
	case *event.TokensKept:
		j.kept(e)
	}
}

func (j *Judge) violate(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

// starts checks that an application that starts has all its tokens, and each was renewed.
func (j *Judge) starts(seq uint32) {
	a := j.apps[seq]
	if a == nil || a.ready {
		return
	}
	if a.fetches {
		j.violate("application %d starts without a token of the file system", seq)
	}
	for _, n := range a.tokens {
		if t := j.tokens[n]; !t.renewed && !t.lost {
			j.violate("application %d starts before token %d is renewed", seq, n)
		}
	}
}

func (j *Judge) added(e *event.TokensAdded) {
	if j.apps[e.App] != nil {
		j.violate("application %d gets tokens twice", e.App)
	}
	j.Counts.Added++
	defer j.markReady(e.App)
	a := &app{fetches: e.Fetch, delay: e.DelayMillis}
	j.apps[e.App] = a
	for _, t := range e.Tokens {
		j.use(a, e.App, t, e.Keep)
	}
}

// use gives an application a token, which others may have.
func (j *Judge) use(a *app, seq uint32, of event.AppToken, keep bool) {
	n, t := j.find(of)
	if t == nil {
		j.last++
		n, t = j.last, &token{AppToken: of}
		j.tokens[n] = t
	}
	if slices.Contains(t.users, seq) {
		return
	}
	if t.ending() || t.lost {
		t.renewed, t.lost, t.end = false, false, 0
	}
	t.users, t.keep = append(t.users, seq), t.keep || keep
	a.tokens = append(a.tokens, n)
}

// find returns the token that equals another one. There is at most one.
func (j *Judge) find(of event.AppToken) (uint32, *token) {
	for n, t := range j.tokens {
		if t.Kind == of.Kind && t.Service == of.Service && string(t.Identifier) == string(of.Identifier) &&
			string(t.Password) == string(of.Password) {
			return n, t
		}
	}
	return 0, nil
}

// usable returns a token that a call may concern.
func (j *Judge) usable(n uint32, what string) *token {
	t := j.tokens[n]
	switch {
	case t == nil:
		j.violate("token %d is %s, and there is none", n, what)
	case t.lost:
		j.violate("token %d is %s after it was lost", n, what)
	default:
		return t
	}
	return nil
}

func (j *Judge) renewed(e *event.TokenRenewed) {
	t := j.usable(e.Token, "renewed")
	if t == nil {
		return
	}
	switch {
	case t.ending():
		j.violate("token %d is renewed after its last application", e.Token)
	case t.renewed && j.now > t.end+lateMost:
		j.violate("token %d is renewed at %d, after its end %d", e.Token, j.now, t.end)
	case e.EndMillis <= j.now:
		j.violate("token %d is renewed at %d until %d", e.Token, j.now, e.EndMillis)
	case e.NextMillis < j.now+(e.EndMillis-j.now)/2 || e.NextMillis > e.EndMillis-(e.EndMillis-j.now)/11:
		j.violate("token %d, renewed at %d until %d, is renewed again at %d", e.Token, j.now, e.EndMillis, e.NextMillis)
	}
	t.renewed, t.end = true, e.EndMillis
	j.Counts.Renewed++
	for _, seq := range t.users {
		j.markReady(seq)
	}
}

// markReady makes an application ready if it has all its tokens, and each was renewed.
func (j *Judge) markReady(seq uint32) {
	a := j.apps[seq]
	a.ready = a.ready || !a.fetches && !slices.ContainsFunc(a.tokens, func(n uint32) bool { return !j.tokens[n].renewed })
}

func (j *Judge) failed(e *event.TokenCallFailed) {
	t := j.usable(e.Token, "called for")
	if t == nil {
		return
	}
	j.Counts.Failed++
	switch {
	case e.Final && t.ending():
		j.violate("token %d is lost and has no application", e.Token)
	case e.Final:
		t.lost = true
		j.Counts.Lost++
	case t.renewed && !t.ending() && e.NextMillis > t.end:
		j.violate("token %d ends at %d and is tried again at %d, after the end", e.Token, t.end, e.NextMillis)
	}
}

func (j *Judge) released(e *event.TokensReleased) {
	a := j.apps[e.App]
	switch {
	case a == nil:
		j.violate("application %d releases tokens and has none", e.App)
		return
	case !a.ended:
		j.violate("application %d releases its tokens and has not ended", e.App)
	case !e.Rejected && j.now < a.leaves:
		j.violate("application %d releases its tokens at %d, before %d", e.App, j.now, a.leaves)
	}
	for _, n := range a.tokens {
		j.leave(n, e.App, e.Rejected)
	}
	delete(j.apps, e.App)
}

// leave takes an application from a token, which is removed if it is not to be cancelled.
func (j *Judge) leave(n, seq uint32, rejected bool) {
	t := j.tokens[n]
	t.users = slices.DeleteFunc(t.users, func(s uint32) bool { return s == seq })
	if t.ending() && (rejected || t.keep || t.lost) {
		delete(j.tokens, n)
	}
}

// dropped checks that a token is cancelled, or given up, once and after its last application.
func (j *Judge) dropped(n uint32) {
	t := j.tokens[n]
	switch {
	case t == nil:
		j.violate("token %d is cancelled, and there is none", n)
		return
	case !t.ending():
		j.violate("token %d is cancelled while applications %v use it", n, t.users)
	}
	delete(j.tokens, n)
	j.Counts.Cancelled++
}

func (j *Judge) replaced(e *event.TokensReplaced) {
	j.Counts.Replaced++
	for _, seq := range e.Apps {
		a := j.apps[seq]
		if a == nil || a.ended {
			j.violate("application %d gets new tokens, and has ended or holds none", seq)
			continue
		}
		old, keep := a.tokens, false
		a.tokens, a.fetches = nil, false
		for _, n := range old {
			if t := j.tokens[n]; t.Kind == hdfs {
				keep = keep || t.keep
				j.leave(n, seq, true)
			} else {
				a.tokens = append(a.tokens, n)
			}
		}
		for _, t := range e.Tokens {
			j.use(a, seq, t, keep)
		}
	}
}

func (j *Judge) kept(e *event.TokensKept) {
	a := j.apps[e.App]
	if a == nil || !a.ended || e.LeaveMillis < a.leaves {
		j.violate("application %d keeps its tokens until %d, and has not ended or keeps them longer", e.App, e.LeaveMillis)
		return
	}
	a.leaves = e.LeaveMillis
}

// Overdue returns what should have happened some time ago: a token that has ended is lost or
// dropped, and an ended application releases its tokens.
func (j *Judge) Overdue(millis int64) (out []string) {
	for n, t := range j.tokens {
		if t.renewed && !t.lost && t.end+millis < j.now {
			out = append(out, fmt.Sprintf("token %d has ended at %d, and nothing says so", n, t.end))
		}
	}
	for seq, a := range j.apps {
		if a.ended && a.leaves+millis < j.now {
			out = append(out, fmt.Sprintf("application %d has its tokens, and should have released them at %d", seq, a.leaves))
		}
	}
	slices.Sort(out)
	return out
}
