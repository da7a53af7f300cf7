package replica

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/realm"
	"rmd/config"
	"rmd/internal/certificate"
	"rmd/internal/hadoopconf"
)

// replicaFiles describes what "rmd init --replica" and "--remove" write in the directory of a cluster: the
// files of one replica, and what the other replicas' files of Hadoop say of it.
type replicaFiles struct {
	dir    string // of the cluster
	to     replicaHost
	from   replicaHost // the replica with the files to start from: this one if it has files, or else another
	gone   string      // the id of the replica that leaves, or ""
	others []replicaHost
	keys   map[string]string // of from's rmd.yaml
}

// runInitReplica writes the files of a replica that is added, has another address, or needs a new
// certificate. It checks everything in a temporary directory first.
func runInitReplica(c *verb.Call) error {
	f, err := readReplicaFiles(c)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(f.dir, ".rmd-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	own := filepath.Join(tmp, f.to.id)
	if err := f.write(own); err != nil {
		return err
	}
	l, err := loadWritten(filepath.Join(own, "rmd.yaml"))
	if err != nil {
		return err
	}
	if err := f.rewriteSites(f.others); err != nil {
		return err
	}
	if err := moveFiles(own, filepath.Join(f.dir, f.to.id)); err != nil {
		return err
	}
	if err := f.retire(); err != nil {
		return err
	}
	return f.show(c, l)
}

// rewriteSites writes the yarn-site.xml of replicas that stay as they are. It writes none if one cannot be
// written.
func (f *replicaFiles) rewriteSites(replicas []replicaHost) (err error) {
	sites := make([][]byte, len(replicas))
	for i, r := range replicas {
		if sites[i], err = f.site(filepath.Join(f.dir, r.id)); err != nil {
			return err
		}
	}
	for i, r := range replicas {
		if sites[i] != nil {
			if err := writePublic(filepath.Join(f.dir, r.id, HadoopDir, yarnSiteFile), sites[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// readReplicaFiles reads the flags, and the directory of the cluster.
func readReplicaFiles(c *verb.Call) (*replicaFiles, error) {
	if err := checkAlone(c, "replica", "remove"); err != nil {
		return nil, err
	}
	to, ported, err := parseReplica(c.String("replica"))
	if err != nil {
		return nil, err
	}
	f := &replicaFiles{dir: filepath.Clean(c.String("dir")), to: to, gone: c.String("instead-of")}
	known, err := replicasIn(f.dir)
	if err != nil {
		return nil, err
	}
	all := &clusterFiles{}
	for _, r := range known {
		switch r.id {
		case to.id:
			f.from = r
		case f.gone:
		default:
			f.others = append(f.others, r)
			if err := all.add(r); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case f.gone == to.id:
		return nil, clierr.Usagef("omit --instead-of", "%s cannot replace itself", to.id)
	case f.gone != "" && !slices.ContainsFunc(known, func(r replicaHost) bool { return r.id == f.gone }):
		return nil, noReplica(f.dir, f.gone)
	}
	if f.from.id == "" {
		f.from = known[0]
	}
	if !ported {
		f.to.moved = f.from.moved
	}
	if f.to.moved != f.from.moved && !(&clusterFiles{replicas: known}).moved() {
		return nil, clierr.Usagef("omit the port, or give "+to.id+" another address",
			"the replicas in %s have the default ports, of which the files of Hadoop there say nothing", f.dir)
	}
	if err := all.add(f.to); err != nil {
		return nil, err
	}
	f.keys, err = config.Given(filepath.Join(f.dir, f.from.id, "rmd.yaml"))
	if err != nil {
		return nil, configError(err)
	}
	return f, nil
}

// checkAlone refuses flags beside one that changes the files of a cluster.
func checkAlone(c *verb.Call, one string, more ...string) error {
	for _, flag := range append(more, "replicas", "id", "advertise", "cluster", "data", "tls", "host", "kerberos") {
		if c.IsSet(flag) {
			return clierr.Usagef("omit --"+flag,
				"--%s and --%s contradict each other: the files of the other replicas decide", flag, one)
		}
	}
	return nil
}

// replicasIn returns the replicas whose directories are in the directory of a cluster, sorted by id.
func replicasIn(dir string) (out []replicaHost, err error) {
	files, err := filepath.Glob(filepath.Join(globLiteral(dir), "*", "rmd.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		keys, err := config.Given(file)
		if err != nil {
			return nil, configError(err)
		}
		host, _, err := net.SplitHostPort(keys["raft.advertise"])
		if err != nil {
			return nil, clierr.New(clierr.CodeConfig, "set it to HOST:PORT", "%s: raft.advertise is %q", file,
				keys["raft.advertise"])
		}
		out = append(out, replicaHost{filepath.Base(filepath.Dir(file)), host, movedPorts(keys)})
	}
	if len(out) == 0 {
		return nil, &clierr.Error{Code: clierr.CodeFile, What: dir + " has no directory of a replica",
			Do: "name with --dir the directory that \"rmd init --replicas\" created", Err: fs.ErrNotExist}
	}
	return out, nil
}

// globLiteral escapes the characters of a path that mean something in a pattern.
func globLiteral(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// write writes the replica's files to a directory.
func (f *replicaFiles) write(dir string) error {
	from := filepath.Join(f.dir, f.from.id)
	if err := makePublic(filepath.Dir(dir), f.to.id, HadoopDir); err != nil {
		return err
	}
	shared, err := filepath.Glob(filepath.Join(globLiteral(from), HadoopDir, "*"))
	if err != nil {
		return err
	}
	for _, file := range append(shared, filepath.Join(from, "rmd.service"), filepath.Join(from, "ca.pem")) {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := writePublic(filepath.Join(dir, strings.TrimPrefix(file, from)), b); err != nil {
			return err
		}
	}
	site, err := f.site(from)
	if err != nil {
		return err
	}
	if site != nil {
		if err := writePublic(filepath.Join(dir, HadoopDir, yarnSiteFile), site); err != nil {
			return err
		}
	}
	if err := f.writeCertificate(dir); err != nil {
		return err
	}
	return f.writeSettings(dir)
}

// writeSettings writes rmd.yaml. If no key changes, it keeps the file with its comments.
func (f *replicaFiles) writeSettings(dir string) error {
	set := f.settings()
	var b bytes.Buffer
	if err := config.Sample(&b, set); err != nil {
		return err
	}
	if sameKeys(set, f.keys) {
		old, err := os.ReadFile(filepath.Join(f.dir, f.from.id, "rmd.yaml"))
		if err != nil {
			return err
		}
		b = *bytes.NewBuffer(old)
	}
	return writePublic(filepath.Join(dir, "rmd.yaml"), b.Bytes())
}

func sameKeys(a, b map[string]string) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return len(a) == len(b)
}

// settings returns the keys of the replica's rmd.yaml: those of from with this replica's id,
// addresses and certificate. A replica that is added joins with a token, so it does not create a
// cluster.
func (f *replicaFiles) settings() map[string]string {
	set := map[string]string{}
	for key, value := range f.keys {
		set[key] = value
	}
	set["id"] = f.to.id
	for _, key := range []string{"raft.listen", "raft.advertise", "http.listen", "http.listen_tls"} {
		if host, port, err := net.SplitHostPort(set[key]); err == nil {
			set[key] = net.JoinHostPort(f.hostFor(host), f.portFor(port))
		}
	}
	if join, ok := set["raft.join"]; ok {
		peers := strings.Split(join, ",")
		for i := range peers {
			if peers[i] == f.keys["raft.advertise"] {
				peers[i] = set["raft.advertise"]
			}
		}
		set["raft.join"] = strings.Join(peers, ",")
	}
	if f.from.id != f.to.id {
		delete(set, "raft.join")
		delete(set, "raft.bootstrap_expect")
		if data := set["data"]; filepath.Base(data) == f.from.id {
			set["data"] = filepath.Join(filepath.Dir(data), f.to.id)
		}
	}
	if _, on := set["tls.cert"]; on {
		set["tls.ca"], set["tls.cert"], set["tls.key"] = "ca.pem", f.to.id+".pem", f.to.id+"-key.pem"
	}
	if hosts := strings.Split(set["http.hosts"], ","); !isAddress(f.to.host) && !slices.Contains(hosts, f.to.host) {
		set["http.hosts"] = strings.TrimPrefix(strings.Join(append(hosts, f.to.host), ","), ",")
	}
	return set
}

// moved returns an address of this replica for one of from.
func (f *replicaFiles) moved(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil && host == f.from.host {
		return net.JoinHostPort(f.to.host, f.portFor(port))
	}
	return address
}

// hostFor returns this replica's host for from's. It keeps others, such as 0.0.0.0.
func (f *replicaFiles) hostFor(host string) string {
	if host == f.from.host {
		return f.to.host
	}
	return host
}

// portFor returns this replica's port for one of from.
func (f *replicaFiles) portFor(port string) string {
	n, err := strconv.Atoi(port)
	if err != nil {
		return port
	}
	return strconv.Itoa(n + f.to.moved - f.from.moved)
}

// writeCertificate issues a certificate with the names of from's certificate, in which this
// replica's host takes the place of from's.
func (f *replicaFiles) writeCertificate(dir string) error {
	file := f.keys["tls.cert"]
	if file == "" {
		return nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(f.dir, f.from.id, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return clierr.New(clierr.CodeFile, "name the directory that \"rmd init --replicas\" created",
			"%s is not in PEM form", file)
	}
	old, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	hosts := old.DNSNames
	for _, ip := range old.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	if hosts = slices.DeleteFunc(hosts, func(h string) bool { return h == f.from.host }); !slices.Contains(hosts,
		f.to.host) {
		hosts = append(hosts, f.to.host)
	}
	ca, _, err := certificate.Open(f.dir, f.keys["cluster"], time.Now())
	if err != nil {
		return err
	}
	_, err = ca.Issue(dir, f.keys["cluster"], f.to.id, hosts, time.Now())
	return err
}

// site returns the yarn-site.xml of a replica's directory with the new replica, or nil if it has
// none.
func (f *replicaFiles) site(dir string) ([]byte, error) {
	file := filepath.Join(dir, HadoopDir, yarnSiteFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	conf, err := hadoopconf.Read(file)
	if err != nil {
		return nil, err
	}
	if len(conf.Files()) > 1 {
		return nil, clierr.New(clierr.CodeFile, "put the keys of the included files into it",
			"%s includes other files, so rmd does not rewrite it", file)
	}
	props := conf.Properties()
	slices.SortStableFunc(props, func(a, b hadoopconf.Property) int { return a.Line - b.Line })
	var out bytes.Buffer
	err = hadoopconf.Write(&out, f.siteKeys(props))
	return out.Bytes(), err
}

// siteKeys changes the keys of the replicas' ids, and of the addresses of each.
func (f *replicaFiles) siteKeys(props []hadoopconf.Property) (out []hadoopconf.Property) {
	const ofReplicas = "yarn.resourcemanager."
	have := map[string]bool{}
	for _, p := range props {
		have[p.Name] = true
	}
	for _, p := range props {
		base, ours := strings.CutSuffix(p.Name, "."+f.from.id)
		ours = ours && strings.HasPrefix(base, ofReplicas)
		gone := f.gone != "" && strings.HasPrefix(p.Name, ofReplicas) && strings.HasSuffix(p.Name, "."+f.gone)
		switch name := base + "." + f.to.id; {
		case p.Name == ofReplicas+"ha.rm-ids":
			p.Raw = f.ids(p.Value)
		case ours && name == p.Name:
			p.Raw = f.onHost(p.Value)
		case ours && !have[name]:
			added := p
			added.Name, added.Raw = name, f.onHost(p.Value)
			if !gone {
				out = append(out, p)
			}
			out = append(out, added)
			continue
		}
		if !gone {
			out = append(out, p)
		}
	}
	return out
}

// onHost returns a host, or an address, with this replica's host in place of from's.
func (f *replicaFiles) onHost(value string) string {
	return f.moved(f.hostFor(value))
}

// ids returns a list of ids with this replica and without the one that it replaces.
func (f *replicaFiles) ids(list string) string {
	ids := slices.DeleteFunc(hadoopconf.List(list), func(id string) bool { return id == f.gone })
	if !slices.Contains(ids, f.to.id) {
		ids = append(ids, f.to.id)
	}
	return strings.Join(ids, ",")
}

// moveFiles moves all files of a directory to another, over those that are there.
func moveFiles(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(path, from)
		if e.IsDir() {
			return makePublic(to, below)
		}
		return os.Rename(path, filepath.Join(to, below))
	})
}

// show says what to do with the files.
func (f *replicaFiles) show(c *verb.Call, l *config.Loaded) error {
	abs, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	all := &clusterFiles{replicas: append(f.others, f.to), local: config.Loopback(f.to.host), tls: l.TLS.On()}
	all.showReplica(c, filepath.Join(abs, f.to.id), f.to)
	if err := sayPorts(c, l); err != nil {
		return err
	}
	if f.from != f.to {
		if err := all.writeEnvironment(f.dir, abs); err != nil {
			return err
		}
		all.showSites(c, "names "+f.to.id, abs)
		realm.Of(l.Hadoop, all.local, abs, HadoopDir).Show(c.PrintMessage, realm.Replica{ID: f.to.id, Host: f.to.host})
	}
	if f.from.id != f.to.id {
		f.showJoin(c, all)
		f.showRetired(c, abs)
	}
	_, err = fmt.Fprintln(c.Program.Out, filepath.Join(f.dir, f.to.id))
	return err
}
