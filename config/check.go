package config

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"rmd/cluster"
	"rmd/cluster/timers"
	"rmd/internal/descriptors"
	"rmd/transport/hadoop"
	httpserver "rmd/transport/http"
)

// Bounds of settings; docs/operations/settings.md lists them.
const (
	holdMax = time.Minute
	sizeMin = Size(1 << 20)
)

// invalid reports an invalid value, with the place where it was set.
func (l *loader) invalid(path, do, format string, args ...any) {
	l.fault(l.origin[path], do, path+": "+format, args...)
}

// check checks the bounds of all values after the sources are merged.
func (l *loader) check() {
	c := &l.cfg
	switch {
	case c.ID == "":
		l.invalid("id", l.howToSetID(), "the replica has no id")
	case !cluster.ValidID(c.ID):
		l.invalid("id", "", "%q must be 1 to 64 letters, digits, '_', '-', '.'", c.ID)
	}
	if !cluster.ValidID(c.Cluster) {
		l.invalid("cluster", "", "%q must be 1 to 64 letters, digits, '_', '-', '.'", c.Cluster)
	}
	if strings.TrimSpace(c.Data) == "" {
		l.invalid("data", "name a directory", "the data directory is missing")
	}
	if c.StandbyHold <= 0 || c.StandbyHold > holdMax {
		l.invalid("standby_hold", "",
			"%s is not in 1ms to %s; it should stay below the clients' ipc.client.rpc-timeout.ms (lowest recommended value: 5s)",
			c.StandbyHold, shortDuration(holdMax))
	}
	l.checkTimers()
	l.checkBirth()
	l.checkSnapshots()
	l.checkDisk()
	l.checkAutopilot()
	l.checkAddresses()
	l.checkTLS()
	l.checkIDs()
	l.checkHadoopPorts()
}

func (l *loader) checkTimers() {
	t := l.cfg.Raft.Timers
	for _, f := range t.Check() {
		if f.Key == "raft.election" && !l.isSet(f.Key) { // the file has no line to show for a default
			l.invalid("raft.heartbeat", "", "%s must be at most raft.election (%s)", t.Heartbeat, t.Election)
			continue
		}
		l.invalid(f.Key, f.Do, "%s", f.Text)
	}
	if low := timers.Lowest(); t.Low() {
		l.warn("raft timers %s/%s/%s are below the lowest recommended values, %s/%s/%s", t.Heartbeat, t.Election, t.Lease,
			low.Heartbeat, low.Election, low.Lease)
	}
}

// checkBirth checks the settings that create a cluster.
func (l *loader) checkBirth() {
	r := l.cfg.Raft
	n := r.BootstrapExpect
	switch {
	case n > cluster.ReplicasMax:
		l.invalid("raft.bootstrap_expect", "", "%d is above %d voters", n, cluster.ReplicasMax)
	case n > 0 && n%2 == 0 && !r.AllowEven:
		l.invalid("raft.bootstrap_expect", "use 3 or 5, or set raft.allow_even: true",
			"%d is even: an even number of voters tolerates no more failures", n)
	case n > 0 && len(r.Join) != int(n):
		l.invalid("raft.bootstrap_expect", "list every replica, including this one",
			"it expects %d replicas, but raft.join lists %d", n, len(r.Join))
	case n == 1:
		l.warn("raft.bootstrap_expect is 1: a single replica tolerates no failure")
	}
	for i, a := range r.Join {
		if _, err := hostPort(a); err != nil {
			l.invalid("raft.join", "", "%q: %v", a, err)
		}
		if slices.Contains(r.Join[:i], a) {
			l.invalid("raft.join", "list each replica once", "%q appears twice", a)
		}
	}
}

func (l *loader) checkSnapshots() {
	r := l.cfg.Raft
	if r.SnapshotThreshold < 1 {
		l.invalid("raft.snapshot_threshold", "the default is 8192", "must be at least 1")
	}
	if r.SnapshotBytes < sizeMin {
		l.invalid("raft.snapshot_bytes", "the default is 256MiB", "must be at least 1MiB")
	}
	if r.SnapshotInterval < time.Second {
		l.invalid("raft.snapshot_interval", "the default is 30s", "%s is below 1s", r.SnapshotInterval)
	}
	if r.Trailing < cluster.TrailingMin {
		l.invalid("raft.trailing", "the default is 2048",
			"%d is below %d; with fewer entries a follower may need snapshots again and again", r.Trailing,
			cluster.TrailingMin)
	}
}

func (l *loader) checkDisk() {
	d := l.cfg.Disk
	if d.Stop < sizeMin {
		l.invalid("disk.stop", "the default is 64MiB", "must be at least 1MiB")
	}
	if d.Reserve < d.Stop {
		l.invalid("disk.reserve", "", "must not be below disk.stop")
	}
	if d.GiveUpAfter <= 0 {
		l.invalid("disk.give_up_after", "the default is 5s", "must be above 0")
	}
	if d.ExitAfter <= d.GiveUpAfter {
		l.invalid("disk.exit_after", "the default is 20s", "%s must be above disk.give_up_after (%s)", d.ExitAfter,
			d.GiveUpAfter)
	}
}

func (l *loader) checkAutopilot() {
	a := l.cfg.Autopilot
	if a.CleanupDeadServers && a.MinQuorum < 3 {
		l.invalid("autopilot.cleanup_dead_servers", "set autopilot.min_quorum: 3", "needs a min_quorum of at least 3")
	}
	if a.DeadServerLastContactThreshold < time.Minute {
		l.invalid("autopilot.dead_server_last_contact_threshold", "the default is 24h", "%s is below 1m",
			a.DeadServerLastContactThreshold)
	}
	if a.LastContactThreshold <= 0 {
		l.invalid("autopilot.last_contact_threshold", "the default is 10s", "must be above 0")
	}
}

// checkAddresses checks the addresses that this replica listens on and announces.
func (l *loader) checkAddresses() {
	c := &l.cfg
	host, err := hostPort(c.Raft.Listen)
	if err != nil {
		l.invalid("raft.listen", "", "%q: %v", c.Raft.Listen, err)
	} else if !c.TLS.On() && !Loopback(host) {
		l.invalid("raft.listen", "configure tls (\"rmd init --tls\" creates a CA and certificates), or listen on 127.0.0.1",
			"%q is reachable from other machines, but tls is not configured", c.Raft.Listen)
	}
	advertised := c.Raft.Advertise
	if advertised == "" {
		if err == nil && wildcard(host) {
			l.invalid("raft.advertise", "set the address that other replicas dial",
				"is missing, and other replicas cannot dial raft.listen (%s)", c.Raft.Listen)
		}
	} else if host, err := hostPort(advertised); err != nil {
		l.invalid("raft.advertise", "", "%q: %v", advertised, err)
	} else if wildcard(host) {
		l.invalid("raft.advertise", "set the address that other replicas dial", "other replicas cannot dial %q", advertised)
	} else if !c.TLS.On() && !Loopback(host) {
		l.invalid("raft.advertise", "configure tls, or use 127.0.0.1",
			"%q is not on this machine, but tls is not configured", advertised)
	}
	if _, err := hostPort(c.HTTP.Listen); err != nil && c.HTTP.Listen != "none" {
		l.invalid("http.listen", "", "%q: %v", c.HTTP.Listen, err)
	}
	if c.Connections < 1 || c.Connections > 1<<20 {
		l.invalid("hadoop.connections", "the default is 16384", "must be from 1 to %d", 1<<20)
	}
	if _, err := c.HTTP.ProxyNetworks(); err != nil {
		l.invalid("http.proxy_allow", "write addresses or networks, for instance 10.0.0.0/8", "%v", err)
	}
	if c.ConnectionsPerAddress > c.Connections {
		l.invalid("hadoop.connections_per_address", "the default is half of them",
			"must not be above hadoop.connections (%d)", c.Connections)
	}
	if most := httpserver.DefaultConfig().MaxConnections; c.HTTP.ConnectionsPerAddress < 1 ||
		c.HTTP.ConnectionsPerAddress > uint(most) {
		l.invalid("http.connections_per_address", "the default is 64", "must be from 1 to %d", most)
	}
	if c.HTTP.Rate < 1 {
		l.invalid("http.rate", "the default is 200", "must be at least 1")
	}
	if c.HTTP.Burst < c.HTTP.Rate {
		l.invalid("http.burst", "", "must not be below http.rate (%d)", c.HTTP.Rate)
	}
	if c.HTTP.Auth == "off" {
		l.warn("http.auth is off: this replica ignores access tokens and certificates")
	}
	if c.HTTP.ListenTLS != "" {
		if _, err := hostPort(c.HTTP.ListenTLS); err != nil {
			l.invalid("http.listen_tls", "", "%q: %v", c.HTTP.ListenTLS, err)
		} else if !c.TLS.On() {
			l.invalid("http.listen_tls", "configure tls.ca, tls.cert and tls.key", "there is no certificate")
		}
	}
}

// checkFiles compares the configured numbers of connections with the limit of open files. A limit
// that is too low for the replica itself is a fault. If only the connections exceed it, that is a
// warning: the ports then refuse connections.
func (l *loader) checkFiles(limit int) {
	if limit == 0 {
		var err error
		if limit, err = descriptors.Limit(); err != nil {
			l.warn("%v", err)
			return
		}
	}
	if limit < descriptors.Min {
		l.fault(Origin{}, "raise it: LimitNOFILE= in the unit file, or ulimit -n",
			"the limit of open files is %d; a replica needs %d", limit, descriptors.Min)
		return
	}
	want := 0
	if l.cfg.HTTP.Listen != "none" {
		want += httpserver.DefaultConfig().MaxConnections
	}
	if l.cfg.HTTP.ListenTLS != "" {
		want += httpserver.DefaultConfig().MaxConnections
	}
	if l.cfg.HadoopConfDir != "" && l.cfg.HadoopPorts {
		want += 4 * int(l.cfg.Connections)
	}
	if p := descriptors.Divide(limit); want > p.Shared {
		l.warn("the limit of open files, %d, allows %d connections, %d of one port; for all %d, "+
			"raise it to %d (LimitNOFILE=, ulimit -n)",
			limit, p.Shared, p.PortMax(), want, descriptors.LimitFor(want))
	}
}

// checkIDs checks that the id is one of Hadoop's.
func (l *loader) checkIDs() {
	if l.hadoop == nil || !l.cfg.HadoopPorts || l.cfg.ID == "" {
		return
	}
	if ids := l.ids(); len(ids) > 0 && !slices.Contains(ids, l.cfg.ID) {
		l.invalid("id", "use one of them, or set hadoop.ports: false for a witness", "%q is not among %s (%s)", l.cfg.ID,
			rmIDs, strings.Join(ids, ","))
	}
}

// checkHadoopPorts checks the addresses of YARN's ports in Hadoop's files.
func (l *loader) checkHadoopPorts() {
	if l.hadoop == nil || !l.cfg.HadoopPorts {
		return
	}
	if _, err := hadoop.AddressesOf(l.hadoop, l.cfg.ID); err != nil {
		l.hadoopFault(err)
	}
}

type addressError string

func (e addressError) Error() string { return string(e) }

// hostPort splits an address and checks its port. It returns the host.
func hostPort(a string) (string, error) {
	host, port, err := net.SplitHostPort(a)
	if err != nil {
		return "", addressError("not HOST:PORT")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 && port != "0" {
		return "", addressError("the port is not from 0 to 65535")
	}
	return host, nil
}

func wildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// Loopback reports whether a host can be reached only from this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
