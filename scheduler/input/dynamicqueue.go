package input

import "rmd/internal/codec"

// MaxQueuesRemoved is the most queues that one RemoveIdleQueues removes.
const MaxQueuesRemoved = 1000

// RemoveIdleQueues removes the dynamic queues that have been idle for longer than their expiration
// time.
type RemoveIdleQueues struct{}

// ManageQueues decides which leaves below managed parents have the capacity of the leaf template.
type ManageQueues struct{}

// AdoptQueue adds a dynamic queue, and the dynamic queues above it, to the configuration. It is
// refused if IfVersion is neither 0 nor the version in force. DryRun only validates.
type AdoptQueue struct {
	Queue     string
	IfVersion uint64
	Author    string
	Comment   string
	DryRun    bool
}

// Kind implements Input.
func (*RemoveIdleQueues) Kind() Kind { return KindRemoveIdleQueues }
func (*ManageQueues) Kind() Kind     { return KindManageQueues }
func (*AdoptQueue) Kind() Kind       { return KindAdoptQueue }

// NewReply implements Input.
func (*RemoveIdleQueues) NewReply() Reply { return new(Done) }
func (*ManageQueues) NewReply() Reply     { return new(Done) }
func (*AdoptQueue) NewReply() Reply       { return new(SetQueuesReply) }

// Code implements Input.
func (*RemoveIdleQueues) Code(*codec.Coder) {}

// Code implements Input.
func (*ManageQueues) Code(*codec.Coder) {}

// Code implements Input.
func (i *AdoptQueue) Code(c *codec.Coder) {
	c.String(&i.Queue)
	c.U64(&i.IfVersion)
	c.String(&i.Author)
	c.String(&i.Comment)
	c.Bool(&i.DryRun)
}
