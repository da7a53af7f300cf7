// Package preset has queue configurations for clusters that bring none: that of a new Hadoop
// installation, that of demonstrations, and one for the queues that a trace names.
package preset

import (
	"slices"
	"strings"

	"rmd/scheduler/capacity"
)

// dominant is the class of the calculator that considers all kinds of resources.
const dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"

// Default returns the queues of a cluster without any configuration, which are those of a
// new Hadoop installation: root.default has the whole cluster. Everything else has YARN's defaults.
func Default() []capacity.Property {
	return []capacity.Property{{Name: capacity.Prefix + "root.queues", Value: "default"},
		{Name: capacity.Prefix + "root.default.capacity", Value: "100"}}
}

// baseProperties returns the settings for demonstrations and replays that do not concern a queue:
// GPUs are a resource kind, and a container may take a whole node of 96 cores, 384 GiB and 8 GPUs.
func baseProperties() []capacity.Property {
	return []capacity.Property{
		{Name: "yarn.resource-types", Value: "yarn.io/gpu"},
		{Name: "yarn.resource-types.yarn.io/gpu.maximum-allocation", Value: "8"},
		{Name: "yarn.scheduler.minimum-allocation-mb", Value: "1024"},
		{Name: "yarn.scheduler.minimum-allocation-vcores", Value: "1"},
		{Name: "yarn.scheduler.maximum-allocation-mb", Value: "393216"},
		{Name: "yarn.scheduler.maximum-allocation-vcores", Value: "96"},
		{Name: "yarn.cluster.max-application-priority", Value: "10"},
		{Name: capacity.Prefix + "resource-calculator", Value: dominant},
		{Name: capacity.Prefix + "maximum-applications", Value: "10000"},
		{Name: capacity.Prefix + "maximum-am-resource-percent", Value: "0.5"},
	}
}

// Demo returns the configuration of rmd dev. It has four queues, and each may use the
// whole cluster if the others leave it idle.
func Demo() []capacity.Property {
	out := append(baseProperties(), capacity.Property{Name: capacity.Prefix + "root.queues",
		Value: "online,train,batch,adhoc"})
	for _, q := range []struct{ name, percent string }{{"online", "40"}, {"train", "30"}, {"batch", "20"},
		{"adhoc", "10"}} {
		out = append(out, elastic("root."+q.name, q.percent)...)
	}
	return out
}

// elastic returns a queue with a guarantee, of which a single user may use up to ten times as much.
func elastic(path, guarantee string) []capacity.Property {
	return []capacity.Property{
		{Name: capacity.Prefix + path + ".capacity", Value: guarantee},
		{Name: capacity.Prefix + path + ".maximum-capacity", Value: "100"},
		{Name: capacity.Prefix + path + ".user-limit-factor", Value: "10"},
	}
}

// QueuesFor returns a configuration with a leaf for each path, for instance for the queues that a
// trace names. The children of a parent have equal weights. A path that does not start with root is
// put below root. If one path is above another, it becomes a parent and accepts no applications.
// Without paths the only queue is root.default.
func QueuesFor(paths []string) []capacity.Property {
	children := map[string][]string{}
	var parents []string
	for _, p := range paths {
		parts := strings.Split(strings.TrimPrefix(strings.Trim(p, ". "), "root."), ".")
		at := "root"
		for _, name := range parts {
			if name == "" || name == "root" {
				continue
			}
			if children[at] == nil {
				parents = append(parents, at)
			}
			if !slices.Contains(children[at], name) {
				children[at] = append(children[at], name)
			}
			at += "." + name
		}
	}
	if len(parents) == 0 {
		parents, children["root"] = []string{"root"}, []string{"default"}
	}
	out := baseProperties()
	slices.Sort(parents)
	for _, at := range parents {
		out = append(out, capacity.Property{Name: capacity.Prefix + at + ".queues", Value: strings.Join(children[at], ",")})
		for _, name := range children[at] {
			out = append(out, elastic(at+"."+name, "1w")...)
		}
	}
	return out
}
