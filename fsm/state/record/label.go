package record

import (
	"rmd/fsm/state/table"
	"rmd/internal/codec"
	"rmd/yarn"
)

// Labels is the table of labels, including removed ones.
type Labels struct {
	table.Keyed[LabelSlot, Label, *Label]
}

// LabelledHosts maps hosts and NodeManagers to labels.
type LabelledHosts struct {
	table.Keyed[LabelledHostSlot, LabelledHost, *LabelledHost]
}

// AskedLabels has the label of the ask of a container, by the slot of the container.
type AskedLabels struct {
	table.Table[ContainerSlot, LabelSlot]
}

// The nodes with one label form a partition. Nodes without a label form the default partition,
// whose label is 0. labeluse.go has the sums of what queues and users use of each partition.

// MaxLabels bounds the number of labels that a cluster has ever known. Labels are never deleted.
const MaxLabels = 4096

// Label is a node label. A removed label keeps its number, because asks for it wait until an
// operator adds it again.
type Label struct {
	Name      string
	Listed    bool          // in the cluster's collection; false: removed
	Exclusive bool          // asks without a label may not use its nodes
	Total     yarn.Resource // sum of Node.Total over its usable nodes; kept by countNode
	Nodes     int32         // usable nodes
}

// Code encodes the record, or decodes into it.
func (l *Label) Code(c *codec.Coder) {
	c.String(&l.Name)
	c.Bool(&l.Listed)
	c.Bool(&l.Exclusive)
	c.Resource(&l.Total)
	c.I32(&l.Nodes)
}

// LabelledHost maps a host to a label or, if ID has a port, one NodeManager whose label differs
// from its host's. The host need not be registered.
type LabelledHost struct {
	ID    yarn.NodeID
	Label LabelSlot // 0 only for a NodeManager without a label on a host with one
}

// Code encodes the record, or decodes into it.
func (h *LabelledHost) Code(c *codec.Coder) {
	c.NodeID(&h.ID)
	codec.Slot(c, &h.Label)
}

// Find returns the number of a label, even if it was removed, or 0 if there never was one.
func (t *Labels) Find(name string) LabelSlot {
	if name == "" {
		return 0
	}
	return t.Lookup(table.Hash(name), func(r *Label) bool { return r.Name == name })
}

// Listed returns the number of a label. ok is false if the label is not in the cluster's
// collection. The empty name is the default partition.
func (t *Labels) Listed(name string) (id LabelSlot, ok bool) {
	id = t.Find(name)
	return id, name == "" || (id != 0 && t.Get(id).Listed)
}

// Put puts a label into the cluster's collection, or changes it there, and returns its number.
func (t *Labels) Put(name string, exclusive bool) LabelSlot {
	slot := t.Find(name)
	if slot == 0 {
		slot, _ = table.Alloc(&t.Keyed.Table)
		t.Mut(slot).Name = name
		table.InsertKeyed(&t.Keyed, slot)
	}
	r := t.Mut(slot)
	r.Listed, r.Exclusive = true, exclusive
	return slot
}

// Name returns the name of a label, or "" for 0.
func (t *Labels) Name(id LabelSlot) string {
	if id == 0 {
		return ""
	}
	return t.Get(id).Name
}

// Hash returns the hash of the key.
func (l *Label) Hash() uint64 { return table.Hash(l.Name) }

// Same reports whether the keys are equal.
func (l *Label) Same(other *Label) bool { return l.Name == other.Name }

// Hash returns the hash of the key.
func (h *LabelledHost) Hash() uint64 { return table.Hash(h.ID.Host) }

// Same reports whether the keys are equal.
func (h *LabelledHost) Same(other *LabelledHost) bool { return h.ID == other.ID }

// Of returns the label of the ask for which a container was allocated. A node with another
// label is lent to the container.
func (t *AskedLabels) Of(container ContainerSlot) LabelSlot {
	if !t.Has(container) {
		return 0
	}
	return *t.Get(container)
}

// Put maps a host, or one NodeManager, to a label. The mapping of a host replaces those of its
// NodeManagers.
func (t *LabelledHosts) Put(id yarn.NodeID, label LabelSlot) {
	usual := LabelSlot(0)
	if id.Port == 0 {
		for slot := t.anyOfHost(id.Host); slot != 0; slot = t.anyOfHost(id.Host) {
			t.Drop(slot)
		}
	} else {
		if slot := t.At(id); slot != 0 {
			t.Drop(slot)
		}
		usual = t.HostLabel(id.Host)
	}
	if label != usual {
		slot, h := table.Alloc(&t.Keyed.Table)
		*h = LabelledHost{ID: id, Label: label}
		table.InsertKeyed(&t.Keyed, slot)
	}
}

// Drop removes an entry.
func (t *LabelledHosts) Drop(slot LabelledHostSlot) {
	table.ReleaseKeyed(&t.Keyed, slot)
}

// DropUnlisted removes the entries of removed labels, and entries that have become redundant.
func (t *LabelledHosts) DropUnlisted(labels *Labels) {
	var unlisted, same []LabelledHostSlot
	t.Each(func(slot LabelledHostSlot, h *LabelledHost) bool {
		if h.Label != 0 && !labels.Get(h.Label).Listed {
			unlisted = append(unlisted, slot)
		}
		return true
	})
	for _, slot := range unlisted {
		t.Mut(slot).Label = 0
	}
	t.Each(func(slot LabelledHostSlot, h *LabelledHost) bool {
		if h.ID.Port != 0 && h.Label == t.HostLabel(h.ID.Host) || h.ID.Port == 0 && h.Label == 0 {
			same = append(same, slot)
		}
		return true
	})
	for _, slot := range same {
		t.Drop(slot)
	}
}

// At returns the slot of the entry for exactly this host or NodeManager, or 0.
func (t *LabelledHosts) At(id yarn.NodeID) LabelledHostSlot {
	return t.Lookup(table.Hash(id.Host), func(r *LabelledHost) bool { return r.ID == id })
}

// anyOfHost returns the slot of an entry for a host or one of its NodeManagers, or 0.
func (t *LabelledHosts) anyOfHost(host string) LabelledHostSlot {
	return t.Lookup(table.Hash(host), func(r *LabelledHost) bool { return r.ID.Host == host })
}

// HostLabel returns the label of a host's NodeManagers that have no entry of their own.
func (t *LabelledHosts) HostLabel(host string) LabelSlot {
	if slot := t.At(yarn.NodeID{Host: host}); slot != 0 {
		return t.Get(slot).Label
	}
	return 0
}

// LabelOf returns the label that a node has, or will have when it registers.
func (t *LabelledHosts) LabelOf(id yarn.NodeID) LabelSlot {
	if t.Len() == 0 {
		return 0
	}
	if slot := t.At(id); slot != 0 {
		return t.Get(slot).Label
	}
	return t.HostLabel(id.Host)
}

// Mapped reports whether a mapping of a host, or of one NodeManager, to a label would change
// nothing.
func (t *LabelledHosts) Mapped(id yarn.NodeID, label LabelSlot) bool {
	if id.Port != 0 {
		return t.LabelOf(id) == label
	}
	others := t.Lookup(table.Hash(id.Host), func(h *LabelledHost) bool {
		return h.ID.Host == id.Host && h.ID.Port != 0
	})
	return t.HostLabel(id.Host) == label && others == 0
}
