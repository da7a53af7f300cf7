package event

import (
	"rmd/internal/codec"
	"rmd/yarn"
)

// Property is one configuration key and its value.
type Property struct{ Name, Value string }

// QueueDefinition is one queue of a configuration: what the state must know of
// it. The rest is read from the properties by the planner.
type QueueDefinition struct {
	Path  string
	Leaf  bool
	State yarn.QueueState
}

// QueuesConfigured replaces the whole queue configuration. Queues lists the
// tree depth first, parents before children; queues that are kept keep their
// use, queues left out must be empty. Dynamic queues stay if their parents do; one that is listed
// becomes a queue of the configuration.
type QueuesConfigured struct {
	Version    uint64
	Properties []Property
	Queues     []QueueDefinition
	Kinds      []string
	// Dominant says that every resource kind decides, not memory alone.
	Dominant bool
	Author   string
	Comment  string
}

// QueueStateChanged stops, drains or starts a queue.
type QueueStateChanged struct {
	Path  string
	State yarn.QueueState
}

// QueueCreated creates a dynamic queue: one that the configuration does not list. Its settings are
// those of the templates in the configuration.
type QueueCreated struct {
	Path  string
	Leaf  bool
	State yarn.QueueState
}

// QueuesRemoved removes dynamic queues that have neither applications nor, but for those that are
// removed with them, queues below. A queue stands after those below it.
type QueuesRemoved struct {
	Paths []string
}

// QueuesActivated gives dynamic leaves below parents with auto-create-child-queue the capacity of the
// template, or takes it from them.
type QueuesActivated struct {
	Active, Inactive []string // paths
}

func (*QueuesActivated) Kind() Kind   { return KindQueuesActivated }
func (*QueueCreated) Kind() Kind      { return KindQueueCreated }
func (*QueuesRemoved) Kind() Kind     { return KindQueuesRemoved }
func (*QueuesConfigured) Kind() Kind  { return KindQueuesConfigured }
func (*QueueStateChanged) Kind() Kind { return KindQueueStateChanged }

// Code implements Event.
func (e *QueuesConfigured) Code(c *codec.Coder) {
	c.U64(&e.Version)
	codec.List(c, &e.Properties, func(c *codec.Coder, p *Property) {
		c.String(&p.Name)
		c.String(&p.Value)
	})
	codec.List(c, &e.Queues, func(c *codec.Coder, q *QueueDefinition) {
		c.String(&q.Path)
		c.Bool(&q.Leaf)
		codec.Enum(c, &q.State)
	})
	codec.List(c, &e.Kinds, func(c *codec.Coder, s *string) { c.String(s) })
	c.Bool(&e.Dominant)
	c.String(&e.Author)
	c.String(&e.Comment)
}

// Code implements Event.
func (e *QueueCreated) Code(c *codec.Coder) {
	c.String(&e.Path)
	c.Bool(&e.Leaf)
	codec.Enum(c, &e.State)
}

// Code implements Event.
func (e *QueuesRemoved) Code(c *codec.Coder) {
	codec.List(c, &e.Paths, func(c *codec.Coder, s *string) { c.String(s) })
}

// Code implements Event.
func (e *QueuesActivated) Code(c *codec.Coder) {
	codec.List(c, &e.Active, func(c *codec.Coder, s *string) { c.String(s) })
	codec.List(c, &e.Inactive, func(c *codec.Coder, s *string) { c.String(s) })
}

// Code implements Event.
func (e *QueueStateChanged) Code(c *codec.Coder) {
	c.String(&e.Path)
	codec.Enum(c, &e.State)
}
