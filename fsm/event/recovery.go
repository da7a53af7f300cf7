package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// These events take over applications that another ResourceManager has started. rmd learns of the
// nodes and their containers when the nodes register.

// AttemptRecovered has what the state store of another ResourceManager says of the current attempt:
// the number of the AM's container, and the resource-seconds used so far.
type AttemptRecovered struct {
	App             uint32
	Master          uint64
	ResourceSeconds yarn.Resource
}

var KindAttemptRecovered = define[AttemptRecovered](100)

func (*AttemptRecovered) Kind() Kind { return KindAttemptRecovered }

func (e *AttemptRecovered) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U64(&e.Master)
	c.Resource(&e.ResourceSeconds)
}

// ContainerRecovered adds a container of another ResourceManager, which a node reports when it
// first registers. The AM already knows the container.
type ContainerRecovered struct {
	Container     ContainerRef
	Node          yarn.NodeSlot
	Key           yarn.SchedulerKey
	Size          yarn.Resource
	StartedMillis int64
}

var KindContainerRecovered = define[ContainerRecovered](101)

func (*ContainerRecovered) Kind() Kind { return KindContainerRecovered }

func (e *ContainerRecovered) Code(c *codec.Coder) {
	e.Container.Code(c)
	codec.Slot(c, &e.Node)
	c.Key(&e.Key)
	c.Resource(&e.Size)
	c.I64(&e.StartedMillis)
}

// NodeApplicationRecovered records that a node keeps files of an application although it reports
// none of its containers.
type NodeApplicationRecovered struct {
	App  uint32
	Node yarn.NodeSlot
}

var KindNodeApplicationRecovered = define[NodeApplicationRecovered](102)

func (*NodeApplicationRecovered) Kind() Kind { return KindNodeApplicationRecovered }

func (e *NodeApplicationRecovered) Code(c *codec.Coder) {
	c.U32(&e.App)
	codec.Slot(c, &e.Node)
}
