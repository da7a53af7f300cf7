package renewer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/apptoken"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/input"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

var (
	errFinal = errors.New("no longer valid")
	errBusy  = errors.New("connection refused")
)

// world is a cluster with one application, and services that answer as a test wants. A result of a
// renewal or cancellation becomes an event at once.
type world struct {
	*testing.T
	r *Renewer

	mu      sync.Mutex
	st      *state.State
	now     time.Time
	busy    map[string]int // calls in progress by service
	renewed map[string]int // calls by identifier
	most    int            // calls at a time
	fault   error
	fetched []token.Token
	inputs  []input.Input
	// prepared has the preparations by service.
	prepared map[string]int
	changed  chan struct{} // has an element after a change
	hold     chan struct{} // if it is not nil, calls wait for it
}

func newWorld(t *testing.T, tokens ...event.AppToken) *world {
	w := &world{T: t, st: state.New(), now: time.UnixMilli(1_000_000), busy: map[string]int{}, renewed: map[string]int{},
		prepared: map[string]int{}, changed: make(chan struct{}, 1)}
	for _, e := range []event.Event{
		&event.TimeAdvanced{NowMillis: w.now.UnixMilli()},
		&event.ClusterInitialized{ClusterID: "c", ClusterTimestamp: 77, Level: event.Level},
		&event.QueuesConfigured{Version: 1, Kinds: []string{yarn.MemoryName, yarn.VCoresName},
			Queues: []event.QueueDefinition{{Path: "root", State: yarn.QueueRunning},
				{Path: "root.a", Leaf: true, State: yarn.QueueRunning}}},
		&event.ApplicationSubmitted{App: 1, User: "ann", Queue: "root.a", MaxAttempts: 1},
		&event.TokensAdded{App: 1, Tokens: tokens, Fetch: len(tokens) == 0},
	} {
		w.apply(e)
	}
	c := Config{Logger: hclog.NewNullLogger(), Submitter: w, Reader: w, Services: w, Final: func(err error) bool {
		return errors.Is(err, errFinal)
	},
		Policy: Policy{ThreadsMax: 3, Timeout: time.Minute, Remaining: 3 * time.Hour,
			Identify: func(token.Token) (token.Delegation, error) {
				return token.Delegation{Owner: "ann", Renewer: "yarn", Sequence: 7}, nil
			}}}
	c.Defaults()
	c.Pause, c.Now = time.Millisecond, func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }
	var err error
	if w.r, err = New(c); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) apply(e event.Event) {
	if err := w.st.Apply(e); err != nil {
		w.Error(err)
	}
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func hdfs(n int) event.AppToken {
	return event.AppToken{Kind: apptoken.KindHDFS, Service: fmt.Sprint("nn", n%2), Identifier: fmt.Append(nil, n),
		Password: []byte("secret"), MaxMillis: 1_000_000_000}
}

func (w *world) Fork() *state.State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.st.Fork()
}
func (w *world) Current(context.Context) error { return nil }

// WatchTokens returns a watch that signals all that happens meanwhile by one element.
func (w *world) WatchTokens() (Watch, error) { return watch(w.changed), nil }

type watch chan struct{}

func (watch) Close() {}

func (c watch) Next(ctx context.Context) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) Do(_ context.Context, req input.Request) (input.Reply, uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs = append(w.inputs, req.Input)
	switch in := req.Input.(type) {
	case *input.TokenRenewed:
		w.apply(&event.TokenRenewed{Token: in.Token, EndMillis: in.ExpiresMillis, NextMillis: in.ExpiresMillis - 1})
		for _, t := range in.Also {
			w.apply(&event.TokenRenewed{Token: t.Token, EndMillis: t.ExpiresMillis, NextMillis: t.ExpiresMillis - 1})
		}
	case *input.TokenCallFailed:
		w.apply(&event.TokenCallFailed{Token: in.Token, Final: in.Final,
			NextMillis: w.now.UnixMilli() + in.AgainMillis, Why: in.Why})
	case *input.TokensFetched:
		list := []event.AppToken{event.AppToken(in.List[0])}
		w.apply(&event.TokensReplaced{Apps: []uint32{1}, Tokens: list, Credentials: in.Credentials})
	}
	return req.Input.NewReply(), 0, nil
}

func (w *world) Renew(ctx context.Context, t token.Token, _ []byte) (time.Time, error) {
	w.mu.Lock()
	id := string(t.Identifier)
	w.busy[id]++
	w.renewed[id]++
	if w.busy[id] > 1 {
		w.Errorf("token %s is renewed twice at a time", id)
	}
	total := 0
	for _, n := range w.busy {
		total += n
	}
	w.most = max(w.most, total)
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy[id]--
	return w.now.Add(time.Hour), w.fault
}

func (w *world) Cancel(context.Context, token.Token, []byte) error { return nil }

func (w *world) Prepare(_ context.Context, t token.Token, _ []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepared[t.Service]++
	return w.fault
}

func (w *world) Fetch(_ context.Context, user string) ([]token.Token, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if user != "ann" || w.fetched == nil {
		return nil, errBusy
	}
	return w.fetched, nil
}

// lead leads until the condition holds, which it must.
func (w *world) lead(until func() bool) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.r.Lead(ctx) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		ok := until()
		w.mu.Unlock()
		if ok {
			break
		}
		if time.Now().After(deadline) {
			w.Error("it does not come")
			break
		}
	}
	cancel()
	<-done
}

func (w *world) phases() (out string) {
	for t := range w.st.AppTokens.Tokens() {
		out += t.Phase.String() + " "
	}
	return out
}

func TestRenewsAFewAtATimeAndEachOnce(t *testing.T) {
	var all []event.AppToken
	for n := range 8 {
		all = append(all, hdfs(n))
	}
	w := newWorld(t, all...)
	w.hold = make(chan struct{})
	w.lead(func() bool { return len(w.renewed) == 3 })
	close(w.hold)
	w.lead(func() bool { return w.phases() == "kept kept kept kept kept kept kept kept " })
	if w.most > 3 {
		t.Errorf("%d calls at a time", w.most)
	}
}

// TestRenewalsAreReportedTogether: the next renewals of many tokens, for which nobody waits, are a few
// inputs. They do not keep others from being called.
func TestRenewalsAreReportedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // how many gather depends on the time
		var all []event.AppToken
		for n := range 100 {
			all = append(all, hdfs(n))
		}
		w := newWorld(t, all...)
		w.r.cfg.PerSecond = 1000
		renewed := func(times int) func() bool {
			return func() bool {
				n := 0
				for token := range w.st.AppTokens.Tokens() {
					if token.EndMillis == w.now.Add(time.Hour).UnixMilli() && w.renewed[string(token.Identifier)] == times {
						n++
					}
				}
				return n == len(all)
			}
		}
		w.lead(renewed(1))
		if n := len(w.inputs); n != len(all) {
			t.Errorf("%d reports while the application waits, want one for each of %d tokens", n, len(all))
		}
		w.now, w.inputs = w.now.Add(50*time.Minute), nil
		for token := range w.st.AppTokens.Tokens() {
			w.apply(&event.TokenRenewed{Token: token.Number, EndMillis: token.EndMillis, NextMillis: w.now.UnixMilli()})
		}
		w.lead(renewed(2))
		if n := len(w.inputs); n > len(all)/5 {
			t.Errorf("%d reports of %d renewals", n, len(all))
		}
	})
}

// TestResultAfterTheForkOfALook: a call whose result is reported while a look has an older state is not
// made again.
func TestResultAfterTheForkOfALook(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.hold = make(chan struct{})
	w.r.look(t.Context())
	w.r.cfg.Reader = outdated{w, func() {
		close(w.hold)
		w.r.wg.Wait()
	}}
	w.r.look(t.Context())
	w.r.wg.Wait()
	if got := w.phases(); got != "kept " || w.renewed["1"] != 1 {
		t.Errorf("the token is %s, renewed %d times, want once", got, w.renewed["1"])
	}
}

// outdated is a world of which something happens after each fork.
type outdated struct {
	*world
	happens func()
}

func (o outdated) Fork() *state.State {
	defer o.happens()
	return o.world.Fork()
}

// TestNothingAfterTheLeadership: a call that ends with the leadership reports nothing, and the next
// leader makes it again.
func TestNothingAfterTheLeadership(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.hold = make(chan struct{})
	w.lead(func() bool { return w.renewed["1"] == 1 })
	if len(w.inputs) != 0 {
		t.Fatalf("reported %v", w.inputs)
	}
	close(w.hold)
	w.lead(func() bool { return w.phases() == "kept " })
}

func TestFaults(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.fault = errBusy
	w.lead(func() bool { return len(w.inputs) == 1 })
	in := w.inputs[0].(*input.TokenCallFailed)
	if in.Final || in.AgainMillis < 4000 || in.AgainMillis > 8000 ||
		in.Why != "Failed to renew token: Kind: HDFS_DELEGATION_TOKEN, Service: nn1, Ident: (HDFS_DELEGATION_TOKEN token 7 for ann with renewer yarn): connection refused" {
		t.Errorf("%+v", in)
	}
	w.now, w.fault = w.now.Add(time.Minute), fmt.Errorf("renew: %w", errFinal)
	w.lead(func() bool { return len(w.inputs) == 2 })
	if in := w.inputs[1].(*input.TokenCallFailed); !in.Final {
		t.Errorf("%+v", in)
	}
}

// TestTriesFitInTheTimeLeft: a token that ends soon is tried more often than the back-off says.
func TestTriesFitInTheTimeLeft(t *testing.T) {
	w := newWorld(t, hdfs(1))
	for _, c := range []struct {
		left        time.Duration
		failures    uint32
		least, most time.Duration
	}{
		{time.Hour, 0, 8 * time.Second, 12 * time.Second},
		{6 * time.Second, 0, 1200 * time.Millisecond, 1800 * time.Millisecond},
		{6 * time.Second, 9, 1200 * time.Millisecond, 1800 * time.Millisecond},
		{time.Second, 0, 800 * time.Millisecond, 1200 * time.Millisecond},
		{time.Hour, 9, 8 * time.Minute, 12 * time.Minute},
	} {
		one := apptoken.Token{Phase: apptoken.Kept, EndMillis: w.now.Add(c.left).UnixMilli()}
		if d := w.r.again(c.failures, false, w.r.leftOf(&one)); d < c.least || d > c.most {
			t.Errorf("%v before the end, after %d failures: again in %v", c.left, c.failures, d)
		}
	}
}

// TestIdentifierIsNotShown: the text about a token is in diagnostics and in REST.
func TestIdentifierIsNotShown(t *testing.T) {
	p := Policy{Identify: identify}
	if got := p.describe(token.Token{Kind: "kms-dt", Service: "kms:1",
		Identifier: []byte("bytes")}); got != "Kind: kms-dt, Service: kms:1, Ident: (unknown)" {
		t.Error(got)
	}
}

func TestRateOfAService(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.r.cfg.Policy.ThreadsMax = 1000
	begun := func(service string) (n int) {
		for range 100 {
			at := len(w.r.calls)
			w.r.begin(key{token: uint32(1000 + at)}, service, w.now, func() func() { <-w.hold; return nil })
			n += len(w.r.calls) - at
		}
		return n
	}
	w.hold = make(chan struct{})
	if n := begun("nn"); n < 20 || n > 21 {
		t.Errorf("%d calls at once", n)
	}
	if n := begun("other"); n < 20 {
		t.Errorf("%d calls to another", n)
	}
	w.now = w.now.Add(100 * time.Millisecond)
	if n := begun("nn"); n < 1 || n > 3 {
		t.Errorf("%d calls in the next tenth of a second", n)
	}
	close(w.hold)
	w.r.wg.Wait()
}

func TestReplacesBeforeTheLatestEnd(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.r.cfg.Policy.Replace = true
	w.apply(&event.TokenRenewed{Token: 1, EndMillis: 999_999_000, NextMillis: 999_000_000})
	w.now = time.UnixMilli(999_000_001)
	w.fetched = []token.Token{{Alias: "nn", Kind: apptoken.KindHDFS, Service: "nn1", Identifier: []byte("new"),
		Password: []byte("secret")}}
	w.lead(func() bool { return w.st.AppTokens.Sequence() == 1 && w.phases() == "kept " })
	c, err := token.ReadCredentials(w.st.AppTokens.Holder(1).Credentials)
	if err != nil || len(c.Tokens) != 1 || string(c.Tokens[0].Identifier) != "new" {
		t.Errorf("credentials %+v, %v", c, err)
	}
}

// TestReplacesALostToken: with proxy privileges, an application whose token has ended gets a new one as
// soon as the file system gives one.
func TestReplacesALostToken(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.r.cfg.Policy.Replace = true
	w.apply(&event.TokenCallFailed{Token: 1, Final: true, Why: "it has reached its end"})
	w.lead(func() bool { return w.r.setback(1).failures == 1 })
	if again := w.r.setback(1).again.Sub(w.now); again < 8*time.Second || again > 12*time.Second {
		t.Errorf("again in %v", again)
	}
	w.fetched = []token.Token{{Alias: "nn", Kind: apptoken.KindHDFS, Service: "nn1", Identifier: []byte("new"),
		Password: []byte("secret")}}
	w.lead(func() bool { return w.st.AppTokens.Sequence() == 1 && w.phases() == "kept " })
}

// TestLostTokenOfAnEndedApplication is not replaced.
func TestLostTokenOfAnEndedApplication(t *testing.T) {
	w := newWorld(t, hdfs(1))
	w.apply(&event.TokenCallFailed{Token: 1, Final: true})
	one := w.st.AppTokens.Token(1)
	if !needed(w.st, one) {
		t.Error("the token of a running application is not needed")
	}
	w.st.AppTokens.Ended(1, w.now.UnixMilli())
	if needed(w.st, one) {
		t.Error("the token of an ended application is needed")
	}
}

func (r *Renewer) setback(token uint32) setback {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost[token]
}

func TestNoCallThatIsOfNoUse(t *testing.T) {
	w := newWorld(t, hdfs(1))
	for _, c := range []struct {
		token apptoken.Token
		want  bool
	}{
		{apptoken.Token{Phase: apptoken.New}, true},
		{apptoken.Token{Phase: apptoken.Kept, EndMillis: 2_000_000}, true},
		{apptoken.Token{Phase: apptoken.Kept, EndMillis: 2_000_000, MaxMillis: 2_000_000}, false},
		{apptoken.Token{Phase: apptoken.Kept, EndMillis: 1_000_000}, false},
		{apptoken.Token{Phase: apptoken.Lost}, false},
		{apptoken.Token{Phase: apptoken.Ending}, true},
	} {
		if got := w.r.callable(&c.token, w.now); got != c.want {
			t.Errorf("%s with end %d and %d: %v", c.token.Phase, c.token.EndMillis, c.token.MaxMillis, got)
		}
	}
}

func TestFirstTokenOfTheFileSystem(t *testing.T) {
	w := newWorld(t)
	w.lead(func() bool { return len(w.inputs) > 0 })
	if in := w.inputs[0].(*input.TokenFetchFailed); in.App.Seq != 1 ||
		in.Why != "Failed to get a token of the file system: connection refused" {
		t.Errorf("%+v", in)
	}
}

func TestPolicy(t *testing.T) {
	conf := new(hadoopconf.Config)
	p, err := PolicyOf(conf)
	if err != nil || p.ThreadsMax != 50 || p.Timeout != time.Minute || p.Remaining != 3*time.Hour || p.Delay != 0 ||
		p.Replace || p.AlwaysCancel {
		t.Errorf("defaults: %+v, %v", p, err)
	}
	p.Managed = func(kind string) bool { return kind != "HBASE_AUTH_TOKEN" }
	p.Own = func(k token.Token) bool { return string(k.Password) == "own" }
	p.Identify = func(k token.Token) (token.Delegation, error) {
		return token.Delegation{Renewer: string(k.Identifier), MaxMillis: 5}, nil
	}
	c := &token.Credentials{Tokens: []token.Token{
		{Alias: "a", Kind: apptoken.KindHDFS, Service: "nn", Identifier: []byte("yarn"), Password: []byte("p")},
		{Alias: "b", Kind: apptoken.KindHDFS, Service: "other"}, // without a renewer
		{Alias: "c", Kind: "HBASE_AUTH_TOKEN", Identifier: []byte("yarn")},
		{Alias: "d", Kind: apptoken.KindRM, Identifier: []byte("yarn"), Password: []byte("of another")},
		{Alias: "e", Kind: apptoken.KindRM, Identifier: []byte("yarn"), Password: []byte("own")}}}
	no := false
	sub := &proto.ApplicationSubmissionContextProto{CancelTokensWhenComplete: &no,
		AmContainerSpec: &proto.ContainerLaunchContextProto{Tokens: c.Bytes(), TokensConf: []byte("conf")}}
	got, err := p.Of(sub)
	if err != nil || len(got.List) != 2 || got.List[0].MaxMillis != 5 || got.List[1].Kind != apptoken.KindRM ||
		!got.Keep || got.Fetch || string(got.Conf) != "conf" {
		t.Errorf("%+v, %v", got, err)
	}
	p.AlwaysCancel, p.Replace = true, true
	sub.AmContainerSpec.Tokens = nil
	if got, err = p.Of(sub); err != nil || got.Keep || !got.Fetch || got.Conf != nil {
		t.Errorf("without tokens: %+v, %v", got, err)
	}
	sub.AmContainerSpec.Tokens = []byte("HDTX")
	if _, err = p.Of(sub); err == nil {
		t.Error("unreadable credentials are taken")
	}
}
