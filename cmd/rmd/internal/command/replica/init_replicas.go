package replica

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rmd/cluster"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/admin"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/realm"
	"rmd/config"
	"rmd/contrib"
	"rmd/internal/certificate"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity/preset"
	"rmd/transport/hadoop"
)

// administrator is the name of the client certificate that "rmd init --replicas" makes.
const administrator = "admin"

// clusterFiles describes the files that "rmd init --replicas" writes: a directory for each replica,
// which becomes its /etc/rmd, the CA, and the administrator's certificate.
type clusterFiles struct {
	name     string
	replicas []replicaHost
	local    bool // all replicas on loopback addresses of this machine
	tls      bool
	data     string   // "": the default
	names    []string // more names and addresses for the certificates
	kerberos realm.Files
}

// runInitReplicas writes everything to a temporary directory first, so that a refused command
// leaves no files behind.
func runInitReplicas(c *verb.Call) error {
	files, err := readClusterFiles(c)
	if err != nil {
		return err
	}
	dir := filepath.Clean(c.String("dir"))
	if !c.IsSet("dir") {
		dir = files.name
	}
	if files.kerberos, err = realm.New(c.String("kerberos"), files.hosts(), files.local, dir, HadoopDir); err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil {
		return clierr.New(clierr.CodeExists, "choose another --dir, or remove it", "%s already exists", dir)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".rmd-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := files.write(tmp); err != nil {
		return err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := files.writeEnvironment(tmp, abs); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	return showReplicas(c, files, dir, abs)
}

func (f *clusterFiles) hosts() (out []realm.Replica) {
	for _, r := range f.replicas {
		out = append(out, realm.Replica{ID: r.id, Host: r.host})
	}
	return out
}

// readClusterFiles reads the flags.
func readClusterFiles(c *verb.Call) (*clusterFiles, error) {
	f := &clusterFiles{name: c.String("cluster"), tls: c.Bool("tls")}
	for _, flag := range []string{"id", "advertise"} {
		if c.IsSet(flag) {
			return nil, clierr.Usagef("omit --"+flag, "--%s and --replicas contradict each other", flag)
		}
	}
	for _, text := range c.StringSlice("host") {
		name, err := hostOf(strings.TrimSpace(text))
		if err != nil {
			return nil, clierr.Usagef("write --host rmd.example.com", "--host: %v", err)
		}
		f.names = append(f.names, name)
	}
	if c.IsSet("data") {
		var err error
		if f.data, err = filepath.Abs(c.String("data")); err != nil {
			return nil, err
		}
	}
	if !cluster.ValidID(f.name) {
		return nil, clierr.Usagef("write --cluster prod", "%q is not 1 to 64 letters, digits, '_', '-', '.'", f.name)
	}
	for _, text := range strings.Split(c.String("replicas"), ",") {
		r, _, err := parseReplica(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if err := f.add(r); err != nil {
			return nil, err
		}
	}
	switch n := len(f.replicas); {
	case n%2 == 0:
		return nil, clierr.Usagef(fmt.Sprintf("name %d or %d", n-1, n+1),
			"%d replicas tolerate no more failures than %d", n, n-1)
	case !f.local && !f.tls:
		return nil, clierr.Usagef("add --tls", "replicas on several machines need certificates")
	}
	return f, nil
}

// add adds a replica with an id and an address of its own, which all others reach.
func (f *clusterFiles) add(added replicaHost) error {
	id, host, local := added.id, added.host, config.Loopback(added.host)
	if len(f.replicas) == cluster.ReplicasMax {
		return clierr.Usagef("name 3 or 5", "more than %d replicas", cluster.ReplicasMax)
	}
	for _, r := range f.replicas {
		switch {
		case r.id == id:
			return clierr.Usagef("give each replica an id of its own", "%s is named twice", id)
		case strings.EqualFold(r.id, id):
			return clierr.Usagef("give each replica an id of its own", "%s and %s differ only in case", r.id, id)
		case r.host == host && !local:
			return clierr.Usagef("give each replica an address of its own", "%s and %s both have the address %s", r.id, id, host)
		case r.host == host && r.meets(added):
			return clierr.Usagef(fmt.Sprintf("give each replica an address or ports of its own: %s=%s", id,
				replicaHost{host: host, moved: r.moved + DevStep}.address(HTTPPort)),
				"%s and %s would open the same ports of %s", r.id, id, host)
		case f.local != local:
			return clierr.Usagef("name addresses that all machines reach",
				"%s and %s cannot reach each other: only one is a loopback address", r.host, host)
		}
	}
	f.local, f.replicas = local, append(f.replicas, added)
	return nil
}

// wildcard is the address on which the replicas of several machines listen.
func (f *clusterFiles) wildcard() string {
	if slices.ContainsFunc(f.replicas, func(r replicaHost) bool { return strings.Contains(r.host, ":") }) {
		return "::"
	}
	return "0.0.0.0"
}

func (f *clusterFiles) listen(r replicaHost, port int) string {
	if !f.local {
		r.host = f.wildcard()
	}
	return r.address(port)
}

func (f *clusterFiles) write(dir string) error {
	for _, r := range f.replicas {
		if err := makePublic(dir, r.id, HadoopDir); err != nil {
			return err
		}
	}
	if f.tls {
		if err := f.writeCertificates(dir); err != nil {
			return err
		}
	}
	for _, r := range f.replicas {
		if err := f.writeReplica(filepath.Join(dir, r.id), r); err != nil {
			return err
		}
	}
	return nil
}

func (f *clusterFiles) writeCertificates(dir string) error {
	now := time.Now()
	ca, _, err := certificate.Open(dir, f.name, now)
	if err != nil {
		return err
	}
	if _, err := ca.IssueClient(dir, f.name, "admin", administrator, admin.CertificateTTL, now); err != nil {
		return err
	}
	public, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	for _, r := range f.replicas {
		hosts := []string{"localhost", "127.0.0.1"}
		for _, h := range append([]string{r.host}, f.names...) {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
		below := filepath.Join(dir, r.id)
		if _, err := ca.Issue(below, f.name, r.id, hosts, now); err != nil {
			return err
		}
		if err := writePublic(filepath.Join(below, "ca.pem"), public); err != nil {
			return err
		}
	}
	return nil
}

// HadoopDir is the directory of Hadoop's files, next to rmd.yaml.
const HadoopDir = "hadoop"

const yarnSiteFile = "yarn-site.xml"

func (f *clusterFiles) writeReplica(dir string, r replicaHost) error {
	var settings, site, queues bytes.Buffer
	if err := config.Sample(&settings, f.settings(r)); err != nil {
		return clierr.Usagef("see rmd init --help", "%v", err)
	}
	if err := hadoopconf.Write(&site, f.yarnSite()); err != nil {
		return err
	}
	if err := hadoopconf.Write(&queues, oneQueue()); err != nil {
		return err
	}
	files := map[string][]byte{
		"rmd.yaml": settings.Bytes(), filepath.Join(HadoopDir, yarnSiteFile): site.Bytes(),
		filepath.Join(HadoopDir, "capacity-scheduler.xml"): queues.Bytes(),
	}
	secured, err := f.kerberos.Others()
	if err != nil {
		return err
	}
	for name, b := range secured {
		files[filepath.Join(HadoopDir, name)] = b
	}
	if !f.local { // the unit file is for one replica per machine
		files["rmd.service"] = contrib.Unit
	}
	for _, name := range verb.Sorted(files) {
		if err := writePublic(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	_, err = loadWritten(filepath.Join(dir, "rmd.yaml"))
	return err
}

// loadWritten loads a configuration for another machine. The limit of open files of that machine is
// unknown, so it assumes a large one.
func loadWritten(file string) (*config.Loaded, error) {
	l, err := config.Load(config.Source{File: file, Files: 1 << 20})
	if err != nil {
		return nil, configError(err)
	}
	return l, nil
}

// settings returns the keys of a replica's rmd.yaml. Paths are relative, so that the directory can
// be copied anywhere.
func (f *clusterFiles) settings(r replicaHost) map[string]string {
	var peers, names []string
	for _, other := range f.replicas {
		peers = append(peers, other.address(PeerPort))
		names = append(names, other.host)
	}
	set := map[string]string{
		"id": r.id, "cluster": f.name, "data": f.dataOf(r), "hadoop.conf_dir": HadoopDir,
		"raft.listen": f.listen(r, PeerPort), "raft.advertise": r.address(PeerPort),
		"raft.bootstrap_expect": strconv.Itoa(len(f.replicas)), "raft.join": strings.Join(peers, ","),
		"http.listen": f.listen(r, HTTPPort),
	}
	if names = slices.DeleteFunc(append(names, f.names...), isAddress); len(names) > 0 {
		set["http.hosts"] = strings.Join(names, ",")
	}
	if f.tls {
		set["http.listen_tls"] = f.listen(r, httpsPort)
		set["tls.ca"], set["tls.cert"], set["tls.key"] = "ca.pem", r.id+".pem", r.id+"-key.pem"
	}
	return set
}

// dataOf returns the data directory of a replica. Replicas on the same machine have different ones.
func (f *clusterFiles) dataOf(r replicaHost) string {
	switch {
	case f.local && f.data == "":
		return "data"
	case f.local:
		return filepath.Join(f.data, r.id)
	case f.data == "":
		return config.Default().Data
	}
	return f.data
}

// moved reports whether a replica has other ports than the default ones, so that Hadoop must be told.
func (f *clusterFiles) moved() bool {
	return slices.ContainsFunc(f.replicas, func(r replicaHost) bool { return r.moved != 0 })
}

// yarnSite returns the yarn-site.xml of replicas, NodeManagers and clients.
func (f *clusterFiles) yarnSite() []hadoopconf.Property {
	var ids []string
	for _, r := range f.replicas {
		ids = append(ids, r.id)
	}
	const key = "yarn.resourcemanager."
	out := []hadoopconf.Property{
		{Name: key + "ha.enabled", Value: "true"}, {Name: key + "ha.rm-ids", Value: strings.Join(ids, ",")},
		{Name: key + "cluster-id", Value: f.name},
	}
	if !f.local {
		out = append(out, hadoopconf.Property{Name: key + "bind-host", Value: f.wildcard()})
	}
	for _, r := range f.replicas {
		out = append(out, hadoopconf.Property{Name: key + "hostname." + r.id, Value: r.host})
		for _, p := range hadoop.DefaultPorts() {
			if f.moved() {
				out = append(out, hadoopconf.Property{Name: p.Key + "." + r.id, Value: r.address(p.Port)})
			}
		}
		out = append(out, hadoopconf.Property{Name: key + "webapp.address." + r.id, Value: r.address(HTTPPort)})
		if f.tls {
			out = append(out, hadoopconf.Property{Name: key + "webapp.https.address." + r.id, Value: r.address(httpsPort)})
		}
	}
	return append(out, f.kerberos.Site()...)
}

// oneQueue returns the essential keys of the capacity-scheduler.xml of a new Hadoop installation.
func oneQueue() (out []hadoopconf.Property) {
	for _, p := range preset.Default() {
		out = append(out, hadoopconf.Property{Name: p.Name, Value: p.Value})
	}
	return out
}

// showReplicas says what to do with the directories, and prints their names.
func showReplicas(c *verb.Call, f *clusterFiles, dir, abs string) error {
	if f.tls {
		c.PrintMessage("new CA:              %s (keep ca-key.pem secret and off the replicas)", filepath.Join(abs, "ca.pem"))
	}
	for _, r := range f.replicas {
		own := filepath.Join(abs, r.id)
		l, err := loadWritten(filepath.Join(own, "rmd.yaml"))
		if err != nil {
			return err
		}
		f.showReplica(c, own, r)
		if err := sayPorts(c, l); err != nil {
			return err
		}
	}
	f.kerberos.Show(c.PrintMessage, f.hosts()...)
	c.PrintMessage("The replicas create the cluster when all of them run. To administer it, source %s, which has:",
		filepath.Join(abs, environmentFile))
	c.PrintMessage("%s", strings.Join(f.environment(abs), "\n"))
	if f.tls {
		c.PrintMessage("Then make the first token; until there is one, every user of a replica's machine can change everything:")
		c.PrintMessage("(umask 077; %s > admin.token)", firstToken)
	}
	for _, r := range f.replicas {
		if _, err := fmt.Fprintln(c.Program.Out, filepath.Join(dir, r.id)); err != nil {
			return err
		}
	}
	return nil
}

// firstToken is the command that makes the first access token.
const firstToken = "rmd access token create -q --role admin --name " + administrator

// showReplica says what to do with the directory of a replica.
func (f *clusterFiles) showReplica(c *verb.Call, dir string, r replicaHost) {
	if f.local {
		c.PrintMessage("%-20s rmd server --config %s", "start "+r.id+":", filepath.Join(dir, "rmd.yaml"))
	} else {
		c.PrintMessage("%-20s copy %s to /etc/rmd on %s", "for "+r.id+":", dir, r.host)
	}
}

// environmentFile is the file with the environment for an administrator's shell.
const environmentFile = "rmd.env"

// writeEnvironment writes that file to a directory, with the paths in the cluster's directory abs.
func (f *clusterFiles) writeEnvironment(dir, abs string) error {
	return writePublic(filepath.Join(dir, environmentFile), []byte(strings.Join(f.environment(abs), "\n")+"\n"))
}

// environment returns the environment variables for an administrator's shell.
func (f *clusterFiles) environment(dir string) []string {
	scheme, port := "http://", HTTPPort
	if f.tls {
		scheme, port = "https://", httpsPort
	}
	var addrs []string
	for _, r := range f.replicas {
		addrs = append(addrs, scheme+r.address(port))
	}
	out := []string{"export RMD_ADDR=" + strings.Join(addrs, ",")}
	if f.tls {
		for _, file := range []struct{ variable, name string }{{"CACERT", "ca"}, {"CERT", administrator},
			{"KEY", administrator + "-key"}} {
			out = append(out, "export RMD_"+file.variable+"="+filepath.Join(dir, file.name+".pem"))
		}
	}
	return out
}
