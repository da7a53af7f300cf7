package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rmd/internal/hadoopconf"
	"rmd/internal/localaddr"
)

const (
	rmIDs      = "yarn.resourcemanager.ha.rm-ids"
	ownID      = "yarn.resourcemanager.ha.id"
	hostname   = "yarn.resourcemanager.hostname"
	witnesses  = "rmd.witnesses"
	peerPort   = "8034"
	webPort    = "8088" // YARN's default
	defaultDir = "/etc/rmd"
)

// readHadoop reads Hadoop's files. It takes values from them for keys that are not set.
func (l *loader) readHadoop(src Source) {
	if _, ok := l.origin["hadoop.conf_dir"]; !ok && src.Env != nil {
		if dir, ok := src.Env("HADOOP_CONF_DIR"); ok && dir != "" {
			l.set(l.byPath["hadoop.conf_dir"], dir, Origin{Kind: "environment", Name: "HADOOP_CONF_DIR"})
		}
	}
	if l.cfg.HadoopConfDir == "" {
		return
	}
	conf, err := hadoopconf.ReadDir(l.cfg.HadoopConfDir)
	if err != nil {
		l.hadoopFault(err)
		return
	}
	l.hadoop = conf
	for _, w := range conf.Warnings() {
		l.warn("%s", w)
	}
	l.setFromHadoop("cluster", "yarn.resourcemanager.cluster-id")
	l.setID(src.Host)
	if src.File == "" {
		l.setReplicas(src.Keys)
	}
	l.setFromHadoop("http.listen", l.perReplica("yarn.resourcemanager.webapp.address"))
	if l.origin["raft.listen"].Kind == "hadoop" && !l.isSet("http.listen") {
		l.set(l.byPath["http.listen"], net.JoinHostPort(l.hostOf(l.cfg.ID), webPort), l.origin["raft.listen"])
	}
	if l.cfg.TLS.On() {
		l.setFromHadoop("http.listen_tls", l.perReplica("yarn.resourcemanager.webapp.https.address"))
	}
}

// hadoopFault reports an error of Hadoop's files, with the place of each fault if it says them.
func (l *loader) hadoopFault(err error) {
	var many *hadoopconf.Error
	if !errors.As(err, &many) {
		l.fault(l.origin["hadoop.conf_dir"], "", "hadoop.conf_dir: %v", err)
		return
	}
	for _, f := range many.Faults {
		l.fault(Origin{Kind: "hadoop", Name: f.File, Line: f.Line}, "", "%s", f.What)
	}
}

// setID takes the id of this replica from Hadoop's files: yarn.resourcemanager.ha.id, or that one of
// the ids whose host is this machine.
func (l *loader) setID(machine string) {
	if l.isSet("id") {
		return
	}
	l.setFromHadoop("id", ownID)
	if l.isSet("id") {
		return
	}
	if l.here = l.idsOn(machine); len(l.here) == 1 {
		l.set(l.byPath["id"], l.here[0], l.originOf(rmIDs))
	}
}

// idsOn returns the ids whose host is this machine, which has a name. Names are not resolved.
func (l *loader) idsOn(machine string) (ids []string) {
	if machine == "" {
		machine, _ = os.Hostname() // "" is nobody's host
	}
	here, _ := localaddr.Interfaces() // on an error only loopback addresses and names count
	for _, id := range l.ids() {
		host := l.hostOf(id)
		if ip, err := netip.ParseAddr(host); err == nil && here.Has(ip) || sameHost(host, machine) {
			ids = append(ids, id)
		}
	}
	return ids
}

// howToSetID says what to do if this replica has no id.
func (l *loader) howToSetID() string {
	if l.hadoop == nil || len(l.ids()) == 0 {
		return "set it, for instance \"id: rm1\""
	}
	which := "none"
	if len(l.here) > 0 {
		which = "more than one, " + strings.Join(l.here, " and ") + ","
	}
	return fmt.Sprintf("%s of %s is on this machine: set %s, or --id", which, rmIDs, ownID)
}

// setReplicas takes the addresses of the replicas from Hadoop's files if no other source names any:
// the hosts of the ids with port 8034, and rmd.witnesses. The certificates are then expected in a
// directory, under the names that `rmd init` gives them.
func (l *loader) setReplicas(keys string) {
	ids := l.ids()
	if l.isSet("raft.listen") || l.isSet("raft.join") || !slices.Contains(ids, l.cfg.ID) {
		return
	}
	at := l.originOf(rmIDs)
	var join []string
	for _, id := range ids {
		host := l.hostOf(id)
		if host == "" {
			l.fault(at, "set it to the host of that ResourceManager", "%s.%s is missing", hostname, id)
			return
		}
		join = append(join, net.JoinHostPort(host, peerPort))
		if id == l.cfg.ID {
			l.set(l.byPath["raft.listen"], net.JoinHostPort(host, peerPort), at)
		}
	}
	join = append(join, hadoopconf.List(l.hadoop.Value(witnesses, ""))...)
	l.set(l.byPath["raft.join"], strings.Join(join, ","), at)
	switch {
	case l.isSet("raft.bootstrap_expect"):
	case len(join)%2 == 1:
		l.set(l.byPath["raft.bootstrap_expect"], fmt.Sprint(len(join)), at)
	default:
		l.fault(at, "add a third or a fifth ResourceManager, or a witness on another machine: "+witnesses+" = HOST:"+peerPort+
			" in yarn-site.xml",
			"%s: with %d replicas a majority survives no more failures than with %d", rmIDs, len(join), len(join)-1)
	}
	l.setKeys(keys, at)
}

// setKeys sets the certificates of this replica to those in a directory, if it has a CA.
func (l *loader) setKeys(dir string, at Origin) {
	if dir == "" {
		dir = defaultDir
	}
	if l.cfg.TLS.On() {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.pem")); err != nil {
		return // checkAddresses says that TLS is not configured, if it has to be
	}
	l.set(l.byPath["tls.ca"], filepath.Join(dir, "ca.pem"), at)
	l.set(l.byPath["tls.cert"], filepath.Join(dir, l.cfg.ID+".pem"), at)
	l.set(l.byPath["tls.key"], filepath.Join(dir, l.cfg.ID+"-key.pem"), at)
}

func (l *loader) isSet(path string) bool { _, ok := l.origin[path]; return ok }

// ids returns the ids of the ResourceManagers in Hadoop's files.
func (l *loader) ids() []string { return hadoopconf.List(l.hadoop.Value(rmIDs, "")) }

// hostOf returns the host of a ResourceManager in Hadoop's files, or "". As in YARN, its address
// counts more than its host name.
func (l *loader) hostOf(id string) string {
	if host, _,
		err := net.SplitHostPort(strings.TrimSpace(l.hadoop.Value("yarn.resourcemanager.address."+id, ""))); err == nil &&
		host != "0.0.0.0" {
		return host
	}
	return strings.TrimSpace(l.hadoop.Value(hostname+"."+id, ""))
}

// originOf returns the place of a key in Hadoop's files.
func (l *loader) originOf(key string) Origin {
	p, _ := l.hadoop.Get(key)
	return Origin{Kind: "hadoop", Name: p.File, Line: p.Line}
}

// sameHost reports whether two names are of one host, where one may lack its domain.
func sameHost(a, b string) bool {
	a, b = strings.ToLower(strings.TrimSuffix(a, ".")), strings.ToLower(strings.TrimSuffix(b, "."))
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+"."))
}

// perReplica returns the key with this replica's id appended if that key is set, otherwise the key.
func (l *loader) perReplica(key string) string {
	if _, ok := l.hadoop.Get(key + "." + l.cfg.ID); ok {
		return key + "." + l.cfg.ID
	}
	return key
}

// setFromHadoop sets a key from Hadoop's files unless it is already set. It ignores values that
// contain "${".
func (l *loader) setFromHadoop(path, key string) {
	if l.isSet(path) {
		return
	}
	p, ok := l.hadoop.Get(key)
	if v := strings.TrimSpace(p.Value); ok && v != "" && !strings.Contains(v, "${") {
		l.set(l.byPath[path], v, Origin{Kind: "hadoop", Name: p.File, Line: p.Line})
	}
}

// CheckHadoop returns why the replicas that a directory of Hadoop's files names would not start. It does
// not check what depends on their machines, such as certificates.
func CheckHadoop(dir string) []Fault {
	first := newLoader()
	first.set(first.byPath["hadoop.conf_dir"], dir, Origin{})
	first.readHadoop(Source{})
	if first.hadoop == nil {
		return first.faults
	}
	ids := first.ids()
	if len(ids) == 0 {
		first.checkHadoopPorts()
	}
	faults := first.faults
	for _, id := range ids {
		l := newLoader()
		l.set(l.byPath["hadoop.conf_dir"], dir, Origin{})
		l.set(l.byPath["id"], id, first.originOf(rmIDs))
		l.cfg.TLS.CA = "assumed"
		l.readHadoop(Source{})
		if len(l.faults) == 0 { // else further faults would be misleading
			l.checkBirth()
			l.checkAddresses()
			l.checkHadoopPorts()
		}
		for _, f := range l.faults {
			if !slices.Contains(faults, f) {
				faults = append(faults, f)
			}
		}
	}
	return faults
}
