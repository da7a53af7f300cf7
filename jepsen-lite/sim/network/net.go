// Package network simulates the network between replicas in virtual time.
//
//	n := network.New(seed)
//	h := n.Connect("a", mark) // a raft.Transport, and the peer port of a process
//	n.Isolate("a", true, true)
//	n.Heal()
//
// Begin with net.go: what happens to a message, and the faults. host.go has the end of one process,
// transport.go carries Raft's requests and pipeline.go several at a time. impostor.go lets a host say
// that it is another. Which hosts may talk is decided by rmd's own rules (Host.SetGate). The package
// knows neither replicas nor disks.
package network

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Network transports Raft's messages and the calls between replicas. It copies each message, and
// delays, loses, doubles and reorders messages. It can be cut between any two hosts in either
// direction.
type Network struct {
	Pipelined bool // Raft may send entries before earlier ones are acknowledged
	// OnVote is called for each granted vote, unless it is nil.
	OnVote func(term uint64, voter, candidate string)

	mu       sync.Mutex
	rng      *rand.Rand
	hosts    map[string]*Host
	all      Weather                     // of all links without an own weather
	links    map[[2]string]Weather       // of single links, by source and target
	cut      map[[2]string]bool          // by source and target
	conns    map[[2]string]chan struct{} // closed when the connection of two hosts is reset
	patience time.Duration
	installs int
	// installed describes each snapshot that was sent and the answer to it.
	installed []string
	install   *raft.InstallSnapshotRequest // the last snapshot request, with its data
	data      []byte
	hang      func(msg any) bool            // selects messages that are never delivered nor answered
	denied    func(to string, msg any) bool // selects messages that are refused at once
	sent      Traffic
}

// Traffic counts what happened to messages.
type Traffic struct{ Messages, Lost, Doubled, Late, Resets int }

// Weather says what a link does to messages. Loss, Double and Late are n for "one message in n", 0
// for none.
type Weather struct {
	Loss, Double, Late int
	Lateness           time.Duration // maximum delay of a late message
	Delay, Jitter      time.Duration // of each message, in addition to the delay of a quiet network
	PerByte            time.Duration // transmission time
}

// New returns a network without hosts.
func New(seed int64) *Network {
	return &Network{rng: rand.New(rand.NewSource(seed)), hosts: map[string]*Host{}, links: map[[2]string]Weather{},
		cut: map[[2]string]bool{}, conns: map[[2]string]chan struct{}{}, patience: messageTimeout}
}

const (
	messageTimeout = 2 * time.Second
	noteInterval   = 500 * time.Millisecond
)

// Crash removes the network end of a process. Hosts that watched the process and can reach it learn
// that it has ended.
func (n *Network) Crash(h *Host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(h.down)
	h.end()
	if n.hosts[h.id] == h {
		delete(n.hosts, h.id)
	}
	for _, w := range n.hosts {
		if !n.cut[[2]string{h.id, w.id}] && !n.cut[[2]string{w.id, h.id}] {
			go w.proof(h.id)
		}
	}
}

// Isolate cuts a host off from all others, in one or both directions.
func (n *Network) Isolate(id string, in, out bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.hosts {
		if other != id {
			n.cut[[2]string{other, id}] = n.cut[[2]string{other, id}] || in
			n.cut[[2]string{id, other}] = n.cut[[2]string{id, other}] || out
		}
	}
}

// Sever cuts one direction between two hosts.
func (n *Network) Sever(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]string{from, to}] = true
}

// Partition cuts both directions between two hosts. Join reverses it.
func (n *Network) Partition(a, b string) {
	n.Sever(a, b)
	n.Sever(b, a)
}

// Join ends the cuts between two hosts.
func (n *Network) Join(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cut, [2]string{a, b})
	delete(n.cut, [2]string{b, a})
}

// Heal ends all cuts and resets the weather.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	clear(n.links)
	n.all, n.patience, n.hang, n.denied = Weather{}, messageTimeout, nil, nil
}

// Deny refuses some messages until the network heals.
func (n *Network) Deny(some func(to string, msg any) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.denied = some
}

// HangOn lets some messages hang until the network heals: they are neither delivered nor answered.
func (n *Network) HangOn(some func(msg any) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hang = some
}

// LastInstall returns the last request to install a snapshot, with its data.
func (n *Network) LastInstall() (q raft.InstallSnapshotRequest, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return *n.install, n.data
}

// SetWeather changes the weather of all links.
func (n *Network) SetWeather(change func(*Weather)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.all)
}

// TurnLink changes the weather between two hosts, in one direction.
func (n *Network) TurnLink(from, to string, w Weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]string{from, to}] = w
}

// Impatient sets how long Raft waits for an answer.
func (n *Network) Impatient(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.patience = d
}

func pair(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// conn returns a channel that is closed when the connection of two hosts is reset.
func (n *Network) conn(a, b string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := pair(a, b)
	if n.conns[p] == nil {
		n.conns[p] = make(chan struct{})
	}
	return n.conns[p]
}

// Reset resets the connection of two hosts. Their pending calls fail.
func (n *Network) Reset(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ch := n.conns[pair(a, b)]; ch != nil {
		close(ch)
		delete(n.conns, pair(a, b))
		n.sent.Resets++
	}
}

func (n *Network) find(id string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[id]
}

// CountInstalls returns how many snapshots were sent.
func (n *Network) CountInstalls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.installs
}

// ToldInstalls describes the last snapshots that were sent.
func (n *Network) ToldInstalls(last int) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.installed[max(0, len(n.installed)-last):])
}

// MostInstalled describes the snapshot and answer that occurred most often between two replicas.
func (n *Network) MostInstalled() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	times, most := map[string]int{}, ""
	for _, what := range n.installed {
		if times[what]++; times[what] > times[most] {
			most = what
		}
	}
	return fmt.Sprintf("%q, %d times", most, times[most])
}

// Counted returns what happened to messages so far.
func (n *Network) Counted() Traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent
}

// fate is what happens to one message.
type fate struct {
	takes   time.Duration
	arrives bool
	twice   bool
}

// draw draws the fate of a message of size bytes.
func (n *Network) draw(from, to string, size int) fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.all
	if own, ok := n.links[[2]string{from, to}]; ok {
		w = own
	}
	oneIn := func(k int) bool { return k > 0 && n.rng.Intn(k) == 0 }
	f := fate{takes: time.Duration(200+n.rng.Intn(1800))*time.Microsecond + w.Delay + time.Duration(size)*w.PerByte}
	if w.Jitter > 0 {
		f.takes += time.Duration(n.rng.Int63n(int64(w.Jitter)))
	}
	if n.rng.Intn(1000) == 0 {
		f.takes += time.Duration(n.rng.Intn(300)) * time.Millisecond
	}
	n.sent.Messages++
	if oneIn(w.Late) && w.Lateness > 0 {
		n.sent.Late++
		f.takes += time.Duration(n.rng.Int63n(int64(w.Lateness)))
	}
	if f.arrives = !n.cut[[2]string{from, to}] && !oneIn(w.Loss); !f.arrives {
		n.sent.Lost++
	}
	if f.twice = f.arrives && oneIn(w.Double); f.twice {
		n.sent.Doubled++
	}
	return f
}

// isCut reports whether no message from one host arrives at another.
func (n *Network) isCut(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]string{from, to}]
}

// travel waits for the time that a message takes. It reports whether the message arrives, and
// whether it arrives a second time.
func (n *Network) travel(from, to *Host, size int) (arrives, twice bool) {
	from.Wake()
	f := n.draw(from.id, to.id, size)
	time.Sleep(f.takes)
	to.Wake()
	return f.arrives && from.running.Err() == nil && to.running.Err() == nil, f.twice
}

// helloError is a refusal by the other side's hello, like that of package peer.
type helloError struct{ code, text string }

// Error returns code and text.
func (e *helloError) Error() string { return fmt.Sprintf("%s: %s", e.code, e.text) }

// ErrorCode returns the stable code.
func (e *helloError) ErrorCode() string { return e.code }

// hello decides like the real transport whether two hosts may talk: Raft's messages need a common
// cluster that both know, and rmd's rules on both sides must admit the other one.
func (h *Host) hello(p *Host, kind string) error {
	_, mine := h.identity()
	_, theirs := p.identity()
	switch {
	case mine != "" && theirs != "" && mine != theirs:
		return &helloError{"OTHER_CLUSTER", fmt.Sprintf("cluster id is %s here, %s there", theirs, mine)}
	case kind == "raft" && (mine == "" || theirs == ""):
		return &helloError{"NOT_READY", "no cluster id yet"}
	}
	if err := p.admits(h, kind, ""); err != nil {
		return err
	}
	return h.admits(p, kind, p.id)
}

// helloRaft does the same for one of Raft's requests. Like the real transport, it refuses a request
// in the name of another server.
func (h *Host) helloRaft(p *Host, msg any) error {
	if err := h.hello(p, "raft"); err != nil {
		return err
	}
	me, _ := h.identity()
	if q, ok := msg.(raft.WithRPCHeader); p.gate().meet != nil && (!ok || string(q.GetRPCHeader().ID) != me) {
		return errNotCaller
	}
	return nil
}

var errNotCaller = errors.New("NOT_CALLER")
