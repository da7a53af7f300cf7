package sim

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/jepsen-lite/sim/bubble"
	"rmd/jepsen-lite/sim/load"
	"rmd/jepsen-lite/sim/settings"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// story plays one scheduling scenario on a simulated cluster. The test makes every input itself,
// and only heartbeats run passes.
type story struct {
	*world
	apps map[string]yarn.ApplicationID
	resp map[string]int32
}

// tellStory runs a story in a bubble.
func tellStory(t *testing.T, opt settings.Cluster, f func(s *story)) {
	bubble.Test(t, func(t *testing.T) {
		s := &story{world: newWorld(t, 1, opt), apps: map[string]yarn.ApplicationID{}, resp: map[string]int32{}}
		s.boot()
		f(s)
		if !s.check.Broken() {
			s.heal()
			s.leader(10 * election)
			s.finish()
		} else {
			s.stop()
		}
		if s.check.Broken() {
			t.Errorf("the story breaks an invariant: %s", s.check.Report())
		}
	})
}

const gib = 1024

func node(name string) yarn.NodeID { return yarn.NodeID{Host: name, Port: 45454} }

func (s *story) addNodes(memory int64, names ...string) {
	for _, n := range names {
		s.plan(&input.RegisterNode{ID: node(n), HTTPPort: 8042, Rack: "/rack", Total: yarn.NewResource(memory*gib, 64),
			Version: "virtual"})
	}
}

func (s *story) beat(names ...string) *input.NodeHeartbeatReply {
	var r *input.NodeHeartbeatReply
	for _, n := range names {
		r = s.plan(&input.NodeHeartbeat{ID: node(n)}).(*input.NodeHeartbeatReply)
		time.Sleep(50 * time.Millisecond) // an idle heartbeat is answered before its entry is committed
	}
	return r
}

// submit submits an application and registers its AM. If am is not 0, an AM of am GiB runs on the
// node on; otherwise the application is unmanaged.
func (s *story) submit(name, queue string, am int64, on string) {
	in := &input.SubmitApplication{Name: name, User: "u-" + name, Queue: queue, Unmanaged: am == 0,
		AM: yarn.NewResource(am*gib, 1), MaxAttempts: 2}
	id := s.plan(in).(*input.SubmitApplicationReply).ID
	s.apps[name] = id
	for i := 0; am > 0 && i < 3; i++ {
		for _, l := range s.beat(on).Launch {
			s.plan(&input.NodeHeartbeat{ID: node(on),
				Statuses: []input.ContainerStatus{{Container: l.Container, State: yarn.ContainerRunning}}})
			am = 0
		}
	}
	s.plan(&input.RegisterAttempt{Attempt: yarn.AttemptID{App: id, Attempt: 1}})
}

// ask asks for count containers of size GiB on any node. Count 0 cancels the ask.
func (s *story) ask(app string, priority int32, count, size int64) {
	s.allocate(app, input.Ask{Key: yarn.SchedulerKey{Priority: priority}, Name: yarn.Any, Count: count,
		Size: yarn.NewResource(size*gib, 1), Relax: true})
}

func (s *story) allocate(app string, asks ...input.Ask) *input.AllocateReply {
	r := s.plan(&input.Allocate{Attempt: yarn.AttemptID{App: s.apps[app], Attempt: 1}, Response: s.resp[app],
		Asks: asks}).(*input.AllocateReply)
	s.resp[app] = r.Response
	return r
}

// complete ends a container on its node. The AM calls first, so that it knows the container.
func (s *story) complete(app string, number uint64, on string) {
	s.allocate(app)
	id := yarn.ContainerID{App: s.apps[app], Attempt: 1, Number: number}
	s.plan(&input.NodeHeartbeat{ID: node(on),
		Statuses: []input.ContainerStatus{{Container: id, State: yarn.ContainerCompleted}}})
}

// state returns the committed state of a replica.
func (s *story) state(r *replica) *state.State {
	l, _ := r.currentProcess()
	st, _ := l.machine.Fork()
	return st
}

// reservations describes the reservations of a replica's state.
func (s *story) reservations(r *replica) string {
	var out []string
	st := s.state(r)
	st.Reservations.Each(func(_ state.ReservationSlot, r *state.Reservation) bool {
		a := st.Apps.Get(r.App)
		rr := st.Asks.Get(st.Asks.Find(a, r.Key)).ReReservations
		out = append(out, fmt.Sprintf("r%d %s #%d %s on %s, %d", r.Number, a.Details().Name, r.Container, r.Size,
			st.Nodes.Get(r.Node).ID.Host, rr))
		return true
	})
	slices.Sort(out)
	return fmt.Sprint(out)
}

func (s *story) want(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// containers describes the live containers of an application.
func (s *story) containers(r *replica, app string) string {
	var out []string
	st := s.state(r)
	st.Containers.Each(func(_ state.ContainerSlot, c *state.Container) bool {
		if st.Apps.Get(c.App).Details().Name == app && c.State.Live() {
			out = append(out, fmt.Sprintf("#%d on %s", c.Number, st.Nodes.Get(c.Node).ID.Host))
		}
		return true
	})
	slices.Sort(out)
	return fmt.Sprint(out)
}

// nine plays scenario 9 up to the reservation: 4 GiB for app2 on n1.
func (s *story) nine() {
	s.addNodes(8, "n1", "n2")
	s.submit("app1", "a", 1, "n1")
	s.submit("app2", "a", 1, "n1")
	s.ask("app1", 1, 1, 4)
	s.ask("app2", 1, 1, 4)
	s.beat("n1", "n1")
}

// killLeader kills the leader and waits for another one.
func (s *story) killLeader() (old, now *replica) {
	old = s.leader(10 * election)
	old.crash()
	return old, s.leader(10*election, old)
}

// TestScenario72ReservationSurvivesLeader kills the leader while a reservation is held.
func TestScenario72ReservationSurvivesLeader(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.nine()
		for range 7 {
			s.beat("n1")
		}
		held := "[r1 app2 #2 4096MB 1vc on n1, 7]"
		s.want("before", s.reservations(s.leader(10*election)), held)
		_, now := s.killLeader()
		s.want("at the new leader", s.reservations(now), held)
		q := s.state(now)
		leaf := q.Queues.Get(q.Queues.Find("root.a"))
		s.want("queue a", fmt.Sprint(leaf.Used[yarn.Memory]/gib, leaf.Reserved[yarn.Memory]/gib), "10 4")
		s.submit("app3", "a", 0, "")
		s.ask("app3", 1, 1, 2)
		s.beat("n1")
		s.want("app3 on the guarded room", s.containers(now, "app3"), "[]")
		s.complete("app1", 2, "n1")
		s.beat("n1")
		s.want("after the room is free", s.reservations(now), "[]")
		s.want("app2", s.containers(now, "app2"), "[#1 on n1 #2 on n1]")
		s.beat("n1")
		s.want("app3 afterwards", s.containers(now, "app3"), "[#1 on n1]")
	})
}

// TestScenario73LeaderKilledDuringFulfillment kills the leader after it has planned a fulfillment
// and before it is committed: once before the entry leaves the leader, and once after the other
// replicas have it.
func TestScenario73LeaderKilledDuringFulfillment(t *testing.T) {
	for _, reached := range []bool{false, true} {
		t.Run(fmt.Sprintf("others have the entry %v", reached), func(t *testing.T) {
			tellStory(t, settings.Plain(), func(s *story) {
				s.nine()
				s.allocate("app1")
				old := s.leader(10 * election)
				sprung := make(chan struct{})
				s.setTrap(func(id string, entry []byte) {
					if id == old.id && fulfills(entry) {
						s.beforePropose.Store(nil)
						close(sprung)
						if !reached {
							old.crash()
							return
						}
						// The others receive the leader's messages, but not the reverse. Pending
						// requests end soon, so that the leader sends the entry before its lease
						// ends.
						s.net.Impatient(100 * time.Millisecond)
						s.net.Isolate(old.id, true, false)
						go func() {
							time.Sleep(300 * time.Millisecond)
							old.crash()
						}()
					}
				})
				l, _ := old.currentProcess()
				ctx, cancel := context.WithTimeout(l.ctx, 5*time.Second)
				defer cancel()
				c := load.NewCaller(s.world, "n1", rand.New(rand.NewSource(1))).StartAt(slices.Index(s.rs, old))
				ended := []input.ContainerStatus{{Container: yarn.ContainerID{App: s.apps["app1"], Attempt: 1, Number: 2},
					State: yarn.ContainerCompleted}}
				if _, ok := c.Try(ctx, input.Request{Input: &input.NodeHeartbeat{ID: node("n1"), Statuses: ended}}); ok {
					t.Error("a leader that was killed before the commit has answered")
				}
				<-sprung
				now := s.leader(10*election, old)
				s.net.Heal()
				if reached {
					s.want("reservations", s.reservations(now), "[]")
				} else {
					s.want("reservations", s.reservations(now), "[r1 app2 #2 4096MB 1vc on n1, 0]")
					s.want("app2", s.containers(now, "app2"), "[#1 on n1]")
					s.want("app1", s.containers(now, "app1"), "[#1 on n1 #2 on n1]")
				}
				s.complete("app1", 2, "n1") // the node repeats a report that was not acknowledged
				s.beat("n1")
				s.want("reservations afterwards", s.reservations(now), "[]")
				s.want("app2 afterwards", s.containers(now, "app2"), "[#1 on n1 #2 on n1]")
				if n := s.check.Outcome().Counts; n.Made != 1 || n.Fulfilled != 1 || n.Cancelled != 0 {
					t.Errorf("made %d, fulfilled %d, cancelled %d", n.Made, n.Fulfilled, n.Cancelled)
				}
			})
		})
	}
}

func fulfills(entry []byte) bool {
	b, err := event.Decode(entry)
	return err == nil && slices.ContainsFunc(b.Events, func(e event.Event) bool {
		_, ok := e.(*event.ReservationFulfilled)
		return ok
	})
}

// TestScenario74RestoreWithReservations takes a snapshot while three nodes are reserved, truncates
// the log, restores a follower from the snapshot and makes it leader. An undisturbed cluster gets
// the same inputs, and both clusters must decide alike.
func TestScenario74RestoreWithReservations(t *testing.T) {
	var runs [2][]string
	for i, disturbed := range []bool{false, true} {
		opt := settings.Plain()
		opt.Trailing = 0
		opt.Queues = []settings.Queue{{Name: "a", Capacity: "60"}, {Name: "b", Capacity: "40"}}
		tellStory(t, opt, func(s *story) { runs[i] = s.seventyFour(disturbed) })
	}
	if len(runs[0]) < 8 {
		t.Errorf("the twin decided only %v", runs[0])
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Errorf("decisions differ\nuninterrupted: %v\nrestored:      %v", runs[0], runs[1])
	}
}

func (s *story) seventyFour(disturbed bool) []string {
	s.addNodes(8, "n1", "n2", "n3")
	s.addNodes(32, "n4")
	s.submit("full", "a", 0, "")
	s.ask("full", 1, 3, 6)
	s.beat("n1", "n2", "n3")
	s.submit("app1", "a", 0, "")
	s.submit("app2", "b", 0, "")
	behind := s.rs[0]
	if old := s.leader(10 * election); old == behind {
		behind = s.rs[1]
	}
	if disturbed {
		behind.crash()
	}
	s.ask("app1", 1, 2, 4)
	s.ask("app2", 1, 1, 3)
	s.beat("n1", "n2", "n3", "n1", "n2", "n2", "n3")
	if n := s.check.Reservations(); n != 3 {
		s.t.Fatalf("%d nodes are reserved, not 3: %s", n, s.reservations(s.leader(10*election)))
	}
	if disturbed {
		s.restoreAndLead(behind)
	}
	s.allocate("full")
	mark := s.check.Head()
	s.beat("n1", "n2", "n3", "n1", "n2", "n3")
	s.ask("app2", 1, 2, 3)
	s.complete("full", 2, "n2")
	s.beat("n1", "n2", "n3")
	s.complete("full", 1, "n1")
	s.complete("full", 3, "n3")
	s.beat("n1", "n2", "n3", "n1", "n2", "n3")
	return s.decisions(mark)
}

// restoreAndLead starts a replica that needs a snapshot, and makes it leader.
func (s *story) restoreAndLead(behind *replica) {
	l, _ := s.leader(10 * election).currentProcess()
	if err := l.snapshot(); err != nil {
		s.t.Fatal(err)
	}
	before := s.check.Outcome().Counts.Restores
	if err := behind.start(); err != nil {
		s.t.Fatal(err)
	}
	s.inStep(time.Minute)
	if s.check.Outcome().Counts.Restores == before {
		s.t.Error("the replica was not restored from a snapshot")
	}
	s.hand(behind)
	if now := s.leader(10 * election); now != behind {
		s.t.Errorf("%s leads, not %s", now.id, behind.id)
	}
}

// hand makes a replica leader. It repeats transfers that time out.
func (s *story) hand(to *replica) {
	l, _ := to.currentProcess()
	var err error
	for range 20 {
		if l.cluster.IsLeader() {
			return
		}
		err = l.cluster.Transfer(to.id)
		time.Sleep(2 * election)
	}
	s.t.Errorf("leadership does not go to %s: %v", to.id, err)
}

// decisions returns the events after an index, except those of the clock.
func (s *story) decisions(after uint64) []string {
	l, _ := s.leader(10 * election).currentProcess()
	entries, _, _, err := l.cluster.Entries(after+1, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		b, err := event.Decode(e.Data)
		if err != nil {
			continue // a no-op or a membership
		}
		for _, e := range b.Events {
			if _, clock := e.(*event.TimeAdvanced); !clock {
				out = append(out, fmt.Sprintf("%s%+v", e.Kind(), e))
			}
		}
	}
	return out
}

// TestScenario75ExchangeAtomic checks that an exchange is one entry. No replica may have a state in
// which the application has neither the reservation nor the container for which it was exchanged.
func TestScenario75ExchangeAtomic(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.addNodes(8, "n0", "n1", "n2")
		s.submit("app0", "a", 0, "")
		s.ask("app0", 1, 1, 2)
		s.ask("app0", 5, 2, 3)
		s.ask("app0", 10, 2, 5)
		s.beat("n0", "n0", "n1", "n0", "n2")
		s.inStep(time.Minute)
		s.want("before", s.reservations(s.leader(10*election)), "[r1 app0 #4 5120MB 1vc on n0, 0]")
		ctx, cancel := context.WithCancel(context.Background())
		seen := make(chan int, len(s.rs))
		for _, r := range s.rs {
			l, _ := r.currentProcess()
			sub, err := l.machine.Watch(0)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				both := 0
				for {
					b, err := sub.Next(ctx)
					if err != nil {
						seen <- both
						return
					}
					cancelled, allocated := false, false
					for _, e := range b.Events {
						switch e := e.(type) {
						case *event.ReservationCancelled:
							cancelled = e.Cause == yarn.CancelExchanged
						case *event.ContainerAllocated:
							allocated = true
						}
					}
					if cancelled != allocated {
						s.check.Fail("entry %d holds one half of an exchange", b.Index)
					}
					if cancelled && allocated {
						both++
					}
				}
			}()
		}
		s.beat("n1")
		s.inStep(time.Minute)
		time.Sleep(time.Second)
		cancel()
		for range s.rs {
			if n := <-seen; n != 1 {
				t.Errorf("a replica saw %d exchanges", n)
			}
		}
		s.want("after", s.reservations(s.leader(10*election)), "[]")
		s.want("app0", s.containers(s.leader(10*election), "app0"), "[#1 on n0 #2 on n0 #3 on n1 #5 on n2 #6 on n1]")
	})
}

// TestFence checks that a batch has no effect if its leader appends it only after it has lost and
// regained leadership, with entries of another leader in between.
func TestFence(t *testing.T) {
	tellStory(t, settings.Plain(), func(s *story) {
		s.addNodes(8, "n1", "n2")
		s.submit("app1", "a", 0, "")
		a := s.leader(10 * election)
		b := s.rs[(slices.Index(s.rs, a)+1)%len(s.rs)]
		held, goOn := make(chan struct{}), make(chan struct{})
		s.setTrap(func(id string, _ []byte) {
			if id == a.id {
				s.beforePropose.Store(nil)
				close(held)
				<-goOn
			}
		})
		done := make(chan bool)
		go func() {
			c := load.NewCaller(s.world, "late", rand.New(rand.NewSource(1))).StartAt(slices.Index(s.rs, a))
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			in := &input.SubmitApplication{Name: "late", User: "u", Queue: "a", Unmanaged: true}
			_, ok := c.Call(ctx, c.Keyed(in))
			done <- ok
		}()
		<-held
		s.hand(b)
		s.leader(10*election, a)
		s.submit("between", "a", 0, "")
		s.hand(a)
		close(goOn)
		if !<-done {
			t.Error("the late submission is not answered")
		}
		s.inStep(time.Minute)
		if s.check.Outcome().Counts.Skipped != 1 {
			t.Errorf("%d batches were skipped: does the scenario still show what the fence is for?",
				s.check.Outcome().Counts.Skipped)
		}
	})
}
