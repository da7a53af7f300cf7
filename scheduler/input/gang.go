package input

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// SetGang declares an application's gang: the containers that start together or not at all.
// yarn.ParseGang reads Gang. Empty withdraws the gang.
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
