package record

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// Removals lists the completed containers that a node may forget: YARN's
// containersToBeRemovedFromNM. A container is added when its AM has acknowledged the completion, or
// when the attempt that would have received it has ended. Until then the node answers
// getContainerStatuses with the container's exit status. A NodeManager reports a completion only
// once, so the list is replicated: any replica may answer the next heartbeat.
type Removals struct {
	Node       NodeSlot
	First      uint64             // number of Containers[0]; numbers begin at 1
	Containers []yarn.ContainerID // elements are never overwritten; see writer
	Writer     *Writer            // the state that may append in place; not in snapshots
}

// Writer identifies one state in records that forks share. A state may append in place to a slice
// that it has made, because forks do not read beyond the length that they know. Any other state
// copies the slice first. Otherwise two states that append to one array would overwrite each
// other's elements.
type Writer struct{ _ byte } // not empty, so that two writers have different addresses

// MaxRemovals bounds the list of a node. A node keeps the status of a container that was dropped
// from the list until the application ends.
const MaxRemovals = 256

// Code encodes the record, or decodes into it.
func (r *Removals) Code(c *codec.Coder) {
	codec.Slot(c, &r.Node)
	c.U64(&r.First)
	codec.List(c, &r.Containers, func(c *codec.Coder, id *yarn.ContainerID) { c.ContainerID(id) })
}
