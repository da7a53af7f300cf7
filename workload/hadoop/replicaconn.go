package hadoop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
)

// The protocols that the load uses.
const (
	clientProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	masterProtocol  = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	trackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
)

// standbyClasses are the exception classes after which the call may succeed at another replica.
var standbyClasses = []string{"org.apache.hadoop.ipc.StandbyException", "org.apache.hadoop.ipc.RetriableException"}

const (
	classNotRegistered = "ApplicationMasterNotRegisteredException"
	classNotFound      = "ApplicationAttemptNotFoundException"
)

// refused returns the refusal in err. It returns nil if err is not a refusal, or if another replica
// must be tried.
func refused(err error) *ipc.RemoteError {
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) || remote.Fatal {
		return nil
	}
	for _, c := range standbyClasses {
		if remote.Class == c {
			return nil
		}
	}
	return remote
}

// hasClass reports whether a refusal has a Java class, in any package.
func hasClass(remote *ipc.RemoteError, class string) bool {
	return remote != nil && strings.HasSuffix(remote.Class, "."+class)
}

// replicaConn is a caller's connection to one of several replicas. Only one goroutine at a time may use
// it.
type replicaConn struct {
	r         *run
	shared    *sharedConn // the shared connection; nil: it has its own
	target    ipc.Target
	addresses []string
	at        int
	conn      *ipc.ClientConn
}

// pauseMost is the longest pause after all replicas were tried without success.
const pauseMost = 500 * time.Millisecond

// newReplicaConn returns a connection to addresses that begins with the i-th.
func newReplicaConn(r *run, addresses []string, i int, target ipc.Target) replicaConn {
	return replicaConn{r: r, addresses: addresses, at: i % len(addresses), target: target}
}

// trackerConn returns a connection to the resource trackers.
func trackerConn(r *run, i int) replicaConn {
	return newReplicaConn(r, r.cfg.Addresses.Tracker, i, r.cfg.caller(trackerProtocol, cmp.Or(r.cfg.NodeUser, r.cfg.User)))
}

// clientConn returns a connection to the client ports.
func clientConn(r *run, i int) replicaConn {
	return newReplicaConn(r, r.cfg.Addresses.Client, i, r.cfg.caller(clientProtocol, r.cfg.User))
}

// caller returns a user who calls a protocol.
func (c *Config) caller(protocol, user string) ipc.Target {
	to := ipc.Target{User: user}
	if c.Caller != nil {
		to = c.Caller(user)
	}
	to.Protocol = protocol
	return to
}

// dial connects to the current replica, or to the next one that accepts, until the context ends.
func (l *replicaConn) dial(ctx context.Context) (err error) {
	if l.shared != nil {
		l.conn, err = l.shared.take(ctx, l.conn)
		return err
	}
	pause := 20 * time.Millisecond
	for tried := 1; ; tried++ {
		l.target.Address = l.addresses[l.at]
		conn, err := l.r.client.Connect(ctx, l.target)
		if err == nil {
			l.conn = conn
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("connect to %s: %w", strings.Join(l.addresses, ", "), err)
		}
		l.r.note(err)
		l.at = (l.at + 1) % len(l.addresses)
		if tried%len(l.addresses) == 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return fmt.Errorf("connect to %s: %w", strings.Join(l.addresses, ", "), err)
			}
			pause = min(2*pause, pauseMost)
		}
	}
}

// move connects to the next replica without a pause.
func (l *replicaConn) move(ctx context.Context) error {
	if l.shared != nil {
		return l.dial(ctx)
	}
	l.close()
	l.r.failovers.Add(1)
	l.at = (l.at + 1) % len(l.addresses)
	return l.dial(ctx)
}

func (l *replicaConn) close() {
	if l.shared == nil && l.conn != nil {
		_ = l.conn.Close() // an error does not matter here
		l.conn = nil
	}
}

// call makes one call. It repeats the call at the next replicas until one answers or the context
// ends, so the call must be safe to repeat.
func (l *replicaConn) call(ctx context.Context, method string, req, reply gproto.Message) error {
	pause := 20 * time.Millisecond
	for tried := 1; ; tried++ {
		if l.conn == nil {
			if err := l.dial(ctx); err != nil {
				return err
			}
		}
		err := l.conn.Call(ctx, method, req, reply)
		if err == nil || refused(err) != nil || ctx.Err() != nil {
			return err
		}
		l.r.note(err)
		if err := l.move(ctx); err != nil {
			return err
		}
		if tried%len(l.addresses) == 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return err
			}
			pause = min(2*pause, pauseMost)
		}
	}
}
