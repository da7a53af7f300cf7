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
// use, queues left out must be empty.
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
func (e *QueueStateChanged) Code(c *codec.Coder) {
	c.String(&e.Path)
	codec.Enum(c, &e.State)
}
