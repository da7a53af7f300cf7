package harness

import (
	"net"
	"strconv"
	"time"
)

// Outside is the name, in links, of the clients: everything that is no replica.
const Outside = "clients"

// Place is where a replica listens and where it is reached.
type Place struct {
	PeerListen string // raft.listen
	Peer       string // raft.advertise: what the others dial
	HTTPListen string // http.listen, or http.listen_tls where the network is public
	HTTP       string // where clients reach it, through every fault
	Direct     string // where the harness looks at it; past the faults of links, where there is a way past them
	Public     bool   // not loopback: TLS on both ports
	Hadoop     Hadoop
}

// Hadoop is where a replica's ports of Hadoop's wire are, host:port; on loopback past
// the faults of links.
type Hadoop struct{ Client, Scheduler, Tracker, Admin string }

// All are the four.
func (h Hadoop) All() []string { return []string{h.Client, h.Scheduler, h.Tracker, h.Admin} }

// hadoopAt are YARN's ports of a host, or four others.
func hadoopAt(host string, ports ...int) Hadoop {
	if len(ports) == 0 {
		ports = []int{8032, 8030, 8031, 8033}
	}
	at := func(i int) string { return net.JoinHostPort(host, strconv.Itoa(ports[i])) }
	return Hadoop{at(0), at(1), at(2), at(3)}
}

// Cut says what a link does to what is sent over it.
type Cut uint8

// The kinds of cuts.
const (
	Pass   Cut = iota
	Drop       // nothing arrives, and nobody is told
	Reject     // connections are reset, or the network says unreachable
)

// Shape slows a link down.
type Shape struct {
	Delay  time.Duration // one way
	Jitter time.Duration // up to so much more, drawn again for each piece
	Stall  float64       // share of pieces that wait for StallFor: a loss, and its repetition
	// StallFor is how long a stalled piece waits.
	StallFor time.Duration
	Rate     int // bytes a second; 0 is no bound
}

// Network connects the replicas with each other and with the clients. A link is
// of one direction; its ends are replicas' ids, or Outside.
type Network interface {
	// Kind is Loopback or Namespaces.
	Kind() string
	// Add makes the place of a replica.
	Add(id string) (Place, error)
	// Wrap makes a command line run at a replica's place.
	Wrap(id string, argv []string) []string
	// Cut changes what a link does.
	Cut(from, to string, how Cut) error
	// Shape slows a link; the zero Shape undoes it.
	Shape(from, to string, s Shape) error
	// Absent says that nobody is at a replica's place, or that somebody is about to
	// be: who dials it is refused, as by a machine whose process is gone, until a
	// process listens there.
	Absent(id string, away bool) error
	// Heal makes all links whole and fast again.
	Heal() error
	Close() error
}
