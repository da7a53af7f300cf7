package planner

import (
	"strings"
	"testing"

	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// TestExplainTokens checks that an application is warned of a token that is not renewed, hours before
// the token ends, and learns which token it has lost.
func TestExplainTokens(t *testing.T) {
	const hour = 3_600_000
	q := newQuiet(t)
	most := q.now + 48*hour
	q.do(&input.SubmitApplication{Queue: "a", User: "ann", Unmanaged: true, Tokens: input.AppTokens{List: []input.AppToken{
		{Kind: "HDFS_DELEGATION_TOKEN", Service: "ha-hdfs:prod", Password: []byte("secret"), MaxMillis: most},
		{Kind: "kms-dt", Service: "kms:1", Password: []byte("secret")}}}})
	says := func(want ...string) {
		t.Helper()
		list := must(explain.Application(q.p.sched, yarn.ApplicationID{ClusterTimestamp: 77, Seq: 1})).Tokens
		if len(list) != len(want) {
			t.Fatalf("%d tokens, want %d: %+v", len(list), len(want), list)
		}
		for i, k := range list {
			if k.Text != want[i] || strings.Contains(k.Text, "secret") || k.Lost != strings.Contains(k.Text, "lost") {
				t.Errorf("%+v, want %q", k, want[i])
			}
		}
	}
	says() // it waits for them, and that is another text
	q.do(&input.TokenRenewed{Token: 1, ExpiresMillis: q.now + 24*hour})
	q.do(&input.TokenRenewed{Token: 2, ExpiresMillis: q.now + 24*hour})
	says()
	q.do(&input.TokenCallFailed{Token: 1, AgainMillis: 10_000, Why: "connection refused"})
	says("its HDFS_DELEGATION_TOKEN for ha-hdfs:prod ends in 1440 min and is not renewed (1 failed tries: connection refused)")
	q.do(&input.TokenRenewed{Token: 1, ExpiresMillis: most})
	says()
	q.do(&input.TokenCallFailed{Token: 2, Final: true, Why: "no longer valid"})
	says("its kms-dt for kms:1 is lost: no longer valid")
	q.until(most - 2*hour)
	q.do(&input.SubmitApplication{Queue: "a", User: "bob", Unmanaged: true}) // only events move the state's clock
	says("its HDFS_DELEGATION_TOKEN for ha-hdfs:prod ends in 120 min: its service renews it no longer",
		"its kms-dt for kms:1 is lost: no longer valid")
	q.until(most + 1000)
	says("its HDFS_DELEGATION_TOKEN for ha-hdfs:prod is lost: it has reached its end",
		"its kms-dt for kms:1 is lost: no longer valid")
}
