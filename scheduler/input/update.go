package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// UpdateType is what an AM wants of a container; YARN's numbers.
type UpdateType uint8

// Types of updates.
const (
	IncreaseResource UpdateType = iota
	DecreaseResource
	PromoteExecution
	DemoteExecution
)

// Why a container is not updated: YARN's words, and one of ours.
const (
	UnknownContainer  = "INVALID_CONTAINER_ID"
	WrongVersion      = "INCORRECT_CONTAINER_VERSION_ERROR"
	UpdateOutstanding = "UPDATE_OUTSTANDING_ERROR"
	OutOfRange        = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
	NotSupported      = "CONTAINER_UPDATE_NOT_SUPPORTED"
)

// Update is what an AM wants changed of a container of a version. Size is its size
// after that; Opportunistic the execution type that a promotion or demotion names.
type Update struct {
	Container     yarn.ContainerID
	Version       int32
	Type          UpdateType
	Size          yarn.Resource
	Opportunistic bool
}

// UpdateError says why an update, by its place in the call, is not made. Version
// is the container's; -1 when there is no such container.
type UpdateError struct {
	Update  uint32
	Reason  string
	Version int32
}

// Resized is a container whose size has changed, as its AM is told of it.
type Resized struct {
	Granted
	Version int32
	Change  yarn.SizeChange
}

// ContainerSize is a node's word of how large a container is.
type ContainerSize struct {
	Container yarn.ContainerID
	Size      yarn.Resource
}

// SizeOrder says that a node must give, or has been told to give, a container the
// size of a version.
type SizeOrder struct {
	Container yarn.ContainerID
	Version   int32
}

// further begins what a later version added at the end of a message. It is left
// out when there is nothing in it, so that an older replica reads the rest.
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
