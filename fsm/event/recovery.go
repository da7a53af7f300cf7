package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// The events of applications that another ResourceManager has started. Their nodes are not known
// before they register, and bring the containers with them.

// AttemptRecovered says what the state store of another ResourceManager has of the current attempt:
// the number of its AM's container, and what it had used by then.
type AttemptRecovered struct {
	App             uint32
	Master          uint64
	ResourceSeconds yarn.Resource
}

// ContainerRecovered adds a container of another ResourceManager that a node brings along when it
// registers for the first time. The AM knows it.
type ContainerRecovered struct {
	Container     ContainerRef
	Node          uint32
	Key           yarn.SchedulerKey
	Size          yarn.Resource
	StartedMillis int64
}

// NodeApplicationRecovered says that a node keeps files of an application though it brings none of
// its containers along.
type NodeApplicationRecovered struct{ App, Node uint32 }

// Kind implements Event.
func (*AttemptRecovered) Kind() Kind         { return KindAttemptRecovered }
func (*ContainerRecovered) Kind() Kind       { return KindContainerRecovered }
func (*NodeApplicationRecovered) Kind() Kind { return KindNodeApplicationRecovered }

// Code implements Event.
func (e *AttemptRecovered) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U64(&e.Master)
	c.Resource(&e.ResourceSeconds)
}

// Code implements Event.
func (e *ContainerRecovered) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.U32(&e.Node)
	c.Key(&e.Key)
	c.Resource(&e.Size)
	c.I64(&e.StartedMillis)
}

// Code implements Event.
func (e *NodeApplicationRecovered) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U32(&e.Node)
}
