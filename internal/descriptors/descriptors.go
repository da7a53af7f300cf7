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

// Min is the fewest descriptors that a replica can work with.
const Min = 512

// The reserve is a quarter of all descriptors, within these bounds.
const (
	reserveMin = 256
	reserveMax = 2048
)

// Limit returns how many descriptors this process may have. Go raises the soft limit to the hard one
// when a program starts, so the hard limit is what counts.
func Limit() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("limit of open files: %w", err)
	}
	return int(min(l.Cur, 1<<30)), nil
}

// Plan says who gets how many of a process's descriptors.
type Plan struct {
	// Limit is all of them.
	Limit int
	// Shared is for the connections of clients, NodeManagers and ApplicationMasters.
	Shared int
	// Members and Unknown are for connections with other replicas: those that have proven who they
	// are, and those that have not yet. What is left is for files.
	Members, Unknown int
}

// Divide makes the plan for a limit.
func Divide(limit int) Plan {
	reserve := min(max(limit/4, reserveMin), reserveMax)
	return Plan{Limit: limit, Shared: max(limit-reserve, 0), Members: reserve / 2, Unknown: reserve / 8}
}

// PortMax is the most connections that one port gets while the others have none.
func (p Plan) PortMax() int { return (p.Shared + 1) / 2 }

// LimitFor is the lowest limit that has room for so many connections at once.
func LimitFor(connections int) int {
	return connections + min(max((connections+2)/3, reserveMin), reserveMax)
}

// ErrNone is why a connection is not made.
var ErrNone = errors.New("no file descriptor is free for another connection; raise the limit of open files (LimitNOFILE=, ulimit -n)")

// Budget is the shared part of a plan.
type Budget struct {
	log    hclog.Logger
	shared int

	mu      sync.Mutex
	used    int
	refused uint64
	last    time.Time // when one was refused last
	report  time.Time // when refusals may be logged again
}

// reportPause is the least time between two log lines about refused connections.
const reportPause = 10 * time.Second

// NewBudget makes the budget of a plan.
func NewBudget(p Plan, log hclog.Logger) *Budget { return &Budget{log: log, shared: p.Shared} }

// Stats are the figures of a budget.
type Stats struct {
	Shared, Used int
	Refused      uint64 // since the start
}

// Stats returns them.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{Shared: b.shared, Used: b.used, Refused: b.refused}
}

// Problem says that connections were refused in the last minute, "" when none was.
func (b *Budget) Problem() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.IsZero() || time.Since(b.last) > time.Minute {
		return ""
	}
	return fmt.Sprintf("connections are refused for the limit of open files: %d of %d for clients are open, %d were refused", b.used, b.shared, b.refused)
}

// port is one user of a budget.
type port struct {
	b    *Budget
	name string
	open int
}

// take reserves a descriptor. A port gets no more than are still free: one that is flooded leaves
// half of the budget to the others, two leave a third, so that none can shut out the rest.
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

// Listen counts the connections of a listener against the budget. One too many is closed at once.
func (b *Budget) Listen(name string, l net.Listener) net.Listener {
	return &listener{Listener: l, port: &port{b: b, name: name}}
}

type listener struct {
	net.Listener
	port *port
	full func(net.Conn) bool
}

// OnFull has f asked to close another connection of the listener when there is no room for
// one that has just come; f says whether it did. It is called before the first Accept.
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

// Dialer counts dialed connections, too: those that are made on behalf of clients and applications.
func (b *Budget) Dialer(name string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
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

// wrap gives the descriptor back when a connection is closed.
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

// tcpConn keeps all that a TCP connection can do, such as syscall.Conn.
type tcpConn struct {
	*net.TCPConn
	release func()
}

// Close implements net.Conn.
func (c *tcpConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
