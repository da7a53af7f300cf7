package twin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rmd/yarn"
)

// tree is a random queue tree: its properties and its leaves.
type tree struct {
	props   map[string]string
	leaves  []string
	shape   map[string][]string // children by parent
	managed []string            // the parents with auto-create-child-queue
	// weighted says for each parent whether its children have weights. A refresh does not change
	// that, because YARN keeps old weights if a refresh replaces them by percentages.
	weighted map[string]bool
}

// configure adds the initial configuration of a history.
func (g *generator) configure() error {
	g.queues.shape, g.queues.weighted = map[string][]string{}, map[string]bool{}
	g.absolute = g.with["queues"] && g.chance(25)
	if g.with["labels"] && g.with["managed"] { // the nodes without a label may be none: see undecided
		g.absolute = false
	}
	if g.absolute && g.with["managed"] { // their leaves are not played with guarantees that do not fit
		delete(g.with, "drains")
	}
	g.roomy = g.absolute && !g.with["drains"] && (g.with["managed"] || g.chance(50))
	g.shape("root", 1)
	props := g.scheduling()
	maps.Copy(props, g.capacities())
	return g.set(props)
}

// set adds steps that change the configuration to props.
func (g *generator) set(props map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(g.queues.props)) {
		if _, ok := props[name]; !ok {
			if err := g.step("unset %s", name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if was, ok := g.queues.props[name]; ok && was == props[name] {
			continue
		}
		if err := g.step("set %s %s", name, props[name]); err != nil {
			return err
		}
	}
	g.queues.props = props
	return nil
}

// shape adds random queues below a queue.
func (g *generator) shape(path string, depth int) {
	n := 1
	if g.with["queues"] {
		n = g.between(1, 3)
	}
	for i := range n {
		child := path + "." + g.prefixOfNames(path) + string(rune('a'+i))
		g.queues.shape[path] = append(g.queues.shape[path], child)
		if g.with["managed"] && i > 0 && (path == "root" && i == n-1 || g.chance(30)) {
			g.queues.managed = append(g.queues.managed, child)
			continue
		}
		if g.with["queues"] && depth < 3 && g.chance(30) {
			g.shape(child, depth+1)
			continue
		}
		g.queues.leaves = append(g.queues.leaves, child)
	}
}

// scheduling returns random properties of the whole scheduler.
func (g *generator) scheduling() map[string]string {
	props := map[string]string{
		"yarn.scheduler.maximum-allocation-mb": "8192", "yarn.scheduler.maximum-allocation-vcores": "8",
		prefix + "maximum-am-resource-percent":  pick(g, []string{"1", "0.5"}),
		"yarn.cluster.max-application-priority": "5",
	}
	some := func(percent int, name string, values ...string) {
		if g.chance(percent) {
			props[prefix+name] = pick(g, values)
		}
	}
	if g.with["kinds"] {
		props["yarn.resource-types"] = "yarn.io/gpu"
		props["yarn.resource-types.yarn.io/gpu.maximum-allocation"] = "4"
	}
	if g.with["odd"] {
		props["yarn.scheduler.minimum-allocation-mb"] = pick(g, []string{"1", "100", "256", "512", "700", "1024"})
		props["yarn.scheduler.minimum-allocation-vcores"] = pick(g, []string{"1", "1", "2"})
	}
	if g.with["dominant"] || g.with["kinds"] {
		props[prefix+"resource-calculator"] = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
	}
	// otherwise an unmanaged application could wait for AMs of others, but rmd activates it at once
	if g.with["unmanaged"] {
		props[prefix+"maximum-am-resource-percent"] = "1000"
	} else if g.with["limits"] {
		some(60, "maximum-am-resource-percent", "0.125", "0.25", "0.375")
		some(30, "maximum-applications", "4", "10")
	}
	if g.with["parallel"] {
		some(30, "max-parallel-apps", "2", "3", "5")
		some(40, "user.max-parallel-apps", "1", "2", "3")
		some(40, "user.u1.max-parallel-apps", "1", "2", "4")
	}
	if g.with["delays"] {
		some(80, "node-locality-delay", "0", "1", "2", "4", "40")
		some(50, "rack-locality-additional-delay", "-1", "0", "1", "3")
		some(30, "rack-locality-full-reset", "false")
	} else {
		props[prefix+"node-locality-delay"] = "-1"
	}
	if g.with["nolook"] {
		some(60, "reservations-continue-look-all-nodes", "false")
	}
	if g.with["labels"] {
		g.labelSettings(props)
	}
	if g.with["preemption"] {
		g.preemption(props)
	}
	some(30, "per-node-heartbeat.multiple-assignments-enabled", "false")
	some(30, "per-node-heartbeat.maximum-container-assignments", "1", "2", "3")
	some(50, "per-node-heartbeat.maximum-offswitch-assignments", "1", "2", "4", "10")
	return props
}

// The amounts of queues are parts of these totals.
const wholeMemory, wholeVCores, wholeGPUs = 27 * 256, 27, 4

// capacities returns random capacities and limits for every queue.
func (g *generator) capacities() map[string]string {
	props := map[string]string{}
	g.divide(props, "root", wholeMemory, wholeVCores, g.absolute)
	if g.with["labels"] {
		g.labelShares(props)
	}
	return props
}

// shares are the possible capacities of children. YARN computes with 32-bit floats and rmd with
// fractions (docs/adr/0004); these values are exact in both.
var shares = map[int][][]string{
	1: {{"100"}},
	2: {{"50", "50"}, {"25", "75"}, {"87.5", "12.5"}},
	3: {{"25", "25", "50"}, {"12.5", "62.5", "25"}, {"37.5", "37.5", "25"}},
}

var weights = map[int][][]string{
	1: {{"1w"}, {"4w"}},
	2: {{"1w", "1w"}, {"1w", "3w"}, {"0.5w", "1.5w"}},
	3: {{"1w", "1w", "2w"}, {"5w", "1w", "2w"}, {"3w", "4w", "1w"}},
}

// decimals are shares and weights that floats cannot represent.
var decimals = map[bool]map[int][][]string{
	false: {1: {{"100"}}, 2: {{"33.3", "66.7"}, {"10.1", "89.9"}},
		3: {{"33.33", "33.33", "33.34"}, {"7.7", "22.2", "70.1"}}},
	true: {1: {{"0.7w"}}, 2: {{"1w", "2w"}, {"0.1w", "0.6w"}}, 3: {{"1w", "1w", "1w"}, {"0.3w", "2w", "1.1w"}}},
}

// parts returns random capacities of the children of a queue.
func (g *generator) parts(path string, children int) []string {
	switch {
	case g.with["decimals"]:
		return pick(g, decimals[g.queues.weighted[path]][children])
	case g.queues.weighted[path]:
		return pick(g, weights[children])
	}
	return pick(g, shares[children])
}

func (g *generator) divide(props map[string]string, path string, memory, vcores int, absolute bool) {
	children := g.queues.shape[path]
	names := make([]string, len(children))
	if _, ok := g.queues.weighted[path]; !ok {
		g.queues.weighted[path] = g.chance(30)
	}
	how := g.parts(path, len(children))
	for i, child := range children {
		names[i] = yarn.QueueName(child)
		key := prefix + child
		mb, vc := memory/len(children)/64*64, vcores/len(children)
		if absolute {
			g.amount(props, child, "", mb, vc)
		} else {
			g.share(props, key, how[i], len(children))
		}
		if g.with["parallel"] && g.chance(40) {
			props[key+".max-parallel-apps"] = pick(g, []string{"1", "2", "3"})
		}
		g.queue(props, child, mb, vc, absolute)
	}
	props[prefix+path+".queues"] = strings.Join(names, ",")
	g.growing(props, path, absolute)
	if g.with["priorities"] && g.chance(40) {
		props[prefix+path+".ordering-policy"] = "priority-utilization"
	}
}

// amount sets an absolute capacity, and sometimes a maximum for a child of root. The partition is
// the part of the key that names a label. One child of a queue with GPUs may have them.
func (g *generator) amount(props map[string]string, queue, partition string, mb, vc int) {
	key, path := prefix+queue+partition, yarn.ParentQueue(queue)
	may := !slices.Contains(g.queues.managed, queue) && (path == "root" ||
		g.queues.shape[path][0] == queue && strings.Contains(props[prefix+path+partition+".capacity"], "gpu"))
	gpus, most := "", ""
	if g.with["kinds"] && may && g.chance(60) {
		gpus = ",yarn.io/gpu=1"
	}
	switch {
	case gpus != "" && !g.roomy: // in a small cluster, YARN may refuse a refresh if the maximum has fewer
		most = fmt.Sprintf(",yarn.io/gpu=%d", pick(g, []int{2, 4}))
	case g.with["kinds"] && g.chance(70):
		most = fmt.Sprintf(",yarn.io/gpu=%d", pick(g, []int{0, 2, 4}))
	}
	props[key+".capacity"] = fmt.Sprintf("[memory=%d,vcores=%d%s]", mb, vc, gpus)
	if path == "root" && g.chance(30) {
		least := mb
		if gpus != "" { // YARN refuses a maximum that is equal but for GPUs, of which it has none
			least++
		}
		props[key+".maximum-capacity"] = fmt.Sprintf("[memory=%d,vcores=%d%s]", g.between(least, 7168), g.between(vc, 27), most)
	}
}

// share sets a relative capacity, and sometimes a maximum.
func (g *generator) share(props map[string]string, key, share string, children int) {
	props[key+".capacity"] = share
	if children > 1 && g.chance(30) {
		props[key+".maximum-capacity"] = pick(g, []string{"100", "87.5", "93.75"}) // not below any capacity
	}
}

// queue sets the other properties of one queue.
func (g *generator) queue(props map[string]string, path string, memory, vcores int, absolute bool) {
	key := prefix + path
	if len(g.queues.shape[path]) > 0 {
		g.divide(props, path, memory, vcores, absolute)
		return
	}
	if slices.Contains(g.queues.managed, path) {
		g.managing(props, key, memory, vcores, absolute)
		return
	}
	if g.with["fair"] && g.chance(60) {
		props[key+".ordering-policy"] = "fair"
	}
	if g.with["priorities"] && g.chance(40) {
		props[key+".priority"] = fmt.Sprint(g.r.IntN(3))
	}
	if g.with["limits"] {
		props[key+".user-limit-factor"] = pick(g, []string{"1", "2", "0.5", "-1", "10"})
		props[key+".minimum-user-limit-percent"] = pick(g, []string{"100", "50", "25", "12.5"})
		if !g.with["unmanaged"] && g.chance(30) {
			props[key+".maximum-am-resource-percent"] = pick(g, []string{"0.125", "0.25", "1"})
		}
	} else {
		props[key+".user-limit-factor"] = "20"
		if g.with[Inside] {
			props[key+".minimum-user-limit-percent"] = pick(g, []string{"100", "50", "25"})
		}
	}
	if g.with["weights"] {
		g.userWeights(props, key)
	}
	if g.with[Inside] && g.chance(10) {
		props[key+pick(g, []string{".disable_preemption", ".intra-queue-preemption.disable_preemption"})] = "true"
	}
}

// userWeights gives some users of a leaf a weight. The weight times minimum-user-limit-percent is
// at most 100.
func (g *generator) userWeights(props map[string]string, key string) {
	least := pick(g, []string{"50", "25", "12.5"})
	most := map[string]int{"50": 3, "25": 5, "12.5": 6}[least]
	props[key+".minimum-user-limit-percent"] = least
	for _, user := range []string{"u1", "u2", "u3"} {
		if g.chance(60) {
			props[key+".user-settings."+user+".weight"] = pick(g, []string{"0.5", "1.5", "2", "2.5", "4", "8"}[:most])
		}
	}
}

// refresh adds a refresh with other capacities and limits for the same queues.
func (g *generator) refresh() error {
	if g.with["stops"] && len(g.p.racks) == 0 { // a refused refresh of YARN activates applications in an empty cluster
		return g.newNode()
	}
	if g.undecided() {
		return g.newNode()
	}
	props := maps.Clone(g.queues.props)
	for name := range maps.Clone(props) {
		if strings.HasPrefix(name, prefix+"root.") {
			delete(props, name)
		}
	}
	was := g.queues
	if g.with["stops"] {
		g.reshape()
	}
	maps.Copy(props, g.capacities())
	if g.with["stops"] {
		for _, leaf := range g.queues.leaves {
			if g.chance(25) || !slices.Contains(was.leaves, leaf) && g.chance(50) {
				props[prefix+leaf+".state"] = pick(g, []string{"STOPPED", "RUNNING"})
			}
		}
	}
	if err := g.set(props); err != nil {
		return err
	}
	if err := g.step("refresh"); err != nil || !slices.Contains(g.out[len(g.out)-1], "result refused") {
		return err
	}
	now := g.queues.props
	g.queues = was
	g.queues.props = now
	return g.set(was.props)
}

// reshape adds or removes a leaf. The scheduler refuses to remove a leaf that is not stopped or has
// applications.
func (g *generator) reshape() {
	g.queues.leaves, g.queues.shape = slices.Clone(g.queues.leaves), maps.Clone(g.queues.shape)
	leaf := pick(g, g.queues.leaves)
	parent := yarn.ParentQueue(leaf)
	switch siblings := g.queues.shape[parent]; {
	case g.chance(40) && len(siblings) < 3:
		child := parent + "." + g.prefixOfNames(parent) + string(rune('p'+len(g.out)%8))
		if !slices.Contains(siblings, child) {
			g.queues.shape[parent] = append(slices.Clone(siblings), child)
			g.queues.leaves = append(g.queues.leaves, child)
		}
	case g.chance(40) && len(siblings) > 1:
		gone := func(q string) bool { return q == leaf }
		g.queues.shape[parent] = slices.DeleteFunc(slices.Clone(siblings), gone)
		g.queues.leaves = slices.DeleteFunc(g.queues.leaves, gone)
	}
}
