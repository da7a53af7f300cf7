package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// Label is a node label of the cluster.
type Label struct {
	Name      string
	Exclusive bool // asks without a label never use its nodes
}

// SetLabels adds labels to the cluster. As in YARN, it is refused if it would change the
// exclusivity of a label that exists, unless Change is set.
type SetLabels struct {
	Labels []Label
	Change bool
}

// RemoveLabels removes labels from the cluster and from the nodes that have them. It is refused if
// the configuration of a queue names one of them.
type RemoveLabels struct{ Names []string }

// LabelledNode has the new labels of one NodeManager, or of all NodeManagers of a host (port 0).
// They replace its old labels. No labels remove them; more than one is refused.
type LabelledNode struct {
	ID     yarn.NodeID
	Labels []string
}

// LabelNodes replaces the labels of nodes, of all of them or of none. Hosts need not be registered.
type LabelNodes struct {
	Nodes []LabelledNode
	// KnownOnly refuses the request if it names a host or NodeManager that never registered.
	KnownOnly bool
	// FromNode says that a NodeManager reports its own label. If
	// yarn.node-labels.configuration-type is distributed, only such requests are allowed; otherwise
	// they are refused.
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
