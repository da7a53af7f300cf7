package tokenlog

import (
	"strings"
	"testing"

	"rmd/fsm/event"
)

func tok(n byte) event.AppToken {
	return event.AppToken{Kind: hdfs, Service: "nn", Identifier: []byte{n}, Password: []byte("p")}
}

func at(ms int64) event.Event { return &event.TimeAdvanced{NowMillis: ms} }

func add(app uint32, tokens ...event.AppToken) event.Event {
	return &event.TokensAdded{App: app, Tokens: tokens, DelayMillis: 10}
}

func renew(n uint32, end, next int64) event.Event {
	return &event.TokenRenewed{Token: n, EndMillis: end, NextMillis: next}
}

func end(app uint32) event.Event { return &event.ApplicationEnded{App: app} }

// TestJudge has a log for each rule: one that keeps it, and one that breaks it.
func TestJudge(t *testing.T) {
	lost := &event.TokenCallFailed{Token: 1, Final: true}
	for name, c := range map[string]struct {
		log   []event.Event
		wrong string
	}{
		"life": {log: []event.Event{add(1, tok(1)), renew(1, 1000, 900), &event.AttemptStarted{App: 1, Attempt: 1}, at(900),
			renew(1, 1900, 1800), end(1), at(910),
			&event.TokensReleased{App: 1}, &event.TokenDropped{Token: 1}, &event.ApplicationForgotten{App: 1}}},
		"shared": {log: []event.Event{add(1, tok(1)), add(2, tok(1)), renew(1, 1000, 900), end(1), at(10),
			&event.TokensReleased{App: 1}, renew(1, 1010, 910), end(2), at(20),
			&event.TokensReleased{App: 2}, &event.TokenDropped{Token: 1}}},
		"replaced": {log: []event.Event{add(1, tok(1)), renew(1, 1000, 900),
			&event.TokensReplaced{Apps: []uint32{1}, Tokens: []event.AppToken{tok(2)}}, renew(2, 1000, 900)}},
		"second attempt": {log: []event.Event{add(1, tok(1)), renew(1, 1000, 900), &event.AttemptStarted{App: 1, Attempt: 1},
			&event.TokensReplaced{Apps: []uint32{1}, Tokens: []event.AppToken{tok(2)}},
			&event.AttemptStarted{App: 1, Attempt: 2}}},
		"kept": {log: []event.Event{add(1, tok(1)), end(1), at(10), &event.TokensKept{App: 1, LeaveMillis: 20}, at(20),
			&event.TokensReleased{App: 1}}},
		"again": {log: []event.Event{add(1, tok(1)), renew(1, 1000, 900), lost, add(2, tok(1)), renew(1, 1000, 900),
			&event.AttemptStarted{App: 2, Attempt: 1}}},

		"starts early": {[]event.Event{add(1, tok(1), tok(2)), renew(1, 1000, 900),
			&event.AttemptStarted{App: 1, Attempt: 1}}, "starts before token 2 is renewed"},
		"starts without": {[]event.Event{&event.TokensAdded{App: 1, Fetch: true},
			&event.AttemptStarted{App: 1, Attempt: 1}}, "without a token of the file system"},
		"added twice": {[]event.Event{add(1, tok(1)), add(1, tok(2))}, "gets tokens twice"},
		"renewed after the end": {[]event.Event{add(1, tok(1)), renew(1, 1000, 900), at(1001 + lateMost),
			renew(1, 60_000, 59_000)}, "after its end 1000"},
		"renewed after the last": {[]event.Event{add(1, tok(1)), end(1), at(10), &event.TokensReleased{App: 1},
			renew(1, 1000, 900)}, "after its last application"},
		"renewed and lost":  {[]event.Event{add(1, tok(1)), lost, renew(1, 1000, 900)}, "after it was lost"},
		"renewed and ended": {[]event.Event{add(1, tok(1)), at(5), renew(1, 5, 5)}, "is renewed at 5 until 5"},
		"next too late":     {[]event.Event{add(1, tok(1)), renew(1, 1000, 950)}, "renewed again at 950"},
		"next too early":    {[]event.Event{add(1, tok(1)), renew(1, 1000, 400)}, "renewed again at 400"},
		"no such token":     {[]event.Event{renew(7, 1000, 900)}, "there is none"},
		"tried after the end": {[]event.Event{add(1, tok(1)), renew(1, 1000, 900),
			&event.TokenCallFailed{Token: 1, NextMillis: 1001}}, "after the end"},
		"lost without a user": {[]event.Event{add(1, tok(1)), end(1), at(10), &event.TokensReleased{App: 1}, lost},
			"has no application"},
		"cancelled in use": {[]event.Event{add(1, tok(1)), renew(1, 1000, 900), &event.TokenDropped{Token: 1}},
			"while applications [1] use it"},
		"cancelled twice": {[]event.Event{add(1, tok(1)), end(1), at(10), &event.TokensReleased{App: 1},
			&event.TokenDropped{Token: 1}, &event.TokenDropped{Token: 1}}, "is cancelled, and there is none"},
		"cancelled against a wish": {[]event.Event{&event.TokensAdded{App: 1, Tokens: []event.AppToken{tok(1)}, Keep: true},
			end(1), &event.TokensReleased{App: 1}, &event.TokenDropped{Token: 1}}, "is cancelled, and there is none"},
		"released early":         {[]event.Event{add(1, tok(1)), end(1), at(9), &event.TokensReleased{App: 1}}, "before 10"},
		"released while it runs": {[]event.Event{add(1, tok(1)), &event.TokensReleased{App: 1}}, "has not ended"},
		"released twice": {[]event.Event{add(1, tok(1)), end(1), at(10), &event.TokensReleased{App: 1},
			&event.TokensReleased{App: 1}}, "has none"},
		"replaced after the end": {[]event.Event{add(1, tok(1)), end(1),
			&event.TokensReplaced{Apps: []uint32{1}, Tokens: []event.AppToken{tok(2)}}}, "has ended or holds none"},
		"kept while it runs":  {[]event.Event{add(1, tok(1)), &event.TokensKept{App: 1, LeaveMillis: 20}}, "has not ended"},
		"fetches for nothing": {[]event.Event{add(1, tok(1)), &event.TokenFetchFailed{App: 1}}, "needs no token"},
		"forgotten with tokens": {[]event.Event{add(1, tok(1)), end(1), &event.ApplicationForgotten{App: 1}},
			"is forgotten with its tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(new(Judge).Batch(c.log), "\n")
			if (c.wrong == "") != (got == "") || !strings.Contains(got, c.wrong) {
				t.Errorf("the judge says %q, want %q", got, c.wrong)
			}
		})
	}
}

func TestOverdue(t *testing.T) {
	j := new(Judge)
	j.Batch([]event.Event{add(1, tok(1)), add(2, tok(2)), renew(1, 1000, 900), end(2), at(1200)})
	if late := j.Overdue(300); len(late) != 1 || !strings.Contains(late[0], "application 2") {
		t.Errorf("late are %q", late)
	}
	if late := j.Overdue(100); len(late) != 2 || !strings.Contains(late[1], "token 1 has ended at 1000") {
		t.Errorf("late are %q", late)
	}
}
