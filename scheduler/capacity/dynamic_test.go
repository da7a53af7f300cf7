package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rmd/yarn"
)

const autoConf = "root.users.auto-queue-creation-v2."

// dynamicConf returns a configuration in which submissions create queues below root.users, up to
// three levels deep.
func dynamicConf(t testing.TB, lines ...string) *Config {
	t.Helper()
	c, err := Parse(lineProperties(append([]string{"root.queues=a,users", "root.a.capacity=1w", "root.users.capacity=3w",
		autoConf + "enabled=true", autoConf + "maximum-queue-depth=3"}, lines...)...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lineProperties(lines ...string) []Property {
	var out []Property
	for _, l := range lines {
		k, v, _ := strings.Cut(l, "=")
		out = append(out, Property{Name: Prefix + k, Value: v})
	}
	return out
}

func leafQueue(path string) yarn.DynamicQueue   { return yarn.DynamicQueue{Path: path, Leaf: true} }
func parentQueue(path string) yarn.DynamicQueue { return yarn.DynamicQueue{Path: path} }

// TestTemplates checks the precedence of settings: those of the queue itself, then the template for
// its kind, then the template for all kinds. Among templates for one kind, the one with fewer
// wildcards wins.
func TestTemplates(t *testing.T) {
	c := dynamicConf(t,
		"root.users.*.auto-queue-creation-v2.template.max-parallel-apps=9",
		"root.*.*.auto-queue-creation-v2.leaf-template.max-parallel-apps=8",
		"root.users.dev.auto-queue-creation-v2.template.capacity=5w",
		"root.users.*.auto-queue-creation-v2.template.capacity=4w",
		autoConf+"template.capacity=2w", autoConf+"template.acl_submit_applications=ann",
		autoConf+"leaf-template.maximum-applications=3",
		autoConf+"parent-template.acl_submit_applications=boss", "root.users.bob.capacity=7w",
		"root.users.bob.user-limit-factor=2",
		autoConf+"leaf-template.user-settings.ann.weight=2")
	c, err := c.WithDynamic([]yarn.DynamicQueue{leafQueue("root.users.ann"), leafQueue("root.users.bob"),
		parentQueue("root.users.dev"), leafQueue("root.users.dev.x"),
		parentQueue("root.users.ops"), leafQueue("root.users.ops.x")})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"root.users.ann":   "2w off=true apps=3 parallel=-1 acl=ann  ann=2",
		"root.users.bob":   "7w off=false apps=3 parallel=-1 acl=ann  ann=2",
		"root.users.dev":   "2w off=false apps=-1 parallel=-1 acl=boss  ann=1",
		"root.users.dev.x": "5w off=true apps=-1 parallel=8 acl=  ann=1",
		"root.users.ops.x": "4w off=true apps=-1 parallel=8 acl=  ann=1",
	} {
		i, err := c.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		q := &c.Queues[i]
		got := fmt.Sprintf("%s off=%v apps=%d parallel=%d acl=%s ann=%s", q.Capacity.Format(c.Kinds), q.UserLimitOff,
			q.MaximumApplications, q.MaxParallelApps, q.SubmitACL, q.Weight("ann"))
		if got != want || q.Creation != Flexible || !q.AutoRemove {
			t.Errorf("%s: %s, created %s, removed %v; want %s", path, got, q.Creation, q.AutoRemove, want)
		}
	}
}

// TestAddEqualsWithDynamic checks that queues added one by one equal queues added at once, with the
// same capacities.
func TestAddEqualsWithDynamic(t *testing.T) {
	list := []yarn.DynamicQueue{leafQueue("root.users.ann"), parentQueue("root.users.dev"), leafQueue("root.users.dev.x"),
		leafQueue("root.users.bob"), leafQueue("root.users.dev.y")}
	labels := []string{autoConf + "template.capacity=2w", "root.users.bob.capacity=7w",
		"root.users.accessible-node-labels.gpu.capacity=3w", "root.a.accessible-node-labels.gpu.capacity=1w",
		"root.users.accessible-node-labels=gpu"}
	props := append(lineProperties(append(labels, "root.queues=a,users", "root.a.capacity=1w", "root.users.capacity=3w",
		autoConf+"enabled=true")...), Property{Name: labelsEnabled, Value: "true"})
	parse := func() *Config {
		c, err := Parse(props)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want, err := parse().WithDynamic(list)
	if err != nil {
		t.Fatal(err)
	}
	got := parse()
	gpu := got.Partition("gpu")
	for _, d := range list {
		if _, err := got.Add(d); err != nil {
			t.Fatal(err)
		}
		gpu.AddFrom(got)
	}
	cluster := yarn.NewResource(100_000, 100)
	for _, pair := range [][2]*Config{{got, want}, {gpu, want.Partition("gpu")}} {
		a, b := pair[0].Compute(cluster), pair[1].Compute(cluster)
		for i := range b.Capacities {
			if x, y := &a.Capacities[i], &b.Capacities[i]; x.EffMin != y.EffMin || x.EffMax != y.EffMax ||
				x.AbsFixed != y.AbsFixed || !slices.Equal(pair[0].Queues[i].Children, pair[1].Queues[i].Children) {
				t.Errorf("%s has %v, not %v", pair[0].Queues[i].Path, *x, *y)
			}
		}
	}
	if e := gpu.Compute(cluster).Capacities[2]; e.EffMin.IsZero() {
		t.Error("nothing of the label is divided")
	}
}

// TestDynamicFaults checks that a configuration in which queues could never be created is refused,
// and that unknown keys of templates lead to warnings.
func TestDynamicFaults(t *testing.T) {
	base := []string{"root.queues=users", "root.users.capacity=1w", autoConf + "enabled=true"}
	for _, tc := range []struct{ line, want string }{
		{autoConf + "template.capacity=30", "needs a weight"},
		{autoConf + "leaf-template.capacity=x", "leaf-template.capacity: yarn.scheduler.capacity.root.users.*.capacity"},
		{autoConf + "max-queues=-1", "out of bounds"},
		{autoConf + "enabled=maybe", "not true or false"},
	} {
		if _, err := Parse(lineProperties(append(base, tc.line)...)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Parse with %s: error %v, want one with %q", tc.line, err, tc.want)
		}
	}
	c,
		err := Parse(lineProperties(append(base, autoConf+"template.maximum-aplications=3", "root.users.ann.capacity=3w",
		"root.*.auto-queue-creation-v2.template.capacity=2w")...))
	if err != nil || len(c.Warnings) != 1 ||
		!strings.Contains(c.Warnings[0].String(),
			`did you mean "yarn.scheduler.capacity.root.users.auto-queue-creation-v2.template.maximum-applications"`) {
		t.Errorf("%v, warnings %v", err, c.Warnings)
	}
	if _, err := c.WithDynamic([]yarn.DynamicQueue{leafQueue("root.gone.ann")}); err == nil ||
		!strings.Contains(err.Error(), "no parent any more") {
		t.Errorf("a queue without a parent: %v", err)
	}
}

// BenchmarkAdd creates a queue beside 10,000 others and computes the capacities of the parent's
// children again.
func BenchmarkAdd(b *testing.B) {
	c := dynamicConf(b, autoConf+"max-queues=100000")
	list := make([]yarn.DynamicQueue, 10_000)
	for i := range list {
		list[i] = leafQueue(fmt.Sprintf("root.users.u%d", i))
	}
	c, err := c.WithDynamic(list)
	if err != nil {
		b.Fatal(err)
	}
	cluster, n := yarn.NewResource(1_000_000, 1000), 0
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Add(leafQueue(fmt.Sprintf("root.users.v%d", n))); err != nil {
			b.Fatal(err)
		}
		n++
		c.Compute(cluster)
	}
}

// TestAdopt checks that an adopted queue keeps its settings, whatever set them, and that the
// dynamic queues above it do so too.
func TestAdopt(t *testing.T) {
	all := []string{"root.queues=a,users", "root.a.capacity=1w", "root.users.capacity=3w", autoConf + "enabled=true",
		autoConf + "maximum-queue-depth=4",
		autoConf + "template.capacity=2w", autoConf + "template.acl_submit_applications=ann etl",
		autoConf + "leaf-template.user-limit-factor=3",
		"root.users.*.auto-queue-creation-v2.leaf-template.maximum-capacity=50",
		"root.users.*.auto-queue-creation-v2.leaf-template.user-settings.ann.weight=2",
		"root.users.*.auto-queue-creation-v2.leaf-template.minimum-user-limit-percent=50",
		"root.users.x.y.ordering-policy=fair", "root.users.x.priority=4",
		autoConf + "parent-template.auto-queue-creation-v2.max-queues=5"}
	static, err := Parse(lineProperties(all...))
	if err != nil {
		t.Fatal(err)
	}
	list := []yarn.DynamicQueue{leafQueue("root.users.ann"), {Path: "root.users.x"}, leafQueue("root.users.x.y"),
		leafQueue("root.users.x.z")}
	before, err := static.WithDynamic(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path  string
		stays []yarn.DynamicQueue
	}{{"root.users.ann", list[1:]}, {"root.users.x", []yarn.DynamicQueue{list[0], list[2], list[3]}},
		{"root.users.x.y", []yarn.DynamicQueue{list[0], list[3]}}} {
		props, err := before.Adopt(before.byPath[tc.path])
		if err != nil {
			t.Fatal(err)
		}
		after, err := Parse(props)
		if err == nil {
			after, err = after.WithDynamic(tc.stays)
		}
		if err != nil {
			t.Fatalf("the configuration that adopts %s: %v", tc.path, err)
		}
		if len(after.Warnings) > 0 {
			t.Errorf("the configuration that adopts %s has warnings %v, want none",
				tc.path, after.Warnings)
		}
		if q := &after.Queues[after.byPath[tc.path]]; q.Creation != Static {
			t.Errorf("%s is %s", tc.path, q.Creation)
		}
		cluster := yarn.NewResource(1_000_000, 1000)
		was, is := before.Compute(cluster), after.Compute(cluster)
		for i := range before.Queues {
			k := after.byPath[before.Queues[i].Path]
			what := before.Changes(i, after, k)
			if after.Queues[k].Creation == Static {
				what = slices.DeleteFunc(what, func(name string) bool { return name == "removal" })
			}
			if len(what) > 0 || was.Capacities[i] != is.Capacities[k] {
				t.Errorf("%s adopted: of %s changes %v: %v → %v", tc.path, before.Queues[i].Path, what, was.Capacities[i],
					is.Capacities[k])
			}
			if a, b := before.Queues[i].AutoCreate, after.Queues[k].AutoCreate; (a == nil) != (b == nil) ||
				a != nil && (a.By != b.By || a.MaxQueues != b.MaxQueues || a.MaxDepth != b.MaxDepth) {
				t.Errorf("%s adopted: %s creates queues as %v, not %v", tc.path, before.Queues[i].Path, b, a)
			}
		}
	}
	if _, err := before.Adopt(before.byPath["root.a"]); err == nil ||
		!strings.Contains(err.Error(), "root.a is in the configuration already") {
		t.Errorf("of a queue of the configuration: %v", err)
	}
}
