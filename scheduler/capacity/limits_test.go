package capacity

import (
	"testing"

	"rmd/yarn"
)

// TestAMLimits checks the AM limits of the specification's examples: 80 GiB with one and two users,
// and a 10 % leaf of large clusters.
func TestAMLimits(t *testing.T) {
	for _, tc := range []struct {
		name            string
		cluster         int64 // GiB
		am              string
		users           int64
		amLimit, userAM int64
	}{
		{"one active user", 80, "0.1", 1, 8, 4},
		{"two active users", 80, "0.1", 2, 8, 2},
		{"nobody active", 160, "0.1", 0, 16, 8},
		{"1600 GiB", 1600, "0.1", 1, 160, 80},
		{"1920 GiB", 1920, "0.1", 1, 192, 96},
		{"1600 GiB, AM share one half", 1600, "0.5", 1, 800, 400},
	} {
		c := parse(t, "root.queues = a,b\nroot.a.capacity = 10\nroot.b.capacity = 90\n"+
			"root.a.minimum-user-limit-percent = 50\nroot.a.user-limit-factor = 5\nmaximum-am-resource-percent = "+tc.am)
		tree := c.Compute(mem(tc.cluster))
		a := index(t, c, "a")
		q, e := &c.Queues[a], &tree.Capacities[a]
		usable := AMUsable(c.Calculator, e.EffMax, e.EffMin)
		limit := AMLimit(c.Calculator, usable, q.MaxAMPercent, c.MinAlloc)
		user := UserAMLimit(UserAMLimitInput{
			Calculator: c.Calculator, Total: tree.Cluster, EffMin: e.EffMin, AMLimit: limit, MinAlloc: c.MinAlloc,
			AMPercent: q.MaxAMPercent, MinUserLimit: q.MinUserLimitPercent, UserLimitFactor: q.UserLimitFactor,
			UserLimitOff: q.UserLimitOff, Weight: q.Weight("u0"), ActiveUsers: tc.users,
		})
		if limit != mem(tc.amLimit) || user != mem(tc.userAM) {
			t.Errorf("%s: AM limit %v, of a user %v; want %dG, %dG", tc.name, limit, user, tc.amLimit, tc.userAM)
		}
		if n := c.MaxApplications(a, only(tree)); n != 1000 {
			t.Errorf("%s: %d applications, want 1000", tc.name, n)
		}
	}
}

func TestUserAMLimitForms(t *testing.T) {
	in := UserAMLimitInput{
		Calculator: memoryOnly, Total: mem(100), EffMin: mem(40), AMLimit: mem(20), MinAlloc: mem(1),
		AMPercent: fraction(t, "0.25"), MinUserLimit: fraction(t, "50"), UserLimitFactor: yarn.One, Weight: yarn.One, ActiveUsers: 4,
	}
	if got := UserAMLimit(in); got != mem(5) {
		t.Errorf("half of 10G: %v", got)
	}
	in.Weight = fraction(t, "1.5")
	if got := UserAMLimit(in); got != mem(8) { // 7.5G, rounded up
		t.Errorf("weight 1.5: %v", got)
	}
	in.Weight = fraction(t, "9")
	if got := UserAMLimit(in); got != mem(10) {
		t.Errorf("a weight never gives more than the whole: %v", got)
	}
	in.UserLimitFactor = fraction(t, "3")
	if got := UserAMLimit(in); got != mem(20) {
		t.Errorf("the queue's own limit holds: %v", got)
	}
	in.UserLimitOff = true
	if got := UserAMLimit(in); got != mem(10) {
		t.Errorf("user limit off: %v", got)
	}
}

func TestAMUsable(t *testing.T) {
	if got := AMUsable(memoryOnly, mem(5), mem(8)); got != mem(8) {
		t.Errorf("a guarantee above the current limit: %v", got)
	}
	if got := AMUsable(memoryOnly, mem(9), mem(8)); got != mem(9) {
		t.Errorf("a current limit above the guarantee: %v", got)
	}
}

func TestApplicationCounts(t *testing.T) {
	c := parse(t, `root.queues = a,b,c,d
root.a.capacity = 8.5
root.b.capacity = 33.333
root.b.minimum-user-limit-percent = 25
root.b.user-limit-factor = 2
root.c.capacity = 58.167
root.c.maximum-applications = 7
root.c.user-limit-factor = -1
root.d.capacity = 0`)
	tree := c.Compute(mem(16))
	for _, tc := range []struct {
		queue     string
		all, user int64
	}{{"a", 850, 850}, {"b", 3333, 1666}, {"c", 7, 7}, {"d", 0, 0}} {
		i := index(t, c, tc.queue)
		if n, u := c.MaxApplications(i, only(tree)), c.MaxApplicationsPerUser(i, only(tree)); n != tc.all || u != tc.user {
			t.Errorf("%s: %d, of a user %d; want %d, %d", tc.queue, n, u, tc.all, tc.user)
		}
	}
	c = parse(t, "root.queues = a\nroot.a.capacity = 100\nglobal-queue-max-application = 5")
	if n := c.MaxApplications(1, only(c.Compute(mem(16)))); n != 5 {
		t.Errorf("global-queue-max-application: %d", n)
	}
	c = parse(t, "root.queues = a\nroot.a.capacity = 100\nmaximum-applications = 3\nglobal-queue-max-application = 5")
	if n := c.MaxApplications(1, only(c.Compute(mem(16)))); n != 3 {
		t.Errorf("global-queue-max-application above maximum-applications: %d", n)
	}
	c = parse(t, "root.queues = a\nroot.a.capacity = [memory=4096,vcores=1]\nglobal-queue-max-application = 20")
	if n := c.MaxApplications(1, only(c.Compute(mem(16)))); n != 5 {
		t.Errorf("an absolute queue has its share of it: %d", n)
	}
}

// TestMaxApplicationsOfLabels checks that the largest share of a leaf counts, including its shares
// of labels.
func TestMaxApplicationsOfLabels(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = a,b
root.a.capacity = 100
root.a.accessible-node-labels.gpu.capacity = 30
root.b.capacity = 0
root.b.accessible-node-labels.gpu.capacity = 70
root.b.queues = x,y
root.b.x.capacity = 1w
root.b.x.accessible-node-labels.gpu.capacity = 1w
root.b.y.capacity = 1w
root.b.y.accessible-node-labels.gpu.capacity = 3w`)
	tree := c.Compute(mem(16))
	for queue, want := range map[string]int64{"a": 10000, "x": 1750, "y": 5250} {
		if n := c.MaxApplications(index(t, c, queue), only(tree)); n != want {
			t.Errorf("%s: %d, want %d", queue, n, want)
		}
	}
}

// TestMaxApplicationsAbsoluteCapacity checks leaves with absolute capacities. Their share is that
// of the existing nodes, with or without the label. A leaf accepts applications while there are no
// nodes.
func TestMaxApplicationsAbsoluteCapacity(t *testing.T) {
	c := parse(t, labelsOn+`root.queues = a,b
root.a.capacity = [memory=4096,vcores=4]
root.a.accessible-node-labels.gpu.capacity = [memory=8192,vcores=8]
root.b.capacity = [memory=4096,vcores=4]`)
	for _, tc := range []struct {
		name           string
		usual, gpu     yarn.Resource
		a, b, unlisted int64
	}{
		{"both", mem(16), mem(16), 5000, 2500, 2500},
		{"no node without a label", yarn.Resource{}, mem(32), 2500, 0, 10000},
		{"no node with the label", mem(32), yarn.Resource{}, 1250, 1250, 1250},
		{"no node", yarn.Resource{}, yarn.Resource{}, 10000, 10000, 10000},
	} {
		treeOf := func(label string) *Tree {
			if label == "" {
				return c.Compute(tc.usual)
			}
			return c.Partition(label).Compute(tc.gpu)
		}
		a, b := index(t, c, "a"), index(t, c, "b")
		if n := c.MaxApplications(a, treeOf); n != tc.a {
			t.Errorf("%s: a: %d, want %d", tc.name, n, tc.a)
		}
		if n := c.MaxApplications(b, treeOf); n != tc.b && !tc.usual.IsZero() {
			t.Errorf("%s: b: %d, want %d", tc.name, n, tc.b)
		}
		if n := c.MaxApplications(a, only(c.Compute(tc.usual))); n != tc.unlisted {
			t.Errorf("%s, which the cluster does not know: a: %d, want %d", tc.name, n, tc.unlisted)
		}
	}
}

// TestQueueLimit is scenario 6: 13G of 13G are used, and 3G of them could be unreserved.
func TestQueueLimit(t *testing.T) {
	in := QueueLimitInput{Calculator: memoryOnly, Total: mem(16), EffMax: mem(16), Limit: mem(13), Used: mem(13), Unreservable: mem(3), ContinueLooking: true}
	if ok, head := QueueLimit(in); !ok || head[yarn.Memory] != 0 {
		t.Errorf("continue-looking on: %v %v", ok, head)
	}
	in.ContinueLooking = false
	if ok, _ := QueueLimit(in); ok {
		t.Error("continue-looking off: at the limit and yet allowed")
	}
	in.Used = mem(12)
	if ok, head := QueueLimit(in); !ok || head != (yarn.Resource{gib}) {
		t.Errorf("1G below the limit: %v %v", ok, head)
	}
	in.Used, in.ContinueLooking = mem(18), true
	if ok, head := QueueLimit(in); ok || head[yarn.Memory] != -5*gib {
		t.Errorf("5G above, 3G unreservable: %v %v", ok, head)
	}
	in.IgnoreExclusive, in.Label, in.Used = true, in.Total, mem(14)
	if ok, head := QueueLimit(in); !ok || head[yarn.Memory] != 2*gib {
		t.Errorf("ignoring exclusivity the label is the limit: %v %v", ok, head)
	}
}

// TestUserCheck is scenario 7: a user uses 13G, of which 5G are reserved.
func TestUserCheck(t *testing.T) {
	in := UserCheckInput{Calculator: memoryOnly, Total: mem(16), Used: mem(13), AppReserved: mem(5), ContinueLooking: true}
	for _, tc := range []struct {
		limit int64
		look  bool
		ok    bool
		need  int64
	}{{14, true, true, 0}, {13, true, true, 0}, {12, true, true, 1}, {8, true, true, 5}, {7, true, false, 0}, {12, false, false, 0}} {
		in.Limit, in.ContinueLooking = mem(tc.limit), tc.look
		ok, need := UserCheck(in)
		if ok != tc.ok || need[yarn.Memory] != tc.need*gib {
			t.Errorf("limit %dG, continue-looking %v: %v %v", tc.limit, tc.look, ok, need)
		}
	}
}

// TestChildLimit is scenario 33: p1 may use 8G of 16G, x1 uses 7G, and x1 must not get the 1G for
// which x2 is blocked.
func TestChildLimit(t *testing.T) {
	in := ChildLimitInput{Calculator: memoryOnly, Total: mem(16), Limit: mem(8), EffMax: mem(8), Used: mem(7), MinAlloc: mem(1)}
	if got := ChildLimit(in); got != mem(1) {
		t.Errorf("x2: %v", got)
	}
	in.Blocked, in.ChildUsed = mem(1), mem(7)
	if got := ChildLimit(in); got != mem(7) {
		t.Errorf("x1 with 1G blocked: %v", got)
	}
	in.Killable = yarn.Resource{yarn.Memory: 2*gib + 500}
	if got := ChildLimit(in); got != mem(9) {
		t.Errorf("killable is room, rounded down: %v", got)
	}
}

// TestHeadroom checks the headrooms of scenario 3: three nodes of 8G.
func TestHeadroom(t *testing.T) {
	in := HeadroomInput{Calculator: memoryOnly, Total: mem(24), UserLimit: mem(24), QueueLimit: mem(24), MinAlloc: mem(1)}
	for _, used := range []int64{8, 13, 18} {
		in.UserUsed, in.QueueUsed, in.RootUsed = mem(used), mem(used), mem(used)
		if got := Headroom(in); got[yarn.Memory] != (24-used)*gib {
			t.Errorf("%dG used: %v", used, got)
		}
	}
	in.UserLimit = mem(9)
	if got := Headroom(in); got[yarn.Memory] != 0 {
		t.Errorf("a user above its limit: %v", got)
	}
}
