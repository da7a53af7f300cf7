package harness

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// namespaces is the Network of a machine on which this process may create network namespaces. Each
// replica has a namespace. A bridge connects the namespaces and the clients. Cuts are rules of the
// kernel's routing policy in the namespace of a replica, so the kernel really drops packets and TCP
// reacts as on a broken network.
type namespaces struct {
	name   string // of the bridge; the names of namespaces and links begin with it
	prefix string // of the addresses, for instance 10.219.7

	mu    sync.Mutex
	at    map[string]int // the last byte of each replica's address
	rules map[link][]string
}

const (
	outsidePart = 1
	peerPort    = 8034
	httpPort    = 8090
)

func newNamespaces() (*namespaces, error) {
	n := &namespaces{at: map[string]int{Outside: outsidePart}, rules: map[link][]string{}}
	for part := 1; part < 250; part++ {
		n.name, n.prefix = "rmdc"+strconv.Itoa(part), "10.219."+strconv.Itoa(part)
		if addressTaken(n.prefix) {
			continue
		}
		if err := ip("link", "add", n.name, "type", "bridge"); err != nil {
			if strings.Contains(err.Error(), "File exists") {
				continue // of another run
			}
			return nil, err
		}
		err := errors.Join(ip("addr", "add", n.address(Outside)+"/24", "dev", n.name), ip("link", "set", n.name, "up"))
		if err != nil {
			return nil, errors.Join(err, n.Close())
		}
		return n, nil
	}
	return nil, errors.New("no free range of addresses below 10.219.0.0/16")
}

func addressTaken(prefix string) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range all {
		if strings.HasPrefix(a.String(), prefix+".") {
			return true
		}
	}
	return false
}

// ip runs the command ip of iproute2.
func ip(args ...string) error { return run("ip", args...) }

// run runs a command. Its error contains the command's output.
func run(name string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return nil
}

func (n *namespaces) address(id string) string { return n.prefix + "." + strconv.Itoa(n.at[id]) }

func (n *namespaces) space(id string) string { return n.name + "-" + id }

// veth returns the name of the outer end of a replica's link.
func (n *namespaces) veth(id string) string { return n.name + "v" + strconv.Itoa(n.at[id]) }

// Kind implements Network.
func (n *namespaces) Kind() string { return Namespaces }

// Add implements Network.
func (n *namespaces) Add(id string) (Place, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	part := 10 + len(n.at)
	n.at[id] = part
	ns, veth := n.space(id), n.veth(id)
	if err := ip("netns", "add", ns); err != nil {
		return Place{}, err
	}
	for _, args := range [][]string{
		{"link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", ns},
		{"link", "set", veth, "master", n.name, "up"},
	} {
		if err := ip(args...); err != nil {
			return Place{}, err
		}
	}
	for _, argv := range [][]string{
		{"ip", "addr", "add", n.address(id) + "/24", "dev", "eth0"},
		{"ip", "link", "set", "lo", "up"},
		{"ip", "link", "set", "eth0", "up"},
		// The rules that cut links must come before all others, also before the one for local
		// addresses.
		{"ip", "rule", "add", "pref", "100", "lookup", "local"},
		{"ip", "rule", "del", "pref", "0"},
		// Early demultiplexing would deliver packets of established connections without a look at
		// the rules.
		{"sysctl", "-qw", "net.ipv4.ip_early_demux=0"},
	} {
		if err := n.command(id, argv...); err != nil {
			return Place{}, err
		}
	}
	at := n.address(id)
	p := Place{Peer: net.JoinHostPort(at, strconv.Itoa(peerPort)),
		HTTP: net.JoinHostPort(at, strconv.Itoa(httpPort)), Public: true}
	p.PeerListen, p.HTTPListen, p.Direct, p.Hadoop = p.Peer, p.HTTP, p.HTTP, hadoopAt(at)
	return p, nil
}

// command runs a command in a replica's namespace.
func (n *namespaces) command(id string, argv ...string) error {
	argv = n.Wrap(id, argv)
	return run(argv[0], argv[1:]...)
}

// Wrap implements Network. The command enters only the network namespace. "ip netns exec", "ip -n"
// and "tc -n" also create a mount namespace, which would keep every disk mounted while it exists,
// also the disks of other runs.
func (n *namespaces) Wrap(id string, argv []string) []string {
	return append([]string{"nsenter", "--net=/var/run/netns/" + n.space(id)}, argv...)
}

// Cut implements Network. A drop is a rule at the receiver for packets of the sender. If the
// receiver is outside, or for a rejection, the rule is at the sender.
func (n *namespaces) Cut(from, to string, how Cut) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := link{from, to}
	if err := n.undo(k); err != nil || how == Pass {
		return err
	}
	at, rule := to, []string{"from", n.address(from), "blackhole"}
	switch {
	case how == Reject && from != Outside:
		at, rule = from, []string{"to", n.address(to), "unreachable"}
	case how == Reject:
		rule[2] = "unreachable"
	case to == Outside:
		at, rule = from, []string{"to", n.address(to), "blackhole"}
	}
	if err := n.command(at, append([]string{"ip", "rule", "add", "pref", "10"}, rule...)...); err != nil {
		return err
	}
	n.rules[k] = n.Wrap(at, append([]string{"ip", "rule", "del", "pref", "10"}, rule...))
	return nil
}

func (n *namespaces) undo(k link) error {
	rule := n.rules[k]
	if rule == nil {
		return nil
	}
	delete(n.rules, k)
	return run(rule[0], rule[1:]...)
}

// Shape implements Network. It slows everything that a replica sends, to all receivers, because
// a queueing discipline belongs to an interface. netem adds delay and loss. tbf limits the rate.
func (n *namespaces) Shape(from, _ string, s Shape) error {
	if from == Outside {
		return nil
	}
	if s == (Shape{}) {
		if err := n.command(from, "tc", "qdisc", "del", "dev", "eth0", "root"); err != nil &&
			!strings.Contains(err.Error(), "Cannot delete qdisc with handle of zero") {
			return err
		}
		return nil
	}
	args := []string{"tc", "qdisc", "replace", "dev", "eth0", "root"}
	if s.Delay > 0 || s.Stall > 0 {
		args = append(args, "netem", "delay", s.Delay.String(), s.Jitter.String(), "loss", fmt.Sprintf("%.1f%%", s.Stall*100))
	} else {
		args = append(args, "tbf", "rate", strconv.Itoa(s.Rate*8)+"bit", "burst", "32kbit", "latency", "400ms")
	}
	return n.command(from, args...)
}

// Absent implements Network. The kernel of the namespace refuses connections by itself.
func (n *namespaces) Absent(string, bool) error { return nil }

// Heal implements Network.
func (n *namespaces) Heal() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for k := range n.rules {
		errs = append(errs, n.undo(k))
	}
	for id := range n.at {
		errs = append(errs, n.Shape(id, "", Shape{}))
	}
	return errors.Join(errs...)
}

// Close implements Network.
func (n *namespaces) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for id := range n.at {
		// the link first: the kernel removes the link of a deleted namespace later, and its name is used again
		if id != Outside {
			errs = append(errs, ip("link", "del", n.veth(id)), ip("netns", "del", n.space(id)))
		}
	}
	errs = append(errs, ip("link", "del", n.name))
	return errors.Join(errs...)
}

// mayNamespace returns nil if this process can create network namespaces. The error says why not.
func mayNamespace() error {
	for tool, from := range map[string]string{"ip": "iproute2", "nsenter": "util-linux"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed (%s)", tool, from)
		}
	}
	if os.Geteuid() != 0 {
		return errors.New("needs root")
	}
	n, err := newNamespaces()
	if err != nil {
		return err
	}
	_, err = n.Add("probe")
	if err == nil {
		err = n.Cut("probe", Outside, Drop)
	}
	return errors.Join(err, n.Close())
}

// mayNetem returns nil if the kernel supports netem.
func mayNetem() error {
	n, err := newNamespaces()
	if err != nil {
		return err
	}
	if _, err = n.Add("probe"); err == nil {
		err = n.command("probe", "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "1ms")
	}
	return errors.Join(err, n.Close())
}
