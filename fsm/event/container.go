package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// ContainerRef names a container within the cluster: application sequence,
// attempt and YARN's container number.
type ContainerRef struct {
	App     uint32
	Attempt uint32
	Number  uint64
}

// Code encodes or decodes the reference.
func (r *ContainerRef) Code(c *codec.Coder) {
	c.U32(&r.App)
	c.U32(&r.Attempt)
	c.U64(&r.Number)
}

// ContainerAllocated grants a container of the current attempt on a node. It
// consumes one of the key's asks at the locality given; its size is the key's.
type ContainerAllocated struct {
	App      uint32
	Number   uint64
	Key      yarn.SchedulerKey
	Node     uint32
	Locality yarn.Locality
	AM       bool
}

// ContainerLent grants a container in the idle room of a reserved node. The reservation may ask for the
// room back, unless the container has NoLease.
type ContainerLent struct {
	ContainerAllocated
	Reservation    uint64
	DeadlineMillis int64 // when the container ends at the latest; 0: whenever the room is needed
}

// NoLease stands for the deadline of a container that takes nothing which the reservation waits for.
const NoLease = -1

// ContainerLaunched says that the node has reported the container running.
type ContainerLaunched struct{ Container ContainerRef }

// ContainerReleased ends a container by decision of the ResourceManager while
// its node still holds it: application, user and queue get their share back,
// the node's share waits for the node's own report.
type ContainerReleased struct {
	Container   ContainerRef
	ExitStatus  int32
	Diagnostics string
}

// ContainerCompleted ends a container and frees the node's share. After a
// ContainerReleased it frees the node's share alone. Restore puts the ask back
// that it consumed: the container was lost before its AM had it.
type ContainerCompleted struct {
	Container   ContainerRef
	ExitStatus  int32
	Restore     bool
	Diagnostics string
}

// ContainerSignalled asks a node to signal a container (YARN's number of the
// command); 0: the node has had it.
type ContainerSignalled struct {
	Container ContainerRef
	Command   uint8
}

// ContainerResizeAsked sets what a running container is to grow to: a hidden ask
// for the difference, on the container's own node alone. A size that the
// container has already takes the ask back.
type ContainerResizeAsked struct {
	Container ContainerRef
	Size      yarn.Resource
}

// ContainerIncreased grants what a container was to grow by. Its version is one
// more, and so it is with each change of its size.
type ContainerIncreased struct{ Container ContainerRef }

// ContainerDecreased gives a container another size, no larger in any kind; what
// it was to grow by is not asked any more.
type ContainerDecreased struct {
	Container ContainerRef
	Size      yarn.Resource
}

// ContainerSizeReported is a node's word of how large a container is there.
type ContainerSizeReported struct {
	Container ContainerRef
	Size      yarn.Resource
}

// ResizeAcked says that a node has had the order to give a container the
// size of a version.
type ResizeAcked struct {
	Container ContainerRef
	Version   int32
}

func (*ContainerResizeAsked) Kind() Kind  { return KindContainerResizeAsked }
func (*ContainerIncreased) Kind() Kind    { return KindContainerIncreased }
func (*ContainerDecreased) Kind() Kind    { return KindContainerDecreased }
func (*ContainerSizeReported) Kind() Kind { return KindContainerSizeReported }
func (*ResizeAcked) Kind() Kind           { return KindResizeAcked }

func (*ContainerSignalled) Kind() Kind { return KindContainerSignalled }
func (*ContainerAllocated) Kind() Kind { return KindContainerAllocated }
func (*ContainerLent) Kind() Kind      { return KindContainerLent }
func (*ContainerLaunched) Kind() Kind  { return KindContainerLaunched }
func (*ContainerReleased) Kind() Kind  { return KindContainerReleased }
func (*ContainerCompleted) Kind() Kind { return KindContainerCompleted }

// Code implements Event.
func (e *ContainerAllocated) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U64(&e.Number)
	c.Key(&e.Key)
	c.U32(&e.Node)
	codec.Enum(c, &e.Locality)
	c.Bool(&e.AM)
}

// Code implements Event.
func (e *ContainerLent) Code(c *codec.Coder) {
	e.ContainerAllocated.Code(c)
	c.U64(&e.Reservation)
	c.I64(&e.DeadlineMillis)
}

// Code implements Event.
func (e *ContainerLaunched) Code(c *codec.Coder) { e.Container.Code(c) }

// Code implements Event.
func (e *ContainerReleased) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.I32(&e.ExitStatus)
	c.String(&e.Diagnostics)
}

// Code implements Event.
func (e *ContainerCompleted) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.I32(&e.ExitStatus)
	c.Bool(&e.Restore)
	c.String(&e.Diagnostics)
}

// Code implements Event.
func (e *ContainerSignalled) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.U8(&e.Command)
}

// Code implements Event.
func (e *ContainerResizeAsked) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.Resource(&e.Size)
}

// Code implements Event.
func (e *ContainerIncreased) Code(c *codec.Coder) { e.Container.Code(c) }

// Code implements Event.
func (e *ContainerDecreased) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.Resource(&e.Size)
}

// Code implements Event.
func (e *ContainerSizeReported) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.Resource(&e.Size)
}

// Code implements Event.
func (e *ResizeAcked) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.I32(&e.Version)
}
