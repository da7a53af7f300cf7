package planner

import (
	"fmt"
	"math"
	"testing"

	"rmd/internal/growth"
	"rmd/scheduler/input"
	"rmd/scheduler/planner/node"
	"rmd/yarn"
)

// TestHugeNode checks a node of 2^63−1 MB, which an older leader has let in. The cluster's total
// does not overflow, other applications get containers, and the next tick reduces the node to the
// largest size that a node may have. When the node is lost, the total is as before.
func TestHugeNode(t *testing.T) {
	for name, set := range map[string]bool{"registered": false, "set by an administrator": true} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 2, true)
			at, quiet := h.run(), h.p.st.Meta.Cluster
			huge := yarn.NewResource(math.MaxInt64, math.MaxInt64)
			evil := &input.RegisterNode{ID: yarn.NodeID{Host: "evil", Port: 1}, Rack: "r", Total: huge}
			if set {
				evil.Total = yarn.NewResource(1, 1)
			}
			h.must(t, evil)
			if set {
				h.must(t, &input.SetNodeResource{ID: evil.ID, Total: huge})
			}
			check := func(when string) {
				t.Helper()
				if h.p.st.Meta.Cluster.Negative() {
					t.Errorf("%s: the cluster has %s", when, h.p.st.Meta.Cluster)
				}
				if err := h.p.st.Check(); err != nil {
					t.Errorf("%s: Check of the state: %v", when, err)
				}
			}
			check("registered")
			if got := h.ask(at, 0, 1); len(got) != 1 {
				t.Errorf("%d containers are given beside the node", len(got))
			}
			h.must(t, &input.Tick{})
			check("after a tick")
			if got, want := h.p.st.Meta.Cluster, quiet.Add(node.Largest); got[yarn.Memory] != want[yarn.Memory] {
				t.Errorf("the cluster has %s, want %s", got, want)
			}
			h.must(t, &input.ExpireNode{ID: evil.ID})
			check("lost")
			if got := h.p.st.Meta.Cluster; got != quiet {
				t.Errorf("without the node the cluster has %s, want %s", got, quiet)
			}
		})
	}
}

// TestDemandIsBounded checks that the demand of an application stays small enough for sums, and
// that its asks and blacklist have limits, however many calls the AM makes.
func TestDemandIsBounded(t *testing.T) {
	h := newHouse(t, 1, true)
	h.must(t, &input.SetQueues{Properties: []input.Property{
		{Name: confPrefix + "root.queues", Value: "a"}, {Name: confPrefix + "root.a.capacity", Value: "100"},
		{Name: "yarn.scheduler.maximum-allocation-mb", Value: fmt.Sprint(yarn.MaxAmount)}}})
	at := h.run()
	call := func(fill func(in *input.Allocate)) *input.Refusal {
		t.Helper()
		in := &input.Allocate{Attempt: at, Response: h.p.st.Apps.Get(h.p.st.Apps.ByID(at.App)).Response}
		fill(in)
		r, _ := h.try(in)
		return r.Refused()
	}
	anywhere := func(priority int32, count int64, size yarn.Resource) input.Ask {
		return input.Ask{Key: yarn.SchedulerKey{Priority: priority}, Name: yarn.Any, Count: count, Size: size}
	}
	if f := call(func(in *input.Allocate) {
		in.Asks = []input.Ask{anywhere(1, input.MaxCount, yarn.NewResource(yarn.MaxAmount, 1))}
	}); f == nil || f.Reason != input.InvalidAsk {
		t.Errorf("a million of the largest containers: %v", f)
	}
	next, fault := 0, (*input.Refusal)(nil)
	many := func(per int, fill func(in *input.Allocate, i int)) {
		t.Helper()
		fault = nil
		for range 20 {
			if fault = call(func(in *input.Allocate) {
				for range per {
					next++
					fill(in, next)
				}
			}); fault != nil {
				break
			}
		}
		if fault == nil || fault.Reason != input.TooLarge || fault.Do == "" {
			t.Errorf("there is no end: %v", fault)
		}
	}
	many(1000, func(in *input.Allocate, i int) {
		in.Asks = append(in.Asks, anywhere(int32(i), 1, yarn.NewResource(1024, 1)))
	})
	many(5000, func(in *input.Allocate, i int) { in.BlacklistAdd = append(in.BlacklistAdd, fmt.Sprint("h", i%30_000)) })
	if err := h.p.st.Check(); err != nil {
		t.Error(err)
	}
	if p := h.p.st.Queues.Get(1).Pending; p.Negative() || p.Saturated() {
		t.Errorf("root waits for %s", p)
	}
}

// TestManyAskLocations checks that the time for a call does not grow with the square of the hosts
// that it names. One AM must not keep the leader busy.
func TestManyAskLocations(t *testing.T) {
	h := newHouse(t, 1, false)
	in := &input.Allocate{Asks: []input.Ask{
		{Key: yarn.SchedulerKey{Priority: 1}, Name: yarn.Any, Count: 1, Size: yarn.NewResource(1024, 1)}}}
	for i := range input.MaxEntries - 1 {
		in.Asks = append(in.Asks, input.Ask{Key: yarn.SchedulerKey{Priority: 1}, Name: fmt.Sprint("h", i), Count: 1,
			Size: yarn.NewResource(1024, 1)})
	}
	growth.InTime(t, "to name 100,000 hosts under one key", func() {
		for range 5 {
			in.Attempt = h.run()
			in.Response = h.p.st.Apps.Get(h.p.st.Apps.ByID(in.Attempt.App)).Response
			h.must(t, in)
		}
	})
}

// TestZeroAskKeepsReservationSize checks that an ask with count 0 and another size does not change
// the size of a reservation. With eager-cancel off, the reservation of an ask stays for a while
// after its count is 0, and a lost container may raise the count again.
func TestZeroAskKeepsReservationSize(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`conf queues=(a:100) a.user-limit-factor=10
node add n1 8G
node add n2 8G
app other user=u1 queue=a
fill other 2G n1=3
app app1 user=u1 queue=a
ask app1 2x4G@1
hb n2
hb n1`)
	slot, _ := w.app("app1")
	if w.p.st.Reservations.Len() != 1 {
		t.Fatalf("%d reservations", w.p.st.Reservations.Len())
	}
	nothing := parseAsk("0x1G@1", true)
	// as a late repeat of a call does; its answer delivers nothing
	w.direct(func(p *Planner) { p.attempts.asks.store(slot, []input.Ask{nothing}, nil) })
	w.tellAll("node lose n2\nhb n1\ncomplete other 1\ncomplete other 2\nhb n1")
	if w.p.st.Reservations.Len() != 0 {
		t.Errorf("%d reservations are left", w.p.st.Reservations.Len())
	}
}
