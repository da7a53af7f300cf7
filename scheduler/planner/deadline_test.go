package planner

import (
	"fmt"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/leader"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/due"
	"rmd/yarn"
)

// quiet is a leadership in which nothing happens but what the test does and what time makes due. No
// node sends heartbeats, and nothing expires.
type quiet struct {
	*testing.T
	p     *Planner
	core  *leader.Core[struct{}]
	now   int64
	index uint64
	wrote int // events in the log
}

const aYear = 365 * 86_400_000

// quietConf has two queues and no timers but the one that a test is about.
var quietConf = map[string]string{
	confPrefix + "root.queues": "a,b", confPrefix + "root.a.capacity": "50", confPrefix + "root.b.capacity": "50",
	confPrefix + "root.a.user-limit-factor": "10", confPrefix + "root.b.user-limit-factor": "10",
	confPrefix + "maximum-am-resource-percent":                                    "1",
	"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs":      fmt.Sprint(aYear / 1000),
	"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":             fmt.Sprint(aYear / 1000),
	"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":          fmt.Sprint(aYear / 1000),
	"yarn.resourcemanager.delegation.key.update-interval":                         fmt.Sprint(aYear),
	"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill":       "15000",
	"yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "1",
}

// newQuiet initializes a cluster. conf replaces or adds keys of the configuration, as name, value.
func newQuiet(t *testing.T, conf ...string) *quiet {
	t.Helper()
	q := &quiet{T: t, now: 1_000_000}
	q.lead(must(New(state.New(), Options{Eager: true})))
	q.do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 77, Entropy: testEntropy, Properties: quietQueues(conf...)})
	return q
}

func quietQueues(conf ...string) (props []input.Property) {
	all := map[string]string{}
	for k, v := range quietConf {
		all[k] = v
	}
	for i := 0; i < len(conf); i += 2 {
		all[conf[i]] = conf[i+1]
	}
	for k, v := range all { // the order does not matter
		if v != "" {
			props = append(props, input.Property{Name: k, Value: v})
		}
	}
	return props
}

// lead begins a leadership with a planner.
func (q *quiet) lead(p *Planner) {
	expiry := leader.Expiry{NodeMillis: 100 * aYear, AttemptMillis: 100 * aYear}
	q.p = p
	q.core = leader.NewCore[struct{}](leader.CoreConfig{TickInterval: time.Second, BatchEvents: 1 << 20,
		BatchBytes: 1 << 30, MaxInFlight: 1,
		Expiry: func(*state.State) leader.Expiry { return expiry }}, p, leader.Start{})
}

// do plans an input that must be accepted.
func (q *quiet) do(in input.Input) input.Reply {
	q.Helper()
	return q.request(input.Request{Input: in})
}

func (q *quiet) request(req input.Request) input.Reply {
	q.Helper()
	q.core.Step(q.now, new(struct{}), req)
	q.commit()
	replies := q.core.Replies()
	if len(replies) != 1 {
		q.Fatalf("%T has %d answers", req.Input, len(replies))
	}
	r := replies[0]
	if r.Err != nil || r.Reply.Refused() != nil {
		q.Fatalf("%T is refused: %v, %v", req.Input, r.Err, r.Reply)
	}
	return r.Reply
}

func (q *quiet) commit() {
	if p, ok := q.core.Propose(); ok {
		q.index++
		q.wrote += p.Events
		if err := q.core.Committed(q.index, nil); err != nil {
			q.Fatal(err)
		}
	}
	if err := q.p.st.Check(); err != nil {
		q.Fatal(err)
	}
}

// until lets time pass until a moment, and plans what is due then. It returns the number of events.
func (q *quiet) until(at int64) int {
	q.Helper()
	before := q.wrote
	q.now = at
	q.core.Tick(at, time.Second)
	for n, in := 0, q.core.Due(); in != nil; n, in = n+1, q.core.Due() {
		if n > 10 {
			q.Fatalf("%T is due for ever", in)
		}
		if tick, ok := in.(*input.Tick); ok {
			tick.Entropy = testEntropy
		}
		q.core.Step(at, nil, input.Request{Input: in})
	}
	if err := q.core.Err(); err != nil {
		q.Fatal(err)
	}
	q.commit()
	return q.wrote - before
}

func (q *quiet) node(host string, memory int64) {
	q.Helper()
	q.do(&input.RegisterNode{ID: yarn.NodeID{Host: host, Port: 1}, Rack: "r",
		Total: yarn.NewResource(memory, memory/1024)})
}

// unmanaged submits an application whose AM registers at once.
func (q *quiet) unmanaged(queue, user string, tags ...string) yarn.AttemptID {
	q.Helper()
	id := yarn.AttemptID{App: q.do(&input.SubmitApplication{Queue: queue, User: user, Unmanaged: true, Tags: tags}).(*input.SubmitApplicationReply).ID, Attempt: 1}
	q.do(&input.RegisterAttempt{Attempt: id})
	return id
}

// managed submits an application with an AM of a size in MB.
func (q *quiet) managed(queue, user string, am int64) yarn.ApplicationID {
	q.Helper()
	return q.do(&input.SubmitApplication{Queue: queue, User: user, AM: yarn.NewResource(am, 1)}).(*input.SubmitApplicationReply).ID
}

func (q *quiet) ask(id yarn.AttemptID, count, memory int64) {
	q.Helper()
	q.do(&input.Allocate{Attempt: id, Response: q.app(id.App).Response, Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: count, Size: yarn.NewResource(memory, 1), Relax: true}}})
}

func (q *quiet) app(id yarn.ApplicationID) *state.App {
	q.Helper()
	slot := q.p.st.Apps.ByID(id)
	if slot == 0 {
		q.Fatalf("there is no %s", id)
	}
	return q.p.st.Apps.Get(slot)
}

// TestDeadlines has one case for each row of the table of deadlines: a cluster in which nothing
// happens but that one deadline passes. Nothing is due before it. At the deadline its work is done,
// and after it nothing is due. A leader that begins in between finds the same deadline.
func TestDeadlines(t *testing.T) {
	type deadlineCase struct {
		start func(q *quiet) (at int64) // sets the deadline and returns it; 0: due at once
		met   func(q *quiet) bool
		conf  []string
	}
	appIs := func(seq uint32, s yarn.ApplicationState) func(q *quiet) bool {
		return func(q *quiet) bool { return q.p.st.Apps.Get(q.p.st.Apps.Find(seq)).State == s }
	}
	var leaseEnd int64
	cases := map[string]deadlineCase{
		"node above the largest size": {
			start: func(q *quiet) int64 {
				q.p.sched.Begin(q.now)
				q.p.sched.Emit(&event.NodeRegistered{Node: 1, ID: yarn.NodeID{Host: "n", Port: 1}, Rack: "r",
					Total: yarn.NewResource(2*yarn.MaxAmount, 1)})
				return 0
			},
			met: func(q *quiet) bool { return q.p.st.Nodes.Get(1).Total[yarn.Memory] == yarn.MaxAmount },
		},
		"drain of a node": {
			start: func(q *quiet) int64 {
				q.node("n", 8192)
				q.ask(q.unmanaged("a", "ann"), 1, 1024)
				q.do(&input.DrainNode{ID: yarn.NodeID{Host: "n", Port: 1}, DeadlineMillis: q.now + 60_000})
				return q.now + 60_000
			},
			met: func(q *quiet) bool { return q.p.st.Nodes.Get(1).State == yarn.NodeDecommissioned },
		},
		"replaced node": {
			start: func(q *quiet) int64 {
				q.node("other", 8192)
				for port := range uint16(3) {
					id := yarn.NodeID{Host: "n", Port: port + 1}
					q.do(&input.RegisterNode{ID: id, Rack: "r", Total: yarn.NewResource(8192, 8)})
					q.now += 1000
					q.do(&input.UnregisterNode{ID: id})
				}
				q.now += 1000
				q.do(&input.UnregisterNode{ID: yarn.NodeID{Host: "other", Port: 1}})
				q.until(q.now + 3_600_000 - 3000)
				return q.now + 1000
			},
			met: func(q *quiet) bool { return q.p.st.Nodes.Len() == 2 },
		},
		"lifetime of an application": {
			start: func(q *quiet) int64 {
				q.do(&input.SubmitApplication{Queue: "a", User: "ann", Unmanaged: true, LifetimeMillis: 60_000})
				return q.now + 60_000
			},
			met: appIs(1, yarn.AppKilled),
		},
		"timeout of a gang": {
			start: func(q *quiet) int64 {
				q.node("n", 8192)
				q.ask(q.unmanaged("a", "ann", "rmd.gang:priority=1,count=3,timeout=4"), 3, 4096)
				return q.now + 4000
			},
			met: appIs(1, yarn.AppFailed),
		},
		"token of applications": {
			start: func(q *quiet) int64 {
				q.do(&input.SubmitApplication{Queue: "a", User: "ann", Unmanaged: true,
					Tokens: input.AppTokens{List: []input.AppToken{{Kind: "kms-dt", Service: "kms", MaxMillis: q.now + 60_000}}}})
				return q.now + 60_000
			},
			met: appIs(1, yarn.AppFailed),
		},
		"delegation token": {
			start: func(q *quiet) int64 {
				q.do(&input.IssueDelegationToken{Owner: "ann", Renewer: "yarn"})
				return q.p.st.Delegations.Find(1).ExpiresMillis
			},
			met: func(q *quiet) bool { return q.p.st.Delegations.Find(1) == nil },
		},
		"master key": {
			conf:  []string{"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs", "3600"},
			start: func(q *quiet) int64 { return q.p.st.Keys(yarn.KeyNM).MadeMillis + 3_600_000 },
			met:   func(q *quiet) bool { return q.p.st.Keys(yarn.KeyNM).Next.ID != 0 },
		},
		"application that may start": {
			conf: []string{confPrefix + "maximum-am-resource-percent", "0.25"},
			start: func(q *quiet) int64 {
				waits := beside(q)
				usesLess(q)
				if q.app(waits).Activated() {
					q.Error("a container of another queue has ended, and the application starts at once")
				}
				return 0
			},
			met: func(q *quiet) bool { return q.p.st.Apps.Get(q.p.st.Apps.Find(3)).Activated() },
		},
		"join token": {
			start: func(q *quiet) int64 {
				q.do(&input.CreateJoinToken{Hash: make([]byte, 32), TTLMillis: 60_000})
				return q.now + 60_000
			},
			met: func(q *quiet) bool { return len(q.p.st.JoinTokens) == 0 },
		},
		"idempotency key": {
			start: func(q *quiet) int64 {
				q.request(input.Request{Key: "k", Input: &input.SetAutopilot{DeadServerMillis: 60_000, LastContactMillis: 1}})
				return q.now + state.RequestKeepMillis
			},
			met: func(q *quiet) bool { return q.p.st.Requests.Len() == 0 },
		},
		"warning of preemption": {
			conf: []string{"yarn.resourcemanager.scheduler.monitor.enable", "true"},
			start: func(q *quiet) int64 {
				q.node("n", 8192)
				q.ask(q.unmanaged("a", "ann"), 1, 1024)
				q.p.sched.Begin(q.now)
				q.p.sched.Emit(&event.PreemptionAsked{Container: event.ContainerRef{App: 1, Attempt: 1, Number: 1}, Queue: "root.b",
					Cause: yarn.PreemptGuarantee, DeadlineMillis: q.now + 15_000})
				return q.now + 15_000
			},
			met: func(q *quiet) bool { return q.p.st.Preemptions.Len() == 0 },
		},
		"guarantee of a queue": {
			conf: []string{"yarn.resourcemanager.scheduler.monitor.enable", "true",
				confPrefix + "preemption.guarantee-wait-ms", "60000"},
			start: func(q *quiet) int64 {
				q.node("n", 8192)
				q.ask(q.unmanaged("a", "ann"), 8, 1024)
				q.now += 600_000
				q.ask(q.unmanaged("b", "bob"), 1, 1024)
				q.do(&input.PreemptionRound{})
				return q.now + 60_000 - 2*15_000 - 3000 // the time of two warnings, one after the other, and of one round
			},
			met: func(q *quiet) bool {
				debt, owed := q.p.st.Debts.To(q.p.st.Queues.Find("root.b"), 0)
				return owed && debt.Overdue && q.p.st.Preemptions.Len() == 1
			},
		},
		"lease of reserved room": {
			start: func(q *quiet) int64 {
				var r *lendingRun
				for step := 0; r == nil || r.p.sched.FirstLeaseEnd() == due.Never || r.p.sched.FirstLeaseEnd() <= r.now; step++ {
					if step%twinSteps == 0 {
						r = newLendingRun(uint64(step/twinSteps), "declared", true)
					}
					r.step()
				}
				q.now = r.now
				q.lead(r.p)
				leaseEnd = r.p.sched.FirstLeaseEnd()
				return leaseEnd
			},
			met: func(q *quiet) bool { return q.p.sched.FirstLeaseEnd() > leaseEnd },
		},
		"idle dynamic queue": {
			conf: []string{confPrefix + "root.a.capacity", "1w", confPrefix + "root.b.capacity", "1w",
				confPrefix + "root.a.auto-queue-creation-v2.enabled", "true"},
			start: func(q *quiet) int64 {
				id := q.unmanaged("root.a.ann", "ann")
				q.do(&input.KillApplication{ID: id.App})
				return q.now + 300_000
			},
			met: func(q *quiet) bool { return q.p.st.DynamicQueues.Len() == 0 },
		},
	}
	rows := map[string]bool{}
	for i := range deadlines {
		rows[deadlines[i].kind] = true
	}
	for kind := range cases {
		if !rows[kind] {
			t.Errorf("a %s has no row in the table of deadlines", kind)
		}
	}
	for i := range deadlines {
		d := &deadlines[i]
		s, ok := cases[d.kind]
		if !ok {
			t.Errorf("no case for a %s", d.kind)
			continue
		}
		t.Run(d.kind, func(t *testing.T) {
			q := newQuiet(t, s.conf...)
			want := s.start(q)
			if at := d.at(q.p); at != want {
				t.Fatalf("the deadline is %d, it is %d; want %d", at, q.now, want)
			}
			if next := must(New(q.p.st.Fork(), Options{Eager: true})); d.at(next) != want && want > 0 {
				t.Errorf("for a new leader the deadline is %d, want %d", d.at(next), want)
			}
			if want > 0 {
				if n := q.until(want - 1); n > 0 || s.met(q) {
					t.Errorf("%d events before the deadline", n)
				}
			}
			q.until(max(want, q.now))
			if !s.met(q) {
				t.Fatal("the deadline has passed, and nothing has happened")
			}
			if at := d.at(q.p); at <= q.now {
				t.Errorf("the next deadline is %d, it is %d", at, q.now)
			}
			if n := q.until(q.now + 1000); n > 0 {
				t.Errorf("%d events after the deadline", n)
			}
		})
	}
}

// twoMasters submits two applications with AMs of 2 GB. The second one waits.
func twoMasters(q *quiet) yarn.ApplicationID {
	q.Helper()
	q.managed("b", "bob", 2048)
	return q.managed("b", "bob", 2048)
}

// beside is twoMasters beside another queue that uses most of the cluster.
func beside(q *quiet) yarn.ApplicationID {
	q.Helper()
	q.node("n", 16<<10)
	q.ask(q.unmanaged("a", "ann"), 3, 4096)
	return twoMasters(q)
}

// usesLess ends the containers of the other queue.
func usesLess(q *quiet) {
	q.Helper()
	id := q.p.st.Apps.Get(q.p.st.Apps.Find(1)).AttemptID()
	in := &input.Allocate{Attempt: id, Response: q.app(id.App).Response}
	for n := range uint64(3) {
		in.Releases = append(in.Releases, yarn.ContainerID{App: id.App, Attempt: 1, Number: n + 1})
	}
	q.do(in)
}

// TestLiftedLimits checks that an application that waits for a limit starts soon after the limit is
// lifted, whatever has lifted it, although nothing else happens in the cluster.
func TestLiftedLimits(t *testing.T) {
	first := func(q *quiet) *state.App { return q.p.st.Apps.Get(q.p.st.Apps.Find(1)) }
	conf := func(set ...string) func(q *quiet) {
		return func(q *quiet) {
			q.Helper()
			q.do(&input.SetQueues{Properties: quietQueues(set...)})
		}
	}
	quarter := []string{confPrefix + "maximum-am-resource-percent", "0.25"}
	onOneNode := func(q *quiet) yarn.ApplicationID { q.Helper(); q.node("n", 8192); return twoMasters(q) }
	for _, c := range []struct {
		name  string
		conf  []string
		waits func(q *quiet) yarn.ApplicationID // returns an application that waits
		lift  func(q *quiet)
	}{
		{"the first node registers", quarter,
			func(q *quiet) yarn.ApplicationID { return q.managed("b", "bob", 2048) },
			func(q *quiet) { q.node("n", 8192) }},
		{"another node registers", quarter, onOneNode, func(q *quiet) { q.node("m", 8192) }},
		{"a node gets more resources", quarter, onOneNode, func(q *quiet) {
			q.do(&input.SetNodeResource{ID: yarn.NodeID{Host: "n", Port: 1}, Total: yarn.NewResource(16<<10, 16)})
		}},
		{"a node becomes healthy", quarter, func(q *quiet) yarn.ApplicationID {
			q.node("m", 8192)
			q.do(&input.NodeHeartbeat{ID: yarn.NodeID{Host: "m", Port: 1}, Unhealthy: true})
			return onOneNode(q)
		}, func(q *quiet) { q.do(&input.NodeHeartbeat{ID: yarn.NodeID{Host: "m", Port: 1}, Full: true}) }},
		{"a node loses its label", append([]string{"yarn.node-labels.enabled", "true"}, quarter...),
			func(q *quiet) yarn.ApplicationID {
				q.node("m", 8192)
				q.do(&input.SetLabels{Labels: []input.Label{{Name: "x", Exclusive: true}}})
				q.do(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: "m"}, Labels: []string{"x"}}}})
				return onOneNode(q)
			}, func(q *quiet) {
				q.do(&input.LabelNodes{Nodes: []input.LabelledNode{{ID: yarn.NodeID{Host: "m"}}}})
			}},
		{"a larger share for AMs", quarter, onOneNode, conf(confPrefix+"maximum-am-resource-percent", "0.5")},
		{"another application of the queue ends", quarter, onOneNode,
			func(q *quiet) { q.do(&input.KillApplication{ID: first(q).ID}) }},
		{"another application leaves the queue", quarter, onOneNode,
			func(q *quiet) { q.do(&input.MoveApplication{ID: first(q).ID, Queue: "a"}) }},
		{"another queue uses less", quarter, beside, usesLess},
		{"fewer users ask", append([]string{confPrefix + "root.b.minimum-user-limit-percent", "10",
			confPrefix + "root.b.user-limit-factor", "2"}, quarter...),
			func(q *quiet) yarn.ApplicationID {
				q.node("n", 16<<10)
				q.managed("b", "bob", 2048)
				for _, user := range []string{"ann", "eve"} {
					q.ask(q.unmanaged("b", user), 10, 8192)
				}
				return q.managed("b", "bob", 2048)
			}, func(q *quiet) {
				for _, seq := range []uint32{2, 3} {
					q.ask(q.p.st.Apps.Get(q.p.st.Apps.Find(seq)).AttemptID(), 0, 8192)
				}
			}},
		{"a dynamic queue is removed", append([]string{confPrefix + "root.a.capacity", "1w",
			confPrefix + "root.b.capacity", "1w",
			confPrefix + "root.b.user-limit-factor", "1", confPrefix + "root.auto-queue-creation-v2.enabled", "true"},
			quarter...),
			func(q *quiet) yarn.ApplicationID {
				q.node("n", 32<<10)
				q.do(&input.KillApplication{ID: q.unmanaged("root.c", "ann").App})
				return twoMasters(q)
			}, func(q *quiet) { q.until(q.now + 300_000) }},
		{"a managed leaf becomes active", append([]string{confPrefix + "root.b.auto-create-child-queue.enabled", "true",
			confPrefix + "root.b.leaf-queue-template.capacity", "60", confPrefix + "root.b.user-limit-factor", "",
			confPrefix + "queue-mappings", "u:%user:root.b.%user"}, quarter...),
			func(q *quiet) yarn.ApplicationID {
				q.node("n", 16<<10)
				q.managed("", "ann", 1024)
				q.managed("", "bob", 1024)
				return q.managed("", "bob", 1024)
			}, func(q *quiet) {
				q.do(&input.KillApplication{ID: first(q).ID})
				q.do(&input.ManageQueues{})
			}},
		{"more applications may run", []string{confPrefix + "max-parallel-apps", "1"}, onOneNode,
			conf(confPrefix+"max-parallel-apps", "2")},
		{"one application fewer runs", []string{confPrefix + "max-parallel-apps", "1"}, onOneNode,
			func(q *quiet) { q.do(&input.KillApplication{ID: first(q).ID}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newQuiet(t, c.conf...)
			id := c.waits(q)
			if q.until(q.now + 1000); q.app(id).Activated() {
				t.Fatal("it does not wait")
			}
			if n := q.until(q.now + 1000); n > 0 {
				t.Errorf("%d events while it waits and nothing happens", n)
			}
			c.lift(q)
			q.until(q.now + 1000)
			if !q.app(id).Activated() {
				t.Errorf("it waits: limits %d", q.p.sched.WhyNotActivated(q.app(id)))
			}
			for range 3 { // its AM gets a container, which may change what others may do
				q.until(q.now + 1000)
			}
			if n := q.until(q.now + 1000); n > 0 {
				t.Errorf("%d events after it has started", n)
			}
		})
	}
}
