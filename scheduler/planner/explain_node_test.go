package planner

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler/capacity"
	"rmd/scheduler/explain"
)

// nodeStory is a scenario, and what the last event of a kind says about the choice of its node.
type nodeStory struct {
	name string
	kind event.Kind
	says []string // parts of the explanation
	tell string
}

func nodeStories() []nodeStory {
	const (
		plain    = "conf queues=(a:100) a.user-limit-factor=10 node-order="
		two      = "\nmode eager\nnode add n1 8G\nnode add n2 8G\n"
		app      = "app app0 user=u0\napp app1 user=u1\n"
		reserved = "conf queues=(a:100) a.user-limit-factor=10" + two + `app long user=u1 lifetime=100
ask long 1x4G hosts=(n1:1) strict
app later user=u1 lifetime=110
ask later 1x4G hosts=(n2:1) strict
app large user=u2
ask large 1x7G`
	)
	return []nodeStory{
		{"spread", event.KindContainerAllocated,
			[]string{"n2:1 of 2 nodes with room: it uses the least of its memory, 0.0 %; n1:1 uses 50.0 %"},
			plain + "spread" + two + app + "ask app0 1x4G\nask app1 1x1G"},
		{"spread, equal use", event.KindContainerAllocated,
			[]string{
				"n2:1 of 2 nodes with room: it uses as little of its memory as n1:1, about 0.0 %, and has more memory free"},
			plain + "spread\nmode eager\nnode add n1 8G\nnode add n2 16G\n" + app + "ask app1 1x1G"},
		{"spread, equal nodes", event.KindContainerAllocated,
			[]string{
				"n1:1 of 2 nodes with room: it uses as little of its memory as n2:1, about 0.0 %, and has the lower number"},
			plain + "spread" + two + app + "ask app1 1x1G"},
		{"auto spreads", event.KindContainerAllocated, []string{"n2:1 of 2 nodes with room: it uses the least of its memory"},
			plain + "auto" + two + app + "ask app0 1x1G\nask app1 1x1G"},
		{"auto packs after a large container", event.KindContainerAllocated,
			[]string{"n1:1 of 2 nodes with room: it has the least left over, 3 GiB"},
			plain + "auto" + two + app + "ask app0 1x4G\nask app1 1x1G"},
		{"auto compares lifetimes where room is lent", event.KindContainerAllocated,
			[]string{"n2:1 of 2 nodes with room: its containers end at about the same time, or later"},
			plain + "auto a.backfill=declared" + two +
				"app short user=u1 lifetime=100\nask short 1x4G hosts=(n1:1) strict\napp long user=u1 lifetime=3000\nask long 1x2G hosts=(n2:1) strict\napp new user=u2 lifetime=2000\nask new 1x1G"},
		{"pack", event.KindContainerAllocated, []string{"n1:1 of 2 nodes with room: it has the least left over, 3 GiB",
			"n2:1 is kept whole"},
			plain + "pack" + two + app + "ask app0 1x4G\nask app1 1x1G"},
		{"pack, equal nodes", event.KindContainerAllocated,
			[]string{"n1:1 of 2 nodes with room: it has about as little left over as n2:1, 7 GiB",
				"and has the lower number; n2:1 is kept whole"},
			plain + "pack" + two + app + "ask app1 1x1G"},
		{"lifetime", event.KindContainerAllocated,
			[]string{"n2:1 of 2 nodes with room: its containers end at about the same time, or later"},
			plain + "lifetime" + two +
				"app short user=u1 lifetime=100\nask short 1x2G hosts=(n1:1) strict\napp long user=u1 lifetime=3000\nask long 1x2G hosts=(n2:1) strict\napp new user=u2 lifetime=2000\nask new 1x1G"},
		{"lifetime, the longest of a node counts", event.KindContainerAllocated,
			[]string{"n1:1 of 2 nodes with room: the container prolongs its use by the smallest factor"},
			plain + "lifetime" + two +
				"app short user=u1 lifetime=100\nask short 1x1G@1 hosts=(n1:1) strict\napp long user=u1 lifetime=3000\nask long 1x1G hosts=(n1:1) strict\nask short 1x1G@2 hosts=(n1:1) strict\napp middle user=u1 lifetime=500\nask middle 1x4G hosts=(n2:1) strict\napp new user=u2 lifetime=5000\nask new 1x1G"},
		{"lifetime, prolonged", event.KindContainerAllocated,
			[]string{"n2:1 of 2 nodes with room: the container prolongs its use by the smallest factor"},
			plain + "lifetime" + two +
				"app short user=u1 lifetime=100\nask short 1x2G hosts=(n1:1) strict\napp long user=u1 lifetime=3000\nask long 1x2G hosts=(n2:1) strict\napp new user=u2 lifetime=5000\nask new 1x1G"},
		{"lifetime, equal ends", event.KindContainerAllocated,
			[]string{"n1:1 of 2 nodes with room: the container fits the ends of its containers as well as on n2:1, and it has the least left over, 4 GiB"},
			plain + "lifetime" + two +
				"app long user=u1 lifetime=3000\nask long 1x3G@1 hosts=(n1:1) strict\nask long 1x1G@2 hosts=(n2:1) strict\napp new user=u2 lifetime=2000\nask new 1x1G"},
		{"only node", event.KindContainerAllocated, []string{"no other node that it may use had room"},
			plain + "spread" + two + app + "ask app0 1x6G\nask app1 1x6G"},
		{"host", event.KindContainerAllocated, []string{"n2:1 had 8 GiB", "free; it names the host"},
			plain + "spread" + two + app + "ask app1 1x1G hosts=(n2:1) racks=(default-rack:1)"},
		{"rack", event.KindContainerAllocated, []string{"it names the rack; n2:1 of 2 nodes with room there: it uses"},
			plain +
				"spread node-locality-delay=-1\nmode eager\nnode add n1 8G rack=r1\nnode add n2 8G rack=r2\nnode add n3 8G rack=r2\n" + app + "ask app1 1x1G hosts=(n9:1) racks=(r2:1)"},
		{"avoided", event.KindContainerAllocated, []string{"on n1:1, its last container did not start"},
			plain + "spread" + two + app + "ask app1 1x1G\nrelease app1 1\nask app1 1x1G"},
		{"freed room", event.KindContainerAllocated,
			[]string{"the room of n2:1 was offered to the application that was next; by the order spread, the ask itself would have got n1:1"},
			"conf queues=(a:50, b:50) a.maximum-capacity=50 a.user-limit-factor=10 node-order=spread" + two + app +
				"ask app0 1x6G hosts=(n2:1) strict\nask app1 1x4G\ncomplete app0 1"},
		{"heartbeat", event.KindContainerAllocated, []string{"n2:1 had sent a heartbeat"},
			strings.Replace(plain+"spread"+two+app, "mode eager\n", "", 1) + "ask app1 1x1G\nhb n2 quiet"},
		{"borrowed", event.KindContainerLent, []string{"in idle room of the node of reservation r1",
			"3 GiB · 0 vc free; it names the host"},
			`conf queues=(a:50, b:50) a.maximum-capacity=100 b.maximum-capacity=100 a.user-limit-factor=10 b.user-limit-factor=10 a.backfill=preemptable` + two + `app long user=u1 queue=a
ask long 1x5G hosts=(n1:1) strict
app large user=u2 queue=b
ask large 1x7G hosts=(n1:1) strict
app small user=u3 queue=a
ask small 1x1G hosts=(n1:1) strict`},
		{"exchanged", event.KindContainerAllocated, []string{"n2:1 had 8 GiB", "no other node that it may use had room"},
			reserved + "\ncomplete later 1"},
		{"reserved", event.KindReservationMade, []string{"it is expected to have room first, in 99 s"}, reserved},
		{"reserved the first", event.KindReservationMade, []string{"container of this ask; n1:1 was offered to it"},
			strings.Replace(reserved, "factor=10", "factor=10 reservation.node=first", 1)},
		{"moved", event.KindReservationMade, []string{
			"it is expected to have room first, in 4 s; r1 on n1:1 was given up for it"},
			reserved + "\nwait 105\nhb n1 times=60 quiet"},
		{"given up for a move", event.KindReservationCancelled,
			[]string{"moved to n2:1, which is expected to have room in 4 s instead of "},
			reserved + "\nwait 105\nhb n1 times=60 quiet"},
		{"given up for room", event.KindReservationCancelled, []string{"given up for room on n2:1"},
			reserved + "\ncomplete later 1"},
		{"gang", event.KindContainerAllocated, []string{"the gang got its nodes together"},
			plain + "spread" + two + "app gang user=u1 tag=(rmd.gang:priority=1;count=2)\nask gang 2x6G@1"},
		{"preempted", event.KindReservationMade, []string{"containers there are preempted for it"},
			strings.Replace(preemptStory, "conf ", "mode eager\nconf ", 1) + "\nround quiet"},
	}
}

// TestEveryNodeHasItsReason runs each story and checks what the last event of its kind says about
// the choice of the node.
func TestEveryNodeHasItsReason(t *testing.T) {
	for _, s := range nodeStories() {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld(t)
			w.tellAll(s.tell)
			x := must(explain.NewLogExplainer(state.New(), w.eager))
			why, last := must(x.Follow(w.log, true)), ""
			for i, e := range w.log {
				if e.Kind() == s.kind {
					last = why[i].Text
				}
			}
			for _, part := range s.says {
				if !strings.Contains(last, part) {
					t.Errorf("the last %s says %q, want %q in it", s.kind, last, part)
				}
			}
		})
	}
}

// TestExplainedNodeIsFirst checks with each order that an explanation finds the node first that an
// ask got, if nothing else waits: the state before each event leads to the planner's choice, also
// within an input that allocates many containers.
func TestExplainedNodeIsFirst(t *testing.T) {
	for _, order := range capacity.NodeOrders() {
		t.Run(order, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			w := newWorld(t)
			w.tellAll("conf queues=(a:100) a.user-limit-factor=10 max=16G node-order=" + order + "\nmode eager")
			for n := range 40 {
				w.tellAll(fmt.Sprintf("node add n%d %dG rack=r%d", n, 8+r.IntN(9), n%4))
			}
			for a := range 40 {
				w.tellAll(fmt.Sprintf("app app%d user=u1 lifetime=%d\nask app%d %dx%dG\nwait %d", a, 60+r.IntN(3000), a,
					1+r.IntN(6), 1+r.IntN(3), r.IntN(60)))
			}
			x := must(explain.NewLogExplainer(state.New(), true))
			allocated := 0
			for i, why := range must(x.Follow(w.log, true)) {
				if e, ok := w.log[i].(*event.ContainerAllocated); ok {
					if allocated++; !strings.Contains(why.Text, "nodes with room: ") {
						t.Errorf("application %d, container %d: %s", e.App, e.Number, why.Text)
					}
				}
			}
			if allocated < 100 {
				t.Errorf("only %d containers were allocated", allocated)
			}
		})
	}
}
