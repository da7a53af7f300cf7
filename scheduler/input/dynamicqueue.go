package input

import "rmd/internal/codec"

// MaxQueuesRemoved bounds the queues that one RemoveIdleQueues removes.
const MaxQueuesRemoved = 1000

// RemoveIdleQueues removes dynamic queues that nobody has used for the time in which they expire.
type RemoveIdleQueues struct{}

// Kind implements Input.
func (*RemoveIdleQueues) Kind() Kind { return KindRemoveIdleQueues }

// NewReply implements Input.
func (*RemoveIdleQueues) NewReply() Reply { return new(Done) }

// Code implements Input.
func (*RemoveIdleQueues) Code(*codec.Coder) {}
