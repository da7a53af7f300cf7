package hadoop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gproto "google.golang.org/protobuf/proto"

	"rmd/transport/hadoop/ipc"
)

// The protocols that are called.
const (
	clientProtocol  = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
	masterProtocol  = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
	trackerProtocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
)

// Classes of what is refused for now, by a server that another may stand in for.
var standbyClasses = []string{"org.apache.hadoop.ipc.StandbyException", "org.apache.hadoop.ipc.RetriableException"}

const (
	classNotRegistered = "ApplicationMasterNotRegisteredException"
	classNotFound      = "ApplicationAttemptNotFoundException"
)

// refused gives the server's own refusal; nil when there is none, or when it is
// one after which another server is asked.
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

// is says whether a refusal is of a Java class, whatever its package.
func is(remote *ipc.RemoteError, class string) bool {
	return remote != nil && strings.HasSuffix(remote.Class, "."+class)
}

// link is one caller's connection to one of several replicas' ports. It is used by
// one goroutine at a time.
type link struct {
	r         *run
	trunk     *trunk // whose connection it is; nil: its own
	target    ipc.Target
	addresses []string
	at        int
	conn      *ipc.ClientConn
}

// pauseMost bounds the pause after all replicas were tried in vain.
const pauseMost = 500 * time.Millisecond

// newLink is one to some addresses, the i-th of them first.
func newLink(r *run, addresses []string, i int, target ipc.Target) link {
	return link{r: r, addresses: addresses, at: i % len(addresses), target: target}
}

// trackerLink is one to the resource trackers.
func trackerLink(r *run, i int) link {
	return newLink(r, r.cfg.Addresses.Tracker, i, ipc.Target{Protocol: trackerProtocol, User: r.cfg.User})
}

// dial connects to the replica that it is at, or the next that takes it, until the
// context ends.
func (l *link) dial(ctx context.Context) (err error) {
	if l.trunk != nil {
		l.conn, err = l.trunk.take(ctx, l.conn)
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

// move goes to the next replica, at once.
func (l *link) move(ctx context.Context) error {
	if l.trunk != nil {
		return l.dial(ctx)
	}
	l.close()
	l.r.failovers.Add(1)
	l.at = (l.at + 1) % len(l.addresses)
	return l.dial(ctx)
}

func (l *link) close() {
	if l.trunk == nil && l.conn != nil {
		_ = l.conn.Close() // it is given up
		l.conn = nil
	}
}

// call makes one call, repeated at the next replicas until one answers or the
// context ends. Only what is harmless to repeat is called so.
func (l *link) call(ctx context.Context, method string, req, reply gproto.Message) error {
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
