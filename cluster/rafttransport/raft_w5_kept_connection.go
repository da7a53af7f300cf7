package rafttransport

import (
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
)

// Work-around W5: connections kept to a process that has ended (v1.8.0, net_transport.go:
// getPooledConn, genericRPC).
//
// Library: it keeps connections for the next calls and does not see that the process at the other
// end is another one by now. The first calls to a replica that was started again fail: a candidate
// misses that vote, and the survivors of a dead leader need each other's.
// Guard: a call over a connection that has ended is made again. Raft takes the same request twice
// as once.
// Test: TestVoteOverKeptConnections.
// Delete when: genericRPC dials again after an error on a pooled connection.

// connsKept is how many connections to a replica the library keeps for the next calls.
const connsKept = 3

// retryStale makes a call, and again while it meets kept connections that have ended.
func retryStale(call func() error) error {
	err := call()
	for tries := 0; tries < connsKept && connEnded(err); tries++ {
		err = call()
	}
	return err
}

// connEnded goes by the text: the library's codec keeps no more of the error of a read.
func connEnded(err error) bool {
	return err != nil && slices.ContainsFunc([]error{io.EOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed},
		func(end error) bool { return strings.HasSuffix(err.Error(), end.Error()) })
}
