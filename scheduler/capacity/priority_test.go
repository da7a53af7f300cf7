package capacity

import (
	"strings"
	"testing"
)

// TestPriorityACLs checks the highest priority and the default priority of users in a leaf. As in
// YARN, among several entries for a user, the one with the lowest maximum sets the default.
func TestPriorityACLs(t *testing.T) {
	const head = "yarn.cluster.max-application-priority = 9\nyarn.acl.enable = true\nroot.queues = a\nroot.a.capacity = 100\nroot.a.default-application-priority = 1\n"
	const key = "root.a.acl_application_max_priority = "
	for _, tc := range []struct {
		acl, user, groups string
		most, def         int32 // most −1: no priority allowed
	}{
		{"", "eve", "", 9, 1},
		{key + "*", "eve", "", 9, 1},
		{key + "[]", "eve", "", 9, 1},
		{key + "[user=ann max_priority=5 default_priority=3]", "ann", "", 5, 3},
		{key + "[user=ann max_priority=5 default_priority=3]", "eve", "", -1, 1},
		{key + "[user=ann max_priority=5]", "ann", "", 5, 1},
		{key + "[USER=ann MAX_PRIORITY=5 default_priority=-3]", "ann", "", 5, 0},
		{key + "[max_priority=5 group=ops]", "eve", "x ops", 5, 1},
		{key + "[max_priority=5 group=ops]", "ops", "", -1, 1}, // a group, not a user
		{key + "[user=ann group=ops max_priority=5 default_priority=4", "eve", "ops", 5, 4},
		{key + "[user=* max_priority=2 default_priority=0] [group=ops max_priority=7 default_priority=6]",
			"eve", "ops", 7, 0},
		{key + "[group=ops max_priority=7 default_priority=6] [user=ann,eve max_priority=3 default_priority=2]",
			"eve", "ops", 7, 2},
		{key + "[user=eve max_priority=3 default_priority=2][user=eve max_priority=3 default_priority=1]", "eve", "", 3, 1},
		{key + "[group=* max_priority=4]", "eve", "", 4, 1},
		{key + "[user=ann max_priority=50]", "ann", "", 9, 1},
	} {
		c, err := Parse(props(head + tc.acl))
		if err != nil {
			t.Errorf("Parse with %s: %v", tc.acl, err)
			continue
		}
		leaf, _ := c.Lookup("root.a")
		groups := strings.Fields(tc.groups)
		most := int32(-1)
		for p := range int32(10) {
			if c.MayHavePriority(&c.Queues[leaf], p, tc.user, groups...) {
				most = p
			}
		}
		if def := c.DefaultPriority(&c.Queues[leaf], tc.user, groups...); most != tc.most || def != tc.def {
			t.Errorf("%s: %s of %q has at most %d and by default %d", tc.acl, tc.user, tc.groups, most, def)
		}
	}
	c, err := Parse(props(strings.Replace(head, "enable = true", "enable = false", 1) + key +
		"[user=ann max_priority=5 default_priority=3]"))
	if err != nil || !c.MayHavePriority(&c.Queues[1], 9, "eve") || c.DefaultPriority(&c.Queues[1], "ann") != 1 {
		t.Errorf("the list counts without yarn.acl.enable: %v", err)
	}
	c, err = Parse(props(head + key + "[user=ann max_priority=50]"))
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].What, "above the cluster's maximum of 9") {
		t.Errorf("Parse with max_priority=50: error %v, want none and one warning above the maximum of 9: %+v",
			err, c)
	}
	if c, err = ParseStored(props(head + key + "[user=ann]")); err != nil || len(c.Warnings) != 1 ||
		!c.MayHavePriority(&c.Queues[1], 9, "eve") {
		t.Errorf("a stored configuration that an older version took: %v", err)
	}
}

// TestWorkflowPriority checks that the mapping of the nearest queue counts, from the leaf upwards.
// Mappings for root do not count.
func TestWorkflowPriority(t *testing.T) {
	const head = "root.queues = a,b\nroot.a.capacity = 50\nroot.b.capacity = 50\nroot.a.queues = x,y\nroot.a.x.capacity = 50\nroot.a.y.capacity = 50\n" +
		"workflow-priority-mappings = ETL:root.a:3, etl:root.a.x:5,, day : root.b : 2,day:root.b:4,etl:root:9\n"
	const on = "workflow-priority-mappings-override.enable = true\n"
	for _, tc := range []struct {
		conf, leaf, tags string
		want             int32 // −1: none
	}{
		{on, "root.a.x", "workflowid:etl", 5},
		{on, "root.a.y", "WorkflowID:ETL", 3},
		{on, "root.a.y", "x workflowid:day workflowid:etl", 3},
		{on, "root.a.y", "workflowid:day", -1},
		{on, "root.b", "workflowid:etl", -1},
		{on, "root.b", "workflowid:day", 4},
		{on, "root.b", "workflowid:", -1},
		{on, "root.b", "", -1},
		{on + "yarn.workflow-id.tag-prefix = wf/\n", "root.b", "workflowid:day", -1},
		{on + "yarn.workflow-id.tag-prefix = wf/\n", "root.b", "wf/day", 4},
		{"", "root.b", "workflowid:day", -1},
	} {
		c, err := Parse(props(head + tc.conf))
		if err != nil {
			t.Fatal(err)
		}
		leaf, _ := c.Lookup(tc.leaf)
		got, ok := c.WorkflowPriority(&c.Queues[leaf], strings.Fields(tc.tags))
		if !ok {
			got = -1
		}
		if got != tc.want {
			t.Errorf("priority of tags %q in %s with %q: %d, want %d",
				tc.tags, tc.leaf, tc.conf, got, tc.want)
		}
	}
	for conf, want := range map[string]string{"": "has no effect, since",
		on + "workflow-priority-mappings = x:nowhere:3": `there is no queue "nowhere"`} {
		c, err := Parse(props(head + conf))
		if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0].What, want) {
			t.Errorf("Parse with %q: error %v, want none and one warning with %q: %+v",
				conf, err, want, c)
		}
	}
}
