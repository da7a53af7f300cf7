package planner

import (
	"strings"
	"testing"

	"rmd/scheduler/explain"
)

const balanceStory = `conf queues=(a:30, b:30, c:40) a.user-limit-factor=10 b.user-limit-factor=10 max=8G preempt yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.enabled=true
node add n1 10G
app app1 user=u1 queue=a
fill app1 1G n1=7
app app2 user=u2 queue=b
fill app2 1G n1=3
wait 60
ask app1 4x1G`

// TestExplainBalance checks that both applications learn why a container is preempted, and how much
// a queue lacks of its part of the idle resources.
func TestExplainBalance(t *testing.T) {
	w := newWorld(t)
	w.tellAll(balanceStory + "\nask app2 1x3G")
	p := w.explained("app2").Preemption
	if p == nil || !strings.Contains(p.Text,
		"root.b has its guarantee, and 1 GiB · 0 vc less than its part of what is left; nothing is killed: a container of 3 GiB · 1 vc would be more than that") {
		t.Errorf("of a large container: %+v", p)
	}
	w.tellAll("ask app2 0x3G\nask app2 2x1G")
	d := w.preemption()
	for i, text := range []string{"must give 1 GiB · 1 vc: it has more of what is left than its part",
		"has its guarantee; waits for its part of what is left: 1 GiB · 0 vc more"} {
		if d.Queues[i].Text != text {
			t.Errorf("queue %s is explained as %q, want %q", d.Queues[i].Path, d.Queues[i].Text, text)
		}
	}
	if d.Queues[0].Entitled != "6 GiB · 0 vc" || d.Queues[0].Gives != "1 GiB · 1 vc" {
		t.Errorf("%s is entitled to %s and gives %s, want 6 GiB · 0 vc and 1 GiB · 1 vc",
			d.Queues[0].Path, d.Queues[0].Entitled, d.Queues[0].Gives)
	}
	if p = w.explained("app2").Preemption; p == nil ||
		!strings.HasSuffix(p.Text,
			"other queues must give, and the next rounds choose containers if some free enough on one node that no other reservation holds") {
		t.Errorf("after the ask for small containers app2 hears %+v, want that other queues must give",
			p)
	}
	w.tellAll("round quiet")
	w.bothHear("BALANCE",
		"root.b has less of what is left than its part, root.a was 4 GiB · 7 vc over its own; cheapest of 8 sets")
}

// bothHear requires that app2 gains and app1 loses one set, with the given cause and text.
func (w *world) bothHear(cause, text string) {
	w.t.Helper()
	gains, loses := w.explained("app2").Preemption, w.explained("app1").Preemption
	if gains == nil || loses == nil || len(gains.Gains) != 1 || len(loses.Loses) != 1 {
		w.t.Fatalf("%+v and %+v", gains, loses)
	}
	for _, set := range []explain.PreemptionSet{gains.Gains[0], loses.Loses[0]} {
		if set.Cause != cause || !strings.HasPrefix(set.Text, text) {
			w.t.Errorf("%+v, want %s: %q", set, cause, text)
		}
	}
}

// TestExplainBalanceTooDear checks that an application learns when every set of victims would lose
// more work than its wait is worth.
func TestExplainBalanceTooDear(t *testing.T) {
	w := newWorld(t)
	w.tellAll(strings.Replace(balanceStory, "max=8G preempt", "max=8G preempt preemption.max-lost-work-ms=1000", 1) +
		"\nwait 600\napp app3 user=u2 queue=b\nask app3 1x1G\nround")
	p := w.explained("app3").Preemption
	if p == nil || p.Dear == nil || !strings.Contains(p.Text,
		"less than its part of what is left; nothing is killed: the cheapest choice (1 container on n1") {
		t.Errorf("app3 hears %+v, want a set that loses too much work (Dear), with 1 container on n1",
			p)
	}
}

// TestExplainReservationLimit checks that an application learns of the limit on reservations because of
// which rounds choose nothing for it.
func TestExplainReservationLimit(t *testing.T) {
	const why = "nothing is killed: yarn.scheduler.capacity.reservation.maximum-per-queue allows no reservation"
	for limit, warns := range map[string]int{"0": 0, "1": 1} {
		w := newWorld(t)
		w.tellAll("conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10 max=8G preempt " +
			"reservation.maximum-per-queue=" + limit + `
node add n1 10G
app app1 user=u1 queue=a
fill app1 1G n1=10
app app2 user=u2 queue=b
wait 60
ask app2 1x2G`)
		p, next := w.explained("app2").Preemption, w.preemption().Next.Warns
		if p == nil || strings.Contains(p.Text, why) != (warns == 0) || len(next) != warns {
			t.Errorf("limit %s: app2 hears %+v, and the next round warns %+v", limit, p, next)
		}
	}
}

const rankStory = `conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10 max=10G root.ordering-policy=priority-utilization a.priority=1 ordering-policy.priority-utilization.underutilized-preemption.enabled=true ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms=1000 preempt
node add n1 10G
node add n2 10G
app app1 user=u1 queue=b
fill app1 4G n1=2
wait 600
app app2 user=u2 queue=a
ask app2 1x6G hosts=(n1:1) strict
hb n1 quiet`

// TestExplainQueuePriority checks that both applications learn of the priority of the queue. Until
// the reservation has waited for its delay, nobody may preempt for it.
func TestExplainQueuePriority(t *testing.T) {
	w := newWorld(t)
	w.tellAll(rankStory)
	if p := w.explained("app2").Preemption; p == nil ||
		!strings.HasSuffix(p.Text, "no other queue uses more than its own") {
		t.Errorf("before it has waited: %+v", p)
	}
	w.tellAll("wait 2\nask app1 1x1G")
	if p := w.explained("app2").Preemption; p == nil ||
		!strings.HasSuffix(p.Text,
			"other queues must give, and the next rounds choose containers if some free enough on one node that no other reservation holds") {
		t.Errorf("before a round: %+v", p)
	}
	if d := w.preemption(); len(d.Next.Warns) != 1 || d.Next.Warns[0].Cause != "QUEUE_PRIORITY" {
		t.Errorf("the next round warns %+v, want one set with cause QUEUE_PRIORITY", d.Next.Warns)
	}
	w.tellAll("round quiet")
	w.bothHear("QUEUE_PRIORITY",
		"root.a has priority over root.b and was 10 GiB · 1 vc under its guarantee; cheapest of 3 sets")

	w = newWorld(t)
	w.tellAll(strings.Replace(rankStory, "reserved-container-delay-ms=1000 preempt",
		"reserved-container-delay-ms=1000 preempt preemption.max-lost-work-ms=1000", 1) + "\nwait 2\nround\nask app1 1x1G")
	if p := w.explained("app2").Preemption; p == nil || p.Dear == nil ||
		!strings.Contains(p.Text, "nothing is killed: the cheapest choice (1 container on n1") {
		t.Errorf("too dear: %+v", p)
	}
}
