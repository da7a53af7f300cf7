package sim

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// network transports Raft's messages and the calls between replicas. It copies each message, and
// delays, loses, doubles and reorders messages. It can be cut between any two hosts in either
// direction.
type network struct {
	pipelined bool // Raft may send entries before earlier ones are acknowledged

	mu       sync.Mutex
	rng      *rand.Rand
	hosts    map[string]*host
	all      weather                     // of all links without an own weather
	links    map[[2]string]weather       // of single links, by source and target
	cut      map[[2]string]bool          // by source and target
	conns    map[[2]string]chan struct{} // closed when the connection of two hosts is reset
	patience time.Duration
	installs int
	// installed describes each snapshot that was sent and the answer to it.
	installed []string
	install   *raft.InstallSnapshotRequest // the last snapshot request, with its data
	data      []byte
	votes     func(term uint64, voter, candidate string) // called for each granted vote
	hang      func(msg any) bool                         // selects messages that are never delivered nor answered
	denied    func(to string, msg any) bool              // selects messages that are refused at once
	sent      traffic
}

// traffic counts what happened to messages.
type traffic struct{ messages, lost, doubled, late, resets int }

// weather says what a link does to messages. loss, double and late are n for "one message in n", 0
// for none.
type weather struct {
	loss, double, late int
	lateness           time.Duration // maximum delay of a late message
	delay, jitter      time.Duration // of each message, in addition to the delay of a quiet network
	perByte            time.Duration // transmission time
}

func newNetwork(seed int64) *network {
	return &network{rng: rand.New(rand.NewSource(seed)), hosts: map[string]*host{}, links: map[[2]string]weather{},
		cut: map[[2]string]bool{}, conns: map[[2]string]chan struct{}{}, patience: messageTimeout}
}

const (
	messageTimeout = 2 * time.Second
	noteInterval   = 500 * time.Millisecond
)

// crash removes the network end of a process. Hosts that watched the process and can reach it learn
// that it has ended.
func (n *network) crash(h *host) {
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

// isolate cuts a host off from all others, in one or both directions.
func (n *network) isolate(id string, in, out bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.hosts {
		if other != id {
			n.cut[[2]string{other, id}] = n.cut[[2]string{other, id}] || in
			n.cut[[2]string{id, other}] = n.cut[[2]string{id, other}] || out
		}
	}
}

// sever cuts one direction between two hosts.
func (n *network) sever(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut[[2]string{from, to}] = true
}

// partition cuts both directions between two hosts. join reverses it.
func (n *network) partition(a, b string) {
	n.sever(a, b)
	n.sever(b, a)
}

func (n *network) join(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cut, [2]string{a, b})
	delete(n.cut, [2]string{b, a})
}

// heal ends all cuts and resets the weather.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	clear(n.links)
	n.all, n.patience, n.hang, n.denied = weather{}, messageTimeout, nil, nil
}

// deny refuses some messages until the network heals.
func (n *network) deny(some func(to string, msg any) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.denied = some
}

// hangOn lets some messages hang until the network heals: they are neither delivered nor answered.
func (n *network) hangOn(some func(msg any) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hang = some
}

// lastInstall returns the last request to install a snapshot, with its data.
func (n *network) lastInstall() (q raft.InstallSnapshotRequest, data []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return *n.install, n.data
}

// setWeather changes the weather of all links.
func (n *network) setWeather(change func(*weather)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.all)
}

// turnLink changes the weather between two hosts, in one direction.
func (n *network) turnLink(from, to string, w weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[[2]string{from, to}] = w
}

// impatient sets how long Raft waits for an answer.
func (n *network) impatient(d time.Duration) {
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
func (n *network) conn(a, b string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := pair(a, b)
	if n.conns[p] == nil {
		n.conns[p] = make(chan struct{})
	}
	return n.conns[p]
}

// reset resets the connection of two hosts. Their pending calls fail.
func (n *network) reset(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ch := n.conns[pair(a, b)]; ch != nil {
		close(ch)
		delete(n.conns, pair(a, b))
		n.sent.resets++
	}
}

func (n *network) find(id string) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[id]
}

func (n *network) countInstalls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.installs
}

// toldInstalls describes the last snapshots that were sent.
func (n *network) toldInstalls(last int) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.installed[max(0, len(n.installed)-last):])
}

// mostInstalled describes the snapshot and answer that occurred most often between two replicas.
func (n *network) mostInstalled() string {
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

// counted returns what happened to messages so far.
func (n *network) counted() traffic {
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
func (n *network) draw(from, to string, size int) fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.all
	if own, ok := n.links[[2]string{from, to}]; ok {
		w = own
	}
	oneIn := func(k int) bool { return k > 0 && n.rng.Intn(k) == 0 }
	f := fate{takes: time.Duration(200+n.rng.Intn(1800))*time.Microsecond + w.delay + time.Duration(size)*w.perByte}
	if w.jitter > 0 {
		f.takes += time.Duration(n.rng.Int63n(int64(w.jitter)))
	}
	if n.rng.Intn(1000) == 0 {
		f.takes += time.Duration(n.rng.Intn(300)) * time.Millisecond
	}
	n.sent.messages++
	if oneIn(w.late) && w.lateness > 0 {
		n.sent.late++
		f.takes += time.Duration(n.rng.Int63n(int64(w.lateness)))
	}
	if f.arrives = !n.cut[[2]string{from, to}] && !oneIn(w.loss); !f.arrives {
		n.sent.lost++
	}
	if f.twice = f.arrives && oneIn(w.double); f.twice {
		n.sent.doubled++
	}
	return f
}

// isCut reports whether no message from one host arrives at another.
func (n *network) isCut(from, to string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[[2]string{from, to}]
}

// travel waits for the time that a message takes. It reports whether the message arrives, and
// whether it arrives a second time.
func (n *network) travel(from, to *host, size int) (arrives, twice bool) {
	from.wake()
	f := n.draw(from.id, to.id, size)
	time.Sleep(f.takes)
	to.wake()
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
func (h *host) hello(p *host, kind string) error {
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
func (h *host) helloRaft(p *host, msg any) error {
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
