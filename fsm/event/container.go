package event

import (
	"fmt"

	"rmd/internal/codec"
	"rmd/yarn"
)

// ContainerRef identifies a container by its application's sequence number, its attempt and YARN's
// container number.
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

// ContainerAllocated allocates a container of the current attempt on a node. It subtracts one
// container from the ask under Key at the given locality. The size is that of the ask.
type ContainerAllocated struct {
	App      uint32
	Number   uint64
	Key      yarn.SchedulerKey
	Node     yarn.NodeSlot
	Locality yarn.Locality
	AM       bool
}

var KindContainerAllocated = frequent[ContainerAllocated](70)

func (*ContainerAllocated) Kind() Kind { return KindContainerAllocated }

func (e *ContainerAllocated) Code(c *codec.Coder) {
	c.U32(&e.App)
	c.U64(&e.Number)
	c.Key(&e.Key)
	codec.Slot(c, &e.Node)
	codec.Enum(c, &e.Locality)
	c.Bool(&e.AM)
}

func (e *ContainerAllocated) Text() string {
	return parts("container granted", where(e.Locality))
}

// ContainerLent allocates a container in the idle room of a reserved node. Unless the deadline is
// NoLease, the reservation may recall the room.
type ContainerLent struct {
	ContainerAllocated
	Reservation    uint64
	DeadlineMillis int64 // when the container ends at the latest; 0: when the reservation needs the room; or NoLease
}

var KindContainerLent = define[ContainerLent](86)

func (*ContainerLent) Kind() Kind { return KindContainerLent }

func (e *ContainerLent) Code(c *codec.Coder) {
	e.ContainerAllocated.Code(c)
	c.U64(&e.Reservation)
	c.I64(&e.DeadlineMillis)
}

func (e *ContainerLent) Text() string {
	return parts("container granted in idle room of a reserved node", where(e.Locality))
}

// NoLease is the deadline of a container that uses nothing for which the reservation waits.
const NoLease = -1

// ContainerLaunched records that the node has reported the container as running.
type ContainerLaunched struct{ Container ContainerRef }

var KindContainerLaunched = frequent[ContainerLaunched](71)

func (*ContainerLaunched) Kind() Kind            { return KindContainerLaunched }
func (e *ContainerLaunched) Code(c *codec.Coder) { e.Container.Code(c) }

// ContainerReleased ends a container by a decision of the ResourceManager while the container still
// runs on its node. Its size no longer counts for application, user and queue. It counts on the
// node until the node reports the completion.
type ContainerReleased struct {
	Container   ContainerRef
	ExitStatus  int32
	Diagnostics string
}

var KindContainerReleased = define[ContainerReleased](72)

func (*ContainerReleased) Kind() Kind { return KindContainerReleased }

func (e *ContainerReleased) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.I32(&e.ExitStatus)
	c.String(&e.Diagnostics)
}

func (e *ContainerReleased) Text() string {
	return because("container released", e.Diagnostics)
}

// ContainerCompleted ends a container and frees its room on the node. After a ContainerReleased it
// only frees the room. If Restore is set, the container was lost before its AM received it, and its
// ask is restored.
type ContainerCompleted struct {
	Container   ContainerRef
	ExitStatus  int32
	Restore     bool
	Diagnostics string
}

var KindContainerCompleted = frequent[ContainerCompleted](73)

func (*ContainerCompleted) Kind() Kind { return KindContainerCompleted }

func (e *ContainerCompleted) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.I32(&e.ExitStatus)
	c.Bool(&e.Restore)
	c.String(&e.Diagnostics)
}

func (e *ContainerCompleted) Text() string {
	what := "container ended"
	if e.ExitStatus != 0 {
		what += fmt.Sprintf(" with status %d", e.ExitStatus)
	}
	return because(what, e.Diagnostics)
}

// ContainerSignalled sets the signal that the node must send to a container (YARN's number of the
// command). 0 means that the node has received the signal.
type ContainerSignalled struct {
	Container ContainerRef
	Command   uint8
}

var KindContainerSignalled = define[ContainerSignalled](74)

func (*ContainerSignalled) Kind() Kind { return KindContainerSignalled }

func (e *ContainerSignalled) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.U8(&e.Command)
}

// ContainerResizeAsked sets the size to which a running container is to be increased. It creates a
// hidden ask for the difference, which only the container's own node can serve. If Size is the
// container's present size, it drops the hidden ask.
type ContainerResizeAsked struct {
	Container ContainerRef
	Size      yarn.Resource
}

var KindContainerResizeAsked = define[ContainerResizeAsked](75)

func (*ContainerResizeAsked) Kind() Kind { return KindContainerResizeAsked }

func (e *ContainerResizeAsked) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.Resource(&e.Size)
}

// ContainerIncreased grants the increase for which the hidden ask asks. Each size change raises the
// container's version by one.
type ContainerIncreased struct{ Container ContainerRef }

var KindContainerIncreased = define[ContainerIncreased](76)

func (*ContainerIncreased) Kind() Kind            { return KindContainerIncreased }
func (e *ContainerIncreased) Code(c *codec.Coder) { e.Container.Code(c) }

// ContainerDecreased gives a container a size that is no larger in any kind, and drops its hidden
// ask.
type ContainerDecreased struct {
	Container ContainerRef
	Size      yarn.Resource
}

var KindContainerDecreased = define[ContainerDecreased](77)

func (*ContainerDecreased) Kind() Kind { return KindContainerDecreased }

func (e *ContainerDecreased) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.Resource(&e.Size)
}

// ContainerSizeReported records the size of a container that its node has reported.
type ContainerSizeReported struct {
	Container ContainerRef
	Size      yarn.Resource
}

var KindContainerSizeReported = define[ContainerSizeReported](78)

func (*ContainerSizeReported) Kind() Kind { return KindContainerSizeReported }

func (e *ContainerSizeReported) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.Resource(&e.Size)
}

// ResizeAcked records that a node has received the command to give a container the size of a
// version.
type ResizeAcked struct {
	Container ContainerRef
	Version   int32
}

var KindResizeAcked = define[ResizeAcked](79)

func (*ResizeAcked) Kind() Kind { return KindResizeAcked }

func (e *ResizeAcked) Code(c *codec.Coder) {
	e.Container.Code(c)
	c.I32(&e.Version)
}
