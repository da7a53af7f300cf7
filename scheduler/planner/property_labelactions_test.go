package planner

import (
	"slices"

	"pgregory.net/rapid"

	"rmd/scheduler/input"
	"rmd/yarn"
)

// The actions of this file are about node labels. The queue trees name x and y; z may be removed at
// any time.

// labelTrees are the label properties of the corresponding trees.
var labelTrees = [][]string{
	{
		"root.a.accessible-node-labels=x,y", "root.b.accessible-node-labels=y",
		"root.a.accessible-node-labels.x.capacity=100",
		"root.a.accessible-node-labels.y.capacity=50", "root.b.accessible-node-labels.y.capacity=50",
		"root.a.x.accessible-node-labels.x.capacity=30",
		"root.a.y.accessible-node-labels.x.capacity=70", "root.a.x.accessible-node-labels.x.maximum-capacity=60",
		"root.a.x.accessible-node-labels.y.capacity=100",
	},
	{
		"root.a.accessible-node-labels.x.capacity=1w", "root.b.accessible-node-labels.x.capacity=2w",
		"root.a.x.accessible-node-labels.x.capacity=1w",
		"root.a.y.accessible-node-labels.x.capacity=1w", "root.c.accessible-node-labels.y.capacity=1w",
		"root.c.accessible-node-labels.y.maximum-am-resource-percent=0.2",
	},
	{
		"root.a.accessible-node-labels=x", "root.a.accessible-node-labels.x.capacity=[memory=4096,vcores=4]",
		"root.a.x.accessible-node-labels.x.capacity=[memory=3072,vcores=3]",
		"root.b.accessible-node-labels.y.capacity=[memory=8192,vcores=8]",
	},
	{
		"root.a.accessible-node-labels.x.capacity=50", "root.b.accessible-node-labels.x.capacity=30",
		"root.c.accessible-node-labels.x.capacity=20",
		"root.a.accessible-node-labels.y.capacity=40", "root.b.accessible-node-labels.y.capacity=60",
		"root.a.x.accessible-node-labels.x.capacity=60",
		"root.a.y.accessible-node-labels.x.capacity=40", "root.a.x.accessible-node-labels.y.capacity=20",
		"root.a.y.accessible-node-labels.y.capacity=80",
	},
}

// tree returns the properties of the current queue tree.
func (m *machine) tree() []string {
	if !m.labelled {
		return trees[m.variant]
	}
	return slices.Concat(trees[m.variant], labelTrees[m.variant])
}

func (m *machine) labelActions() map[string]func(*rapid.T) {
	if !m.labelled {
		return nil
	}
	return map[string]func(*rapid.T){"labels": m.labelNode, "labelNode2": m.labelNode, "setLabels": m.setLabels,
		"removeLabels": m.removeLabels}
}

func (m *machine) firstLabels(t *rapid.T) {
	if f := m.plan(&input.SetLabels{Labels: []input.Label{{Name: "x", Exclusive: true},
		{Name: "y"}}}).Refused(); f != nil {
		m.fail("labels: %v", f)
	}
	m.plan(&input.LabelNodes{Nodes: []input.LabelledNode{
		{ID: yarn.NodeID{Host: "h0"}, Labels: []string{"x"}}, {ID: yarn.NodeID{Host: "h1"}, Labels: []string{"x"}},
		{ID: yarn.NodeID{Host: "h2"}, Labels: []string{"y"}}}})
}

func (m *machine) label(t *rapid.T) string {
	return rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "label")
}

// askedLabel draws the label of an ask or an application: mostly x, y or none.
func (m *machine) askedLabel(t *rapid.T) string {
	if !m.labelled {
		return ""
	}
	return rapid.SampledFrom([]string{"x", "", "y", "x", "", "y", "x", "", "y", "x", "", "y", "x", "", "y", yarn.NoLabel,
		"z", "none there"}).Draw(t, "asked label")
}

// labelNode labels hosts and single NodeManagers. Some of them have never registered.
func (m *machine) labelNode(t *rapid.T) {
	in := &input.LabelNodes{KnownOnly: rapid.IntRange(0, 3).Draw(t, "known") == 0}
	for range rapid.IntRange(1, 2).Draw(t, "nodes") {
		n := input.LabelledNode{ID: yarn.NodeID{Host: rapid.SampledFrom(hosts).Draw(t, "host"),
			Port: rapid.Uint16Range(0, 1).Draw(t, "port")}}
		if rapid.IntRange(0, 3).Draw(t, "labelled") > 0 {
			n.Labels = []string{m.label(t)}
		}
		in.Nodes = append(in.Nodes, n)
	}
	m.plan(in)
}

// setLabels adds a label, or changes whether it is exclusive.
func (m *machine) setLabels(t *rapid.T) {
	m.plan(&input.SetLabels{Labels: []input.Label{{Name: m.label(t), Exclusive: rapid.Bool().Draw(t, "exclusive")}},
		Change: rapid.IntRange(0, 3).Draw(t, "change") > 0})
}

func (m *machine) removeLabels(t *rapid.T) {
	m.plan(&input.RemoveLabels{Names: []string{rapid.SampledFrom([]string{"z", "z", "z", "y", "x"}).Draw(t, "removed")}})
}
