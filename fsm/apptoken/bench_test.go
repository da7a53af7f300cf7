package apptoken

import (
	"encoding/binary"
	"testing"

	"rmd/fsm/event"
)

// benchTokens is the number of tokens of a large cluster.
const benchTokens = 50_000

func benchToken(n uint32) event.AppToken {
	id := make([]byte, 120)
	binary.BigEndian.PutUint32(id[60:], n)
	return event.AppToken{Kind: KindHDFS, Service: "ha-hdfs:prod", Identifier: id, Password: id[:20],
		MaxMillis: 7 * 86_400_000}
}

func runs(uint32) bool { return true }

// large returns a ledger with a token for each of many applications.
func large(b *testing.B) *Ledger {
	l := new(Ledger)
	for n := range uint32(benchTokens) {
		apply(b, l, &event.TokensAdded{App: n + 1, Tokens: []event.AppToken{benchToken(n)}}, 1)
		apply(b, l, &event.TokenRenewed{Token: n + 1, EndMillis: 86_400_000, NextMillis: 80_000_000}, 1)
	}
	b.ResetTimer()
	return l
}

func apply(t testing.TB, l *Ledger, e event.Event, now int64) {
	t.Helper()
	if _, why := l.Apply(e, now, runs); why != "" {
		t.Fatalf("%s: %s", event.Describe(e), why)
	}
}

// BenchmarkRenewed renews tokens of 50,000, one by one.
func BenchmarkRenewed(b *testing.B) {
	l := large(b)
	for i := range b.N {
		n := uint32(i)*7919%benchTokens + 1
		apply(b, l, &event.TokenRenewed{Token: n, EndMillis: 86_400_000 + int64(i), NextMillis: 80_000_000}, 1)
	}
}

// BenchmarkLife adds an application with a new token to 50,000, ends it and cancels the token.
func BenchmarkLife(b *testing.B) {
	l := large(b)
	for i := range b.N {
		n := benchTokens + uint32(i)
		apply(b, l, &event.TokensAdded{App: n + 1, Tokens: []event.AppToken{benchToken(n)}}, 1)
		apply(b, l, &event.TokenRenewed{Token: n + 1, EndMillis: 86_400_000, NextMillis: 80_000_000}, 1)
		l.Ended(n+1, 2)
		apply(b, l, &event.TokensReleased{App: n + 1}, 3)
		apply(b, l, &event.TokenDropped{Token: n + 1}, 4)
	}
}

// BenchmarkFirst asks 50,000 tokens for the next deadline, as the leader does once a second.
func BenchmarkFirst(b *testing.B) {
	l := large(b)
	for range b.N {
		if l.FirstMillis() != 86_400_000 {
			b.Fatal("wrong")
		}
	}
}
