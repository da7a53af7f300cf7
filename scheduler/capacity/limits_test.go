package capacity

import (
	"testing"

	"rmd/scheduler/capacity/limits"
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
		usable := limits.AMUsable(c.Calculator, e.EffMax, e.EffMin)
		limit := limits.AMLimit(c.Calculator, usable, q.MaxAMPercent, c.MinAlloc)
		user := limits.UserAMLimit(limits.UserAMLimitInput{
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
