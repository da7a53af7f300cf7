// Package descriptors divides a process's file descriptors. A replica without a free descriptor can
// neither take a snapshot nor talk to the other replicas. So some descriptors are reserved for the
// replica itself, and the connections of clients share the rest. A flood of connections is refused
// before it takes a descriptor from the log.
package descriptors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Min is the smallest limit with which a replica works.
const Min = 512

// The reserve is a quarter of all descriptors, within these limits.
const (
	reserveMin = 256
	reserveMax = 2048
)

// Limit returns the maximum number of descriptors of this process. Go raises the soft limit to the
// hard limit when a program starts, so the hard limit counts.
func Limit() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("limit of open files: %w", err)
	}
	return int(min(l.Cur, 1<<30)), nil
}

// Plan is the division of a process's descriptors.
type Plan struct {
	// Limit is the number of all descriptors.
	Limit int
	// Shared is the part for connections of clients, NodeManagers and ApplicationMasters.
	Shared int
	// Members and Unknown are the parts for connections with other replicas: those that have proven
	// their identity, and those that have not yet. The rest is for files.
	Members, Unknown int
}

// Divide returns the plan for a limit.
func Divide(limit int) Plan {
	reserve := min(max(limit/4, reserveMin), reserveMax)
	return Plan{Limit: limit, Shared: max(limit-reserve, 0), Members: reserve / 2, Unknown: reserve / 8}
}

// PortMax returns the maximum number of connections of one port while the others have none.
func (p Plan) PortMax() int { return (p.Shared + 1) / 2 }

// LimitFor returns the lowest limit with enough room for a number of connections.
func LimitFor(connections int) int {
	return connections + min(max((connections+2)/3, reserveMin), reserveMax)
}

// ErrNone is the error if a connection is refused because of the limit.
var ErrNone = errors.New(
	"no file descriptor is free for another connection; raise the limit of open files (LimitNOFILE=, ulimit -n)")

// Budget counts the shared part of a plan.
type Budget struct {
	log    hclog.Logger
	shared int

	mu      sync.Mutex
	used    int
	refused uint64
	last    time.Time // time of the last refusal
	report  time.Time // next time at which a refusal is logged
}

// reportPause is the minimum time between two log lines about refused connections.
const reportPause = 10 * time.Second

// NewBudget returns the budget of a plan.
func NewBudget(p Plan, log hclog.Logger) *Budget { return &Budget{log: log, shared: p.Shared} }

// Stats are the numbers of a budget.
type Stats struct {
	Shared, Used int
	Refused      uint64 // since the start
}

// Stats returns the current numbers.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{Shared: b.shared, Used: b.used, Refused: b.refused}
}

// Problem returns a message if connections were refused in the last minute, otherwise "".
func (b *Budget) Problem() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() || time.Since(b.last) > time.Minute {
		return ""
	}
	return fmt.Sprintf(
		"connections are refused for the limit of open files: %d of %d for clients are open, %d were refused", b.used,
		b.shared, b.refused)
}

// port is one listener or dialer that uses a budget.
type port struct {
	b    *Budget
	name string
	open int
}

// take reserves a descriptor, or returns false. A port may have at most as many descriptors as are
// free. One flooded port therefore leaves half of the budget to the others, and two leave a third,
// so that no port can exclude the others.
func (p *port) take() bool {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	if p.open < p.b.shared-p.b.used {
		p.open++
		p.b.used++
		return true
	}
	now := time.Now()
	p.b.refused++
	p.b.last = now
	if !now.Before(p.b.report) {
		p.b.report = now.Add(reportPause)
		p.b.log.Warn("too many connections for the limit of open files: one is refused",
			"port", p.name, "open", p.open, "all", p.b.used, "limit", p.b.shared, "refused", p.b.refused)
	}
	return false
}

func (p *port) give() {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.open--
	p.b.used--
}

// Listen counts the connections of a listener in the budget. It closes connections beyond the limit
// immediately.
func (b *Budget) Listen(name string, l net.Listener) net.Listener {
	return &listener{Listener: l, port: &port{b: b, name: name}}
}

type listener struct {
	net.Listener
	port *port
	full func(net.Conn) bool
}

// OnFull sets a function for a new connection without room. f may close another connection of the
// listener to make room, and reports whether it did. OnFull must be called before the first Accept.
func (l *listener) OnFull(f func(net.Conn) bool) { l.full = f }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.port.take() || (l.full != nil && l.full(c) && l.port.take()) {
			return l.port.wrap(c), nil
		}
		_ = c.Close()
	}
}

// Dialer counts connections that are dialed for clients and applications in the budget.
func (b *Budget) Dialer(name string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(
	ctx context.Context, network, addr string) (net.Conn, error) {
	p := &port{b: b, name: name}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !p.take() {
			return nil, fmt.Errorf("dial %s: %w", addr, ErrNone)
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			p.give()
			return nil, err
		}
		return p.wrap(c), nil
	}
}

// wrap returns a connection that releases its descriptor when it is closed.
func (p *port) wrap(c net.Conn) net.Conn {
	release := sync.OnceFunc(p.give)
	if tcp, ok := c.(*net.TCPConn); ok {
		return &tcpConn{tcp, release}
	}
	return &conn{c, release}
}

type conn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// tcpConn keeps all methods of a TCP connection, such as those of syscall.Conn.
type tcpConn struct {
	*net.TCPConn
	release func()
}

// Close implements net.Conn.
func (c *tcpConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
