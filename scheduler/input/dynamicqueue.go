package input

import "rmd/internal/codec"

// MaxQueuesRemoved bounds the queues that one RemoveIdleQueues removes.
const MaxQueuesRemoved = 1000

// RemoveIdleQueues removes dynamic queues that nobody has used for the time in which they expire.
type RemoveIdleQueues struct{}

// ManageQueues decides which leaves below managed parents have the capacity of the template.
type ManageQueues struct{}

// AdoptQueue makes a dynamic queue, and the dynamic queues above it, queues of the configuration.
// IfVersion 0 is unconditional; DryRun only validates.
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
