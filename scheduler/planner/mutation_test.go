package planner

import (
	"strings"
	"testing"

	"rmd/scheduler/capacity"
	"rmd/scheduler/input"
)

// TestQueueAdminsChange checks that administrators of a queue may change the keys of that queue,
// and only if the mutation policy allows it.
func TestQueueAdminsChange(t *testing.T) {
	const policy = capacity.MutationPolicyKey +
		"=org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf.QueueAdminConfigurationMutationACLPolicy"
	base := map[string]string{
		confPrefix + "root.queues": "a,b", confPrefix + "root.a.capacity": "60", confPrefix + "root.b.capacity": "40",
		confPrefix + "root.a.queues": "x,y", confPrefix + "root.a.x.capacity": "50", confPrefix + "root.a.y.capacity": "50",
		confPrefix + "root.acl_administer_queue": " ", confPrefix + "root.a.acl_administer_queue": "ann ops",
		confPrefix + "root.a.x.acl_administer_queue": "bob",
		"yarn.acl.enable": "true", "yarn.admin.acl": "root",
	}
	props := func(changes string) (out []input.Property) {
		all := map[string]string{}
		for k, v := range base {
			all[k] = v
		}
		for _, change := range strings.Fields(changes) {
			k, v, _ := strings.Cut(change, "=")
			if strings.HasPrefix(k, "root.") || strings.HasPrefix(k, "maximum") {
				k = confPrefix + k
			}
			if all[k] = v; v == "" {
				delete(all, k)
			}
		}
		for k, v := range all {
			out = append(out, input.Property{Name: k, Value: v})
		}
		return out
	}
	for _, tc := range []struct{ policy, user, groups, changes, refused string }{
		{policy, "bob", "", "root.a.x.user-limit-factor=3", ""},
		{policy, "bob", "", "root.a.x.state=STOPPED", ""},
		{policy, "bob", "", "root.a.y.user-limit-factor=3",
			"user bob does not administer what " + confPrefix + "root.a.y.user-limit-factor belongs to"},
		{policy, "bob", "", "root.a.x.capacity=40 root.a.y.capacity=60", "root.a.y.capacity"},
		{policy, "ann", "", "root.a.x.capacity=40 root.a.y.capacity=60", ""},
		{policy, "eve", "staff ops", "root.a.x.capacity=40 root.a.y.capacity=60", ""},
		{policy, "ann", "", "root.a.queues=x,y,z root.a.z.capacity=0", ""}, // a new queue belongs to its parent
		{policy, "bob", "", "root.a.queues=x,y,z root.a.z.capacity=0", "root.a.queues"},
		{policy, "ann", "", "root.a.capacity=50 root.b.capacity=50", "root.b.capacity"},
		{policy, "ann", "", "root.queues=a,b,c root.c.capacity=0", "root.c.capacity"},
		{policy, "ann", "", "maximum-applications=5", "maximum-applications"},
		{policy, "ann", "", "yarn.admin.acl=ann", "yarn.admin.acl"},
		{policy, "ann", "", capacity.MutationPolicyKey + "=", capacity.MutationPolicyKey},
		{policy, "root", "", "maximum-applications=5 root.a.capacity=50 root.b.capacity=50", ""},
		{policy, "", "", "maximum-applications=5", ""}, // an operator
		{policy, "eve", "", "", ""}, // nothing changes
		{policy, "eve", "", "root.a.x.user-limit-factor=3", "root.a.x.user-limit-factor"},
		{"", "ann", "", "root.a.x.user-limit-factor=3", "user ann may not change the queue configuration"},
		// refused before it is parsed
		{"", "ann", "", "root.a.capacity=0", "user ann may not change the queue configuration"},
		{policy + " yarn.acl.enable=false", "ann", "", "root.a.x.user-limit-factor=3",
			"user ann may not change the queue configuration"},
	} {
		w := newWorld(t)
		if r := w.plan(&input.InitCluster{ClusterID: "c", ClusterTimestamp: 1000,
			Properties: props(tc.policy)}); r.Refused() != nil {
			t.Fatal(r.Refused())
		}
		r := w.plan(&input.SetQueues{Properties: props(tc.policy + " " + tc.changes), User: tc.user,
			Groups: strings.Fields(tc.groups)})
		f := r.Refused()
		if (f == nil) != (tc.refused == "") || f != nil &&
			(f.Reason != input.NotAllowed || !strings.Contains(f.What, tc.refused)) {
			t.Errorf("%s of %q makes %q: %v, want %q", tc.user, tc.groups, tc.changes, f, tc.refused)
		}
		if want := uint64(2); f == nil && w.p.st.Versions.Current().Version != want ||
			f != nil && w.p.st.Versions.Current().Version != 1 {
			t.Errorf("%s makes %q: version %d", tc.user, tc.changes, w.p.st.Versions.Current().Version)
		}
	}
}
