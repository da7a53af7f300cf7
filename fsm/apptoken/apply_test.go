package apptoken

import (
	"bytes"
	"testing"

	"rmd/fsm/event"
	"rmd/internal/codec"
)

func token(n byte) event.AppToken {
	return event.AppToken{Kind: KindHDFS, Service: "nn", Identifier: []byte{n}, Password: []byte("p"), MaxMillis: 9000}
}

// ledger returns tokens in each phase at 100: 1 is kept, of applications 1 and 2; 2 is new, of
// application 3, which waits; 3 is lost, of application 4; 4 is to be cancelled; 5 is kept, of
// application 6, which has ended. Application 7 waits for its first token.
func ledger(t testing.TB) *Ledger {
	l := new(Ledger)
	for _, e := range []event.Event{
		&event.TokensAdded{App: 1, Tokens: []event.AppToken{token(1)}},
		&event.TokensAdded{App: 2, Tokens: []event.AppToken{token(1)}},
		&event.TokenRenewed{Token: 1, EndMillis: 1000, NextMillis: 900},
		&event.TokensAdded{App: 3, Tokens: []event.AppToken{token(2)}},
		&event.TokensAdded{App: 4, Tokens: []event.AppToken{token(3)}}, &event.TokenCallFailed{Token: 3, Final: true},
		&event.TokensAdded{App: 5, Tokens: []event.AppToken{token(4)}},
		&event.TokensAdded{App: 6, Tokens: []event.AppToken{token(5)}, DelayMillis: 50},
		&event.TokenRenewed{Token: 5, EndMillis: 1000, NextMillis: 900},
		&event.TokensAdded{App: 7, Fetch: true},
	} {
		apply(t, l, e, 100)
	}
	l.Ended(5, 100)
	apply(t, l, &event.TokensReleased{App: 5}, 100)
	l.Ended(6, 100)
	if err := l.Check(runs); err != nil {
		t.Fatal(err)
	}
	return l
}

// contents returns all that a snapshot has of a ledger.
func contents(l *Ledger) []byte {
	c := codec.NewEncoder(nil)
	l.Counters(c)
	for at := range l.Records() {
		l.Code(uint32(at)+1, c)
	}
	return c.Bytes()
}

// TestRefusals has an event for every check of Apply, which must reject it and change nothing.
func TestRefusals(t *testing.T) {
	for name, e := range map[string]event.Event{
		"tokens of an application that has ended": &event.TokensAdded{App: 99, Tokens: []event.AppToken{token(9)}},
		"tokens twice":                     &event.TokensAdded{App: 1, Tokens: []event.AppToken{token(9)}},
		"no tokens":                        &event.TokensAdded{App: 8},
		"unknown token renewed":            &event.TokenRenewed{Token: 99, EndMillis: 1000, NextMillis: 900},
		"lost token renewed":               &event.TokenRenewed{Token: 3, EndMillis: 1000, NextMillis: 900},
		"token renewed that is cancelled":  &event.TokenRenewed{Token: 4, EndMillis: 1000, NextMillis: 900},
		"renewed until now":                &event.TokenRenewed{Token: 1, EndMillis: 100, NextMillis: 100},
		"next renewal after the end":       &event.TokenRenewed{Token: 1, EndMillis: 1000, NextMillis: 1001},
		"call for an unknown token":        &event.TokenCallFailed{Token: 99},
		"call for a lost token":            &event.TokenCallFailed{Token: 3},
		"token lost that is cancelled":     &event.TokenCallFailed{Token: 4, Final: true},
		"tokens of a running application":  &event.TokensReleased{App: 1},
		"tokens of an application without": &event.TokensReleased{App: 8},
		"unknown token dropped":            &event.TokenDropped{Token: 99},
		"token in use dropped":             &event.TokenDropped{Token: 1},
		"lost token in use dropped":        &event.TokenDropped{Token: 3},
		"replaced by nothing":              &event.TokensReplaced{Apps: []uint32{1}},
		"replaced for nobody":              &event.TokensReplaced{Tokens: []event.AppToken{token(9)}},
		"replaced for an ended application": &event.TokensReplaced{Apps: []uint32{1, 6},
			Tokens: []event.AppToken{token(9)}},
		"replaced for one without tokens": &event.TokensReplaced{Apps: []uint32{1, 8},
			Tokens: []event.AppToken{token(9)}},
		"replaced out of order": &event.TokensReplaced{Apps: []uint32{2, 1},
			Tokens: []event.AppToken{token(9)}},
		"replaced twice": &event.TokensReplaced{Apps: []uint32{1, 1},
			Tokens: []event.AppToken{token(9)}},
		"first token of one that needs none":   &event.TokenFetchFailed{App: 1},
		"first token of one without":           &event.TokenFetchFailed{App: 8},
		"tokens of a running application kept": &event.TokensKept{App: 1, LeaveMillis: 500},
		"kept for less time":                   &event.TokensKept{App: 6, LeaveMillis: 149},
		"kept for one without tokens":          &event.TokensKept{App: 8, LeaveMillis: 500},
		"an event of others":                   &event.TimeAdvanced{NowMillis: 7},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger(t)
			before := contents(l)
			if _, why := l.Apply(e, 100, func(app uint32) bool { return app < 99 }); why == "" {
				t.Errorf("%s is applied", event.Describe(e))
			}
			if !bytes.Equal(contents(l), before) {
				t.Error("the ledger has changed")
			}
		})
	}
}

// TestDigestTellsEffectsApart checks that events which differ in one field give different digests.
func TestDigestTellsEffectsApart(t *testing.T) {
	other := token(9)
	other.MaxMillis++
	for name, pair := range map[string][2]event.Event{
		"application": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 9, Tokens: []event.AppToken{token(9)}}},
		"token": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(8)}}},
		"latest end": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 8, Tokens: []event.AppToken{other}}},
		"configuration": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}, Conf: []byte("c")}},
		"wish": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}, Keep: true}},
		"delay": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}, DelayMillis: 1}},
		"fetch": {&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}},
			&event.TokensAdded{App: 8, Tokens: []event.AppToken{token(9)}, Fetch: true}},
		"end": {&event.TokenRenewed{Token: 1, EndMillis: 1000, NextMillis: 900},
			&event.TokenRenewed{Token: 1, EndMillis: 1001, NextMillis: 900}},
		"next renewal": {&event.TokenRenewed{Token: 1, EndMillis: 1000, NextMillis: 900},
			&event.TokenRenewed{Token: 1, EndMillis: 1000, NextMillis: 901}},
		"next try": {&event.TokenCallFailed{Token: 1, NextMillis: 200},
			&event.TokenCallFailed{Token: 1, NextMillis: 201}},
		"loss": {&event.TokenCallFailed{Token: 1, NextMillis: 200},
			&event.TokenCallFailed{Token: 1, NextMillis: 200, Final: true}},
		"fault": {&event.TokenCallFailed{Token: 1, NextMillis: 200},
			&event.TokenCallFailed{Token: 1, NextMillis: 200, Why: "w"}},
		"rejection": {&event.TokensReleased{App: 6}, &event.TokensReleased{App: 6, Rejected: true}},
		"new credentials": {&event.TokensReplaced{Apps: []uint32{1}, Tokens: []event.AppToken{token(9)}},
			&event.TokensReplaced{Apps: []uint32{1}, Tokens: []event.AppToken{token(9)}, Credentials: []byte("c")}},
		"who gets new": {&event.TokensReplaced{Apps: []uint32{1}, Tokens: []event.AppToken{token(9)}},
			&event.TokensReplaced{Apps: []uint32{1, 2}, Tokens: []event.AppToken{token(9)}}},
		"next fetch": {&event.TokenFetchFailed{App: 7, NextMillis: 200},
			&event.TokenFetchFailed{App: 7, NextMillis: 201}},
		"fault of a fetch": {&event.TokenFetchFailed{App: 7, NextMillis: 200},
			&event.TokenFetchFailed{App: 7, NextMillis: 200, Why: "w"}},
		"kept until": {&event.TokensKept{App: 6, LeaveMillis: 500}, &event.TokensKept{App: 6, LeaveMillis: 501}},
	} {
		t.Run(name, func(t *testing.T) {
			var hash [2]uint64
			var after [2][]byte
			for i, e := range pair {
				l, why := ledger(t), ""
				if hash[i], why = l.Apply(e, 100, runs); why != "" {
					t.Fatal(why)
				}
				if err := l.Check(runs); err != nil {
					t.Error(err)
				}
				after[i] = contents(l)
			}
			if hash[0] == hash[1] || bytes.Equal(after[0], after[1]) {
				t.Errorf("digests %x and %x", hash[0], hash[1])
			}
		})
	}
}

// TestRestore reads a ledger back and refuses records out of order.
func TestRestore(t *testing.T) {
	l := ledger(t)
	read := func(order ...int) (*Ledger, error) {
		back := new(Ledger)
		c := codec.NewEncoder(nil)
		l.Counters(c)
		for _, at := range order {
			l.Code(uint32(at), c)
		}
		d := codec.NewDecoder(c.Bytes())
		back.Counters(d)
		for at := range order {
			back.Code(uint32(at)+1, d)
		}
		return back, d.Err()
	}
	back, err := read(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	if err != nil || !bytes.Equal(contents(back), contents(l)) || back.Check(runs) != nil {
		t.Fatalf("%d records, %v, %v", back.Records(), err, back.Check(runs))
	}
	apply(t, back, &event.TokensAdded{App: 8, Tokens: []event.AppToken{token(2)}}, 100)
	if back.Len() != 5 {
		t.Errorf("%d tokens: an equal one is not found", back.Len())
	}
	for _, order := range [][]int{{2, 1}, {1, 1}, {6, 1}, {1, 7, 6}} {
		if _, err := read(order...); err == nil {
			t.Errorf("records %v are read", order)
		}
	}
}
