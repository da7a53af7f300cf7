package rafttransport

import (
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
)

// Work-around W5: connections that are kept to a process that has ended (v1.8.0, net_transport.go:
// getPooledConn, genericRPC).
//
// Library: it keeps connections for later calls and does not notice that the process at the other
// end was replaced. So the first calls to a restarted replica fail. A candidate then misses that
// vote, although the survivors of a dead leader need each other's votes.
// Guard: a call over a connection that has ended is repeated. For raft, receiving the same request
// twice has the same effect as once.
// Test: TestVoteOverStaleConnections.
// Delete when: genericRPC dials again after an error on a pooled connection.

// connsKept is the number of connections to a replica that the library keeps for later calls.
const connsKept = 3

// retryStale makes a call, and repeats it while it fails because of kept connections that have
// ended.
func retryStale(call func() error) error {
	err := call()
	for tries := 0; tries < connsKept && connEnded(err); tries++ {
		err = call()
	}
	return err
}

// connEnded compares the text: the library's codec keeps nothing else of a read error.
func connEnded(err error) bool {
	return err != nil && slices.ContainsFunc([]error{io.EOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed},
		func(end error) bool { return strings.HasSuffix(err.Error(), end.Error()) })
}
