package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// Label is a node label of the cluster's collection.
type Label struct {
	Name      string
	Exclusive bool // its nodes are never lent to asks without a label
}

// SetLabels adds labels to the cluster's collection. A label that is there keeps its exclusivity:
// another one is refused, as in YARN, unless Change is set.
type SetLabels struct {
	Labels []Label
	Change bool
}

// RemoveLabels takes labels out of the collection, and off the nodes that have one. A label that a
// queue names in its configuration stays.
type RemoveLabels struct{ Names []string }

// LabelledNode gives a host with all its NodeManagers (port 0), or one NodeManager, the labels that
// stand here in the place of those it has. None takes them away; more than one is refused.
type LabelledNode struct {
	ID     yarn.NodeID
	Labels []string
}

// LabelNodes replaces the labels of nodes, all or none of them. Hosts need not be registered.
type LabelNodes struct {
	Nodes []LabelledNode
	// KnownOnly refuses hosts and NodeManagers that never registered.
	KnownOnly bool
	// FromNode says that a NodeManager tells its own label. That is how nodes get labels when their
	// configuration is distributed, and no other way is open then.
	FromNode bool
}

// Kind implements Input.
func (*SetLabels) Kind() Kind    { return KindSetLabels }
func (*RemoveLabels) Kind() Kind { return KindRemoveLabels }
func (*LabelNodes) Kind() Kind   { return KindLabelNodes }

// NewReply implements Input.
func (*SetLabels) NewReply() Reply    { return new(Done) }
func (*RemoveLabels) NewReply() Reply { return new(Done) }
func (*LabelNodes) NewReply() Reply   { return new(Done) }

// Code implements Input.
func (i *SetLabels) Code(c *codec.Coder) {
	codec.List(c, &i.Labels, func(c *codec.Coder, l *Label) {
		c.String(&l.Name)
		c.Bool(&l.Exclusive)
	})
	c.Bool(&i.Change)
}

// Code implements Input.
func (i *RemoveLabels) Code(c *codec.Coder) { texts(c, &i.Names) }

// Code implements Input.
func (i *LabelNodes) Code(c *codec.Coder) {
	codec.List(c, &i.Nodes, func(c *codec.Coder, n *LabelledNode) {
		c.NodeID(&n.ID)
		texts(c, &n.Labels)
	})
	c.Bool(&i.KnownOnly)
	c.Bool(&i.FromNode)
}
