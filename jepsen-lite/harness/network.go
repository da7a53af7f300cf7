package harness

import (
	"net"
	"strconv"
	"time"
)

// Outside is the end of a link for everything that is not a replica: the clients.
const Outside = "clients"

// Place has the addresses of a replica.
type Place struct {
	PeerListen string // raft.listen
	Peer       string // raft.advertise: the address that other replicas dial
	HTTPListen string // http.listen, or http.listen_tls where the network is public
	HTTP       string // for clients; all faults of links apply
	Direct     string // for the harness; bypasses the faults of links where the network allows it
	Public     bool   // the addresses are not on loopback, so both ports use TLS
	Hadoop     Hadoop
}

// Hadoop has the addresses of a replica's YARN ports, host:port. On loopback they bypass the faults
// of links.
type Hadoop struct{ Client, Scheduler, Tracker, Admin string }

// All returns all four addresses.
func (h Hadoop) All() []string { return []string{h.Client, h.Scheduler, h.Tracker, h.Admin} }

// hadoopAt returns the addresses of YARN's ports on a host, with other port numbers if they are
// given.
func hadoopAt(host string, ports ...int) Hadoop {
	if len(ports) == 0 {
		ports = []int{8032, 8030, 8031, 8033}
	}
	at := func(i int) string { return net.JoinHostPort(host, strconv.Itoa(ports[i])) }
	return Hadoop{at(0), at(1), at(2), at(3)}
}

// Cut is what a link does with the data sent over it.
type Cut uint8

// The kinds of cuts.
const (
	Pass   Cut = iota
	Drop       // nothing arrives, and the sender gets no error
	Reject     // connections are reset, or the network is unreachable
)

// Shape slows a link down.
type Shape struct {
	Delay  time.Duration // in one direction
	Jitter time.Duration // additional delay, drawn for each piece from 0 up to this
	Stall  float64       // share of pieces delayed by StallFor, like a lost and repeated packet
	// StallFor is how long a stalled piece waits.
	StallFor time.Duration
	Rate     int // bytes per second; 0: no limit
}

// Network connects the replicas with each other and with the clients. A link has one direction. Its
// ends are ids of replicas, or Outside.
type Network interface {
	// Kind is Loopback or Namespaces.
	Kind() string
	// Add creates the addresses of a replica.
	Add(id string) (Place, error)
	// Wrap returns a command line that runs argv at a replica's address.
	Wrap(id string, argv []string) []string
	// Cut changes what a link does.
	Cut(from, to string, how Cut) error
	// Shape slows a link; the zero Shape undoes it.
	Shape(from, to string, s Shape) error
	// Absent marks a replica as away or as about to return. While it is away, and until a process
	// listens again, its addresses refuse connections, as a machine does whose process has ended.
	Absent(id string, away bool) error
	// Heal removes all cuts and shapes.
	Heal() error
	Close() error
}
