package planner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"rmd/fsm/event"
	"rmd/fsm/state"
	"rmd/internal/codec"
	"rmd/scheduler/input"
	"rmd/yarn"
)

// usersConf returns a configuration in which each user gets a dynamic queue below root.users.
func usersConf(lines ...string) []input.Property {
	props := []input.Property{{Name: "yarn.resourcemanager.max-completed-applications", Value: "0"}}
	for _, l := range append([]string{"root.queues=users", "root.users.capacity=1w", "maximum-am-resource-percent=1",
		"root.users.auto-queue-creation-v2.enabled=true", "root.users.auto-queue-creation-v2.max-queues=100000"}, lines...) {
		k, v, _ := cutProperty(l)
		props = append(props, input.Property{Name: confPrefix + k, Value: v})
	}
	return props
}

func cutProperty(l string) (string, string, bool) {
	for i := range l {
		if l[i] == '=' {
			return l[:i], l[i+1:], true
		}
	}
	return l, "", false
}

// sizes returns the number of records and the bytes of each table, except of meta, which counts
// events.
func sizes(st *state.State) map[string][2]int {
	out := map[string][2]int{}
	for _, s := range state.Sections() {
		n := 0
		s.Each(st, func(slot uint32) bool {
			enc := codec.NewEncoder(nil)
			s.Code(st, slot, enc)
			n += len(enc.Bytes())
			return true
		})
		if s.Name != "meta" {
			out[s.Name] = [2]int{s.Len(st), n}
		}
	}
	return out
}

// TestManyQueues creates and removes 10,000 dynamic queues, 500 at a time, and checks that the
// state is then as small as before. The share of each queue is too small for an application; each
// must take one all the same. In each wave the leader changes twice, with a new configuration in
// between. The first new leader is restored from the tables while the queues exist. The old leader
// plans on beside each new one and must decide exactly the same.
func TestManyQueues(t *testing.T) {
	t.Parallel()
	const waves, users = 20, 500
	w := newWorld(t)
	w.props = usersConf("maximum-applications=600", "root.users.auto-queue-creation-v2.template.capacity=3w")
	if r := w.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: w.props}); r.Refused() != nil {
		t.Fatal(r.Refused())
	}
	var before map[string][2]int
	bytes := 0
	for wave := range waves {
		var ids []yarn.ApplicationID
		for i := range users {
			r := w.plan(&input.SubmitApplication{Name: "a", User: fmt.Sprintf("u%d", i),
				Queue: fmt.Sprintf("root.users.g%02d.u%d", wave, i), Unmanaged: true}).(*input.SubmitApplicationReply)
			if r.Refused() != nil {
				t.Fatalf("queue %d of wave %d: %v", i, wave, r.Refused())
			}
			ids = append(ids, r.ID)
		}
		if n := w.p.st.DynamicQueues.Len(); n != users+1 {
			t.Fatalf("%d dynamic queues", n)
		}
		w.leaderFollows("snapshot")
		w.props[len(w.props)-1].Value = fmt.Sprintf("%dw", 1+wave%3)
		if r := w.plan(&input.SetQueues{Properties: w.props}); r.Refused() != nil {
			t.Fatal(r.Refused())
		}
		for i, id := range ids {
			if i == users/2 {
				w.leaderFollows("fork")
			}
			w.plan(&input.KillApplication{ID: id, Diagnostics: "k"})
		}
		for range 2 { // The first removes the leaves, the second their parent.
			w.now += 301_000
			w.plan(&input.RemoveIdleQueues{})
		}
		w.plan(&input.SubmitApplication{Name: "a", User: "u0", Queue: "root.users.u0", Unmanaged: true, DryRun: true})
		if n := w.p.st.DynamicQueues.Len(); n != 0 {
			t.Fatalf("%d queues are left after wave %d", n, wave)
		}
		if err := w.p.st.Check(); err != nil {
			t.Fatal(err)
		}
		now := sizes(w.p.st)
		switch n := bytesInAll(now); {
		case wave == 1: // From here on, the encoded IDs keep their length.
			bytes = n
		case wave > 1 && n != bytes:
			t.Errorf("after wave %d the state has %d bytes beside its configuration, not %d", wave, n, bytes)
		}
		if before == nil {
			before = now
		} else {
			for name, n := range now {
				if n[0] != before[name][0] {
					t.Errorf("after wave %d there are %d records of %s, not %d", wave, n[0], name, before[name][0])
				}
			}
		}
	}
	w.finish()
}

// bytesInAll sums the bytes of all sections except the configuration, to which each refresh adds a
// version.
func bytesInAll(sizes map[string][2]int) (n int) {
	for name, s := range sizes { // a sum: order is harmless
		if name != "configuration" {
			n += s[1]
		}
	}
	return n
}

// leaderFollows replaces the leader and keeps the old one as the only twin.
func (w *world) leaderFollows(from string) {
	var out strings.Builder
	w.twins = nil
	doFailover(w, args{w: w, list: []datadriven.CmdArg{{Key: from}}}, &out)
}

// BenchmarkDynamicLeaves measures how many containers heartbeats allocate in a cluster with dynamic
// leaves. Ten of the leaves have applications that ask. The budget: with 10,000 leaves at least 80
// % of the rate with 10.
func BenchmarkDynamicLeaves(b *testing.B) {
	for _, leaves := range []int{10, 10_000} {
		b.Run(fmt.Sprint(leaves), func(b *testing.B) { benchLeaves(b, leaves) })
	}
}

func benchLeaves(b *testing.B, leaves int) {
	w := newWorld(b)
	w.props = usersConf("maximum-applications=20000", "node-locality-delay=-1")
	w.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000, Properties: w.props})
	nodes := make([]yarn.NodeID, 100)
	for i := range nodes {
		nodes[i] = yarn.NodeID{Host: fmt.Sprintf("n%d", i), Port: 1}
		w.plan(&input.RegisterNode{ID: nodes[i], Rack: "/r", Total: yarn.NewResource(1<<30, 1<<20)})
	}
	w.direct(func(p *Planner) {
		for i := range leaves {
			p.sched.Emit(&event.QueueCreated{Path: fmt.Sprintf("root.users.u%05d", i), Leaf: true, State: yarn.QueueRunning})
		}
	})
	for i := range 10 {
		r := w.plan(&input.SubmitApplication{Name: "a", User: "u", Queue: fmt.Sprintf("root.users.u%05d", i*(leaves/10)),
			Unmanaged: true}).(*input.SubmitApplicationReply)
		id := yarn.AttemptID{App: r.ID, Attempt: 1}
		w.plan(&input.RegisterAttempt{Attempt: id})
		asked := w.plan(&input.Allocate{Attempt: id,
			Asks: []input.Ask{{Name: yarn.Any, Count: 1_000_000, Size: yarn.NewResource(1024, 1), Relax: true}}})
		if asked.Refused() != nil {
			b.Fatal(asked.Refused())
		}
	}
	granted := w.p.st.Meta.Allocated
	n := 0
	for b.Loop() {
		w.now++
		w.p.Plan(w.now, input.Request{Input: &input.NodeHeartbeat{ID: nodes[n%len(nodes)]}})
		n++
	}
	b.ReportMetric(float64(w.p.st.Meta.Allocated-granted)/b.Elapsed().Seconds(), "containers/s")
}
