package twin

import (
	"maps"
	"slices"
	"strings"

	"rmd/scheduler/capacity"
)

const creates = ".auto-queue-creation-v2.enabled"

// growing lets submissions create queues below a queue whose children have weights.
func (g *generator) growing(props map[string]string, path string, absolute bool) {
	if !g.with["dynamic"] || absolute || !g.queues.weighted[path] || g.chance(20) {
		return
	}
	if g.with["labels"] && path == "root" { // of a label that no queue names, YARN's root has no resources to divide
		return
	}
	key := prefix + path
	props[key+creates] = "true"
	props[capacity.ExpirationKey] = "1" // so that a queue that is empty before a step may expire in it
	some := func(percent int, name string, values ...string) {
		if g.chance(percent) {
			props[key+".auto-queue-creation-v2."+name] = pick(g, values)
		}
	}
	some(40, "template.capacity", "2w", "3w", "0.5w")
	some(40, "leaf-template.capacity", "2w", "5w")
	some(30, "parent-template.capacity", "3w")
	some(40, "leaf-template.user-limit-factor", "1", "2", "20")
	if g.with["limits"] && !g.with["unmanaged"] {
		some(50, "leaf-template.maximum-am-resource-percent", "0.125", "0.25", "0.5")
	}
	some(20, "leaf-template.ordering-policy", "fair")
	some(20, "template.auto-queue-creation-v2.queue-auto-removal.enable", "false")
	some(20, "max-queues", "1", "2")
	some(20, "maximum-queue-depth", "1", "3")
}

// someLeaf returns a leaf, or a place below a queue where a submission may create one.
func (g *generator) someLeaf() string {
	var parents []string
	for _, name := range slices.Sorted(maps.Keys(g.queues.props)) {
		if path, ok := strings.CutSuffix(strings.TrimPrefix(name, prefix), creates); ok {
			parents = append(parents, path)
		}
	}
	if len(parents) == 0 || g.chance(60) {
		return pick(g, g.queues.leaves)
	}
	// A refresh may list v or w, but not x: see "queue above removed" on the differences page.
	path := pick(g, parents)
	for name := range strings.SplitSeq(pick(g, []string{"v", "w", "v", "w", "x.y", "x.z"}), ".") {
		path += "." + g.prefixOfNames(path) + name
	}
	return path
}
