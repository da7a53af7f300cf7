package planner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
	"rmd/yarn"
)

const (
	twinSeeds     = 30
	twinSteps     = 150
	heartbeatStep = 1000 // milliseconds
	twinWait      = 5000 // milliseconds that a container with a deadline has to end after it is recalled
)

// TestBackfillDelaysNoReservation runs random clusters with backfill. Before a reservation lends
// for the first time, the test forks the state. In this twin, backfill is off. The twin receives
// the heartbeats of the reserved node at the same times, and containers that exist in both end at
// the same times. So the twin shows when the reservation would have been fulfilled if it had lent
// nothing.
//
// If all containers run exactly as long as declared, no reservation may be fulfilled later than in
// its twin, not even by one heartbeat. If declared lifetimes are wrong, the delay is at most the
// wait before a kill, one heartbeat until the preemption round, and one heartbeat of the node.
// RMD_BACKFILL_SEEDS is the number of clusters.
func TestBackfillDelaysNoReservation(t *testing.T) {
	seeds := twinSeeds
	if n := os.Getenv("RMD_BACKFILL_SEEDS"); n != "" {
		seeds = must(strconv.Atoi(n))
	}
	for _, c := range []struct {
		name   string
		policy string
		lies   bool
		most   int64
	}{
		{"truthful", "declared", false, 0},
		{"preemptable", "preemptable", false, heartbeatStep},
		{"lies", "declared", true, twinWait + 2*heartbeatStep},
		{"lies, preemptable", "preemptable", true, twinWait + 2*heartbeatStep},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sum twinCounts
			for seed := range seeds {
				r := newLendingRun(uint64(seed), c.policy, c.lies)
				for range twinSteps {
					r.step()
				}
				r.counts.addTo(&sum)
				if r.counts.longest > c.most {
					t.Fatalf("seed %d: r%d is fulfilled %d ms later than without backfill, %d are allowed", seed, r.counts.worst,
						r.counts.longest, c.most)
				}
			}
			t.Logf("%+v", sum)
			if sum.Lent < seeds || sum.AsSoon < seeds/4 || c.most > 0 && (sum.Recalled == 0 || sum.Later == 0) {
				t.Errorf("too little was lent to say anything")
			}
		})
	}
}

// twinCounts counts the outcomes of a run.
type twinCounts struct {
	Lent, Recalled, AsSoon, Sooner, Later int
	longest                               int64 // milliseconds by which the latest reservation was later than its twin
	worst                                 uint64
}

func (c *twinCounts) addTo(sum *twinCounts) {
	sum.Lent, sum.Recalled = sum.Lent+c.Lent, sum.Recalled+c.Recalled
	sum.AsSoon, sum.Sooner, sum.Later = sum.AsSoon+c.AsSoon, sum.Sooner+c.Sooner, sum.Later+c.Later
	if c.longest > sum.longest {
		sum.longest, sum.worst = c.longest, c.worst
	}
}

// lendingRun is a cluster whose applications declare how long their containers run.
type lendingRun struct {
	rng    *rand.Rand
	p      *Planner
	now    int64
	eager  bool
	lies   bool
	apps   []lendingApp
	ends   map[event.ContainerRef]int64 // when each container ends by itself
	held   map[uint64]event.ContainerRef
	twins  []*lendingTwin
	counts twinCounts
}

type lendingApp struct {
	id       yarn.AttemptID
	declared int64 // milliseconds; 0: not declared
}

// lendingTwin is the fork without backfill that belongs to one reservation.
type lendingTwin struct {
	reservation uint64
	node        yarn.NodeID
	p           *Planner
	at, twinAt  int64 // when the reservation ended in the run and in the twin; 0: not yet
}

func newLendingRun(seed uint64, policy string, lies bool) *lendingRun {
	r := &lendingRun{rng: rand.New(rand.NewPCG(seed, 1)), now: 1_000_000, eager: seed%2 == 0, lies: lies,
		p:    must(New(state.New(), Options{Eager: seed%2 == 0})),
		ends: map[event.ContainerRef]int64{}, held: map[uint64]event.ContainerRef{}}
	r.do(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1, Entropy: make([]byte, 1024),
		Properties: lendingQueues(seed, policy)})
	for i := range 2 + r.rng.IntN(3) {
		r.do(&input.RegisterNode{ID: yarn.NodeID{Host: fmt.Sprintf("n%d", i), Port: 1}, Rack: "/r",
			Total: yarn.NewResource(8192, 8)})
	}
	return r
}

// lendingQueues returns a configuration of two leaves. The seed selects the limits.
func lendingQueues(seed uint64, policy string) []input.Property {
	list := []input.Property{
		{Name: "root.queues", Value: "a,b"}, {Name: "root.a.capacity", Value: "50"}, {Name: "root.b.capacity", Value: "50"},
		{Name: "root.a.user-limit-factor", Value: "10"}, {Name: "root.b.user-limit-factor", Value: "10"},
		{Name: "root.backfill", Value: policy},
	}
	if seed%3 == 0 {
		list = append(list, input.Property{Name: "root.a.maximum-capacity", Value: "75"})
	}
	if seed%4 == 1 {
		list = append(list, input.Property{Name: "reservation.node", Value: "earliest"})
	}
	if seed%5 < 2 {
		list = append(list, input.Property{Name: "resource-calculator",
			Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})
	}
	for i := range list {
		list[i].Name = capacity.Prefix + list[i].Name
	}
	return append(list, input.Property{Name: "yarn.scheduler.maximum-allocation-vcores", Value: "8"},
		input.Property{Name: "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill",
			Value: fmt.Sprint(twinWait)})
}

// do plans an input and updates the run's records from the events.
func (r *lendingRun) do(in input.Input) input.Reply {
	before := r.p.st.Fork()
	reply, events := r.p.Plan(r.now, input.Request{Input: in})
	if f := reply.Refused(); f != nil {
		panic(fmt.Sprintf("%T: %v", in, f))
	}
	for _, e := range events {
		switch e := e.(type) {
		case *event.ContainerAllocated:
			r.starts(event.ContainerRef{App: e.App, Attempt: 1, Number: e.Number})
		case *event.ContainerLent:
			r.starts(event.ContainerRef{App: e.App, Attempt: 1, Number: e.Number})
			r.counts.Lent++
			r.fork(before, e)
		case *event.PreemptionAsked:
			r.counts.Recalled++
		case *event.ReservationMade:
			r.held[e.Reservation] = event.ContainerRef{App: e.App, Attempt: 1, Number: e.Number}
		case *event.ReservationFulfilled:
			r.starts(r.held[e.Reservation])
			r.over(e.Reservation)
		case *event.ReservationCancelled: // Its application got a container elsewhere.
			r.over(e.Reservation)
		}
	}
	return reply
}

// starts computes when a new container will end by itself.
func (r *lendingRun) starts(c event.ContainerRef) {
	lasts := r.apps[c.App-1].declared
	if lasts == 0 || r.lies && r.rng.IntN(2) == 0 {
		lasts = heartbeatStep * (1 + r.rng.Int64N(90))
	}
	r.ends[c] = r.now + lasts
}

// fork creates the twin of a reservation that lends for the first time.
func (r *lendingRun) fork(before *state.State, e *event.ContainerLent) {
	for _, twin := range r.twins {
		if twin.reservation == e.Reservation {
			return
		}
	}
	// The same input made the reservation: there is no state to compare with.
	if before.Reservations.Find(e.Reservation) == 0 {
		return
	}
	twin := &lendingTwin{reservation: e.Reservation, node: before.Nodes.Get(e.Node).ID,
		p: must(New(before, Options{Eager: r.eager}))}
	conf := &input.SetQueues{}
	for _, p := range r.p.Config().Properties() {
		if p.Name != capacity.Prefix+"root.backfill" {
			conf.Properties = append(conf.Properties, input.Property(p))
		}
	}
	if reply, _ := twin.p.Plan(r.now, input.Request{Input: conf}); reply.Refused() != nil {
		panic(reply.Refused())
	}
	r.twins = append(r.twins, twin)
}

// over records the end of a reservation.
func (r *lendingRun) over(number uint64) {
	for _, twin := range r.twins {
		if twin.reservation == number {
			twin.at = r.now
			r.judge(twin)
		}
	}
}

// judge compares a reservation with its twin when both have ended.
func (r *lendingRun) judge(twin *lendingTwin) {
	switch later := twin.at - twin.twinAt; {
	case twin.at == 0 || twin.twinAt == 0:
	case later < 0:
		r.counts.Sooner++
	case later == 0:
		r.counts.AsSoon++
	default:
		r.counts.Later++
		if later > r.counts.longest {
			r.counts.longest, r.counts.worst = later, twin.reservation
		}
	}
}

// step is one second: perhaps a submission, perhaps a preemption round, then a heartbeat of every
// node.
func (r *lendingRun) step() {
	r.now += heartbeatStep
	if r.rng.IntN(3) == 0 {
		r.submit()
	}
	if r.p.Scheduler().FirstLeaseEnd() <= r.now {
		r.do(&input.PreemptionRound{})
	}
	st := r.p.State()
	for node := state.NodeSlot(1); st.Nodes.Has(node); node++ {
		id := st.Nodes.Get(node).ID
		r.do(r.heartbeat(r.p.State(), id))
		for _, twin := range r.twins {
			if twin.node == id && twin.twinAt == 0 {
				r.follow(twin)
			}
		}
	}
}

// follow sends a twin the heartbeat of its node.
func (r *lendingRun) follow(twin *lendingTwin) {
	_, events := twin.p.Plan(r.now, input.Request{Input: r.heartbeat(twin.p.State(), twin.node)})
	for _, e := range events {
		if e, ok := e.(*event.ReservationFulfilled); ok && e.Reservation == twin.reservation {
			twin.twinAt = r.now
			r.judge(twin)
		}
	}
}

// heartbeat returns a node's heartbeat that reports the containers that have ended.
func (r *lendingRun) heartbeat(st *state.State, id yarn.NodeID) *input.NodeHeartbeat {
	in := &input.NodeHeartbeat{ID: id}
	for _, c := range st.Containers.On(st.Nodes.Get(st.Nodes.Find(id))) {
		if end, known := r.ends[st.Apps.Ref(c)]; !c.State.Live() || known && end <= r.now {
			in.Statuses = append(in.Statuses, input.ContainerStatus{Container: st.Apps.ContainerID(c),
				State: yarn.ContainerCompleted})
		}
	}
	return in
}

// submit submits an application that asks for a few containers. Most applications declare a
// lifetime and ask for small containers.
func (r *lendingRun) submit() {
	var app lendingApp
	in := &input.SubmitApplication{User: fmt.Sprintf("u%d", r.rng.IntN(3)), Name: "job",
		Queue: []string{"root.a", "root.b"}[r.rng.IntN(2)], Unmanaged: true}
	if r.rng.IntN(6) > 0 {
		app.declared = heartbeatStep * (1 + r.rng.Int64N(40))
		in.Tags = []string{fmt.Sprintf("%sseconds=%d", yarn.LifetimeTag, app.declared/1000)}
	}
	app.id = yarn.AttemptID{App: r.do(in).(*input.SubmitApplicationReply).ID, Attempt: 1}
	r.apps = append(r.apps, app)
	size := yarn.NewResource(1024*(1+r.rng.Int64N(3)), 1+r.rng.Int64N(2))
	if r.rng.IntN(4) == 0 {
		size = yarn.NewResource(1024*(5+r.rng.Int64N(4)), 1+r.rng.Int64N(8))
	}
	r.do(&input.RegisterAttempt{Attempt: app.id})
	r.do(&input.Allocate{Attempt: app.id, Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1 + r.rng.Int64N(3), Size: size, Relax: true}}})
}
