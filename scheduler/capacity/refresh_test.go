package capacity

import (
	"slices"
	"strings"
	"testing"

	"rmd/yarn"
)

func TestRefreshRules(t *testing.T) {
	const gpu = "yarn.resource-types = yarn.io/gpu,fpga\nresource-calculator = DominantResourceCalculator\n"
	old := gpu +
		"root.queues = a,b\nroot.a.capacity = 40\nroot.b.capacity = 60\nroot.a.maximum-allocation-mb = 4096\nroot.b.queues = x,y\nroot.b.x.capacity = 50\nroot.b.y.capacity = 50\n"
	for _, tc := range []struct {
		name, text    string
		apps, stopped string
		want          []string
	}{
		{"nothing changes", old, "root.a root.b.x", "", nil},
		{"a queue with applications is removed", strings.Replace(old, "x,y", "x", 1) + "root.b.x.capacity = 100",
			"root.b.y", "root.b.y",
			[]string{"root.b.y: the queue is removed but still holds applications; stop it, and wait for them or move them: rmd queue stop root.b.y"}},
		{"a running queue is removed", strings.Replace(old, "x,y", "x", 1) + "root.b.x.capacity = 100", "", "",
			[]string{"root.b.y: the queue is removed but is not STOPPED; stop it first: rmd queue stop root.b.y"}},
		{"a stopped empty queue is removed", strings.Replace(old, "x,y", "x", 1) + "root.b.x.capacity = 100", "",
			"root.b.y", nil},
		{"a subtree is removed", gpu + "root.queues = a\nroot.a.capacity = 100\nroot.a.maximum-allocation-mb = 4096",
			"", "root.b.x",
			[]string{"root.b: the queue is removed but is not STOPPED", "root.b.y: the queue is removed but is not STOPPED"}},
		{"a running leaf becomes a parent", old + "root.a.queues = n\nroot.a.n.capacity = 100", "", "",
			[]string{"root.a.queues: a leaf that is not STOPPED cannot become a parent"}},
		{"a leaf with applications becomes a parent", old + "root.a.queues = n\nroot.a.n.capacity = 100", "root.a", "root.a",
			[]string{"root.a.queues: a leaf that holds applications cannot become a parent"}},
		{"a stopped leaf becomes a parent", old + "root.a.queues = n\nroot.a.n.capacity = 100", "", "root.a", nil},
		{"the largest container grows", old + "root.a.maximum-allocation-mb = 8192", "", "", nil},
		{"the largest container shrinks", old + "root.a.maximum-allocation-mb = 2048", "", "",
			[]string{
				"root.a.maximum-allocation-mb: the largest container of a leaf may not shrink: memory-mb from 4096 to 2048"}},
		{"the cluster's largest container shrinks", old + "yarn.scheduler.maximum-allocation-vcores = 2", "", "",
			[]string{"root.a.maximum-allocation-vcores: ", "root.b.x.maximum-allocation-vcores: ",
				"root.b.y.maximum-allocation-vcores: "}},
		{"a kind is added", old + "yarn.resource-types = yarn.io/gpu,fpga,disk", "", "", nil},
		{"a kind is moved", old + "yarn.resource-types = fpga,yarn.io/gpu", "", "",
			[]string{`yarn.resource-types: resource kind "yarn.io/gpu" was known and is now missing or moved`}},
	} {
		in := func(list string) func(string) bool {
			return func(path string) bool { return slices.Contains(strings.Fields(list), path) }
		}
		err := parse(t, tc.text).Validate(parse(t, old), in(tc.apps), in(tc.stopped))
		if tc.want == nil {
			if err != nil {
				t.Errorf("%s: Validate: %v, want no error", tc.name, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: was taken", tc.name)
			continue
		}
		got := faults(t, err)
		for i, w := range tc.want {
			if i >= len(got) || !strings.Contains(got[i].String(), w) || got[i].Do == "" {
				t.Errorf("%s: %v, want %q", tc.name, err, w)
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%s: %d faults, want %d: %v", tc.name, len(got), len(tc.want), err)
		}
	}
	if err := parse(t, old).Validate(nil, nil, nil); err != nil {
		t.Errorf("the first configuration: %v", err)
	}
}

func TestPropertiesAreCanonical(t *testing.T) {
	c := parse(t, twoQueues+"root.a.capacity = 50\nroot.b.capacity = 50")
	again, err := Parse(c.Properties())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Properties(), again.Properties()) {
		t.Errorf("what was written back differs: %v", again.Properties())
	}
	if !slices.IsSortedFunc(c.Properties(), func(a, b Property) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the properties are not sorted")
	}
}

// FuzzParse checks that any properties lead to a configuration or to faults, and that a
// configuration can be computed, equals itself, and survives another parse.
func FuzzParse(f *testing.F) {
	f.Add(stock)
	f.Add(twoQueues + "root.a.user-settings.u.weight = 1\nqueue-mappings = u:%user:a")
	f.Add(mixedHead +
		"root.queues = a,b\nroot.a.capacity = [memory=10%,vcores=1w]\nroot.b.capacity = 3w\nroot.b.maximum-capacity = [memory=4Gi]")
	f.Add("root.queues = a,b\nroot.a.capacity = [memory=5,vcores=1]\nroot.b.capacity = [memory=5]\nroot.a.queues = root")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(props(text))
		if err != nil {
			if len(faults(t, err)) == 0 {
				t.Fatal("an error without faults")
			}
			return
		}
		tree := c.Compute(yarn.Resource{1 << 40, 1 << 20, 77, 3})
		for i := range c.Queues {
			if e := &tree.Capacities[i]; e.EffMin.Negative() || !e.EffMin.Within(e.EffMax) {
				t.Fatalf("%s: effective capacity %v, maximum %v, want it not negative and within the maximum",
					c.Queues[i].Path, e.EffMin, e.EffMax)
			}
			if c.MaxApplications(i, only(tree)) < 0 || c.MaxApplicationsPerUser(i, only(tree)) < 0 {
				t.Fatalf("%s: a negative count", c.Queues[i].Path)
			}
		}
		again, err := Parse(c.Properties())
		if err != nil {
			t.Fatalf("what was parsed does not parse again: %v", err)
		}
		no := func(string) bool { return false }
		if err := again.Validate(c, no, no); err != nil || !slices.Equal(c.Properties(), again.Properties()) {
			t.Fatalf("differs from itself: %v", err)
		}
	})
}
