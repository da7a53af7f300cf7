package renewal

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// world is a state with applications, a clock, and a planner that only knows tokens. Each rule of
// Hadoop's TestDelegationTokenRenewer is a test below.
type world struct {
	*testing.T
	st      *state.State
	now     int64
	next    uint32
	started map[uint32]bool
	failed  map[uint32]string
	calls   map[uint32]int // cancellations by token
}

const (
	second = 1000
	hour   = 3600 * second
	day    = 24 * hour
)

func newWorld(t *testing.T) *world {
	w := &world{T: t, st: state.New(), now: 1_000_000, next: 1, started: map[uint32]bool{}, failed: map[uint32]string{},
		calls: map[uint32]int{}}
	for _, e := range []event.Event{
		&event.TimeAdvanced{NowMillis: w.now},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 77, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Kinds: []string{yarn.MemoryName, yarn.VCoresName},
			Queues: []event.QueueDefinition{{Path: "root", State: yarn.QueueRunning},
				{Path: "root.a", Leaf: true, State: yarn.QueueRunning}}},
	} {
		w.emit(e)
	}
	return w
}

func (w *world) emit(e event.Event) {
	w.Helper()
	if err := w.st.Apply(e); err != nil {
		w.Fatal(err)
	}
	if err := w.st.Check(); err != nil {
		w.Fatalf("after %s: %v", event.Describe(e), err)
	}
	if d, ok := e.(*event.TokenDropped); ok {
		w.calls[d.Token]++
	}
}

func (w *world) plan() Plan {
	if w.now > w.st.Meta.NowMillis {
		w.emit(&event.TimeAdvanced{NowMillis: w.now})
	}
	return Plan{State: w.st, NowMillis: w.now, Emit: w.emit,
		Start: func(slot state.AppSlot) {
			seq := w.st.Apps.Get(slot).ID.Seq
			if w.started[seq] {
				w.Fatalf("application %d is started twice", seq)
			}
			w.started[seq] = true
			w.emit(&event.AttemptStarted{App: seq, Attempt: 1})
		},
		Fail: func(slot state.AppSlot, text string) {
			seq := w.st.Apps.Get(slot).ID.Seq
			w.failed[seq] = text
			w.emit(&event.ApplicationEnded{App: seq, State: yarn.AppFailed, Final: yarn.FinalFailed, Diagnostics: text})
		}}
}

func hdfs(n int) input.AppToken {
	return input.AppToken{Kind: apptoken.KindHDFS, Service: "nn:8020", Identifier: []byte{byte(n)},
		Password: []byte("secret"), MaxMillis: 1_000_000 + 7*day}
}

// submit submits an application and returns its number. It starts unless it waits.
func (w *world) submit(t input.AppTokens) uint32 {
	seq := w.next
	w.next++
	w.emit(&event.ApplicationSubmitted{App: seq, User: "ann", Queue: "root.a", Name: "a", MaxAttempts: 1})
	if p := w.plan(); !p.Submitted(seq, &t) {
		p.Start(w.st.Apps.Find(seq))
	}
	return seq
}

func (w *world) tokens(list ...input.AppToken) uint32 {
	return w.submit(input.AppTokens{List: list, DelayMillis: 0})
}

func (w *world) do(in input.Input) { w.plan().Input(in) }

func (w *world) renew(token uint32, lasts int64) {
	w.do(&input.TokenRenewed{Token: token, ExpiresMillis: w.now + lasts})
}

func (w *world) fail(token uint32, final bool) {
	w.do(&input.TokenCallFailed{Token: token, Final: final, AgainMillis: 10 * second,
		Why: "Failed to renew token: Kind: x: refused"})
}

// end ends an application as an operator does.
func (w *world) end(seq uint32) {
	w.plan()
	if w.started[seq] {
		w.emit(&event.AttemptEnded{App: seq, Final: yarn.FinalKilled})
	}
	w.emit(&event.ApplicationEnded{App: seq, State: yarn.AppKilled})
}

// pass lets time pass, and does what is due then.
func (w *world) pass(millis int64) {
	w.now += millis
	if w.st.AppTokens.FirstMillis() <= w.now {
		w.plan().Due()
	}
	if first := w.st.AppTokens.FirstMillis(); first <= w.now {
		w.Fatalf("something of %d is still due at %d", first, w.now)
	}
}

func (w *world) phase(token uint32) string {
	if t := w.st.AppTokens.Token(token); t != nil {
		return t.Phase.String()
	}
	return "gone"
}

func (w *world) want(token uint32, phase string) {
	w.Helper()
	if got := w.phase(token); got != phase {
		w.Fatalf("token %d is %s, want %s", token, got, phase)
	}
}

// TestDTRenewal, TestDTKeepAlive…: an application waits for its tokens, starts when all are renewed,
// and each is renewed again after 90 % of its time.
func TestStartsWhenAllTokensAreRenewed(t *testing.T) {
	w := newWorld(t)
	app := w.tokens(hdfs(1), hdfs(2), hdfs(3))
	w.renew(1, day)
	w.renew(2, day)
	if w.started[app] {
		t.Fatal("it starts before its third token is renewed")
	}
	w.renew(3, 2*day)
	if !w.started[app] || w.st.AppTokens.Token(1).NextMillis != w.now+day*9/10 ||
		w.st.AppTokens.Token(3).NextMillis != w.now+2*day*9/10 {
		t.Fatalf("started %v, next %d", w.started[app], w.st.AppTokens.Token(1).NextMillis)
	}
	w.pass(day * 9 / 10)
	w.renew(1, day)
	if n := w.st.AppTokens.Token(1); n.EndMillis != w.now+day || n.NextMillis != w.now+day*9/10 {
		t.Errorf("renewed again: %+v", n)
	}
}

// TestInvalidDTWithAddApplication, testAppSubmissionWithInvalidDelegationToken: a final fault fails
// the application with YARN's text, and its other tokens are not cancelled.
func TestInvalidTokenFailsTheApplication(t *testing.T) {
	w := newWorld(t)
	app := w.tokens(hdfs(1), hdfs(2))
	w.renew(1, day)
	w.fail(2, true)
	if !strings.HasPrefix(w.failed[app], "Failed to renew token: Kind: ") || w.started[app] {
		t.Fatalf("it fails with %q", w.failed[app])
	}
	w.want(1, "gone")
	w.want(2, "gone")
	if len(w.calls) != 0 || w.st.AppTokens.Records() > 1 {
		t.Errorf("cancelled %v, %d records", w.calls, w.st.AppTokens.Records())
	}
}

// testDTRenewalWithTimeout, …: three tries, then the application fails.
func TestThreeTriesAtSubmission(t *testing.T) {
	w := newWorld(t)
	app := w.tokens(hdfs(1))
	for range firstTries - 1 {
		w.fail(1, false)
		if w.failed[app] != "" {
			t.Fatal("it fails too early")
		}
		if n := w.st.AppTokens.Token(1).NextMillis; n != w.now+10*second {
			t.Fatalf("next try at %d", n)
		}
		w.pass(10 * second)
	}
	w.fail(1, false)
	if w.failed[app] == "" {
		t.Fatal("it waits for ever")
	}
	w.want(1, "gone")
}

// testMultipleAppsWithSameDT, testCancelWithMultipleAppSubmissions: one record for equal tokens,
// cancelled once, after the last application.
func TestSharedTokenIsCancelledAfterTheLast(t *testing.T) {
	w := newWorld(t)
	a := w.tokens(hdfs(1))
	b := w.tokens(hdfs(1))
	if w.started[a] || w.started[b] || w.st.AppTokens.Len() != 1 {
		t.Fatal("one record, for which both wait")
	}
	w.renew(1, day)
	c := w.tokens(hdfs(1))
	if !w.started[a] || !w.started[b] || !w.started[c] {
		t.Fatal("all start: the token is renewed")
	}
	w.end(a)
	w.end(c)
	w.pass(1)
	w.want(1, "kept")
	w.end(b)
	w.pass(1)
	w.want(1, "ending")
	w.do(&input.TokenCancelled{Token: 1})
	w.do(&input.TokenCancelled{Token: 1}) // of another leader
	w.want(1, "gone")
	if w.calls[1] != 1 {
		t.Errorf("cancelled %d times", w.calls[1])
	}
}

// testDTRenewalWithNoCancel, testDTNoCancel…: no cancellation if one user asked for none.
func TestNoCancellation(t *testing.T) {
	for _, first := range []bool{true, false} {
		w := newWorld(t)
		a := w.submit(input.AppTokens{List: []input.AppToken{hdfs(1)}, Keep: first})
		b := w.submit(input.AppTokens{List: []input.AppToken{hdfs(1)}, Keep: !first})
		w.renew(1, day)
		w.end(a)
		w.end(b)
		w.pass(1)
		w.want(1, "gone")
	}
}

// testDTKeepAlive1, testDTKeepAlive2: tokens stay after the end while nodes collect logs, and longer
// if a node says so.
func TestKeptForLogs(t *testing.T) {
	w := newWorld(t)
	app := w.submit(input.AppTokens{List: []input.AppToken{hdfs(1)}, DelayMillis: 600 * second})
	w.renew(1, day)
	w.end(app)
	w.pass(500 * second)
	id := yarn.ApplicationID{ClusterTimestamp: 77, Seq: app}
	w.plan().Kept([]yarn.ApplicationID{id, {ClusterTimestamp: 77, Seq: 99}})
	w.pass(599 * second)
	w.want(1, "kept")
	w.pass(2 * second)
	w.want(1, "ending")
}

// A renewal that fails is tried again until the token's own end. YARN forgets the token.
func TestRetriesUntilTheEnd(t *testing.T) {
	w := newWorld(t)
	app := w.tokens(hdfs(1))
	w.renew(1, hour)
	w.pass(hour * 9 / 10)
	for range 20 {
		w.fail(1, false)
		w.want(1, "kept")
		if n := w.st.AppTokens.Token(1); n.NextMillis > n.EndMillis {
			t.Fatalf("next at %d, after the end %d", n.NextMillis, n.EndMillis)
		}
		w.pass(10 * second)
	}
	w.renew(1, hour)
	if n := w.st.AppTokens.Token(1); n.Failures != 0 || n.Why != "" {
		t.Errorf("after a success: %+v", n)
	}
	w.fail(1, false)
	w.pass(hour)
	w.want(1, "lost")
	if n := w.st.AppTokens.Token(1); !strings.Contains(n.Why, "after 1 failed renewals") {
		t.Errorf("lost: %q", n.Why)
	}
	w.renew(1, hour) // a result that comes too late
	w.want(1, "lost")
	w.end(app)
	w.pass(1)
	w.want(1, "gone")
}

func TestFinalFaultLosesTheToken(t *testing.T) {
	w := newWorld(t)
	a := w.tokens(hdfs(1))
	w.renew(1, day)
	w.fail(1, true)
	w.want(1, "lost")
	if w.failed[a] != "" {
		t.Fatal("a running application goes on")
	}
	b := w.tokens(hdfs(1)) // it may be good again, as in YARN, which forgets it
	w.want(1, "new")
	w.renew(1, day)
	if !w.started[b] {
		t.Error("it waits for ever")
	}
}

// A token that was lost is lost again if the application that brought it again has gone.
func TestLostTokenOfAnApplicationThatHasGone(t *testing.T) {
	w := newWorld(t)
	w.tokens(hdfs(1))
	w.renew(1, day)
	w.fail(1, true)
	b := w.tokens(hdfs(1))
	w.end(b)
	w.pass(1)
	for range firstTries {
		w.want(1, "new")
		w.fail(1, false)
	}
	w.want(1, "lost")
}

// testReplaceExpiringDelegationToken, testAppTokenWithNonRenewer…: the old tokens of the file system
// go without a cancellation, others stay, and nodes learn the new ones by a higher number.
func TestReplacement(t *testing.T) {
	w := newWorld(t)
	kms := input.AppToken{Kind: "kms-dt", Service: "kms:1", Identifier: []byte{9}, Password: []byte{9}}
	a, b := w.tokens(hdfs(1), kms), w.tokens(hdfs(1))
	w.renew(1, day)
	w.renew(2, day)
	w.do(&input.TokensFetched{Token: 1, List: []input.AppToken{hdfs(7)}, Credentials: []byte("HDTS")})
	w.want(1, "gone")
	w.want(2, "kept")
	w.want(3, "new")
	if l := &w.st.AppTokens; l.Sequence() != 1 || !slices.Equal(l.Token(3).Apps, []uint32{a, b}) ||
		string(l.Holder(b).Credentials) != "HDTS" || l.Holder(a).Sequence != 1 {
		t.Fatalf("replaced: sequence %d, %+v", l.Sequence(), l.Holder(b))
	}
	for range 5 {
		w.fail(3, false) // nobody waits, so it is tried again
	}
	w.want(3, "new")
	w.renew(3, day)
	w.want(3, "kept")
}

// testAppSubmissionWithoutDelegationToken: with proxy privileges an application without a token of
// the file system gets one before it starts.
func TestFirstTokenOfTheFileSystem(t *testing.T) {
	w := newWorld(t)
	app := w.submit(input.AppTokens{Fetch: true})
	id := yarn.ApplicationID{ClusterTimestamp: 77, Seq: app}
	w.do(&input.TokenFetchFailed{App: id, AgainMillis: second, Why: "no"})
	w.do(&input.TokensFetched{App: id, List: []input.AppToken{hdfs(1)}, Credentials: []byte("HDTS")})
	if w.started[app] {
		t.Fatal("it starts before the new token is renewed")
	}
	w.renew(1, day)
	if !w.started[app] {
		t.Fatal("it waits for ever")
	}
	other := w.submit(input.AppTokens{Fetch: true})
	for range firstTries {
		w.do(&input.TokenFetchFailed{App: yarn.ApplicationID{ClusterTimestamp: 77, Seq: other},
			AgainMillis: second, Why: "no"})
	}
	if w.failed[other] != "no" {
		t.Errorf("it fails with %q", w.failed[other])
	}
}

// testCancelWithRunningFailed…: a cancellation that fails is tried three times.
func TestCancellationIsGivenUp(t *testing.T) {
	w := newWorld(t)
	for n := range uint32(2) {
		app := w.tokens(hdfs(int(n)))
		w.renew(n+1, day)
		w.end(app)
		w.pass(1)
	}
	w.fail(1, true)
	w.want(1, "gone")
	for range firstTries {
		w.want(2, "ending")
		w.fail(2, false)
	}
	w.want(2, "gone")
}

func TestTokenInUseAgainBeforeItIsCancelled(t *testing.T) {
	w := newWorld(t)
	a := w.tokens(hdfs(1))
	w.renew(1, day)
	w.end(a)
	w.pass(1)
	b := w.tokens(hdfs(1))
	w.do(&input.TokenCancelled{Token: 1}) // the call was on its way
	w.want(1, "new")
	w.fail(1, true)
	if w.failed[b] == "" {
		t.Error("it starts with a token that was cancelled")
	}
}

func TestKilledWhileItWaits(t *testing.T) {
	w := newWorld(t)
	a := w.tokens(hdfs(1))
	w.end(a)
	w.renew(1, day)
	if w.started[a] {
		t.Fatal("it starts after its end")
	}
	w.pass(1)
	w.want(1, "ending")
}

func TestMaximumInThePast(t *testing.T) {
	w := newWorld(t)
	old := hdfs(1)
	old.MaxMillis = w.now - 1
	app := w.tokens(old, hdfs(2))
	w.pass(0)
	if !strings.Contains(w.failed[app], "reached its end") {
		t.Errorf("it fails with %q", w.failed[app])
	}
	w.want(2, "gone")
}

// TestRenewalThatGainsNothing: the clocks of the service and of the cluster differ.
func TestClockBehind(t *testing.T) {
	w := newWorld(t)
	w.tokens(hdfs(1))
	w.do(&input.TokenRenewed{Token: 1, ExpiresMillis: w.now})
	if n := w.st.AppTokens.Token(1); n.Phase != apptoken.New || !strings.Contains(n.Why, "clocks") {
		t.Errorf("%+v", n)
	}
}

// TestRenewalsOfManyTokens: one report has the renewals of many tokens, some of which have gone since.
func TestRenewalsOfManyTokens(t *testing.T) {
	w := newWorld(t)
	w.tokens(hdfs(1), hdfs(2), hdfs(3))
	w.do(&input.TokenRenewed{Token: 1, ExpiresMillis: w.now + hour, Also: []input.TokenRenewal{
		{Token: 2, ExpiresMillis: w.now + 2*hour}, {Token: 9, ExpiresMillis: w.now + hour}, {Token: 3, ExpiresMillis: w.now}}})
	for token, end := range map[uint32]int64{1: w.now + hour, 2: w.now + 2*hour, 3: 0} {
		if got := w.st.AppTokens.Token(token); got.EndMillis != end || (got.Phase == apptoken.Kept) != (end > 0) {
			t.Errorf("token %d is %s and ends at %d, want %d", token, got.Phase, got.EndMillis, end)
		}
	}
}

// TestRandomLives compares random lives of tokens with what must always hold.
func TestRandomLives(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomLife(t, seed) })
	}
}
