package renewer

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// hadoopCase is a case of Hadoop's TestDelegationTokenRenewer. It is played by the product's own
// planner and renewer in simulated time, or it is elsewhere. differs is the row of
// docs/design/differences-from-yarn.md that says what rmd does otherwise.
type hadoopCase struct {
	differs   string
	elsewhere string
	site      []string // keys of yarn-site.xml and their values
	play      func(c *cluster)
}

var (
	logs    = []string{"yarn.log-aggregation-enable", "true", "yarn.nm.liveness-monitor.expiry-interval-ms", "600000"}
	proxied = []string{"yarn.resourcemanager.proxy-user-privileges.enabled", "true"}
)

// hadoopCases are all cases, by Hadoop's names.
var hadoopCases = map[string]hadoopCase{
	"testDTRenewal": {play: renewsAndCancels},
	"testAppRejectionWithCancelledDelegationToken": {play: rejectsCancelled},
	"testAppTokenWithNonRenewer":                   {play: skipsWithoutRenewer},
	"testDTRenewalWithNoCancel":                    {play: doesNotCancel},
	"testDTKeepAlive1":                             {site: logs, play: keepsForLogs},
	"testDTKeepAlive2":                             {site: logs, play: keepsWhileNodesCollect},
	"testDTRonAppSubmission":                       {play: failsAfterThreeTries, differs: "renewal at submission"},
	"testConcurrentAddApplication":                 {play: startsBesideSlowCalls},
	"testAppSubmissionWithInvalidDelegationToken":  {play: refusesUnreadable, differs: "text of unreadable tokens"},
	"testReplaceExpiringDelegationToken":           {site: proxied, play: replacesBeforeTheEnd, differs: "replacement"},
	"testRMRestartWithExpiredToken": {site: proxied, play: replacesAfterFailover,
		differs: "token that has ended without a leader"},
	"testAppSubmissionWithoutDelegationToken": {site: proxied, play: fetchesFirst, differs: "first token"},
	"testAppSubmissionWithPreviousToken":      {play: oneWishToKeep, differs: "no cancellation"},
	"testFSLeakInObtainSystemTokensForUser": {
		elsewhere: "rmd makes calls and has no cache of file systems that could leak"},
	"testCancelWithMultipleAppSubmissions":      {play: cancelsAfterTheLast},
	"testRenewTokenUsingTokenConfProvidedByApp": {play: usesTheConfOfTheApp},
	"testTokensConfExceedLimit": {
		elsewhere: "transport/hadoop/client/submit_test.go: \"token configuration\""},
	"testTokenRenewerInvalidReturn":              {play: noEndInThePast, differs: "unusable end"},
	"testShutDown":                               {play: endsWithoutLeader},
	"testTokenSequenceNoAfterNewTokenAndRenewal": {site: proxied, play: countsReplacements},
	"testTokenThreadTimeout":                     {play: hangingCalls, differs: "renewal at submission"},
	"testTokenThreadTimeoutWithoutDelay":         {play: oneCallIfItSucceeds},
}

// TestHadoopsCases plays each case of Hadoop's TestDelegationTokenRenewer.
func TestHadoopsCases(t *testing.T) {
	differences, err := os.ReadFile("../../../docs/design/differences-from-yarn.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range hadoopCases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(string(differences), "\n| "+k.differs) {
				t.Errorf("no row %q", k.differs)
			}
			if k.play == nil {
				t.Skip(k.elsewhere)
			}
			play(t, k.site, k.play)
		})
	}
}

func renewsAndCancels(c *cluster) {
	short, b, d := c.nn.issue("ann", "yarn", time.Hour, 7*day), c.nn.issue("bob", "yarn", day, 7*day),
		c.nn.issue("cid", "yarn", day, 7*day)
	app := c.submit(submission{tokens: []token.Token{short, b, d}})
	c.starts(app, true)
	c.renewals(3)
	c.pass(55 * time.Minute)
	c.renewals(4)
	if last := c.nn.renewals[3]; last != string(short.Identifier) {
		c.Errorf("%s is renewed", last)
	}
	other := c.nn.issue("dan", "yarn", time.Hour, 7*day)
	second := c.submit(submission{tokens: []token.Token{other}})
	c.renewals(5)
	c.end(second)
	c.cancelled(other, true)
	c.pass(20 * time.Minute)
	c.renewals(5)
	c.cancelled(short, false)
}

func rejectsCancelled(c *cluster) {
	k := c.nn.issue("ann", "yarn", day, 7*day)
	c.nn.issued[string(k.Identifier)].cancelled = 1
	if why := c.starts(c.submit(submission{tokens: []token.Token{k}}), false); !strings.HasPrefix(why,
		"Failed to renew token: Kind: HDFS_DELEGATION_TOKEN, Service: nn:8020, Ident: (") ||
		!strings.HasSuffix(why, errFinal.Error()) {
		c.Errorf("it fails with %q", why)
	}
	c.renewals(1)
}

func skipsWithoutRenewer(c *cluster) {
	k := c.nn.issue("ann", "", day, 7*day)
	c.nn.issued[string(k.Identifier)].cancelled = 1
	c.starts(c.submit(submission{tokens: []token.Token{k}}), true)
	c.renewals(0)
}

func doesNotCancel(c *cluster) {
	k := c.nn.issue("ann", "yarn", time.Hour, 7*day)
	app := c.submit(submission{tokens: []token.Token{k}, keep: true})
	c.end(app)
	c.pass(2 * time.Hour)
	c.renewals(1)
	c.cancelled(k, false)
}

func keepsForLogs(c *cluster) {
	k := c.nn.issue("ann", "yarn", day, 7*day)
	app := c.submit(submission{tokens: []token.Token{k}})
	c.starts(app, true)
	c.end(app)
	c.pass(600*time.Second - 2*tickEvery)
	c.cancelled(k, false)
	c.pass(2 * tickEvery)
	c.cancelled(k, true)
}

func keepsWhileNodesCollect(c *cluster) {
	k := c.nn.issue("ann", "yarn", day, 7*day)
	app := c.submit(submission{tokens: []token.Token{k}})
	c.end(app)
	c.pass(300 * time.Second)
	c.heartbeat(app)
	c.pass(590 * time.Second)
	c.cancelled(k, false)
	c.pass(2 * tickEvery)
	c.cancelled(k, true)
}

func failsAfterThreeTries(c *cluster) {
	c.change(func(n *nameNode) { n.fault = errBusy })
	app := c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 7*day)}})
	if why := c.starts(app, false); why != "" {
		c.Errorf("it fails at once: %q", why)
	}
	c.pass(time.Minute)
	if why := c.starts(app, false); !strings.HasPrefix(why, "Failed to renew token: Kind: ") ||
		!strings.HasSuffix(why, errBusy.Error()) {
		c.Errorf("it fails with %q", why)
	}
	c.renewals(3)
}

func startsBesideSlowCalls(c *cluster) {
	c.change(func(n *nameNode) { n.slow = 10 * time.Second })
	slow := c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 7*day)}})
	c.change(func(n *nameNode) { n.slow = 0 })
	quick := c.submit(submission{tokens: []token.Token{c.nn.issue("bob", "yarn", day, 7*day)}})
	c.starts(slow, false)
	c.starts(quick, true)
	c.pass(10 * time.Second)
	c.starts(slow, true)
}

func refusesUnreadable(c *cluster) {
	_,
		err := c.policy.Of(&proto.ApplicationSubmissionContextProto{
		AmContainerSpec: &proto.ContainerLaunchContextProto{Tokens: []byte("BOGUS")}})
	if !errors.Is(err, token.ErrMalformed) || !strings.Contains(err.Error(), "without their heading") {
		c.Error(err)
	}
}

// holds returns the identifiers of the new tokens that nodes get for an application.
func holds(c *cluster, app yarn.ApplicationID) (ids []string) {
	c.Helper()
	h := c.Fork().AppTokens.Holder(app.Seq)
	if h == nil || h.Credentials == nil {
		return nil
	}
	list, err := token.ReadCredentials(h.Credentials)
	if err != nil {
		c.Fatal(err)
	}
	for _, k := range list.Tokens {
		ids = append(ids, string(k.Identifier))
	}
	return ids
}

func replacesBeforeTheEnd(c *cluster) {
	old := c.nn.issue("ann", "yarn", day, 2*time.Hour)
	app := c.submit(submission{tokens: []token.Token{old}})
	c.starts(app, true)
	c.pass(time.Hour)
	if got := holds(c, app); got != nil {
		c.Errorf("replaced too early by %q", got)
	}
	c.pass(50 * time.Minute)
	if got := holds(c, app); len(got) != 1 || !strings.HasPrefix(got[0], "2@nn:8020/ann/yarn/") || c.phases() != "kept" {
		c.Errorf("nodes get %q, and the tokens are %s", got, c.phases())
	}
	c.cancelled(old, false)
	c.pass(5 * day)
	c.starts(app, true)
	if c.phases() != "kept" {
		c.Errorf("five days later the tokens are %s", c.phases())
	}
}

func replacesAfterFailover(c *cluster) {
	app := c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 2*time.Hour)}})
	c.failover(time.Minute)
	c.pass(time.Minute)
	c.renewals(1) // nothing was due
	c.failover(110 * time.Minute)
	c.pass(time.Minute)
	if got := holds(c, app); len(got) != 1 || c.phases() != "kept" {
		c.Errorf("nodes get %q, and the tokens are %s", got, c.phases())
	}
}

func fetchesFirst(c *cluster) {
	app := c.submit(submission{})
	c.pass(time.Second)
	c.starts(app, true)
	if got := holds(c, app); len(got) != 1 || c.phases() != "kept" {
		c.Errorf("nodes get %q, and the tokens are %s", got, c.phases())
	}
	c.renewals(1)
}

func oneWishToKeep(c *cluster) {
	k := c.nn.issue("ann", "yarn", day, 7*day)
	first, second := c.submit(submission{tokens: []token.Token{k}, keep: true}),
		c.submit(submission{tokens: []token.Token{k}})
	c.starts(second, true)
	c.renewals(1)
	c.end(second)
	if c.phases() != "kept" {
		c.Errorf("the token is %s", c.phases())
	}
	c.end(first)
	c.cancelled(k, false)
	if c.phases() != "" {
		c.Errorf("the token is %s", c.phases())
	}
}

func cancelsAfterTheLast(c *cluster) {
	k := c.nn.issue("ann", "yarn", day, 7*day)
	with := submission{tokens: []token.Token{k}}
	first, second := c.submit(with), c.submit(with)
	c.end(second)
	third := c.submit(with)
	c.starts(third, true)
	c.end(first)
	c.cancelled(k, false)
	c.pass(23 * time.Hour)
	c.renewals(2) // at the first submission, and in time
	c.end(third)
	c.cancelled(k, true)
	if c.phases() != "" {
		c.Errorf("the token is %s", c.phases())
	}
}

func usesTheConfOfTheApp(c *cluster) {
	c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 7*day)}, conf: "dfs.nameservices"})
	c.pass(23 * time.Hour)
	c.renewals(2)
	for _, conf := range c.nn.confs {
		if conf != "dfs.nameservices" {
			c.Errorf("renewed with %q", conf)
		}
	}
}

func noEndInThePast(c *cluster) {
	for _, back := range []time.Duration{0, time.Millisecond, day} {
		before := len(c.nn.renewals)
		c.change(func(n *nameNode) { n.returns = func() time.Time { return time.Now().Add(-back) } })
		app := c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 7*day)}})
		c.starts(app, false)
		c.change(func(n *nameNode) { n.returns = nil })
		c.pass(time.Minute)
		c.starts(app, true)
		c.renewals(before + 2)
	}
}

func endsWithoutLeader(c *cluster) {
	k := c.nn.issue("ann", "yarn", day, 7*day)
	app := c.submit(submission{tokens: []token.Token{k}})
	c.stop()
	c.do(&input.KillApplication{ID: app, User: "ann"})
	c.cancelled(k, false)
	c.failover(time.Minute)
	c.pass(time.Minute)
	c.cancelled(k, true)
}

func countsReplacements(c *cluster) {
	app := c.submit(submission{})
	c.pass(time.Second)
	if n := c.Fork().AppTokens.Sequence(); n != 1 {
		c.Errorf("sequence number %d after the first token", n)
	}
	c.pass(7 * day)
	c.starts(app, true)
	if n := c.Fork().AppTokens.Sequence(); n != 2 {
		c.Errorf("sequence number %d after a replacement", n)
	}
}

func hangingCalls(c *cluster) {
	c.change(func(n *nameNode) { n.slow = time.Hour })
	app := c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 7*day)}})
	c.pass(45 * time.Second)
	if why := c.starts(app, false); why != "" {
		c.Errorf("it fails too early: %q", why)
	}
	c.pass(20 * time.Second)
	if why := c.starts(app, false); !strings.Contains(why, "deadline exceeded") {
		c.Errorf("it fails with %q", why)
	}
	c.renewals(3)
}

func oneCallIfItSucceeds(c *cluster) {
	c.starts(c.submit(submission{tokens: []token.Token{c.nn.issue("ann", "yarn", day, 7*day)}}), true)
	c.pass(time.Hour)
	c.renewals(1)
}
