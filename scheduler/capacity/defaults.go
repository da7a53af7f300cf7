package capacity

import (
	"slices"
	"strings"
)

// dominant is the class of the calculator that looks at every kind.
const dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"

// DefaultProperties are the queues of a cluster without any configuration, and of a new Hadoop
// installation: root.default has everything. All else has YARN's defaults.
func DefaultProperties() []Property {
	return []Property{{Name: Prefix + "root.queues", Value: "default"}, {Name: Prefix + "root.default.capacity", Value: "100"}}
}

// baseProperties are the global values of demonstrations and replays: GPUs are
// countable, and a container may fill a node of 96 cores, 384 GiB and 8 GPUs.
func baseProperties() []Property {
	return []Property{
		{Name: "yarn.resource-types", Value: "yarn.io/gpu"},
		{Name: "yarn.resource-types.yarn.io/gpu.maximum-allocation", Value: "8"},
		{Name: "yarn.scheduler.minimum-allocation-mb", Value: "1024"},
		{Name: "yarn.scheduler.minimum-allocation-vcores", Value: "1"},
		{Name: "yarn.scheduler.maximum-allocation-mb", Value: "393216"},
		{Name: "yarn.scheduler.maximum-allocation-vcores", Value: "96"},
		{Name: "yarn.cluster.max-application-priority", Value: "10"},
		{Name: Prefix + "resource-calculator", Value: dominant},
		{Name: Prefix + "maximum-applications", Value: "10000"},
		{Name: Prefix + "maximum-am-resource-percent", Value: "0.5"},
	}
}

// DemoProperties are the queues of rmd dev: four, each of which may grow to the whole cluster when the
// others leave it idle.
func DemoProperties() []Property {
	out := append(baseProperties(), Property{Name: Prefix + "root.queues", Value: "online,train,batch,adhoc"})
	for _, q := range []struct{ name, percent string }{{"online", "40"}, {"train", "30"}, {"batch", "20"}, {"adhoc", "10"}} {
		out = append(out, elastic("root."+q.name, q.percent)...)
	}
	return out
}

// elastic is a queue with a guarantee that one user alone may exceed tenfold.
func elastic(path, capacity string) []Property {
	return []Property{
		{Name: Prefix + path + ".capacity", Value: capacity},
		{Name: Prefix + path + ".maximum-capacity", Value: "100"},
		{Name: Prefix + path + ".user-limit-factor", Value: "10"},
	}
}

// QueuesFor is a configuration with a leaf for every path, for instance the
// queues a trace names; children of one parent share equally, by weight. A path
// without root in front is put under root. Where one path is above another, the
// upper one is a parent and takes no applications. No paths give root.default.
func QueuesFor(paths []string) []Property {
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
		out = append(out, Property{Name: Prefix + at + ".queues", Value: strings.Join(children[at], ",")})
		for _, name := range children[at] {
			out = append(out, elastic(at+"."+name, "1w")...)
		}
	}
	return out
}
