package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// SetGang declares which containers of an application start together or not at all, as
// yarn.ParseGang reads it; empty: none do.
type SetGang struct {
	ID   yarn.ApplicationID
	Gang string
}

// Kind implements Input.
func (*SetGang) Kind() Kind { return KindSetGang }

// NewReply implements Input.
func (*SetGang) NewReply() Reply { return new(Done) }

// Code implements Input.
func (i *SetGang) Code(c *codec.Coder) {
	c.ApplicationID(&i.ID)
	c.String(&i.Gang)
}
