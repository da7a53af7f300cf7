package planner

import (
	"strings"
	"testing"

	"rmd/scheduler/explain"
	"rmd/scheduler/input"
)

// preemptStory is a cluster that root.a fills although half of it is guaranteed to root.b, whose
// application waits.
const preemptStory = `conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10 max=8G preempt
node add n1 8G
app app1 user=u1 queue=a
fill app1 2G n1=4
wait 60
app app2 user=u2 queue=b
ask app2 1x4G
hb n1 quiet`

func (w *world) preemption() *explain.Preemption {
	return explain.PreemptionNow(w.fork().Scheduler())
}

// TestExplainPreemption follows two containers from the forecast to their end.
func TestExplainPreemption(t *testing.T) {
	w := newWorld(t)
	w.tellAll(preemptStory)
	digest := w.p.st.Digest()
	d := w.preemption()
	if w.p.st.Digest() != digest {
		t.Fatal("the question changed the state")
	}
	if d.Mode != explain.PreemptionOn || d.Selector != "planned" || d.MaxWaitMillis != 15_000 || len(d.Warnings) != 0 ||
		len(d.Next.Kills) != 0 {
		t.Errorf("mode %s, selector %q, max wait %d ms, %d warnings, %d next kills, want %s, planned, 15000 ms, 0, 0",
			d.Mode, d.Selector, d.MaxWaitMillis, len(d.Warnings), len(d.Next.Kills), explain.PreemptionOn)
	}
	a, b := d.Queues[0], d.Queues[1]
	if a.Path != "root.a" || a.GuaranteedAmount["memory-mb"] != 4096 || a.UsedAmount["memory-mb"] != 8192 ||
		a.GivesAmount["memory-mb"] == 0 || !strings.HasPrefix(a.Text, "must give ") {
		t.Errorf("first queue: %+v, want root.a with 4096 MiB guaranteed and 8192 used, which must give some",
			a)
	}
	if b.PendingAmount["memory-mb"] != 4096 || !strings.HasPrefix(b.Text, "waits for its guarantee: 4 GiB") {
		t.Errorf("queue %s has %d MiB pending and says %q, want 4096 and that it waits for its guarantee",
			b.Path, b.PendingAmount["memory-mb"], b.Text)
	}
	if len(d.Next.Warns) != 1 {
		t.Fatalf("the next round warns %+v, want one set", d.Next.Warns)
	}
	next := d.Next.Warns[0]
	if !strings.HasSuffix(next.App, "_0002") || next.Queue != "root.b" || next.Cause != "GUARANTEE" ||
		len(next.Containers) != 2 || next.Containers[0].RunMillis < 60_000 || next.Sets == 0 ||
		!strings.Contains(next.Text, "root.b was 4 GiB · 0 vc under its guarantee, root.a was 4 GiB") {
		t.Errorf("the next round warns %+v, want two containers for app2 in root.b because of its guarantee",
			next)
	}

	if p := w.explained("app2").Preemption; p == nil || !strings.Contains(p.Text, "other queues must give") {
		t.Errorf("before the round app2 hears %+v", p)
	}
	w.tellAll("round quiet")
	if p := w.explained("app2").Preemption; p == nil || len(p.Gains) != 1 || p.Text != "" || len(p.Loses) != 0 ||
		len(p.Gains[0].Containers) != 2 {
		t.Errorf("after the round app2 hears %+v, want one gain of two containers, no loss and no text",
			p)
	}
	if p := w.explained("app1").Preemption; p == nil || len(p.Loses) != 1 || len(p.Gains) != 0 ||
		p.Loses[0].App != next.App {
		t.Errorf("after the round app1 hears %+v, want one loss for %s and no gain", p, next.App)
	}
	d = w.preemption()
	if len(d.Next.Warns) != 0 || len(d.Warnings) != 1 || d.Warnings[0].Reservation != next.Reservation ||
		d.Warnings[0].Text != next.Text || len(d.Warnings[0].Containers) != 2 {
		t.Errorf("after the round: next warns %+v, standing warnings %+v, want none and the one that was forecast: %+v",
			d.Next.Warns, d.Warnings, next)
	}
	w.now += 15_000
	w.plan(&input.NodesHeard{})
	w.tellAll("ask app2 2x4G")
	if d = w.preemption(); len(d.Next.Kills) != 2 {
		t.Errorf("after the deadline the next round kills %+v, want two containers", d.Next.Kills)
	}
	w.tellAll("round quiet")
	if d = w.preemption(); d.Totals.Preempted["GUARANTEE"] != 2 || d.Totals.ResourceSeconds["memory-mb"] == 0 ||
		len(d.Totals.Unused) != 0 {
		t.Errorf("totals after the kills: %+v, want 2 preempted for GUARANTEE, their memory-mb seconds and none unused",
			d.Totals)
	}
	w.tellAll("kill app2")
	if d = w.preemption(); d.Totals.Unused["ATTEMPT_ENDED"] != 2 {
		t.Errorf("unused after the end of app2: %v, want 2 for ATTEMPT_ENDED", d.Totals.Unused)
	}
}

// TestExplainPreemptionSwitchedOff checks that the forecast also says what preemption would do
// where it is off.
func TestExplainPreemptionSwitchedOff(t *testing.T) {
	for change, want := range map[string]struct {
		mode string
		sets int
		text string
	}{
		"":                          {explain.PreemptionOff, 1, "must give"},
		"a.disable_preemption=true": {explain.PreemptionOff, 0, "disable_preemption protects it"},
	} {
		w := newWorld(t)
		w.tellAll(strings.Replace(preemptStory, " preempt\n", " "+change+"\n", 1))
		if p := w.explained("app2").Preemption; p == nil ||
			!strings.HasSuffix(p.Text, "preemption is off: nothing is warned or preempted") {
			t.Errorf("with %q app2 hears %+v, want that preemption is off", change, p)
		}
		d := w.preemption()
		if d.Mode != want.mode || len(d.Next.Warns) != want.sets || !strings.Contains(d.Queues[0].Text, want.text) {
			t.Errorf("with %q: mode %s, next warns %+v, %s says %q, want mode %s, %d sets, a text with %q",
				change, d.Mode, d.Next.Warns, d.Queues[0].Path, d.Queues[0].Text, want.mode, want.sets, want.text)
		}
	}
	w := newWorld(t)
	if d := w.preemption(); d.Mode != explain.PreemptionOff || d.Queues == nil || d.Next.Warns == nil {
		t.Errorf("without queues: mode %s, queues %#v, next warns %#v, want %s and lists that are not nil",
			d.Mode, d.Queues, d.Next.Warns, explain.PreemptionOff)
	}
}

// TestDominantGuaranteeReached checks that root.b is owed no memory when its vcores reach its
// guarantee.
func TestDominantGuaranteeReached(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10 max=8G,8c dominant preempt
node add n1 8G,8c
app app1 user=u1 queue=b
fill app1 1G,2c n1=3
ask app1 1x2G,1c`)
	if b := w.preemption().Queues[1]; b.Path != "root.b" || b.UsedAmount["memory-mb"] != 3072 ||
		b.PendingAmount["memory-mb"] != 2048 || strings.HasPrefix(b.Text, "waits for its guarantee") {
		t.Errorf("second queue: %+v, want root.b with 3072 MiB used, 2048 pending, not waiting for its guarantee",
			b)
	}
}

// TestExplainTooDear checks that an application learns that every set of victims loses more work
// than its wait is worth, and when a set will be worth it.
func TestExplainTooDear(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10 max=8G preempt preemption.max-lost-work-ms=600000 preemption.guarantee-wait-ms=-1
node add n1 8G
app app1 user=u1 queue=a
fill app1 4G n1=2
wait 3600
app app2 user=u2 queue=b
ask app2 1x4G
wait 400
round quiet
app app3 user=u3 queue=a`)
	digest, now := w.p.st.Digest(), w.p.st.Meta.NowMillis
	p := w.explained("app2").Preemption
	if w.p.st.Digest() != digest {
		t.Fatal("the question changed the state")
	}
	if p == nil || p.Dear == nil || len(p.Gains) != 0 {
		t.Fatalf("app2 hears %+v, want a set that loses too much work (Dear) and no gains", p)
	}
	d := *p.Dear
	waited := d.WaitedMillis
	if ran := d.LostMillis - waited; waited < 399_000 || waited > 410_000 || ran < 3_600_000 || ran > 3_601_000 ||
		d.MostMillis != 600_000+4*waited || len(d.Containers) != 1 || d.Node != "n1:1" {
		t.Errorf("Dear = %+v, want one container on n1:1 that ran for 1 h, 399 to 410 s waited, most_ms 600000 + 4·waited",
			d)
	}
	if wait := waited + d.EndsMillis - now; wait < 1_000_000 || wait > 1_002_000 {
		t.Errorf("worth a wait of %d ms: %+v", wait, d)
	}
	for _, part := range []string{"root.b is 4 GiB",
		"nothing is killed: the cheapest choice (1 container on n1:1) would lose as much work as a container of 4 GiB",
		"does in 1h06m, and may lose that of 36m4", "after a wait of 6m4", "room expected in 1h06m", "a wait of 16m4"} {
		if !strings.Contains(p.Text, part) {
			t.Errorf("%q is not in %q", part, p.Text)
		}
	}
	w.now = d.EndsMillis - 2000
	if w.tellAll("round quiet"); w.explained("app2").Preemption.Dear == nil {
		t.Error("it ends before the time that was told")
	}
	w.now = d.EndsMillis + 1000
	w.tellAll("round quiet")
	if p := w.explained("app2").Preemption; len(p.Gains) != 1 || p.Dear != nil {
		t.Errorf("at the time that was told: %+v", p)
	}
}

// TestExplainAlwaysTooDear checks the answer for a victim four times as large as the waiting
// container: the lost work grows as fast as the wait.
func TestExplainAlwaysTooDear(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`conf queues=(a:20, b:80) a.user-limit-factor=10 b.user-limit-factor=10 max=8G preempt preemption.max-lost-work-ms=60000 preemption.guarantee-wait-ms=-1
node add n1 9G
node add n2 9G
app app1 user=u1 queue=a
fill app1 8G n1=1 n2=1
wait 3600
app app2 user=u2 queue=b
ask app2 4x2G
wait 60
round quiet
app app3 user=u3 queue=a`)
	p := w.explained("app2").Preemption
	if p == nil || p.Dear == nil || p.Dear.EndsMillis != 0 || p.Dear.LostMillis < 4*3_600_000 ||
		!strings.Contains(p.Text, "grows dearer as fast as the wait") {
		t.Errorf("app2 hears %+v, want a set that loses 4 h or more (Dear) and never becomes cheap enough",
			p)
	}
}

// TestListsLeavePreemptionOut checks that lists of applications do not explain preemption, which
// looks at all applications and queues each time.
func TestListsLeavePreemptionOut(t *testing.T) {
	w := newWorld(t)
	w.tellAll(preemptStory)
	x := &explain.Explainer{}
	if err := x.Follow(w.p.st.Fork()); err != nil {
		t.Fatal(err)
	}
	full := w.explained("app2")
	doc, ok, err := x.Last(w.apps["app2"])
	if err != nil || !ok || doc.Preemption != nil || full.Preemption == nil || doc.Text != full.Text {
		t.Errorf("%+v, %v, %v; alone %+v", doc, ok, err, full)
	}
}
