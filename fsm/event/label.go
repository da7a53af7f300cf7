package event

import (
	"slices"
	"strings"

	"rmd/internal/codec"
	"rmd/internal/thousands"
	"rmd/yarn"
)

// Label is a node label of the cluster.
type Label struct {
	Name      string
	Exclusive bool // asks without a label may not use its nodes
}

// LabelsSet adds labels to the cluster's collection, or changes whether they are exclusive.
type LabelsSet struct{ Labels []Label }

var KindLabelsSet = define[LabelsSet](90)

func (*LabelsSet) Kind() Kind { return KindLabelsSet }

func (e *LabelsSet) Code(c *codec.Coder) {
	codec.List(c, &e.Labels, func(c *codec.Coder, l *Label) {
		c.String(&l.Name)
		c.Bool(&l.Exclusive)
	})
}

func (e *LabelsSet) Text() string {
	var names []string
	for _, l := range e.Labels {
		if !l.Exclusive {
			l.Name += " (not exclusive)"
		}
		names = append(names, l.Name)
	}
	slices.Sort(names)
	return "labels of the cluster: " + strings.Join(names, ", ")
}

// LabelsRemoved removes labels from the cluster's collection, and from the nodes that are mapped to
// them.
type LabelsRemoved struct{ Names []string }

var KindLabelsRemoved = define[LabelsRemoved](91)

func (*LabelsRemoved) Kind() Kind { return KindLabelsRemoved }

func (e *LabelsRemoved) Code(c *codec.Coder) {
	codec.List(c, &e.Names, func(c *codec.Coder, s *string) { c.String(s) })
}

func (e *LabelsRemoved) Text() string {
	return "labels removed: " + strings.Join(e.Names, " ")
}

// LabelledNode maps a node to a label, or to none if Label is empty. Port 0 means a host with all
// its NodeManagers, registered or not, and replaces the mappings of its NodeManagers.
type LabelledNode struct {
	ID    yarn.NodeID
	Label string
}

// NodesLabelled maps nodes to labels.
type NodesLabelled struct{ Nodes []LabelledNode }

var KindNodesLabelled = define[NodesLabelled](92)

func (*NodesLabelled) Kind() Kind { return KindNodesLabelled }

func (e *NodesLabelled) Code(c *codec.Coder) {
	codec.List(c, &e.Nodes, func(c *codec.Coder, n *LabelledNode) {
		c.NodeID(&n.ID)
		c.String(&n.Label)
	})
}

func (e *NodesLabelled) Text() string {
	return "labels of " + thousands.Count(len(e.Nodes), "host") + " changed"
}

// AskLabelled sets the label of the nodes that may serve an ask. Empty means nodes without a label.
type AskLabelled struct {
	App   uint32
	Key   yarn.SchedulerKey
	Label string
}

var KindAskLabelled = define[AskLabelled](93)

func (*AskLabelled) Kind() Kind { return KindAskLabelled }

func (e *AskLabelled) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Key(&e.Key)
	c.String(&e.Label)
}

// AskMissesUpdated sets how many offers an ask without a label has missed since a node without a
// label served it. After enough misses the ask may use nodes with labels that are not exclusive. A
// pass emits at most one such event per key.
type AskMissesUpdated struct {
	App    uint32
	Key    yarn.SchedulerKey
	Missed uint32
}

var KindAskMissesUpdated = frequent[AskMissesUpdated](95, Counter)

func (*AskMissesUpdated) Kind() Kind { return KindAskMissesUpdated }

func (e *AskMissesUpdated) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.Key(&e.Key)
	c.U32(&e.Missed)
}

// ApplicationLabelled sets an application's default label for asks, and the label of its AM.
type ApplicationLabelled struct {
	App            uint32
	Label, AMLabel string
}

var KindApplicationLabelled = define[ApplicationLabelled](94)

func (*ApplicationLabelled) Kind() Kind { return KindApplicationLabelled }

func (e *ApplicationLabelled) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.String(&e.Label)
	c.String(&e.AMLabel)
}
