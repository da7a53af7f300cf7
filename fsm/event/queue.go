package event

import (
	"fmt"

	"rmd/internal/codec"
	"rmd/yarn"
)

// Property is one configuration key and its value.
type Property struct{ Name, Value string }

// QueueDefinition has what the state needs of a queue of the configuration. The planner reads the
// rest from the properties.
type QueueDefinition struct {
	Path  string
	Leaf  bool
	State yarn.QueueState
}

// QueuesConfigured replaces the whole queue configuration. Queues lists the tree depth first,
// parents before children. Queues that remain keep their use. Queues that are no longer listed must
// be empty. Dynamic queues remain if their parents do. A dynamic queue that is listed becomes an
// ordinary one.
type QueuesConfigured struct {
	Version    uint64
	Properties []Property
	Queues     []QueueDefinition
	Kinds      []string
	// Dominant means that all resource kinds count, not only memory.
	Dominant bool
	Author   string
	Comment  string
}

var KindQueuesConfigured = define[QueuesConfigured](20)

func (*QueuesConfigured) Kind() Kind { return KindQueuesConfigured }

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

func (e *QueuesConfigured) Text() string {
	return parts(fmt.Sprintf("configuration version %d in force", e.Version), quoted("", e.Comment), by(e.Author))
}

// QueueStateChanged sets the state of a queue.
type QueueStateChanged struct {
	Path  string
	State yarn.QueueState
}

var KindQueueStateChanged = define[QueueStateChanged](21)

func (*QueueStateChanged) Kind() Kind { return KindQueueStateChanged }

func (e *QueueStateChanged) Code(c *codec.Coder) {
	c.String(&e.Path)
	codec.Enum(c, &e.State)
}

func (e *QueueStateChanged) Text() string {
	return "queue is " + words(e.State)
}

// QueueCreated creates a dynamic queue, which the configuration does not list. Templates in the
// configuration have its settings.
type QueueCreated struct {
	Path  string
	Leaf  bool
	State yarn.QueueState
}

var KindQueueCreated = define[QueueCreated](22)

func (*QueueCreated) Kind() Kind { return KindQueueCreated }

func (e *QueueCreated) Code(c *codec.Coder) {
	c.String(&e.Path)
	c.Bool(&e.Leaf)
	codec.Enum(c, &e.State)
}

// QueuesRemoved removes dynamic queues. They must have no applications, and the event must remove
// all queues below them as well. Paths lists children before their parents.
type QueuesRemoved struct {
	Paths []string
}

var KindQueuesRemoved = define[QueuesRemoved](23)

func (*QueuesRemoved) Kind() Kind { return KindQueuesRemoved }

func (e *QueuesRemoved) Code(c *codec.Coder) {
	codec.List(c, &e.Paths, func(c *codec.Coder, s *string) { c.String(s) })
}

// QueuesActivated gives the template's capacity to dynamic leaves below parents with
// auto-create-child-queue (Active), or takes it from them (Inactive).
type QueuesActivated struct {
	Active, Inactive []string // paths
}

var KindQueuesActivated = define[QueuesActivated](24)

func (*QueuesActivated) Kind() Kind { return KindQueuesActivated }

func (e *QueuesActivated) Code(c *codec.Coder) {
	codec.List(c, &e.Active, func(c *codec.Coder, s *string) { c.String(s) })
	codec.List(c, &e.Inactive, func(c *codec.Coder, s *string) { c.String(s) })
}
