package shadow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/api"
	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/scheduler/input"
	"rmd/scheduler/planner"
	"rmd/workload"
	"rmd/workload/trace"
	"rmd/yarn"
)

const epoch = 1_700_000_000_000

// cluster is a planner in virtual time that passes its events to a shadow.
type cluster struct {
	t       *testing.T
	p       *planner.Planner
	now     time.Duration
	index   uint64
	pending []event.Event
	shadow  *Shadow
	each    func()
	tap     func(events []event.Event) // called with the events of each entry
}

func newCluster(t *testing.T, keys ...string) *cluster {
	t.Helper()
	p, err := planner.New(state.New(), planner.Options{Eager: true})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, p: p, index: 1}
	if reply,
		_ := p.Plan(epoch, input.Request{Input: &input.InitCluster{ClusterID: "c", ClusterTimestamp: 1,
		Entropy: make([]byte, 1024), Properties: queues(t, keys...)}}); reply.Refused() != nil {
		t.Fatalf("InitCluster was refused: %v", reply.Refused())
	}
	return c
}

// queues returns two queues that may grow, with additional properties.
func queues(t *testing.T, keys ...string) (out []input.Property) {
	t.Helper()
	list := append(preset.QueuesFor([]string{"root.a", "root.b"}),
		capacity.Property{Name: "yarn.scheduler.capacity.root.a.user-limit-factor", Value: "100"},
		capacity.Property{Name: "yarn.scheduler.capacity.root.b.user-limit-factor", Value: "100"},
		capacity.Property{Name: "yarn.scheduler.maximum-allocation-mb", Value: "16384"})
	for _, k := range keys {
		name, value, _ := strings.Cut(k, "=")
		list = append(list, capacity.Property{Name: name, Value: value})
	}
	cfg, err := capacity.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range cfg.Properties() {
		out = append(out, input.Property(p))
	}
	return out
}

// start starts a shadow with additional properties.
func (c *cluster) start(o Options, keys ...string) {
	c.t.Helper()
	c.flush()
	s, _, err := New(c.p.State().Fork(), c.index, queues(c.t, keys...), o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.shadow = s
}

// Do implements workload.Submitter.
func (c *cluster) Do(_ context.Context, in input.Input) (input.Reply, error) {
	return c.plan(in), nil
}

func (c *cluster) plan(in input.Input) input.Reply {
	reply, events := c.p.Plan(epoch+c.now.Milliseconds(), input.Request{Input: in})
	c.pending = append(c.pending, slices.Clone(events)...)
	return reply
}

// flush passes the planned events to the shadow as one entry.
func (c *cluster) flush() {
	if len(c.pending) == 0 {
		return
	}
	c.index++
	if c.tap != nil {
		c.tap(c.pending)
	}
	if c.shadow != nil {
		if err := c.shadow.Apply(c.index, c.pending); err != nil {
			c.t.Fatal(err)
		}
	}
	c.pending = nil
	if c.each != nil {
		c.each()
	}
}

// run runs a number of jobs, with containers of different sizes and run times, on four nodes.
func (c *cluster) run(seed uint64, jobs int) {
	c.t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	t := &trace.Trace{Format: trace.FormatRMD}
	at := time.Duration(0)
	for i := range jobs {
		at += time.Duration(random.IntN(20)) * time.Second
		g := trace.TaskGroup{Count: 1 + random.IntN(6), MemoryMB: int64(1+random.IntN(14)) * 1024, VCores: 1, After: -1}
		for range g.Count {
			g.Durations = append(g.Durations, time.Duration(5+random.IntN(100))*time.Second)
		}
		g.Duration = g.Durations[0]
		t.Jobs = append(t.Jobs, trace.Job{Name: fmt.Sprintf("j%d", i%5), User: fmt.Sprintf("u%d", i%3),
			Queue: []string{"root.a", "root.b"}[i%2], Submit: at, Tasks: []trace.TaskGroup{g}})
	}
	w := workload.DefaultConfig()
	for i := range 4 {
		w.Nodes = append(w.Nodes, trace.Node{Name: fmt.Sprintf("n%d", i), Rack: "/r", MemoryMB: 16384, VCores: 16})
	}
	w.Jobs, w.AM, w.Seed, w.Logger, w.Kinds = workload.FromTrace(t), true, int64(seed), hclog.NewNullLogger(),
		c.p.State().Versions.Kinds()
	w.Submitter, w.Heartbeat, w.SampleEvery, w.ProgressEvery = c, time.Second, time.Minute, time.Minute
	w.Advance = func(to time.Duration) { c.flush(); c.now = to }
	w.Granted = func() uint64 { return c.p.State().Meta.Allocated }
	if set := &c.p.Config().Preemption; set.Enabled {
		w.RoundEvery = time.Duration(set.IntervalMillis) * time.Millisecond
		w.Round = func() bool { c.plan(&input.PreemptionRound{}); return len(c.pending) > 0 }
	}
	if _, err := workload.Simulate(c.t.Context(), w); err != nil {
		c.t.Fatal(err)
	}
	c.flush()
}

// preemption has the properties that turn on preemption between queues.
var preemption = []string{"yarn.resourcemanager.scheduler.monitor.enable=true",
	"yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval=1000",
	"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill=2000",
	"yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round=1"}

// TestSameConfiguration checks that a shadow with the cluster's configuration makes all the
// cluster's decisions and has the same digest after every entry.
func TestSameConfiguration(t *testing.T) {
	for name, keys := range map[string][]string{"plain": nil, "preemption": preemption} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				c := newCluster(t, keys...)
				c.start(DefaultOptions(), keys...)
				c.each = func() {
					if real, own := c.shadow.Digests(); real != own || real != c.p.State().Digest() {
						t.Fatalf("at index %d the shadow has digest %016x, its cluster %016x, the cluster %016x: %+v", c.index, own, real,
							c.p.State().Digest(), c.shadow.Report().Divergence)
					}
				}
				c.run(seed, 60)
				d := c.shadow.Report()
				if d.State != api.ShadowInStep || d.Decided < 200 || len(d.Changes) != 0 {
					t.Errorf("report: state %s, %d decided, changes %v, want %s, at least 200, none",
						d.State, d.Decided, d.Changes, api.ShadowInStep)
				}
				for _, q := range d.Queues {
					if !reflect.DeepEqual(q.Cluster, q.Shadow) || q.Cluster.Waits.Count == 0 {
						t.Errorf("queue = %+v, want the same for cluster and shadow, and waits counted", q)
					}
				}
			})
		}
	}
}

// TestKeyWithoutEffect checks that a shadow stays in step if its configuration differs in a
// property that has no effect.
func TestKeyWithoutEffect(t *testing.T) {
	c := newCluster(t)
	c.start(DefaultOptions(), "yarn.scheduler.capacity.root.a.maximum-applications=5000")
	c.run(1, 40)
	if d := c.shadow.Report(); d.State != api.ShadowInStep || len(d.Changes) != 1 {
		t.Errorf("report: state %s, changes %v, want %s and one change",
			d.State, d.Changes, api.ShadowInStep)
	}
}

// TestOtherConfiguration checks that the reports of shadows are on average close to what happens when
// the cluster has the shadow's configuration. A single report may be half off: which container comes
// first changes all that follow. The shadow must not change the cluster, and the same seed must give
// the same report.
func TestOtherConfiguration(t *testing.T) {
	lower := "yarn.scheduler.capacity.root.b.maximum-capacity=50"
	play := func(seed uint64, inForce, other []string) *api.Shadow {
		c := newCluster(t, inForce...)
		c.start(DefaultOptions(), other...)
		c.run(seed, 150)
		for n := int64(0); c.shadow.Waits() && n < 100; n++ {
			if err := c.shadow.Advance(epoch + c.now.Milliseconds() + DefaultOptions().BehindMillis + n*60_000); err != nil {
				t.Fatal(err)
			}
		}
		if c.shadow.LogDigest() != c.p.State().Digest() {
			t.Error("it has changed its copy of the cluster")
		}
		return c.shadow.Report()
	}
	var before, said, then [2]int64 // sums of waits, by queue
	for seed := range uint64(10) {
		beside := play(seed, nil, []string{lower})
		if seed == 0 && !reflect.DeepEqual(beside, play(seed, nil, []string{lower})) {
			t.Error("once more it differs")
		}
		actual := play(seed, []string{lower}, []string{lower})
		if beside.State != api.ShadowApart || beside.Divergence == nil || beside.NotFollowed != 0 ||
			actual.State != api.ShadowInStep {
			t.Fatalf("beside: %s, diverged %t, %d not followed; in force: %s; want %s, true, 0; %s",
				beside.State, beside.Divergence != nil, beside.NotFollowed, actual.State, api.ShadowApart, api.ShadowInStep)
		}
		for i, q := range beside.Queues {
			real := actual.Queues[i].Cluster.Waits
			if q.Shadow.Waits.Count != real.Count || q.Shadow.Waiting != 0 {
				t.Errorf("%s: %d containers start and %d wait, and then %d start", q.Path, q.Shadow.Waits.Count,
					q.Shadow.Waiting, real.Count)
			}
			before[i] += q.Cluster.Waits.MeanMillis * q.Cluster.Waits.Count
			said[i] += q.Shadow.Waits.MeanMillis * q.Shadow.Waits.Count
			then[i] += real.MeanMillis * real.Count
		}
	}
	t.Logf("waits in all, in ms: %d in the cluster, %d said, %d then", before, said, then)
	if far := float64(said[0]+said[1]) / float64(then[0]+then[1]); far < 0.9 || far > 1.1 {
		t.Errorf("all wait %.2f times as long as then", far)
	}
	for i := range said {
		if far := float64(said[i]) / float64(then[i]); far < 0.8 || far > 1.25 {
			t.Errorf("queue %d waits %.2f times as long as then", i, far)
		}
	}
	if 10*said[1] < 11*before[1] {
		t.Error("root.b does not wait longer")
	}
}

// TestRefused checks that an invalid configuration, or one without a queue that has applications,
// is refused.
func TestRefused(t *testing.T) {
	c := newCluster(t)
	c.plan(&input.SubmitApplication{User: "u", Queue: "root.b", Unmanaged: true})
	for name, properties := range map[string][]input.Property{
		"faults": {{Name: "yarn.scheduler.capacity.root.queues", Value: "a"},
			{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "many"}},
		"queue": {{Name: "yarn.scheduler.capacity.root.queues", Value: "a"},
			{Name: "yarn.scheduler.capacity.root.a.capacity", Value: "100"}},
	} {
		var f *input.Refusal
		if s, _, err := New(c.p.State().Fork(), 1, properties, DefaultOptions()); s != nil || !errors.As(err, &f) ||
			f.Reason != input.InvalidQueues {
			t.Errorf("New with %s: %v, want no shadow and %s", name, err, input.InvalidQueues)
		}
	}
	empty := state.New()
	var f *input.Refusal
	if _, _, err := New(empty, 1, queues(t), DefaultOptions()); !errors.As(err, &f) || f.Reason != input.NotInitialized {
		t.Errorf("New of an empty state: %v, want %s", err, input.NotInitialized)
	}
}

// TestBounds checks that a shadow which exceeds a limit ends, and that one which may keep few
// events keeps no more than that.
func TestBounds(t *testing.T) {
	c := newCluster(t)
	o := DefaultOptions()
	o.MaxHeld = 50
	c.start(o, "yarn.scheduler.capacity.root.b.maximum-capacity=50")
	c.each = func() {
		if c.shadow.heldEvents > o.MaxHeld {
			t.Fatalf("%d events are kept", c.shadow.heldEvents)
		}
	}
	c.run(2, 40)
	if d := c.shadow.Report(); d.State != api.ShadowApart {
		t.Errorf("state with a bound of held events: %s, want %s", d.State, api.ShadowApart)
	}
	few := newCluster(t)
	o = DefaultOptions()
	o.MaxApps = 3
	few.start(o)
	var err error
	for i := range uint64(5) {
		few.plan(&input.SubmitApplication{User: "u", Queue: "root.b", Unmanaged: true})
		err = errors.Join(err, few.shadow.Apply(few.index+1+i, few.pending))
		few.pending = nil
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("Apply of 5 applications, 3 allowed: %v, want ErrTooLarge", err)
	}
}

// TestDivergenceHidesSubmissionContext checks that the first difference does not show an
// application's submission context, which contains the user's tokens and may have 4 MB.
func TestDivergenceHidesSubmissionContext(t *testing.T) {
	c := newCluster(t)
	c.start(DefaultOptions())
	var more []input.Property
	for _, p := range preset.QueuesFor([]string{"root.a", "root.b", "root.c"}) {
		more = append(more, input.Property(p))
	}
	c.plan(&input.SetQueues{Properties: more})
	c.plan(&input.SubmitApplication{Name: strings.Repeat("n", 1000), User: "u", Queue: "root.c", Unmanaged: true,
		Context: []byte("secret")})
	c.flush()
	d := c.shadow.Report().Divergence
	if d == nil || !strings.HasPrefix(d.Cluster, "ApplicationSubmitted {App:1 Name:n") {
		t.Fatalf("divergence = %+v, want the submission of application 1 in the cluster", d)
	}
	for _, shown := range []string{d.Cluster, d.Shadow} {
		if strings.Contains(shown, fmt.Sprint([]byte("secret"))) || len(shown) > 2000 {
			t.Errorf("the difference shows the context, or too much: %s", shown)
		}
	}
}

// TestBoundOfAsks checks that the asks of an AM are remembered up to a limit if the shadow's AM
// does not start, and are dropped with the application.
func TestBoundOfAsks(t *testing.T) {
	const ams = "yarn.scheduler.capacity.root.b.maximum-am-resource-percent="
	c := newCluster(t, ams+"1")
	c.plan(&input.RegisterNode{ID: yarn.NodeID{Host: "n", Port: 1},
		Total: yarn.Resource{yarn.Memory: 16384, yarn.VCores: 16}})
	o := DefaultOptions()
	o.MaxOps, o.BehindMillis = 100, 0
	c.start(o, ams+"0") // one AM may run, no matter how large it is
	apply := func(in input.Input) error {
		if reply := c.plan(in); reply.Refused() != nil {
			t.Fatalf("%T was refused: %v", in, reply.Refused())
		}
		c.now += time.Second
		c.index++
		events := c.pending
		c.pending = nil
		return c.shadow.Apply(c.index, events)
	}
	submit := &input.SubmitApplication{User: "u", Queue: "root.b", AM: yarn.Resource{yarn.Memory: 1024, yarn.VCores: 1}}
	c.plan(submit)
	reply := c.plan(submit).(*input.SubmitApplicationReply)
	attempt := yarn.AttemptID{App: reply.ID, Attempt: 1}
	if err := apply(&input.RegisterAttempt{Attempt: attempt}); err != nil || c.shadow.diverged == nil {
		t.Fatalf("RegisterAttempt: %v, shadow %+v, want no error and the shadow apart",
			err, c.shadow.Report())
	}
	var err error
	n := int32(0)
	for ; err == nil && n < 1000; n++ {
		err = apply(&input.Allocate{Attempt: attempt, Response: n,
			Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any,
				Size: yarn.Resource{yarn.Memory: 16384, yarn.VCores: 1}, Count: int64(n%7) + 1, Relax: true}}})
	}
	if !errors.Is(err, ErrTooLarge) || c.shadow.record.ops != 101 {
		t.Errorf("after %d asks %d are remembered: %v", n, c.shadow.record.ops, err)
	}
	c.shadow.record.drop(c.shadow.record.jobs[reply.ID.Seq])
	if r := c.shadow.record; r.ops != 0 || r.containers != 0 {
		t.Errorf("%d asks and %d containers of no application", r.ops, r.containers)
	}
}

// TestManyQueues checks that with very many queues the report lists only those that do something,
// and has points for few of them.
func TestManyQueues(t *testing.T) {
	c := newCluster(t)
	c.start(DefaultOptions())
	for i := range mostIdle {
		c.shadow.realMeter.queue(fmt.Sprintf("root.idle%04d", i))
	}
	busy := 150
	for i := range busy {
		q := c.shadow.realMeter.queue(fmt.Sprintf("root.busy%04d", i))
		q.used, q.waits.count = 1, 1
	}
	c.shadow.series.add(c.shadow.began+firstEvery, c.shadow.realMeter, c.shadow.ownMeter)
	d := c.shadow.Report()
	if len(d.Queues) != busy || len(d.Points) != 1 || len(d.Points[0].Queues) != mostQueues {
		t.Errorf("%d queues, %d points of %d queues", len(d.Queues), len(d.Points), len(d.Points[0].Queues))
	}
}

// TestRemovedQueues checks that queues which are created and removed leave a limited number of
// entries, and that their sums are kept.
func TestRemovedQueues(t *testing.T) {
	c := newCluster(t)
	c.start(DefaultOptions())
	const many = 3 * mostGone
	s := c.shadow
	for i := range many {
		path := fmt.Sprintf("root.users.u%d", i)
		for _, m := range []*meter{s.realMeter, s.ownMeter} {
			q := m.queue(path)
			q.seen, q.used = s.began-many+int64(i), 1
			q.waits.add(1000)
		}
		s.realMeter.queue(path).ams.add(50)
		s.sample()
	}
	s.series.add(s.series.next, s.realMeter, s.ownMeter)
	if n := max(len(s.realMeter.queues), len(s.ownMeter.queues)); n > mostGone+3 {
		t.Errorf("%d queues are kept", n)
	}
	var cluster, own, ams int64
	d := s.Report()
	for _, q := range d.Queues {
		cluster, own, ams = cluster+q.Cluster.Waits.Count, own+q.Shadow.Waits.Count, ams+q.Cluster.AMs.Count
	}
	if cluster != many || own != many || ams != many {
		t.Errorf("the queues that were removed had %d, %d and %d starts", cluster, own, ams)
	}
	if x := s.realMeter.queues[api.ShadowRemoved]; x == nil || x.used != float64(x.waits.count) {
		t.Errorf("added up is %+v", x)
	}
	for _, path := range []string{"root.a", "root.b", fmt.Sprintf("root.users.u%d", many-1)} {
		if s.realMeter.queues[path] == nil {
			t.Errorf("%s is not kept", path)
		}
	}
	if _, there := d.Points[0].Queues[api.ShadowRemoved]; there {
		t.Error("there are points of what was removed")
	}
}

// TestRecreatedQueueUnusedTime checks that a queue counts as unused for the time in which it did
// not exist.
func TestRecreatedQueueUnusedTime(t *testing.T) {
	c := newCluster(t)
	c.start(DefaultOptions())
	m := c.shadow.realMeter
	q := m.queue("root.a")
	q.nowUsed, q.seen = 1, m.at-10*sampleMillis // as if it was removed then
	m.sample(m.at + sampleMillis)
	if q.used != 0 {
		t.Errorf("it used %v of the time that it was not there", q.used)
	}
}

// TestForgottenWithTokens checks that an application that had tokens when the shadow diverged is
// forgotten in the shadow, too, and leaves no token there.
func TestForgottenWithTokens(t *testing.T) {
	c := newCluster(t, "yarn.resourcemanager.max-completed-applications=0")
	c.plan(&input.RegisterNode{ID: yarn.NodeID{Host: "n", Port: 1},
		Total: yarn.Resource{yarn.Memory: 16384, yarn.VCores: 16}})
	submit := func(tokens ...input.AppToken) yarn.ApplicationID {
		return c.plan(&input.SubmitApplication{User: "u", Queue: "root.b", Unmanaged: true,
			Tokens: input.AppTokens{List: tokens}}).(*input.SubmitApplicationReply).ID
	}
	secured := submit(input.AppToken{Kind: "k", Service: "s", Identifier: []byte("i"), Password: []byte("p")})
	token := c.p.State().AppTokens.Holder(secured.Seq).Tokens[0]
	c.plan(&input.TokenRenewed{Token: token, ExpiresMillis: epoch + time.Hour.Milliseconds()})
	o := DefaultOptions()
	o.BehindMillis = 0
	c.start(o, "yarn.scheduler.capacity.root.b.maximum-capacity=50")
	large := yarn.AttemptID{App: submit(), Attempt: 1}
	c.plan(&input.RegisterAttempt{Attempt: large})
	c.plan(&input.Allocate{Attempt: large, Asks: []input.Ask{{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any,
		Size: yarn.Resource{yarn.Memory: 12288, yarn.VCores: 1}, Count: 1, Relax: true}}})
	c.flush()
	if c.shadow.diverged == nil {
		t.Fatal("the shadow has not diverged")
	}
	c.plan(&input.KillApplication{ID: secured})
	c.flush()
	c.now += 24 * time.Hour
	c.plan(&input.Tick{})
	submit() // ended applications are forgotten when others come
	c.flush()
	own := c.shadow.own.State()
	if real := c.p.State().Apps.ByID(secured); real != 0 || own.Apps.ByID(secured) != 0 || own.AppTokens.Records() != 0 {
		t.Errorf("slots %d in the cluster and %d in the shadow, which has %d tokens and holders; want none",
			real, own.Apps.ByID(secured), own.AppTokens.Records())
	}
}
