package state

import (
	"pgregory.net/rapid"

	"rmd/fsm/event"
	"rmd/yarn"
)

// Actions of the machine for node labels.

var machineLabels = []string{"gpu", "ssd", "spot"}

// listed draws a label of the cluster's collection, or no label.
func (m *machine) listed(t *rapid.T) string {
	names := []string{""}
	m.s.Labels.Each(func(_ LabelSlot, l *Label) bool {
		if l.Listed {
			names = append(names, l.Name)
		}
		return true
	})
	return drawOf(t, "label", names)
}

func (m *machine) SetLabels(t *rapid.T) {
	var labels []event.Label
	for range rapid.IntRange(1, 2).Draw(t, "labels") {
		labels = append(labels, event.Label{Name: drawOf(t, "label", machineLabels),
			Exclusive: rapid.Bool().Draw(t, "exclusive")})
	}
	m.apply(t, &event.LabelsSet{Labels: labels})
}

func (m *machine) RemoveLabel(t *rapid.T) {
	_, l := pick(t, "label", &m.s.Labels, func(l *Label) bool { return l.Listed })
	m.apply(t, &event.LabelsRemoved{Names: []string{l.Name}})
}

func (m *machine) LabelNodes(t *rapid.T) {
	if m.s.Labels.Len() == 0 {
		t.Skip("no label")
	}
	var nodes []event.LabelledNode
	for range rapid.IntRange(1, 3).Draw(t, "nodes") {
		nodes = append(nodes, event.LabelledNode{
			ID:    yarn.NodeID{Host: drawOf(t, "host", machineHosts), Port: rapid.Uint16Max(1).Draw(t, "port")},
			Label: m.listed(t)})
	}
	m.apply(t, &event.NodesLabelled{Nodes: nodes})
}

func (m *machine) LabelNodesMore(t *rapid.T) { m.LabelNodes(t) }

func (m *machine) LabelAsk(t *rapid.T) {
	_, k := pick(t, "ask", &m.s.Asks, func(k *Ask) bool { return k.IncreaseOf == 0 })
	m.apply(t, &event.AskLabelled{App: m.s.Apps.Get(k.App).ID.Seq, Key: k.Key, Label: m.listed(t)})
}

func (m *machine) CountMisses(t *rapid.T) {
	_, k := pick(t, "ask", &m.s.Asks, func(k *Ask) bool { return k.IncreaseOf == 0 })
	m.apply(t, &event.AskMissesUpdated{App: m.s.Apps.Get(k.App).ID.Seq, Key: k.Key,
		Missed: rapid.Uint32Max(3).Draw(t, "missed")})
}

func (m *machine) LabelApplication(t *rapid.T) {
	_, a := pick(t, "application", &m.s.Apps,
		func(a *App) bool { return a.AttemptState == AttemptNone && !a.State.Ended() })
	m.apply(t, &event.ApplicationLabelled{App: a.ID.Seq, Label: m.listed(t), AMLabel: m.listed(t)})
}
