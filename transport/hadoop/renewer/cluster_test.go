package renewer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/fsm/apptoken"
	"rmd/fsm/state"
	"rmd/internal/hadoopconf"
	"rmd/leader"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/transport/hadoop/proto"
	"rmd/transport/hadoop/token"
	"rmd/yarn"
)

// nameNode issues, renews and cancels tokens, and judges who calls it: nobody renews a token after
// its end or twice at a time, or much later than it is due, and nobody cancels one twice or while an
// application uses it.
type nameNode struct {
	*testing.T
	service  string
	uses     func(id string) bool // reports whether an application uses a token; may be nil
	mu       sync.Mutex
	issued   map[string]*issuedToken // by identifier
	renewals []string                // identifiers
	confs    []string                // of the renewals
	fault    error                   // of all calls
	returns  func() time.Time        // instead of the end of a renewed token
	slow     time.Duration           // of all calls
	latest   float64                 // the latest renewal after it was due, as a share of the time until then
}

type issuedToken struct {
	every     time.Duration
	end, max  time.Time
	renewed   time.Time // the last time; zero if it was called since
	again     int       // tries that may come after the end, because the token was submitted again
	calls     int
	cancelled int
}

// dueAfter is the share of the time left to a token after which it is due for renewal, as in YARN.
// mostLate is how much later a call may come, as a share of that.
const dueAfter, mostLate = 0.9, 0.1

// late returns how late a first call since the renewal is at a time.
func (k *issuedToken) late(now time.Time) float64 {
	if k.renewed.IsZero() {
		return 0
	}
	return float64(now.Sub(k.renewed))/(dueAfter*float64(k.end.Sub(k.renewed))) - 1
}

// issue issues a token that ends after some time unless it is renewed, and in any case after another.
func (n *nameNode) issue(user, renewer string, every, life time.Duration) token.Token {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := &issuedToken{every: every, max: time.Now().Add(life)}
	id := fmt.Sprintf("%d@%s/%s/%s/%d", len(n.issued)+1, n.service, user, renewer, k.max.UnixMilli())
	n.issued[id] = k
	return token.Token{Alias: id, Kind: apptoken.KindHDFS, Service: n.service, Identifier: []byte(id),
		Password: []byte("secret")}
}

func identify(t token.Token) (token.Delegation, error) {
	parts := strings.Split(string(t.Identifier), "/")
	if len(parts) != 4 {
		return token.Delegation{}, token.ErrMalformed
	}
	most, err := strconv.ParseInt(parts[3], 10, 64)
	return token.Delegation{Owner: parts[1], Renewer: parts[2], MaxMillis: most}, err
}

// call waits as long as the name node is slow, and returns its fault.
func (n *nameNode) call(ctx context.Context) error {
	n.mu.Lock()
	slow := n.slow
	n.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fault
}

// Renew implements Services.
func (n *nameNode) Renew(ctx context.Context, t token.Token, conf []byte) (time.Time, error) {
	n.mu.Lock()
	id := string(t.Identifier)
	k := n.issued[id]
	n.renewals, n.confs = append(n.renewals, id), append(n.confs, string(conf))
	if k.calls++; k.calls > 1 {
		n.Errorf("token %s is renewed twice at a time", id)
	}
	if !k.end.IsZero() && time.Now().After(k.end) {
		if k.again--; k.again < 0 {
			n.Errorf("token %s is renewed after its end", id)
		}
	}
	if late := k.late(time.Now()); late > mostLate {
		n.Errorf("token %s is renewed %.0f %% later than it is due", id, 100*late)
	} else {
		n.latest = max(n.latest, late)
	}
	k.renewed = time.Time{}
	n.mu.Unlock()
	err := n.call(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	k.calls--
	switch {
	case err != nil:
		return time.Time{}, err
	case n.returns != nil:
		return n.returns(), nil
	case k.cancelled > 0 || time.Now().After(k.max):
		return time.Time{}, errFinal
	}
	if k.end = time.Now().Add(k.every); k.end.After(k.max) {
		k.end = k.max
	}
	k.renewed = time.Now()
	return k.end, nil
}

// Cancel implements Services.
func (n *nameNode) Cancel(ctx context.Context, t token.Token, _ []byte) error {
	if n.uses != nil && n.uses(string(t.Identifier)) {
		n.Errorf("token %s is cancelled while an application uses it", t.Identifier)
	}
	if err := n.call(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.issued[string(t.Identifier)]
	if k.cancelled++; k.cancelled > 1 {
		n.Errorf("token %s is cancelled twice", t.Identifier)
	}
	return nil
}

// Prepare implements Services.
func (*nameNode) Prepare(context.Context, token.Token, []byte) error { return nil }

// Fetch implements Services.
func (n *nameNode) Fetch(ctx context.Context, user string) ([]token.Token, error) {
	if err := n.call(ctx); err != nil {
		return nil, err
	}
	return []token.Token{n.issue(user, "yarn", day, 7*day)}, nil
}

const day = 24 * time.Hour

// cluster is a replica that leads: its planner and its renewer, in simulated time.
type cluster struct {
	*testing.T
	nn       *nameNode
	services Services // nn, unless there are several
	policy   Policy
	trusting bool // does not check the state after each commit

	mu      sync.Mutex
	core    *leader.Core[struct{}]
	index   uint64
	changed chan struct{}
	stop    func() // ends the leadership
}

// keys returns what yarn-site.xml has: names and values in turn.
func keys(t *testing.T, list ...string) *hadoopconf.Config {
	b := new(strings.Builder)
	for i := 0; i < len(list); i += 2 {
		fmt.Fprintf(b, "<property><name>%s</name><value>%s</value></property>", list[i], list[i+1])
	}
	conf, err := hadoopconf.Parse(strings.NewReader("<configuration>"+b.String()+"</configuration>"), "yarn-site.xml")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// play runs a story in simulated time. site is what yarn-site.xml has.
func play(t *testing.T, site []string, story func(c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		policy, err := PolicyOf(keys(t, site...))
		if err != nil {
			t.Fatal(err)
		}
		policy.Managed, policy.Identify = func(kind string) bool { return kind == apptoken.KindHDFS }, identify
		nn := &nameNode{T: t, service: "nn:8020", issued: map[string]*issuedToken{}}
		c := &cluster{T: t, nn: nn, services: nn, policy: policy, changed: make(chan struct{}, 1)}
		c.elect(state.New())
		c.do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 77, Entropy: make([]byte, 32), Properties: []input.Property{
			{Name: "yarn.scheduler.capacity.root.queues", Value: "a"},
			{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "100"}}})
		c.do(&input.RegisterNode{ID: yarn.NodeID{Host: "n", Port: 1}, Rack: "r", Total: yarn.NewResource(8192, 8)})
		defer func() { c.stop() }()
		story(c)
	})
}

// elect begins a leadership with a state.
func (c *cluster) elect(st *state.State) {
	p, err := planner.New(st, planner.Options{})
	if err != nil {
		c.Fatal(err)
	}
	const years = 100 * 365 * 86_400_000
	c.core = leader.NewCore[struct{}](leader.CoreConfig{TickInterval: time.Second, BatchEvents: 1 << 20,
		BatchBytes: 1 << 30, MaxInFlight: 1,
		Expiry: func(*state.State) leader.Expiry {
			return leader.Expiry{NodeMillis: years, AttemptMillis: years}
		}}, p, leader.Start{})
	cfg := Config{Logger: hclog.NewNullLogger(), Submitter: c, Reader: c, Services: c.services, Policy: c.policy,
		Final: func(err error) bool {
			return errors.Is(err, errFinal)
		}}
	cfg.Defaults()
	r, err := New(cfg)
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.Context())
	var wg sync.WaitGroup
	wg.Go(func() { r.Lead(ctx) })
	wg.Go(func() { c.tick(ctx) })
	c.stop = func() { cancel(); wg.Wait() }
}

// failover ends the leadership. Another one begins after some time.
func (c *cluster) failover(without time.Duration) {
	c.stop()
	time.Sleep(without)
	c.elect(c.core.State().Fork())
	synctest.Wait()
}

const tickEvery = 30 * time.Second

// tick plans what is due because time has passed.
func (c *cluster) tick(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		c.core.Tick(time.Now().UnixMilli(), time.Second)
		for in := c.core.Due(); in != nil; in = c.core.Due() {
			if tick, ok := in.(*input.Tick); ok {
				tick.Entropy = make([]byte, 32)
			}
			c.core.Step(time.Now().UnixMilli(), nil, input.Request{Input: in})
		}
		c.commit()
		c.mu.Unlock()
		wait(ctx, tickEvery)
	}
}

// commit commits what is planned. The caller holds the lock.
func (c *cluster) commit() {
	if _, ok := c.core.Propose(); ok {
		c.index++
		if err := c.core.Committed(c.index, nil); err != nil {
			c.Error(err)
		}
		if !c.trusting {
			if err := c.core.State().Check(); err != nil {
				c.Error(err)
			}
		}
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	if err := c.core.Err(); err != nil {
		c.Error(err)
	}
}

// Do implements frontend.Submitter.
func (c *cluster) Do(_ context.Context, req input.Request) (input.Reply, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.core.Step(time.Now().UnixMilli(), new(struct{}), req)
	c.commit()
	r := c.core.Replies()[0]
	return r.Reply, r.Index, r.Err
}

// Fork implements Reader.
func (c *cluster) Fork() *state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.State().Fork()
}

// Current implements Reader.
func (c *cluster) Current(context.Context) error { return nil }

// WatchTokens implements Reader.
func (c *cluster) WatchTokens() (Watch, error) { return watch(c.changed), nil }

// do plans an input that must be accepted.
func (c *cluster) do(in input.Input) input.Reply {
	c.Helper()
	r, _, err := c.Do(context.Background(), input.Request{Input: in})
	if err != nil || r.Refused() != nil {
		c.Fatalf("%T is refused: %v, %v", in, r, err)
	}
	return r
}

// submission is what a client submits: the tokens of its launch context, and its wishes.
type submission struct {
	tokens []token.Token
	conf   string
	keep   bool // do not cancel the tokens
}

// submit submits an application of user ann and lets the first calls be made.
func (c *cluster) submit(s submission) yarn.ApplicationID {
	c.Helper()
	id := c.send(s)
	c.pass(0)
	return id
}

func (c *cluster) send(s submission) yarn.ApplicationID {
	c.Helper()
	cancel := !s.keep
	launch := &proto.ContainerLaunchContextProto{TokensConf: []byte(s.conf)}
	if len(s.tokens) > 0 {
		launch.Tokens = (&token.Credentials{Tokens: s.tokens}).Bytes()
	}
	tokens, err := c.policy.Of(&proto.ApplicationSubmissionContextProto{CancelTokensWhenComplete: &cancel,
		AmContainerSpec: launch})
	if err != nil {
		c.Fatal(err)
	}
	return c.do(&input.SubmitApplication{Queue: "a", User: "ann", Unmanaged: true, Tokens: tokens}).(*input.SubmitApplicationReply).ID
}

// pass lets time pass, and then waits until nothing more happens at that time.
func (c *cluster) pass(d time.Duration) {
	time.Sleep(d + time.Second) // the renewer pauses between two looks
	synctest.Wait()
}

func (c *cluster) end(id yarn.ApplicationID) {
	c.Helper()
	c.do(&input.KillApplication{ID: id, User: "ann"})
	c.pass(tickEvery)
}

// heartbeat reports that the node still collects the logs of an application.
func (c *cluster) heartbeat(id yarn.ApplicationID) {
	c.Helper()
	c.do(&input.NodeHeartbeat{ID: yarn.NodeID{Host: "n", Port: 1}, KeepAlive: []yarn.ApplicationID{id}})
}

// starts checks whether an application has started, and returns the diagnostics of one that failed.
func (c *cluster) starts(id yarn.ApplicationID, want bool) string {
	c.Helper()
	st := c.Fork()
	a := st.Apps.Get(st.Apps.ByID(id))
	if got := a.AttemptState != state.AttemptNone && !a.State.Ended(); got != want {
		c.Fatalf("application %d: started %v, want %v; it is %s", id.Seq, got, want, a.Shown())
	}
	if a.State != yarn.AppFailed {
		return ""
	}
	return a.Details().Diagnostics
}

// renewals checks how often tokens were renewed in all.
func (c *cluster) renewals(want int) {
	c.Helper()
	c.nn.mu.Lock()
	defer c.nn.mu.Unlock()
	if len(c.nn.renewals) != want {
		c.Fatalf("%d renewals, want %d: %q", len(c.nn.renewals), want, c.nn.renewals)
	}
}

// cancelled checks whether a token was cancelled.
func (c *cluster) cancelled(t token.Token, want bool) {
	c.Helper()
	c.nn.mu.Lock()
	defer c.nn.mu.Unlock()
	if got := c.nn.issued[string(t.Identifier)].cancelled > 0; got != want {
		c.Fatalf("token %s is cancelled: %v, want %v", t.Identifier, got, want)
	}
}

// change changes the name node.
func (c *cluster) change(f func(n *nameNode)) { c.nn.set(func() { f(c.nn) }) }

func (n *nameNode) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// phases returns the phases of all tokens.
func (c *cluster) phases() string {
	var out []string
	for t := range c.Fork().AppTokens.Tokens() {
		out = append(out, t.Phase.String())
	}
	return strings.Join(out, " ")
}
