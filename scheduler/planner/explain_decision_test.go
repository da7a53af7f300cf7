package planner

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/scheduler"
	"rmd/scheduler/explain"
	"rmd/yarn"
)

// decisionStory is a scenario, and the expected reason of its last event of a kind.
type decisionStory struct {
	reason string
	kind   event.Kind
	says   []string // parts of the explanation
	tell   string
}

func decisionStories() []decisionStory {
	const plain = "conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10\nnode add n1 8G\n"
	return []decisionStory{
		{explain.FirstInLine.String(), event.KindContainerAllocated,
			[]string{"root.a used 0.0 % of its guarantee", "it asks 1 GiB", "n1:1 had 8 GiB"},
			plain + "app app1 user=u1\nask app1 1x1G\nhb n1 quiet"},
		{explain.FirstInLine.String(), event.KindContainerAllocated,
			[]string{"came first of 2 that want something", "first of 2 in it"},
			plain +
				"app app1 user=u1\napp app2 user=u2\napp app3 user=u3 queue=b\nask app1 1x1G\nask app2 1x1G\nask app3 1x1G\nhb n1 quiet"},
		{explain.AppsHeldBack.String(), event.KindContainerAllocated,
			[]string{"before it in root.a came application_", "_0001 (blacklisted by the application)"},
			plain + "app app1 user=u1\nblacklist app1 n1\nask app1 1x1G\napp app2 user=u2\nask app2 1x1G\nhb n1 quiet"},
		{explain.AppsHeldBack.String(), event.KindContainerAllocated,
			[]string{"_0001 (too small in all)", "_0002 (waits for a nearer node)", "1 application more"},
			strings.Replace(plain, "conf ", "conf max=16G ", 1) +
				"node add n2 16G\napp app1 user=u1\nask app1 1x12G\nnode lose n2\nnode add n2 8G\napp app2 user=u2\nask app2 1x1G hosts=(n9:1) racks=(r9:1) strict strict-rack\napp app3 user=u3\nblacklist app3 n1\nask app3 1x1G\napp app4 user=u4\nask app4 1x1G\nhb n1 quiet"},
		{explain.QueuesHeldBack.String(), event.KindContainerAllocated,
			[]string{"before root.b came root.a (blacklisted by the application)"},
			plain + "app app1 user=u1\nblacklist app1 n1\nask app1 1x1G\napp app2 user=u2 queue=b\nask app2 1x1G\nhb n1 quiet"},
		{explain.TooLittleFree.String(), event.KindReservationMade,
			[]string{"it asks 4 GiB", "n1:1 had 2 GiB", "of 8 GiB", "0 reservations for 1 container of this ask"}, reserveStory},
		{explain.FirstInLine.String(), event.KindContainerIncreased,
			[]string{"it asks to grow from 1 GiB", "by 2 GiB", "n1:1 had 7 GiB"},
			growStory + "\nupdate app1 1:+3G\nhb n1 quiet"},
		{explain.TooLittleFree.String(), event.KindResizeReserved,
			[]string{"it asks to grow from 1 GiB", "by 6 GiB", "n1:1 had 5 GiB", "of 8 GiB"},
			growStory + "\napp app2\nask app2 1x2G\nhb n1 quiet\nupdate app1 1:+7G\nhb n1 quiet"},
		{explain.RoomFreed.String(), event.KindReservationFulfilled,
			[]string{"it needed 4 GiB", "n1:1 had 8 GiB", "reserved for 0 s"}, reserveStory + "\ncomplete app0 1\nhb n1 quiet"},
		{yarn.CancelAttemptEnded.String(), event.KindReservationCancelled, []string{"it needed 4 GiB", "n1:1 had 2 GiB"},
			reserveStory + "\nkill app1"},
		{explain.WithinAMLimit.String(), event.KindAttemptActivated,
			[]string{"its AM needs 1 GiB", "the AMs of root.a used 1 GiB", "those of u2 0 GiB"},
			"conf queues=(a:50, b:50) a.user-limit-factor=10 a.maximum-am-resource-percent=0.5\nnode add n1 80G\napp app1 user=u1 am=1G\napp app2 user=u2 am=1G"},
		{explain.FirstAM.String(), event.KindAttemptActivated, []string{"its AM needs 8 GiB", "; with it memory would be 8 GiB of "},
			"conf queues=(a:50, b:50) a.user-limit-factor=10 a.maximum-am-resource-percent=0.1\nnode add n1 16G\napp app1 user=u1 am=8G"},
		{explain.FirstInLine.String(), event.KindContainerAllocated,
			[]string{"no ask for label x could use the node, so it is lent; root.b used 0.0 % of its guarantee of label x",
				"n1:1 had 8 GiB"}, lentStory},
		{explain.FirstInLine.String(), event.KindContainerAllocated,
			[]string{"root.a used 25.0 % of its guarantee of label x", "n1:1 had 6 GiB"},
			lentStory + "\nask app0 2x2G@7\nlabel ask app0 7 x\ncomplete app1 1\nhb n1 quiet\nhb n1 quiet"},
		{yarn.PreemptGuarantee.String(), event.KindPreemptionAsked,
			[]string{"for application_", "_0002 (reservation r", "root.b was 4 GiB", "under its guarantee, root.a was 4 GiB",
				"over its own; cheapest of ", "it has run for 60 s"}, preemptStory + "\nround quiet"},
		{yarn.PreemptGuarantee.String(), event.KindContainerReleased,
			[]string{"preempted for application_", "_0002 (reservation r", "root.b was 4 GiB", "it had run for 75 s"},
			preemptStory + "\nround quiet\nround after=15 quiet"},
		{yarn.WithdrawCancelled.String(), event.KindPreemptionWithdrawn,
			[]string{"the reservation that it was to make room for was cancelled"}, preemptStory + "\nround quiet\nkill app2"},
		{explain.NoAM.String(), event.KindAttemptActivated, []string{"its AM is unmanaged"}, plain + "app app1 user=u1"},
		{scheduler.MaxParallelApps.String(), event.KindAttemptStarted, []string{"1 in root.a"},
			"conf queues=(a:100) a.max-parallel-apps=1\nnode add n1 8G\napp app1 user=u1\napp app2 user=u2"},
	}
}

const reserveStory = `conf queues=(a:100) a.user-limit-factor=10
node add n1 8G rack=r0
node add n2 8G rack=r1
app app0 user=u0
ask app0 1x6G
hb n1 quiet
app app1 user=u1
ask app1 1x4G hosts=(n1:1) racks=(r0:1) strict strict-rack
hb n1 quiet`

const lentStory = `conf queues=(a:50, b:50) yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100 b.accessible-node-labels=y a.user-limit-factor=10
label add x y shared
node add n1 8G
label nodes n1=x
app app0 user=u0
app app1 user=u1 queue=b
ask app1 1x1G
hb n1 quiet`

const growStory = `conf queues=(a:100) a.user-limit-factor=10
node add n1 8G
node add n2 8G
app app1
ask app1 1x1G
hb n1 quiet
pull app1
launch app1`

// TestEveryDecisionHasItsReason runs each story and compares the reason of the last event of its
// kind with the expected one.
func TestEveryDecisionHasItsReason(t *testing.T) {
	told := map[string]bool{}
	for _, s := range decisionStories() {
		told[s.reason] = true
		t.Run(s.reason, func(t *testing.T) {
			w := newWorld(t)
			w.tellAll(s.tell)
			x := must(explain.NewLogExplainer(state.New(), w.eager))
			why := must(x.Follow(w.log, true))
			if x.State().Digest() != w.p.State().Digest() {
				t.Fatal("the log explainer has come to another state")
			}
			at := -1
			for i, e := range w.log {
				if e.Kind() == s.kind {
					at = i
				}
			}
			if at < 0 {
				t.Fatalf("the story has no %s", s.kind)
			}
			if why[at].Reason != s.reason {
				t.Fatalf("%s: %+v, want %s", s.kind, why[at], s.reason)
			}
			for _, part := range s.says {
				if !strings.Contains(why[at].Text, part) {
					t.Errorf("%q does not say %q", why[at].Text, part)
				}
			}
		})
	}
	for _, g := range explain.Causes() {
		if name := g.String(); name != "" && !told[name] {
			t.Errorf("no story for %s", name)
		}
	}
}

// TestLogExplainerFollows checks with random histories that an explainer of the log reaches the
// planner's state, and that it gives a reason for every decision.
func TestLogExplainerFollows(t *testing.T) {
	t.Parallel()
	reasoned := []event.Kind{event.KindContainerIncreased, event.KindResizeReserved, event.KindContainerAllocated,
		event.KindContainerLent, event.KindPreemptionAsked, event.KindPreemptionWithdrawn, event.KindReservationMade,
		event.KindReservationFulfilled, event.KindReservationCancelled, event.KindAttemptActivated}
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, rapid.Bool().Draw(t, "labels"))
		x, seen := must(explain.NewLogExplainer(state.New(), true)), 0
		do := m.actions()
		do["explain"] = func(t *rapid.T) {
			why := must(x.Follow(m.log[seen:], true))
			for i, e := range m.log[seen:] {
				if slices.Contains(reasoned, e.Kind()) != (why[i].Text != "") && e.Kind() != event.KindAttemptStarted &&
					why[i].Reason != yarn.PreemptLease.String() {
					t.Fatalf("%s %+v: explained as %+v, want a text if and only if such events have a reason",
						e.Kind(), e, why[i])
				}
			}
			if seen = len(m.log); x.State().Digest() != m.p.st.Digest() {
				t.Fatal("the log explainer has come to another state")
			}
		}
		t.Repeat(do)
	})
}
