package twin

import (
	"fmt"
	"slices"
	"strings"
)

// labels are the labels of histories with labels.
var labels = []string{"x", "y", "z"}

// sharedLabels are not exclusive.
var sharedLabels = []string{"y", "z"}

// labelSettings sets random properties of labels for the whole cluster.
func (g *generator) labelSettings(props map[string]string) {
	props["yarn.node-labels.enabled"] = "true"
	some := func(percent int, name string, values ...string) {
		if g.chance(percent) {
			props[name] = pick(g, values)
		}
	}
	some(10, "yarn.node-labels.exclusive-enforced-partitions", "x", "y", "x,y")
	some(10, "yarn.resourcemanager.node-labels.am.default-node-label-expression", "x", "y")
	some(10, "yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation", "true")
}

// labelShares sets which labels the queues may use, and their capacities for each.
func (g *generator) labelShares(props map[string]string) {
	may := map[string][]string{"root": labels}
	g.accessible(props, may, "root")
	for _, label := range labels {
		g.divideLabel(props, may, "root", label, wholeMemory, wholeVCores)
	}
}

// accessible sets which labels the queues below path may use.
func (g *generator) accessible(props map[string]string, may map[string][]string, path string) {
	for _, child := range g.queues.shape[path] {
		key := prefix + child
		may[child] = may[path]
		if g.chance(30) {
			may[child] = slices.DeleteFunc(slices.Clone(may[path]), func(string) bool { return g.chance(40) })
			props[key+".accessible-node-labels"] = strings.Join(may[child], ",")
		}
		if slices.Contains(g.queues.managed, child) { // see "managed parents: labels" on the differences page
			may[child], props[key+".accessible-node-labels"] = nil, ""
		}
		if len(may[child]) > 0 && g.chance(15) {
			props[key+".default-node-label-expression"] = pick(g, may[child])
		}
		g.accessible(props, may, child)
	}
}

// divideLabel sets the capacities for a label of those queues below path that may use it.
func (g *generator) divideLabel(props map[string]string, may map[string][]string, path, label string,
	memory, vcores int) {
	children := slices.DeleteFunc(slices.Clone(g.queues.shape[path]),
		func(child string) bool { return !g.serves(may, child, label) })
	if len(children) == 0 || path == "root" && g.chance(10) {
		return
	}
	how := g.parts(path, len(children))
	for i, child := range children {
		partition := ".accessible-node-labels." + label
		key := prefix + child + partition
		mb, vc := memory/len(children)/64*64, vcores/len(children)
		if g.absolute {
			g.amount(props, child, partition, mb, vc)
		} else {
			g.share(props, key, how[i], len(children))
		}
		if g.with["limits"] && !g.with["unmanaged"] && g.chance(30) {
			props[key+".maximum-am-resource-percent"] = pick(g, []string{"0.125", "0.25", "1"})
		}
		g.divideLabel(props, may, child, label, mb, vc)
	}
}

// serves reports whether a queue is or has a leaf that may use a label.
func (g *generator) serves(may map[string][]string, path, label string) bool {
	children := g.queues.shape[path]
	if len(children) == 0 {
		return slices.Contains(may[path], label)
	}
	return slices.ContainsFunc(children, func(child string) bool { return g.serves(may, child, label) })
}

// firstLabels adds the labels of the cluster. Often it leaves "z" for later.
func (g *generator) firstLabels() error {
	for _, label := range labels {
		if label == "z" && g.chance(70) {
			continue
		}
		if err := g.addLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func (g *generator) addLabel(label string) error {
	if slices.Contains(sharedLabels, label) {
		return g.step("label %s shared", label)
	}
	return g.step("label %s", label)
}

// changeLabel adds a label or removes it.
func (g *generator) changeLabel() error {
	label := pick(g, labels)
	if g.p.labels[label] && g.chance(60) {
		return g.step("unlabel %s", label)
	}
	return g.addLabel(label)
}

// relabel gives hosts, or single NodeManagers, other labels.
func (g *generator) relabel() error {
	words := ""
	for range g.between(1, 2) {
		id := nodeID(pick(g, g.hosts))
		name := id.Host
		if g.with["ports"] && g.chance(40) {
			name = fmt.Sprintf("%s:%d", id.Host, id.Port)
		}
		if !strings.Contains(words, name+"=") {
			words += fmt.Sprintf(" %s=%s", name, pick(g, []string{"", "x", "y", "y", "z"}))
		}
	}
	return g.step("relabel%s", words)
}

// label returns "", or format with a random label or none.
func (g *generator) label(percent int, format string) string {
	if !g.with["labels"] || !g.chance(percent) {
		return ""
	}
	return fmt.Sprintf(format, pick(g, []string{"", "x", "x", "y", "y", "z"}))
}
