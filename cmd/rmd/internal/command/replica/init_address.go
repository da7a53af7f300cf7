package replica

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rmd/cluster"
	"rmd/cmd/internal/clierr"
	"rmd/transport/hadoop"
)

// Default ports of a replica, in addition to YARN's.
const (
	PeerPort  = 8034
	HTTPPort  = 8088
	httpsPort = 8090
)

// replicaHost is one replica of --replicas.
type replicaHost struct {
	id, host string
	moved    int // by how much its ports are above the default ones
}

func (r replicaHost) address(port int) string {
	return net.JoinHostPort(r.host, strconv.Itoa(port+r.moved))
}

// defaultPorts returns all ports that a replica opens by default.
func defaultPorts() []int {
	out := []int{PeerPort, HTTPPort, httpsPort}
	for _, p := range hadoop.DefaultPorts() {
		out = append(out, p.Port)
	}
	return out
}

// meets reports whether two replicas have a port in common.
func (r replicaHost) meets(other replicaHost) bool {
	all := defaultPorts()
	return slices.ContainsFunc(all, func(port int) bool { return slices.Contains(all, port+r.moved-other.moved) })
}

// parseReplica parses ID=HOST or ID=HOST:PORT, where PORT is that of REST. ported says that there is one.
func parseReplica(text string) (r replicaHost, ported bool, err error) {
	id, host, ok := strings.Cut(text, "=")
	if !ok {
		return r, false, clierr.Usagef("write for instance rm1=10.0.0.11", "%q is not ID=HOST", text)
	}
	rest := HTTPPort
	if name, port, err := net.SplitHostPort(host); err == nil {
		ported = true
		n, err := strconv.Atoi(port)
		least, most := leastPort+HTTPPort-slices.Min(defaultPorts()), mostPort+HTTPPort-slices.Max(defaultPorts())
		switch {
		case err != nil || n < least || n > most:
			return r, false, clierr.Usagef(fmt.Sprintf("write a port from %d to %d: the others of a replica move with it",
				least, most), "%s: %q cannot be the port of REST", id, port)
		case n != HTTPPort && slices.Contains(defaultPorts(), n):
			return r, false, clierr.Usagef("write "+id+"="+name+", or the port of REST; the others move with it",
				"%s: %d is another port of a replica, and :PORT is that of REST", id, n)
		}
		host, rest = name, n
	}
	if !cluster.ValidID(id) || id == administrator || strings.HasSuffix(id, ".pem") {
		return r, false, clierr.Usagef("write for instance rm1", "%q cannot be the id of a replica", id)
	}
	if host, err = hostOf(host); err != nil {
		return r, false, clierr.Usagef("write "+id+
			"=10.0.0.11, or a host name; with :PORT behind it REST is not at 8088, and the other ports move with it",
			"%s: %v", id, err)
	}
	return replicaHost{id, host, rest - HTTPPort}, ported, nil
}

// The ports of a replica are between these.
const (
	leastPort = 1024
	mostPort  = 65535
)

// movedPorts returns by how much the ports of a replica are above the default ones, by its port of REST.
func movedPorts(keys map[string]string) int {
	for _, k := range []struct {
		key  string
		port int
	}{{"http.listen_tls", httpsPort}, {"http.listen", HTTPPort}} {
		if _, port, err := net.SplitHostPort(keys[k.key]); err == nil {
			if n, err := strconv.Atoi(port); err == nil {
				return n - k.port
			}
		}
	}
	return 0
}

// hostName matches a DNS name in lower case.
var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// hostOf returns an address or a host name in canonical form.
func hostOf(text string) (string, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		if ip.IsUnspecified() || ip.IsMulticast() || ip.Zone() != "" {
			return "", fmt.Errorf("other machines cannot dial %s", text)
		}
		return ip.Unmap().String(), nil
	}
	name := strings.ToLower(text)
	if len(name) < 254 && hostName.MatchString(name) && !mistyped(name) {
		return name, nil
	}
	return "", fmt.Errorf("%q is neither an address nor a host name", text)
}

// mistyped reports whether a host name can only be an address with a fault: 10.0.0.300, or 10.0.0.x, which
// has at least three numbers and at most one other label. 10.0.0.11.nip.io is a host name.
func mistyped(name string) bool {
	labels := strings.Split(name, ".")
	numbers := 0
	for _, label := range labels {
		if strings.Trim(label, "0123456789") == "" {
			numbers++
		}
	}
	return numbers == len(labels) || numbers >= 3 && len(labels)-numbers == 1
}

func isAddress(host string) bool { return net.ParseIP(host) != nil }
