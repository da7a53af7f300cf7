package planner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"rmd/scheduler"
	"rmd/scheduler/explain"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// reasonStory is a scenario with the expected reason why an application waits. Two checks show that
// the reason is right: the application gets nothing, however often its nodes have their turn
// (still); and it is served when the remedy takes away the cause and nothing else.
type reasonStory struct {
	reason scheduler.Reason
	setup  string
	app    string
	still  string // turns of nodes that must change nothing
	remedy string
	// served reports whether the remedy helped. Nil: the application has one more container.
	served func(w *world, app string) bool
	never  bool
	ifs    string // part of the only supposition that would start a container now; empty: there must be none
	ends   int    // number of containers that must end
	text   string // beginning of the first explanation
}

func activated(w *world, app string) bool {
	_, a := w.app(app)
	return a.Activated()
}

func stories() []reasonStory {
	return []reasonStory{
		{reason: scheduler.AMLimitQueue, app: "app2",
			text:   "its AM needs 4 GiB · 1 vc; the AMs of root.a use 4 GiB · 1 vc of 4 GiB · 1 vc; with it memory would be 8 GiB of 4 GiB",
			remedy: "kill app1",
			served: activated, ifs: "AMs had no limit", setup: `
conf queues=(a:50, b:50) a.maximum-capacity=50 a.user-limit-factor=10 a.maximum-am-resource-percent=0.1
node add n1 80G
app app1 user=u1 am=4G
app app2 user=u2 am=4G`, still: "hb n1 times=3 quiet"},
		{reason: scheduler.AMLimitUser, app: "app4",
			text: "its AM needs 2 GiB · 1 vc; the AMs of user u1 use 2 GiB · 1 vc of ", remedy: "kill app3", served: activated,
			ifs: "AMs had no limit", setup: `
conf queues=(a:10, b:90) a.maximum-capacity=100 a.minimum-user-limit-percent=50 a.user-limit-factor=5 a.maximum-am-resource-percent=0.1
node add n0 80G
app app1 user=u0 am=2G
app app2 user=u0 am=2G
app app3 user=u1 am=2G
app app4 user=u1 am=2G`},
		{reason: scheduler.QueueMaxCapacity, app: "app2",
			text: "it asks 1 GiB · 1 vc; root.a uses 8 GiB · 1 vc of its maximum of 8 GiB", still: "hb n1 n2 quiet",
			remedy: "kill app1\nhb n1 n2 quiet", ifs: "no maximum", setup: `
conf queues=(a:50, b:50) a.maximum-capacity=50 b.maximum-capacity=50 max=16G
node add n1 8G
node add n2 8G
app app1 user=u1
ask app1 1x8G
hb n1
app app2 user=u2
ask app2 1x1G`},
		{reason: scheduler.ParentMaxCapacity, app: "app3",
			text: "it asks 1 GiB · 1 vc; root.p uses 8 GiB · 2 vc of its maximum of 8 GiB", still: "hb n1 n2 quiet",
			remedy: "kill app1\nhb n1 n2 quiet", ifs: "no maximum", setup: `
conf queues=(p:50, b:50, p.x:50, p.y:50) p.maximum-capacity=50 p.x.maximum-capacity=100 p.y.maximum-capacity=100 p.x.user-limit-factor=10 p.y.user-limit-factor=10 max=16G
node add n1 8G
node add n2 8G
app app1 user=u1 queue=x
ask app1 1x4G
hb n1 quiet
app app2 user=u2 queue=y
ask app2 1x4G
hb n1 quiet
app app3 user=u3 queue=y
ask app3 1x1G`},
		{reason: scheduler.GuaranteeKept, app: "app1",
			text:  "it asks 1 GiB · 1 vc: 1 node has room, but 2 GiB · 0 vc are kept for root.b, which had to wait for its guarantee",
			still: "hb n1 n1 quiet", remedy: "wait 300\nhb n1 quiet", ifs: "nothing were kept", setup: `
conf queues=(a:50, b:50) a.user-limit-factor=10 b.user-limit-factor=10 max=8G preempt preemption.keep-guarantee-ms=300000
node add n1 8G
app app1 user=u1 queue=a
fill app1 1G n1=8
app app2 user=u2 queue=b
ask app2 2x1G
round
round after=15
ended n1
hb n1 n1 quiet
round after=3
complete app2 1
complete app2 2
hb n1 quiet
ask app1 1x1G`},
		{reason: scheduler.UserLimit, app: "app1", text: "user u1 uses 5 GiB · 5 vc in root.a; its limit is 4 GiB",
			still: "hb n1 n1 quiet", remedy: "conf a.user-limit-factor=1\nhb n1 quiet", ifs: "no limit", setup: `
conf queues=(a:100) a.user-limit-factor=0.25 max=16G
node add n1 16G
app app1 user=u1
ask app1 9x1G
hb n1 times=9 quiet`},
		{reason: scheduler.MaxParallelApps, app: "app2", text: "root.a runs 1 application, and may run 1 at a time",
			still: "hb n1 n1 quiet", remedy: "finish app1", served: activated, ifs: "parallel", setup: `
conf queues=(a:100) a.max-parallel-apps=1
node add n1 8G
app app1 user=u1
app app2 user=u2`},
		{reason: scheduler.LocalityDelay, app: "app1",
			text: "it asks 1 GiB · 1 vc: 1 node has room, but it waits for one of the 2 hosts or racks that it prefers, for 0 missed", still: "hb n2 quiet", remedy: "hb n2 times=8 quiet", ifs: "any node", setup: `
conf queues=(a:100) a.user-limit-factor=10 node-locality-delay=4 max=16G
node add n1 8G rack=r0
node add n2 8G rack=r1
app app0 user=u0
ask app0 1x8G
hb n1 quiet
app app1 user=u1
ask app1 3x1G hosts=(n1:3) racks=(r0:3)`},
		{reason: scheduler.Blacklisted, app: "app1", text: "it asks 1 GiB · 1 vc: 1 node is on the application's blacklist",
			still: "hb n1 n1 quiet", remedy: "blacklist app1 n1 remove\nhb n1 quiet", ifs: "blacklist", setup: `
conf queues=(a:100)
node add n1 8G
app app1 user=u1
blacklist app1 n1
ask app1 1x1G`},
		{reason: scheduler.NodeTooSmall, app: "app1", never: true,
			text: "it asks 12 GiB · 1 vc: no node has 12 GiB; the most is 8 GiB on n1:", still: "hb n1 n2 quiet",
			remedy: "node add n3 16G\nhb n3 quiet", ifs: "instead", setup: `
conf queues=(a:100) a.user-limit-factor=10 max=16G
app app1 user=u1
ask app1 1x12G
node add n1 8G
node add n2 8G`},
		{reason: scheduler.NodeTooSmall, app: "app1",
			text:  "it asks 12 GiB · 1 vc: no node has 12 GiB; the most is 8 GiB on n1:1; n2:1 is DECOMMISSIONING, and may be large enough when it serves again",
			still: "hb n1 n2 quiet", remedy: "node undrain n2\nnode add n2 16G\nhb n2 quiet", ifs: "instead", setup: `
conf queues=(a:100) a.user-limit-factor=10 max=16G
node add n1 8G
node add n2 16G
app app0 user=u0
ask app0 1x2G
hb n2 quiet
app app1 user=u1
ask app1 1x12G
node drain n2`},
		{reason: scheduler.NodeTooSmallFree, app: "app1",
			text: "it asks 4 GiB · 1 vc: no unreserved node has 4 GiB free; the most is 2 GiB on n1:", still: "hb n1 n1 quiet",
			remedy: "complete app0 1\nhb n1 quiet", ifs: "instead", ends: 1, setup: `
conf queues=(a:100) a.user-limit-factor=10
node add n1 8G
app app0 user=u0
ask app0 1x6G
hb n1 quiet
app app1 user=u1
ask app1 1x4G`},
		{reason: scheduler.NodeReservedByOther, app: "app2",
			text: "it asks 1 GiB · 1 vc: 1 node is reserved for another application, and no other node", still: "hb n1 n1 quiet",
			remedy: "kill app1\nhb n1 quiet", ifs: "reserved for others", setup: `
conf queues=(a:100) a.user-limit-factor=10
node add n1 8G rack=r0
node add n2 8G rack=r1
app app0 user=u0
ask app0 1x6G
hb n1 quiet
app app1 user=u1
ask app1 1x4G hosts=(n1:1) racks=(r0:1) strict strict-rack
hb n1 quiet
app app2 user=u2
ask app2 1x1G hosts=(n1:1) racks=(r0:1) strict strict-rack`},
		{reason: scheduler.BehindFIFO, app: "app2", text: "1 node has room, but 1 application is ahead in root.a",
			remedy: "hb n1 times=2 quiet", setup: `
conf queues=(a:100)
node add n1 8G
app app1 user=u1
ask app1 1x1G
app app2 user=u2
ask app2 1x1G`},
		{reason: scheduler.NextPass, app: "app1", text: "1 node has room: the next pass serves the ask",
			remedy: "hb n1 quiet", setup: `
conf queues=(a:100)
node add n1 8G
app app1 user=u1
ask app1 1x1G`},
		{reason: scheduler.BehindQueue, app: "app1", text: "1 node has room, but other queues come before root.a: root.b",
			remedy: "hb n1 n1 quiet", setup: `
conf queues=(a:50, b:50) a.user-limit-factor=10
node add n1 8G
app app0 user=u1 queue=a
ask app0 1x1G
hb n1 quiet
app app1 user=u1 queue=a
ask app1 1x1G
app app2 user=u2 queue=b
ask app2 1x1G`},
		{reason: scheduler.BehindOtherAsk, app: "app1",
			text: "another ask of the application is served first, or waits for the same nodes", still: "hb n1 n1 quiet",
			remedy: "ask app1 0x4G@2\nhb n1 n1 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10
node add n1 8G rack=r0
node add n2 8G rack=r1
app app0 user=u1
ask app0 1x6G
hb n1 quiet
app app1 user=u1
ask app1 1x4G@2 hosts=(n1:1) racks=(r0:1) strict strict-rack
hb n1 quiet
ask app1 1x1G@1 hosts=(n1:1) racks=(r0:1) strict strict-rack`},
		{reason: scheduler.ReservedElsewhere, app: "app2", ifs: "no node were reserved", still: "hb n1 n2 n3 n4 quiet",
			remedy: "kill app1\nhb n3 quiet",
			text:   "it asks 12 GiB · 1 vc: 2 nodes have room, but root.a uses 112 GiB · 6 vc of 112 GiB · 4 vc, and of that 48 GiB · 2 vc are reservations on other nodes", setup: reservedElsewhere},
		{reason: scheduler.HoldsReservations, app: "app1",
			text:  "it asks 4 GiB · 1 vc: 1 node has room, but as many nodes are reserved for it as it needs",
			still: "hb n2 quiet", remedy: "complete app0 1\nhb n1 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10 reservations-continue-look-all-nodes=false
node add n1 8G
node add n2 8G
app app0 user=u0
ask app0 1x6G
hb n1 quiet
app app2 user=u0
ask app2 1x6G
hb n2 quiet
app app1 user=u1
ask app1 1x4G
hb n1 quiet
complete app2 1`},
		{reason: scheduler.AMNotLaunched, app: "app1", still: "hb n1 quiet", remedy: "launch app1",
			served: func(w *world, app string) bool {
				_, a := w.app(app)
				return w.p.st.Containers.Get(a.Containers).Launched
			}, setup: `
conf queues=(a:100)
node add n1 8G
app app1 user=u1 am=1G
hb n1 quiet`},
		{reason: scheduler.AMNotRegistered, app: "app1", still: "hb n1 quiet", remedy: "register app1",
			served: func(w *world, app string) bool {
				_, a := w.app(app)
				return a.State == yarn.AppRunning
			}, setup: `
conf queues=(a:100)
node add n1 8G
app app1 user=u1 am=1G
hb n1 quiet
launch app1`},
		{reason: scheduler.NoAsks, app: "app1", still: "hb n1 quiet", remedy: "ask app1 1x1G\nhb n1 quiet", setup: `
conf queues=(a:100)
node add n1 8G
app app1 user=u1`},
		{reason: scheduler.NoNodes, app: "app1", text: "none of the cluster's 1 node runs",
			remedy: "node add n1 8G\nhb n1 quiet", setup: `
conf queues=(a:100)
node add n0 8G
app app1 user=u1
node lose n0
ask app1 1x1G`},
		{reason: scheduler.NoNodes, app: "app1", text: "none of the cluster's 2 nodes runs; 1 node is being drained",
			still: "hb n1 quiet", remedy: "node add n2 8G\nhb n2 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10
node add n0 8G
node add n1 8G
app app0 user=u0
ask app0 1x4G
hb n1 quiet
app app1 user=u1
node lose n0
node drain n1
hb n1 quiet
ask app1 1x1G`},
		{reason: scheduler.NoNodes, app: "app1",
			text:   `the cluster has no node in use: 1 of 1 node LOST, see "rmd node list"; it is activated`,
			remedy: "node add n1 8G\nhb n1 quiet", setup: `
conf queues=(a:100)
node add n0 8G
node lose n0
app app1 user=u1 am=1G`},
		{reason: scheduler.NoNodes, app: "app1", remedy: "node add n1 8G\nhb n1 quiet", setup: `
conf queues=(a:100)
app app1 user=u1 am=1G`},
		{reason: scheduler.NoNodes, app: "app1", remedy: "node add n1 8G\nnode add n2 8G\nhb n1 n2 n1 n2 quiet", setup: `
conf queues=(a:100)
node add n0 8G
app app0 user=u1 am=1G
node lose n0
app app1 user=u1 am=1G`},
		{reason: scheduler.OwnPartitionFirst, app: "app1",
			text:  "it asks 1 GiB · 1 vc: 1 node has room and a label that it does not ask for; it may use such nodes after 3 missed offers, and has missed 0 so far",
			still: "hb n2 n3 quiet", remedy: "hb n1 n1 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10 max=16G yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100
label add x shared
node add n1 8G
node add n2 8G
node add n3 8G
label nodes n1=x
app app0 user=u0
ask app0 1x8G
hb n2 quiet
app app1 user=u1
blacklist app1 n3
ask app1 1x1G`},
		{reason: scheduler.OwnPartitionFirst, app: "app1",
			text:  "it asks 1 GiB · 1 vc: 1 node has room and a label that it does not ask for; it may use such nodes after 2 missed offers, and has missed 0 so far",
			still: "hb n2 quiet", remedy: "hb n1 n1 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10 max=16G yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100
label add x shared
node add n1 8G
node add n2 8G
label nodes n1=x
app app0 user=u0
ask app0 1x8G
hb n2 quiet
app app1 user=u1
ask app1 1x1G`},
		{reason: scheduler.NodeSilent, app: "app1",
			text: "it asks 2 GiB · 1 vc: 1 node has room, but no heartbeat has come from there lately; n1:1 has been silent for 23 s", still: "hb n2 times=3 quiet",
			remedy: "node heard n1\nhb n1 quiet", ifs: "silent nodes sent heartbeats", setup: `
conf queues=(a:100) a.user-limit-factor=10
node add n1 8G
node add n2 1G
app app1 user=u1
node silent n1 for=23
ask app1 1x2G`},
		{reason: scheduler.OtherLabel, app: "app1",
			text: "it asks for nodes without a label; 2 nodes run, but with other labels", still: "hb n1 n2 times=3 quiet",
			remedy: "label nodes n1=\nhb n1 quiet", setup: `
conf queues=(a:100) yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100
label add x
node add n1 8G
node add n2 8G
label nodes n1=x n2=x
app app1 user=u1
ask app1 1x1G`},
		{reason: scheduler.LabelUnknown, app: "app1",
			text: "it asks for nodes of label x, which the cluster does not have any more", still: "hb n1 times=3 quiet",
			remedy: "label add x\nlabel nodes n1=x\nhb n1 quiet", setup: `
conf queues=(a:100) yarn.node-labels.enabled=true a.accessible-node-labels=* a.accessible-node-labels.x.capacity=100
label add x
node add n1 8G
app app1 user=u1
ask app1 1x1G@1
label ask app1 1 x
label remove x`},
		{reason: scheduler.GangIncomplete, app: "app1",
			text: "its 3 containers of 1 GiB · 1 vc start together, and it asks for 2 so far", still: "hb n1 times=3 quiet",
			remedy: "ask app1 3x1G@1\nhb n1 quiet", setup: `
conf queues=(a:100)
node add n1 4G
app app1 user=u1 tag=(rmd.gang:priority=1,count=3)
ask app1 2x1G@1`},
		{reason: scheduler.GangWaits, app: "app1", text: "its 3 containers of 1 GiB · 1 vc start together: 2 have room now",
			still: "hb n1 n2 times=3 quiet", remedy: "kill app0\nhb n1 n2 n1 n2 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10 reservation.eager-cancel=true
node add n1 2G
node add n2 2G
app app0 user=u1
ask app0 1x2G
hb n1 quiet
app app1 user=u1 tag=(rmd.gang:priority=1,count=3)
ask app1 3x1G@1`},
		// The reservations of others will end, so the gang is not refused for ever.
		{reason: scheduler.GangWaits, app: "app1", text: "its 3 containers of 1 GiB · 1 vc start together: 1 have room now",
			still: "hb n1 n2 times=3 quiet", remedy: "kill app2\nkill app3\nkill app0\nhb n1 n2 n1 n2 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10 reservation.eager-cancel=true
node add n1 2G
node add n2 2G
app app0 user=u1
ask app0 2x1G
hb n1 n2 quiet
app app2 user=u2
ask app2 1x2G
hb n1 quiet
app app3 user=u3
ask app3 1x2G
hb n2 quiet
app app1 user=u1 tag=(rmd.gang:priority=1,count=3)
ask app1 3x1G@1`},
		{reason: scheduler.GangNever, app: "app1", never: true,
			text: "its 3 containers of 1 GiB · 1 vc start together: the nodes or the maximum of root.a are too small for that, so they can never start", still: "hb n1 n2 times=3 quiet", remedy: "node add n3 4G\nhb n3 quiet", setup: `
conf queues=(a:100) a.user-limit-factor=10
node add n1 2G
node add n2 2G
app app1 user=u1 tag=(rmd.gang:priority=1,count=3,rack=one,per-node=3)
ask app1 3x1G@1`},
		{reason: scheduler.LabelNotAccessible, app: "app1",
			text: "it asks for nodes of label x, which root.a may not use any more", still: "hb n1 times=3 quiet",
			remedy: "conf a.accessible-node-labels=x\nhb n1 quiet", setup: `
conf queues=(a:100) yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100
label add x y
node add n1 8G
label nodes n1=x
app app1 user=u1
ask app1 1x1G@1
label ask app1 1 x
conf a.accessible-node-labels=y`},
		{reason: scheduler.QueueMaxCapacity, app: "app1",
			text: "it asks 4 GiB · 1 vc; root.a uses 4 GiB · 1 vc of its maximum of 4 GiB", still: "hb n1 n2 quiet",
			remedy: "complete app0 1\nhb n1 quiet", ifs: "no maximum", setup: `
conf queues=(a:50, b:50) max=16G yarn.node-labels.enabled=true a.accessible-node-labels=x b.accessible-node-labels=x a.accessible-node-labels.x.capacity=50 a.accessible-node-labels.x.maximum-capacity=50 b.accessible-node-labels.x.capacity=50
label add x
node add n1 8G
node add n2 8G
label nodes n1=x
app app0 user=u0
ask app0 1x4G@1
label ask app0 1 x
hb n1
app app1 user=u1
ask app1 1x4G@1
label ask app1 1 x`},
		{reason: scheduler.NodeTooSmallFree, app: "app1",
			text:  "it asks 4 GiB · 1 vc of label x: no unreserved node has 4 GiB free; the most is 3 GiB on n1",
			still: "hb n1 n2 quiet", remedy: "complete app0 1\nhb n1 quiet", ends: 1, ifs: "it asked", setup: `
conf queues=(a:100) max=16G a.user-limit-factor=10 yarn.node-labels.enabled=true a.accessible-node-labels=x a.accessible-node-labels.x.capacity=100
label add x
node add n1 8G
node add n2 8G
label nodes n1=x
app app0 user=u0
ask app0 1x5G@1
label ask app0 1 x
hb n1
app app1 user=u1
ask app1 1x4G@1
label ask app1 1 x`},
	}
}

// reservedElsewhere is a cluster of four nodes with 12 GiB free each. One container has reserved two of
// them, so that root counts as full.
const reservedElsewhere = `
conf queues=(a:100) a.user-limit-factor=10 max=28G
node add n1 28G
node add n2 28G
node add n3 28G
node add n4 28G
app app0 user=u0
ask app0 4x16G
hb n1 n2 n3 n4 quiet
app app1 user=u1
ask app1 1x24G
hb n1 times=12 quiet
hb n2 times=12 quiet
app app2 user=u2
ask app2 1x12G`

func (w *world) tellAll(text string) {
	w.t.Helper()
	for _, line := range strings.Split(text, "\n") {
		cmd, args, err := datadriven.ParseLine(line)
		if err != nil {
			w.t.Fatal(err)
		}
		if cmd != "" {
			var out strings.Builder
			w.line(&out, cmd, args)
		}
	}
}

func (w *world) explained(name string) *explain.Explanation {
	w.t.Helper()
	x, err := explain.Application(w.p.sched, w.apps[name])
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

func TestEveryReasonIsRight(t *testing.T) {
	seen := map[scheduler.Reason]bool{scheduler.NoReason: true, scheduler.QueueStopped: true}
	for _, s := range stories() {
		seen[s.reason] = true
		t.Run(s.reason.String(), func(t *testing.T) {
			w := newWorld(t)
			w.tellAll(s.setup)
			_, a := w.app(s.app)
			live := a.Live
			check := func(when string) {
				t.Helper()
				x := w.explained(s.app)
				if x.Reason != s.reason.String() || x.Never != s.never {
					t.Fatalf("%s: explained as %s (never %v): %s, want %s (never %v)",
						when, x.Reason, x.Never, x.Text, s.reason, s.never)
				}
				if x.Text == "" || x.Diagnostic == "" || x.Waiting == (s.reason == scheduler.NoAsks) {
					t.Fatalf("%s: text %q, diagnostic %q, waiting %v, want both texts, and waiting unless the reason is %s",
						when, x.Text, x.Diagnostic, x.Waiting, scheduler.NoAsks)
				}
				s.suppositions(t, x)
			}
			check("at first")
			if x := w.explained(s.app); !strings.HasPrefix(x.Text, s.text) {
				t.Errorf("it says %q, want %q", x.Text, s.text)
			}
			w.tellAll(s.still)
			if _, a := w.app(s.app); a.Live != live {
				t.Fatalf("it got a container all the same")
			}
			check("after some turns")
			w.tellAll(s.remedy)
			served := s.served
			if served == nil {
				served = func(w *world, app string) bool { _, a := w.app(app); return a.Live > live }
			}
			if !served(w, s.app) {
				x := w.explained(s.app)
				t.Errorf("the remedy does not help: %s, %s", x.Reason, x.Text)
			}
		})
	}
	for r := range scheduler.Reason(scheduler.Reasons) {
		if !seen[r] {
			t.Errorf("no story for %s", r)
		}
	}
}

// suppositions checks which suppositions would start a container now, and how many containers must
// end.
func (s reasonStory) suppositions(t *testing.T, x *explain.Explanation) {
	t.Helper()
	var now []string
	for _, k := range x.WhatIf {
		if k.Now || strings.HasPrefix(k.Then, "a node would serve it") {
			now = append(now, k.If)
		}
	}
	if (s.ifs == "") != (len(now) == 0) || !strings.Contains(strings.Join(now, "; "), s.ifs) {
		t.Errorf("suppositions %q, want one with %q", now, s.ifs)
	}
	ends := 0
	if x.MustEnd != nil {
		ends = len(x.MustEnd.Containers)
	}
	if ends != s.ends {
		t.Errorf("%d containers must end, want %d", ends, s.ends)
	}
}

// TestStoppedQueueRefusalCode checks that a stopped queue refuses submissions with the code
// QUEUE_STOPPED.
func TestStoppedQueueRefusalCode(t *testing.T) {
	w := newWorld(t)
	w.tellAll("conf queues=(a:50, b:50)\nstop b")
	r := w.plan(&input.SubmitApplication{Name: "x", User: "u", Queue: "b", Unmanaged: true})
	if f := r.Refused(); f == nil || string(f.Reason) != scheduler.QueueStopped.String() {
		t.Fatalf("submission to a stopped queue: refusal %v, want code %s", f, scheduler.QueueStopped)
	}
	w.tellAll("stop b start")
	if f := w.plan(&input.SubmitApplication{Name: "x", User: "u", Queue: "b", Unmanaged: true}).Refused(); f != nil {
		t.Fatal(f)
	}
}

// TestAMLimitNamesKind checks that the reason and the limit say which kind of resource exceeds the limit of
// AMs, with both numbers.
func TestAMLimitNamesKind(t *testing.T) {
	w := newWorld(t)
	w.tellAll("conf dominant queues=(a:[memory=8192;vcores=1], b:[memory=8192;vcores=1]) a.maximum-capacity=[memory=8192,vcores=1]\n" +
		"node add n0 80G,80c\napp app1 user=u0 am=1G\napp app2 user=u0 am=1G")
	x := w.explained("app2")
	const over = "vcores would be 2 vc of 1 vc"
	if !strings.HasSuffix(x.Text, " of 8 GiB · 1 vc; with it "+over) || x.Limits[0].Over != over || x.Limits[1].Over != over {
		t.Errorf("%q, limits %+v; want that %s", x.Text, x.Limits, over)
	}
}

// TestStrictAsk checks that an ask for certain hosts only is judged by those hosts. Room on other
// hosts does not count.
func TestStrictAsk(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:100) a.user-limit-factor=10 max=16G
node add n1 8G rack=r0
node add n2 16G rack=r1
app app0 user=u0
ask app0 1x8G
hb n1 quiet
app app1 user=u1
ask app1 1x1G hosts=(n1:1) racks=(r0:1) strict strict-rack`)
	x := w.explained("app1")
	if x.Reason != scheduler.NodeTooSmallFree.String() || len(x.Nodes) != 1 || x.Nodes[0].Count != 1 || x.MustEnd == nil ||
		x.MustEnd.Node != "n1:1" {
		t.Errorf("app1 waits because of %s, with nodes %+v and MustEnd %+v, want %s, one node, and n1:1",
			x.Reason, x.Nodes, x.MustEnd, scheduler.NodeTooSmallFree)
	}
	w.tellAll("app app2 user=u2\nask app2 1x12G hosts=(n1:1) racks=(r0:1) strict strict-rack")
	if x := w.explained("app2"); x.Reason != scheduler.NodeTooSmall.String() || !x.Never {
		t.Errorf("larger than the one host it takes: %s, never %v", x.Reason, x.Never)
	}
	w.tellAll("app app3 user=u3\nask app3 1x1G hosts=(gone:1) racks=(r9:1) strict strict-rack")
	if x := w.explained("app3"); x.Reason != scheduler.NoNodes.String() {
		t.Errorf("no such host: %s", x.Reason)
	}
}

// TestExplainNamesFewestContainers checks that the explanation names one large container rather
// than many small ones.
func TestExplainNamesFewestContainers(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf queues=(a:100) a.user-limit-factor=10 max=16G
node add n1 16G
app app0 user=u0
ask app0 6x1G
hb n1 times=6 quiet
ask app0 1x9G
hb n1 quiet
app app1 user=u1
ask app1 1x10G`)
	x := w.explained("app1")
	if x.MustEnd == nil || len(x.MustEnd.Containers) != 1 || !strings.HasSuffix(x.MustEnd.Containers[0], "_000007") {
		t.Fatalf("MustEnd = %+v, want only container 7", x.MustEnd)
	}
	w.tellAll("complete app0 7\nhb n1 quiet")
	if _, a := w.app("app1"); a.Live != 1 {
		t.Error("it does not fit after the end of what must end")
	}
}

// TestExplainNamesNoContainerTooMany checks that the explanation leaves out a container that frees
// the most of what is missing, if those that must end beside it suffice without it.
func TestExplainNamesNoContainerTooMany(t *testing.T) {
	w := newWorld(t)
	w.tellAll(`
conf dominant queues=(a:100) a.user-limit-factor=10 max=(16G,16c)
node add n1 9G,9c
app app0 user=u0
ask app0 1x3G,3c
hb n1 quiet
ask app0 1x5G,1c
hb n1 quiet
ask app0 1x1G,5c
hb n1 quiet
app app1 user=u1
ask app1 1x6G,6c`)
	x := w.explained("app1")
	if x.MustEnd == nil || len(x.MustEnd.Containers) != 2 || strings.HasSuffix(x.MustEnd.Containers[0], "_000001") {
		t.Errorf("MustEnd = %+v, want containers 3 and 2", x.MustEnd)
	}
}

// TestExplanationFieldNames checks that the field names of the document are lower case.
func TestExplanationFieldNames(t *testing.T) {
	w := newWorld(t)
	w.tellAll(stories()[0].setup)
	for _, v := range []any{w.explained("app1"), w.explained("app2")} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(b), `":`) {
			name := part[strings.LastIndexByte(part, '"')+1:]
			if name != strings.ToLower(name) {
				t.Errorf("field %q", name)
			}
		}
	}
}
