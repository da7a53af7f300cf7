package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// UpdateType is the change that an AM wants for a container. The numbers are those of YARN's
// ContainerUpdateTypeProto.
type UpdateType uint8

// Types of updates.
const (
	IncreaseResource UpdateType = iota
	DecreaseResource
	PromoteExecution
	DemoteExecution
)

// Reasons why a container is not updated. NotSupported is rmd's, the others are YARN's.
const (
	UnknownContainer  = "INVALID_CONTAINER_ID"
	WrongVersion      = "INCORRECT_CONTAINER_VERSION_ERROR"
	UpdateOutstanding = "UPDATE_OUTSTANDING_ERROR"
	OutOfRange        = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	NotSupported      = "CONTAINER_UPDATE_NOT_SUPPORTED"
)

// Update is a change that an AM wants for a version of a container. Size is the container's size
// after the change. Opportunistic is the execution type that a promotion or demotion names.
type Update struct {
	Container     yarn.ContainerID
	Version       int32
	Type          UpdateType
	Size          yarn.Resource
	Opportunistic bool
}

// UpdateError says why the update with an index in the call is not made. Version is the current
// version of the container, or -1 if there is no such container.
type UpdateError struct {
	Update  uint32
	Reason  string
	Version int32
}

// Resized is a container whose size has changed, as its AM sees it.
type Resized struct {
	Granted
	Version int32
	Change  yarn.SizeChange
}

// ContainerSize is the size of a container as its node reports it.
type ContainerSize struct {
	Container yarn.ContainerID
	Size      yarn.Resource
}

// SizeOrder tells a node to give a container its size of a version, or acknowledges that.
type SizeOrder struct {
	Container yarn.ContainerID
	Version   int32
}

// further starts a part that a later version adds at the end of a message. The part is left out if
// it is empty, so that an older replica can read the message.
func further(c *codec.Coder, has bool) bool {
	if c.Decoding() {
		return c.Err() == nil && c.Rest() > 0
	}
	return has
}

func (u *Update) code(c *codec.Coder) {
	c.ContainerID(&u.Container)
	c.I32(&u.Version)
	codec.Enum(c, &u.Type)
	c.Resource(&u.Size)
	c.Bool(&u.Opportunistic)
}

func (e *UpdateError) code(c *codec.Coder) {
	c.U32(&e.Update)
	c.String(&e.Reason)
	c.I32(&e.Version)
}

func (r *Resized) code(c *codec.Coder) {
	r.Granted.code(c)
	c.I32(&r.Version)
	codec.Enum(c, &r.Change)
}

func sizes(c *codec.Coder, v *[]ContainerSize) {
	codec.List(c, v, func(c *codec.Coder, s *ContainerSize) {
		c.ContainerID(&s.Container)
		c.Resource(&s.Size)
	})
}

func sizeOrders(c *codec.Coder, v *[]SizeOrder) {
	codec.List(c, v, func(c *codec.Coder, s *SizeOrder) {
		c.ContainerID(&s.Container)
		c.I32(&s.Version)
	})
}
