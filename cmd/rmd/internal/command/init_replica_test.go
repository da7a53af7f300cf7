package command

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/transport/hadoop"
)

// newCluster writes the files of three replicas to the directory prod of a new directory, which
// becomes the current one.
func newCluster(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if r := rmd(t, nil, "init", "--cluster", "prod", "--replicas", "rm1=10.0.0.11,rm2=10.0.0.12,rm3=b.example", "--tls",
		"--host", "rmd.example"); r.exit != 0 {
		t.Fatalf("rmd init --replicas: %+v", r)
	}
}

func loadReplica(t *testing.T, id string) *config.Loaded {
	t.Helper()
	l, err := config.Load(config.Source{File: filepath.Join("prod", id, "rmd.yaml"), Files: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func edit(t *testing.T, file, old, new string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), old) {
		t.Fatalf("%s does not contain %q: %v", file, old, err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(b), old, new)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInitReplicaAdds checks that a replica which is added opens the ports of the others, has their
// settings, and is in everybody's yarn-site.xml instead of the one that it replaces.
func TestInitReplicaAdds(t *testing.T) {
	newCluster(t)
	edit(t, "prod/rm1/rmd.yaml", "#auth: optional", "auth: required")
	r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm4=10.0.0.14", "--instead-of", "rm2")
	if r.exit != 0 || r.out != "prod/rm4\n" ||
		!strings.Contains(r.err, "RMD_ADDR=https://10.0.0.11:8090,https://b.example:8090,https://10.0.0.14:8090\n") ||
		!strings.Contains(r.err, "rmd cluster join 10.0.0.11:8034 --addr https://10.0.0.14:8090 --token-file token --wait\n"+
			"rmd cluster remove rm2\n") {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	if env := contentOf(t, "prod")["prod/rmd.env"]; !strings.Contains(env,
		"RMD_ADDR=https://10.0.0.11:8090,https://b.example:8090,https://10.0.0.14:8090\n") ||
		!strings.Contains(env, "prod/admin-key.pem\n") {
		t.Errorf("rmd.env has %q", env)
	}
	old, l := loadReplica(t, "rm1"), loadReplica(t, "rm4")
	if l.Raft.Advertise != "10.0.0.14:8034" || l.Raft.BootstrapExpect != 0 || len(l.Raft.Join) != 0 ||
		l.HTTP.Auth != "required" ||
		l.Raft.Listen != old.Raft.Listen || l.HTTP.Listen != old.HTTP.Listen || l.HTTP.ListenTLS != old.HTTP.ListenTLS ||
		l.TLS.Cert != filepath.Join("prod", "rm4", "rm4.pem") {
		t.Errorf("rm4 has\n%+v\nrm1 has\n%+v", l.Config, old.Config)
	}
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm4=10.0.0.14"); r.exit != 0 ||
		strings.Contains(contentOf(t, "prod")["prod/rmd.env"], "10.0.0.12") {
		t.Errorf("rm2 is back: %+v", r)
	}
	for _, id := range []string{"rm1", "rm3", "rm4"} {
		conf := loadReplica(t, id).Hadoop
		if ids := conf.Value("yarn.resourcemanager.ha.rm-ids", ""); ids != "rm1,rm3,rm4" {
			t.Errorf("%s: rm-ids is %q", id, ids)
		}
		if _, ok := conf.Get("yarn.resourcemanager.hostname.rm2"); ok {
			t.Errorf("%s still has the host of rm2", id)
		}
		at, err := hadoop.AddressesOf(conf, "rm4")
		if err != nil || at.Tracker.Public != "10.0.0.14:8031" {
			t.Errorf("%s: the address of rm4 for nodes is %+v: %v", id, at.Tracker, err)
		}
		if https := conf.Value("yarn.resourcemanager.webapp.https.address.rm4", ""); https != "10.0.0.14:8090" {
			t.Errorf("%s: the pages of rm4 are at %q", id, https)
		}
	}
	conf, err := config.LoadTLS(l.TLS)
	if err != nil {
		t.Fatal(err)
	}
	if leaf := conf.Certificates[0].Leaf; leaf.VerifyHostname("10.0.0.14") != nil ||
		leaf.VerifyHostname("rmd.example") != nil || leaf.VerifyHostname("10.0.0.11") == nil {
		t.Errorf("the certificate is for %v %v", leaf.DNSNames, leaf.IPAddresses)
	}
}

// TestInitRemoves checks that a replica which left is in no file of the others any more, that its own files
// stay, and that it can be added again. The files are those from before it was added.
func TestInitRemoves(t *testing.T) {
	newCluster(t)
	before := contentOf(t, "prod")
	add := []string{"init", "--dir", "prod", "--replica", "rm4=10.0.0.14"}
	if r := rmd(t, nil, add...); r.exit != 0 {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	const reload = "Reload the other replicas with \"systemctl reload rmd\" or SIGHUP."
	r := rmd(t, nil, "init", "--dir", "prod", "--remove", "rm4")
	if r.exit != 0 || r.out != "prod/rm1\nprod/rm2\nprod/rm3\n" ||
		!strings.Contains(r.err, "RMD_ADDR=https://10.0.0.11:8090,https://10.0.0.12:8090,https://b.example:8090\n") {
		t.Fatalf("rmd init --remove: %+v", r)
	}
	after := contentOf(t, "prod")
	for name := range after {
		if strings.HasPrefix(name, "prod/rm4/") {
			delete(after, name)
		}
	}
	if !reflect.DeepEqual(before, after) {
		t.Error("the files of the others are not those from before")
	}
	for _, name := range []string{"prod/rm4/rm4-key.pem", "prod/rm4/rmd.yaml.removed"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	again := rmd(t, nil, add...)
	if again.exit != 0 {
		t.Errorf("add it again: %+v", again)
	}
	if !strings.Contains(r.err, reload) || !strings.Contains(again.err, reload) {
		t.Errorf("%q or %q does not say to reload the other replicas", r.err, again.err)
	}
}

// TestInitReplicaMoves gives a replica another address.
func TestInitReplicaMoves(t *testing.T) {
	newCluster(t)
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm2=c.example"); r.exit != 0 {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	l := loadReplica(t, "rm2")
	if l.Raft.Advertise != "c.example:8034" ||
		!slices.Equal(l.Raft.Join, []string{"10.0.0.11:8034", "c.example:8034", "b.example:8034"}) ||
		!slices.Contains(l.HTTP.Hosts, "c.example") {
		t.Errorf("rm2 has %+v, %+v", l.Raft, l.HTTP)
	}
	for _, id := range []string{"rm1", "rm2", "rm3"} {
		conf := loadReplica(t, id).Hadoop
		if ids, host := conf.Value("yarn.resourcemanager.ha.rm-ids", ""),
			conf.Value("yarn.resourcemanager.hostname.rm2", ""); ids != "rm1,rm2,rm3" || host != "c.example" {
			t.Errorf("%s: rm-ids is %q, rm2's host %q", id, ids, host)
		}
	}
}

// TestInitReplicaRenews makes a new certificate for a replica, and changes nothing else.
func TestInitReplicaRenews(t *testing.T) {
	newCluster(t)
	edit(t, "prod/rm2/rmd.yaml", "id: rm2", "id: rm2 # of rack 7")
	before := contentOf(t, "prod")
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm2=10.0.0.12"); r.exit != 0 ||
		strings.Contains(r.err, "copy it to them") {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	after := contentOf(t, "prod")
	for _, name := range []string{"prod/rm2/rm2.pem", "prod/rm2/rm2-key.pem"} {
		if before[name] == after[name] || after[name] == "" {
			t.Errorf("%s did not change", name)
		}
		delete(before, name)
		delete(after, name)
	}
	if !reflect.DeepEqual(before, after) {
		t.Error("other files changed")
	}
	loadReplica(t, "rm2")
}

// contentOf returns the content of every file below a directory.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestInitReplicaRefuses checks that a refused command changes nothing.
func TestInitReplicaRefuses(t *testing.T) {
	newCluster(t)
	before := contentOf(t, ".")
	for _, c := range []struct {
		says string
		exit int
		args []string
	}{
		{`"rm4" is not ID=HOST`, exitcode.Usage, []string{"--dir", "prod", "--replica", "rm4"}},
		{`rm1 and rm4 both have the address 10.0.0.11`, exitcode.Usage,
			[]string{"--dir", "prod", "--replica", "rm4=10.0.0.11"}},
		{`rm1 and RM1 differ only in case`, exitcode.Usage, []string{"--dir", "prod", "--replica", "RM1=10.0.0.14"}},
		{`only one is a loopback address`, exitcode.Usage, []string{"--dir", "prod", "--replica", "rm4=127.0.0.4"}},
		{`there is no replica rm9`, exitcode.Usage,
			[]string{"--dir", "prod", "--replica", "rm4=10.0.0.14", "--instead-of", "rm9"}},
		{`rm1 cannot replace itself`, exitcode.Usage,
			[]string{"--dir", "prod", "--replica", "rm1=10.0.0.11", "--instead-of", "rm1"}},
		{`--instead-of names the replica`, exitcode.Usage, []string{"--dir", "prod", "--instead-of", "rm1"}},
		{`--tls and --replica contradict`, exitcode.Usage, []string{"--dir", "prod", "--replica", "rm4=10.0.0.14", "--tls"}},
		{`--remove and --replica contradict`, exitcode.Usage,
			[]string{"--dir", "prod", "--replica", "rm4=10.0.0.14", "--remove", "rm1"}},
		{`there is no replica rm9`, exitcode.Usage, []string{"--dir", "prod", "--remove", "rm9"}},
		{`FILE: . has no directory of a replica`, exitcode.Usage, []string{"--replica", "rm4=10.0.0.14"}},
		{`EXISTS: prod has the directories of the replicas`, exitcode.Refused,
			[]string{"--dir", "prod", "--id", "rm4", "--tls", "--advertise", "10.0.0.14:8034"}},
	} {
		r := rmd(t, nil, append([]string{"init"}, c.args...)...)
		if r.exit != c.exit || !strings.Contains(r.err, c.says) {
			t.Errorf("%q: it does not exit with %d and %q: %+v", c.args, c.exit, c.says, r)
		}
	}
	if !reflect.DeepEqual(before, contentOf(t, ".")) {
		t.Error("a refused command changed files")
	}
}

// TestInitUnderUmask checks that the umask of an administrator does not hide files from those who
// must read them, such as nodes and clients, and that keys stay secret.
func TestInitUnderUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	newCluster(t)
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm4=10.0.0.14"); r.exit != 0 {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	for name := range contentOf(t, "prod") {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		want := os.FileMode(0o644)
		if strings.HasSuffix(name, "-key.pem") {
			want = 0o600
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %s, want %s", name, info.Mode(), want)
		}
	}
	for _, dir := range []string{"prod/rm1", "prod/rm1/hadoop", "prod/rm4", "prod/rm4/hadoop"} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v; want mode 0755", dir, info.Mode(), err)
		}
	}
}

// TestInitPorts checks that all ports of a replica move with that of REST, in every file that names them, and
// that a replica which is added on the same address has ports of its own.
func TestInitPorts(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rmd(t, nil, "init", "--cluster", "prod", "--replicas", "rm1=127.0.0.1:9088,rm2=127.0.0.1:9188,rm3=[::1]:8088", "--tls")
	if r.exit != 0 || !strings.Contains(r.err, "RMD_ADDR=https://127.0.0.1:9090,https://127.0.0.1:9190,https://[::1]:8090\n") {
		t.Fatalf("rmd init --replicas: %+v", r)
	}
	opens := func(id, peer, rest, tls, scheduler, tracker, client, admin string) {
		t.Helper()
		l := loadReplica(t, id)
		if l.Raft.Listen != peer || l.Raft.Advertise != peer || l.HTTP.Listen != rest || l.HTTP.ListenTLS != tls {
			t.Errorf("%s listens on %s, %s and %s, advertises %s", id, l.Raft.Listen, l.HTTP.Listen, l.HTTP.ListenTLS,
				l.Raft.Advertise)
		}
		for _, other := range []string{"rm1", "rm2", "rm3"} {
			at, err := hadoop.AddressesOf(loadReplica(t, other).Hadoop, id)
			if err != nil || at.Scheduler.Listen != scheduler || at.Tracker.Listen != tracker || at.Client.Listen != client ||
				at.Admin.Listen != admin {
				t.Errorf("%s says of %s: %+v: %v", other, id, at, err)
			}
		}
	}
	const host = "127.0.0.1:"
	opens("rm1", host+"9034", host+"9088", host+"9090", host+"9030", host+"9031", host+"9032", host+"9033")
	opens("rm2", host+"9134", host+"9188", host+"9190", host+"9130", host+"9131", host+"9132", host+"9133")
	opens("rm3", "[::1]:8034", "[::1]:8088", "[::1]:8090", "[::1]:8030", "[::1]:8031", "[::1]:8032", "[::1]:8033")
	if l := loadReplica(t, "rm3"); !slices.Equal(l.Raft.Join, []string{host + "9034", host + "9134", "[::1]:8034"}) {
		t.Errorf("rm3 joins %q", l.Raft.Join)
	}
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm4=127.0.0.1:9188"); r.exit != exitcode.Usage ||
		!strings.Contains(r.err, "rm2 and rm4 would open the same ports of 127.0.0.1") {
		t.Errorf("a port that rm2 has: %+v", r)
	}
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm4=127.0.0.1:9288"); r.exit != 0 ||
		!strings.Contains(r.err, ",https://127.0.0.1:9290\n") {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	opens("rm4", host+"9234", host+"9288", host+"9290", host+"9230", host+"9231", host+"9232", host+"9233")
	if r := rmd(t, nil, "init", "--dir", "prod", "--replica", "rm2=127.0.0.1:9388"); r.exit != 0 {
		t.Fatalf("rmd init --replica: %+v", r)
	}
	opens("rm2", host+"9334", host+"9388", host+"9390", host+"9330", host+"9331", host+"9332", host+"9333")
	if l := loadReplica(t, "rm2"); !slices.Equal(l.Raft.Join, []string{host + "9034", host + "9334", "[::1]:8034"}) {
		t.Errorf("rm2 joins %q after its ports changed", l.Raft.Join)
	}
}
