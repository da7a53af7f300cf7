package command

import (
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"rmd/client"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/local"
	"rmd/config"
	"rmd/internal/certificate"
	"rmd/internal/exitcode"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/server"
	"rmd/transport/peer"
)

// reach is how the test reaches a command. The words of a line in capitals stand for names of the
// cluster; see crew.words.
type reach struct {
	line string // the arguments after the command's name
	says string // a part of the answer that only a replica in step can give; of stdout or stderr
	// Command lines that make it repeatable: they run before and after it, at the replicas in step.
	before, after string

	one bool   // it acts on one replica, so several addresses are refused
	not string // why the command asks no replica
}

const noReplica = "it asks no replica"

// reaches has every command.
var reaches = map[string]reach{
	"dev": {not: noReplica}, "server": {not: noReplica}, "init": {not: noReplica},
	"bench heartbeat": {not: "it asks the ports of YARN"}, "bench allocate": {not: "it asks the ports of YARN"},
	"bench latency": {not: "it asks the ports of YARN"}, "check": {not: noReplica}, "recover": {not: noReplica},
	"import zk": {not: noReplica}, "version": {not: noReplica},
	"completion": {not: noReplica}, "__complete": {not: "its answer is made by the lookups of the others"},
	"docs man":         {not: noReplica},
	"snapshot inspect": {not: noReplica}, "conf validate": {not: noReplica}, "access certificate create": {not: noReplica},
	"access certificate list": {not: noReplica}, "access certificate revoke": {not: noReplica},

	"replay":     {line: "demo --limit 1 --addr ADDRS", says: "NEEDS_YES"},
	"app submit": {line: "--queue root.batch --user ann", says: "application_"}, "app list": {line: "--all", says: "APP"},
	"app status":  {line: "APP", says: "root.batch"},
	"app explain": {line: "APP", says: "KILLED"}, "app forecast": {line: "APP", says: "APP"},
	"app history": {line: "APP", says: "APP"}, "app wait": {line: "APP --for finished", says: "KILLED"},
	"app kill": {line: "APP", says: "has ended already: KILLED"},
	"app move": {line: "APP root.train", says: "ALREADY_ENDED"}, "app priority": {line: "APP 3", says: "ALREADY_ENDED"},
	"app gang":     {line: "APP priority=1,count=4", says: "ALREADY_ENDED"},
	"app attempts": {line: "APP", says: "appattempt"}, "app containers": {line: "APP", says: "no containers"},
	"node list": {line: "", says: "no nodes"}, "node status": {line: "n1:1", says: "NO_SUCH_NODE"},
	"node drain": {line: "n1:1", says: "NO_SUCH_NODE"}, "node forget": {line: "n1:1 --yes", says: "NO_SUCH_NODE"},
	"node resource": {line: "n1:1 memory-mb=1,vcores=1", says: "NO_SUCH_NODE"},
	"label list":    {line: "", says: "late"}, "label status": {line: "late", says: "late"},
	"label nodes": {line: "", says: "late"}, "label add": {line: "late", says: "late"},
	"label remove": {line: "later --yes", says: "NO_SUCH_LABEL"}, "label map": {line: "n9=late", says: "n9"},
	"queue list": {line: "", says: "root.batch"}, "queue tree": {line: "", says: "batch"},
	"queue status": {line: "root.late", says: "root.late"},
	"queue place":  {line: "--user ann --queue root.late", says: "root.late"},
	"queue stop":   {line: "root.late --yes", says: "root.late"}, "queue start": {line: "root.late", says: "root.late"},
	"queue adopt":      {line: "root.late", says: ""},
	"reservation list": {line: "", says: "no reservations"}, "reservation status": {line: "r1", says: "r1"},
	"reservation cancel": {line: "r1 --yes", says: "NO_SUCH_RESERVATION"},
	"token list":         {line: "", says: "no tokens of applications"},
	"preempt":            {line: "--dry-run", says: ""}, "forecast report": {line: "", says: ""},
	"conf get": {line: "root.late.capacity", says: "5"}, "conf set": {line: "root.late.capacity=5", says: ""},
	"conf diff": {line: "1 2", says: "late"}, "conf apply": {line: "QUEUES --yes", says: ""},
	"conf refresh": {line: "--conf-dir QUEUES --yes", says: ""}, "conf history": {line: "", says: "2"},
	"conf rollback": {line: "999 --yes", says: "NO_SUCH_VERSION"},
	"shadow start":  {line: "root.batch.maximum-capacity=90", says: "", after: "shadow stop"},
	"shadow status": {line: "", says: ""}, "shadow report": {line: "", says: ""},
	"shadow stop":    {line: "", says: "", before: "shadow start root.batch.maximum-capacity=90"},
	"cluster status": {line: "", says: "leader LEADER"}, "cluster init": {one: true},
	"cluster join":         {line: "127.0.0.1:1 --token-file JOIN", one: true},
	"cluster token create": {line: "", says: "valid for one"}, "cluster members": {line: "", says: "LEADER"},
	"cluster promote":  {line: "rm9", says: "NO_SUCH_REPLICA"},
	"cluster demote":   {line: "rm9", says: "NO_SUCH_REPLICA"},
	"cluster remove":   {line: "rm9 --yes", says: "NO_SUCH_REPLICA"},
	"cluster transfer": {line: "LEADER", says: "leads already"},
	"cluster health":   {line: "", says: "leader LEADER"}, "cluster verify": {line: "", says: "LEADER"},
	"autopilot get": {line: "", says: ""}, "autopilot set": {line: "min_quorum=3", says: ""},
	"autopilot state":     {line: "", says: "LEADER"},
	"access token create": {line: "--role operator --name late", says: "TOKEN_EXISTS"},
	"access token list":   {line: "", says: "late"}, "access token revoke": {line: "never", says: "NO_SUCH_TOKEN"},
	"access whoami": {line: "", says: "admin"}, "snapshot save": {line: "FILE --overwrite", says: "index"},
	"snapshot list":    {line: "", says: ""},
	"snapshot restore": {line: "SAVED --replace-state CLUSTER --yes", says: "restored"},
	"upgrade status":   {line: "", says: "LEADER"}, "upgrade finalize": {line: "--yes", says: "is in force"},
	"log show": {line: "", says: ""}, "audit tail": {line: "", says: "late"},
	"events": {line: "--since 1h --kind ApplicationSubmitted", says: "APP"}, "metrics": {line: "", says: "rmd_"},
	"top": {line: "--count 1", says: "leader LEADER"},
}

// crew is a cluster of three replicas in this process, and one replica of each kind that cannot
// serve.
type crew struct {
	good  []string // a follower and the leader
	bad   map[string]string
	env   map[string]string
	words []string // what stands in lines, and what it means
	of    *local.Cluster
}

// cutOff opens a replica that joins a cluster as a non-voter, catches up and then reaches nobody,
// as behind a broken switch.
func (c *crew) cutOff(t *testing.T, id string, adjust func(*config.Config)) string {
	t.Helper()
	k := c.config(t, id, adjust)
	k.Raft.Heartbeat, k.Raft.Election, k.Raft.Lease = 500*time.Millisecond, 500*time.Millisecond, 400*time.Millisecond
	p := peer.DefaultConfig()
	p.ClusterName, p.ID, p.Listen, p.Logger = k.Cluster, k.ID, k.Raft.Listen, hclog.NewNullLogger()
	if k.TLS.On() {
		certs, err := config.OpenCertificates(k.TLS, k.Cluster, k.ID)
		if err != nil {
			t.Fatal(err)
		}
		p.TLS, p.FreshTLS = certs.Peer(), certs.Peer
	}
	port, err := peer.Listen(p)
	if err != nil {
		t.Fatal(err)
	}
	addr := c.open(t, k, server.Parts{Peer: port})
	token := filepath.Join(t.TempDir(), "join")
	if err := os.WriteFile(token, []byte(c.must(t, "cluster token create --role nonvoter -q")), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(t, "cluster join "+c.of.Replicas[0].PeerAddr()+" --wait --token-file "+token+" --addr "+addr)
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	if err := until(time.Minute, id+" knows no leader", func() error {
		cfg := client.DefaultConfig()
		cfg.Addrs, cfg.CACert = []string{addr}, c.env["RMD_CACERT"]
		cl, err := client.New(cfg)
		if err != nil {
			return err
		}
		defer cl.Close()
		if s := cl.Survey(t.Context())[0]; s.Err != nil || s.InStep() {
			return errors.New(s.String())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return addr
}

// config returns the configuration of a replica that is not in the cluster.
func (c *crew) config(t *testing.T, id string, adjust func(*config.Config)) config.Config {
	t.Helper()
	k := config.Default()
	k.ID, k.Cluster, k.Data, k.Raft.Listen, k.HTTP.Listen = id, "local", filepath.Join(t.TempDir(), id),
		unusedAddress(t), "127.0.0.1:0"
	if err := os.Mkdir(k.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	adjust(&k)
	return k
}

func (c *crew) open(t *testing.T, k config.Config, parts server.Parts) (addr string) {
	t.Helper()
	r, err := server.Open(server.Options{Config: k, Version: "test", Logger: hclog.NewNullLogger(),
		Parts: parts, Files: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return c.url(r.HTTPAddr())
}

func (c *crew) url(addr string) string { return c.env["SCHEME"] + addr }

func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// must runs a command line at the replicas in step and returns its stdout.
func (c *crew) must(t *testing.T, line string) string {
	t.Helper()
	r := c.run(t, c.good, strings.Fields(line)...)
	if r.exit != exitcode.OK {
		t.Fatalf("rmd %s: exit %d, %s", line, r.exit, r.err)
	}
	return strings.TrimSpace(r.out)
}

func (c *crew) run(t *testing.T, addrs []string, line ...string) result {
	t.Helper()
	c.env["RMD_ADDR"] = strings.Join(addrs, ",")
	if i := slices.Index(line, "ADDRS"); i >= 0 {
		line = slices.Replace(slices.Clone(line), i, i+1, c.env["RMD_ADDR"])
	}
	return rmd(t, c.env, line...)
}

// frozen listens and never answers, as a process that is stopped.
func frozen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// startCrew starts the replicas. All but those in step are behind the first changes of the test.
func startCrew(t *testing.T, secure bool) *crew {
	t.Helper()
	dir := t.TempDir()
	c := &crew{env: map[string]string{"SCHEME": "http://", "RMD_USER": "tester"}, bad: map[string]string{}}
	adjust := func(k *config.Config) {
		// a busy machine must not depose the leader
		k.Raft.Heartbeat, k.Raft.Election, k.Raft.Lease = 10*time.Second, 10*time.Second, 8*time.Second
	}
	if secure {
		ca, _, err := certificate.Open(dir, "local", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		c.env["SCHEME"], c.env["RMD_CACERT"] = "https://", filepath.Join(dir, "ca.pem")
		calm := adjust
		adjust = func(k *config.Config) {
			calm(k)
			f, err := ca.Issue(dir, "local", k.ID, []string{"127.0.0.1"}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			k.TLS, k.HTTP.Listen, k.HTTP.ListenTLS = config.TLS(f), "none", "127.0.0.1:0"
		}
	}
	var err error
	c.of, err = local.Start(t.Context(), local.Options{Replicas: 3, Dir: t.TempDir(),
		Queues:     append(preset.Demo(), capacity.Property{Name: "yarn.node-labels.enabled", Value: "true"}),
		Scheduling: "heartbeat",
		Version:    "test", Logger: hclog.NewNullLogger(), Adjust: func(_ int, k *config.Config) { adjust(k) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.of.Close() })
	lead := c.of.Leader()
	c.good = []string{c.url(c.of.Replicas[(lead+1)%3].HTTPAddr()), c.url(c.of.Replicas[lead].HTTPAddr())}

	c.bad["stale"] = c.cutOff(t, "rm4", adjust)
	c.bad["removed"] = c.cutOff(t, "rm5", adjust)
	c.must(t, "cluster remove rm5 --yes")
	c.bad["empty"] = c.open(t, c.config(t, "rm6", adjust), server.Parts{})
	c.bad["down"], c.bad["frozen"] = c.url(unusedAddress(t)), c.url(frozen(t))
	c.furnish(t, lead)
	return c
}

// furnish makes what only the replicas in step know: a token that every command needs from then on,
// an application, a label and a queue.
func (c *crew) furnish(t *testing.T, lead int) {
	t.Helper()
	c.env["RMD_TOKEN"] = c.must(t, "access token create --role admin --name late -q")
	app := c.must(t, "app submit --queue root.batch --user ann -o name")
	c.must(t, "app kill "+app)
	c.must(t, "label add late")
	c.must(t, "label map n9=late")
	c.must(t, "conf set root.queues=online,train,batch,adhoc,late root.adhoc.capacity=5 root.late.capacity=5")
	queues := filepath.Join(t.TempDir(), "queues.json")
	if err := os.WriteFile(queues, []byte(c.must(t, "conf get -o json")), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "saved")
	c.must(t, "snapshot save "+saved)
	join := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(join, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.words = []string{"CLUSTER", c.of.Replicas[lead].Cluster().ClusterID(), "APP", app, "QUEUES", queues,
		"FILE", filepath.Join(t.TempDir(), "file"), "SAVED", saved, "JOIN", join}
}

func (c *crew) replace(text string) string {
	leader := c.of.Replicas[max(c.of.Leader(), 0)].ID() // it changes if the machine stands still
	return strings.NewReplacer(append([]string{"LEADER", leader}, c.words...)...).Replace(text)
}

// code returns the code of an error line, or "".
func (r result) code() string {
	for line := range strings.Lines(r.err) {
		if rest, ok := strings.CutPrefix(line, "rmd: "); ok {
			code, _, _ := strings.Cut(rest, ":")
			return code
		}
	}
	return ""
}

// TestEveryCommandFindsTheCluster runs every command with several addresses, one of which is of a
// replica that cannot serve: each kind of these, at each place, over HTTP and over TLS. The answer
// must be that of the replicas in step. A command without a row fails the test.
func TestEveryCommandFindsTheCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs two clusters")
	}
	t.Parallel()
	commands := map[string]bool{}
	for _, l := range leaves(newApp(&verb.Program{}).Commands, nil) {
		name := strings.Join(l.path, " ")
		commands[name] = true
		if _, ok := reaches[name]; !ok {
			t.Errorf("rmd %s has no row in reaches", name)
		}
	}
	for name := range reaches {
		if !commands[name] {
			t.Errorf("the row of rmd %s is of no command", name)
		}
	}
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "TLS"}[secure], func(t *testing.T) {
			c := startCrew(t, secure)
			for _, name := range verb.Sorted(reaches) {
				if reaches[name].not == "" {
					c.check(t, name, reaches[name])
				}
			}
		})
	}
}

// check runs a command with the addresses of the replicas in step, and then with those of one that
// cannot serve among them.
func (c *crew) check(t *testing.T, name string, of reach) {
	t.Helper()
	defer func(began time.Time) { t.Logf("rmd %s: %s", name, time.Since(began).Round(time.Millisecond)) }(time.Now())
	line := append(strings.Fields(name), strings.Fields(c.replace(of.line))...)
	run := func(addrs []string) result {
		if of.before != "" {
			c.must(t, of.before)
		}
		r := c.run(t, addrs, line...)
		if of.after != "" {
			c.must(t, of.after)
		}
		return r
	}
	want := run(c.good)
	says := c.replace(of.says)
	if of.one {
		want, says = result{exit: exitcode.Usage}, "acts on one replica"
	}
	if !strings.Contains(want.out+want.err, says) && !of.one {
		t.Errorf("rmd %v: exit %d, says %q and %q, want %q in it", line, want.exit, want.out, want.err, says)
		return
	}
	for _, kind := range verb.Sorted(c.bad) {
		for at := range len(c.good) + 1 {
			got := run(slices.Insert(slices.Clone(c.good), at, c.bad[kind]))
			if !of.one {
				says = c.replace(of.says)
			}
			if got.exit != want.exit || !of.one && got.code() != want.code() || !strings.Contains(got.out+got.err, says) {
				t.Errorf("rmd %v with the %s replica at place %d: exit %d, %q and %q; want exit %d and %q in it, as of the others alone: %q", line, kind, at, got.exit, got.out, got.err, want.exit, says, want.err)
			}
		}
	}
}

// TestRefusalsNameTheReplica checks that a command that finds no replica in step says so and names
// those that it has asked, and that a read does not wait in silence for a leader.
func TestRefusalsNameTheReplica(t *testing.T) {
	t.Parallel()
	c := startCrew(t, false)
	for _, of := range []struct {
		kinds, line string
		exit        int
		says        []string
	}{
		{"empty", "app list", exitcode.Refused, []string{"NOT_INITIALIZED: replica rm6 at "}},
		{"empty down", "cluster status", exitcode.Refused, []string{"NOT_INITIALIZED: replica rm6 at ", "does not answer"}},
		{"down empty", "cluster token create", exitcode.Refused, []string{"NOT_INITIALIZED: replica rm6 at "}},
		{"stale", "queue stop root.batch --yes", exitcode.NotAllowed,
			[]string{"UNAUTHENTICATED: replica rm4 at ", "no leader is known"}},
		{"stale empty", "app list --timeout 2s", exitcode.NoLeader,
			[]string{"no leader is known; waiting, at most 2s; --stale shows what a replica knew last:\n", "NO_LEADER: replica rm4 at "}},
		{"frozen", "app list --timeout 2s", exitcode.TimedOut, []string{"TIMED_OUT"}},
	} {
		var addrs []string
		for kind := range strings.FieldsSeq(of.kinds) {
			addrs = append(addrs, c.bad[kind])
		}
		env := maps.Clone(c.env)
		if of.exit == exitcode.NoLeader {
			delete(env, "RMD_TOKEN") // those behind do not know it
		}
		env["RMD_ADDR"] = strings.Join(addrs, ",")
		got := rmd(t, env, strings.Fields(of.line)...)
		for _, s := range of.says {
			if got.exit != of.exit || !strings.Contains(got.err, s) {
				t.Errorf("rmd %s of %s: exit %d, %q; want exit %d and %q", of.line, of.kinds, got.exit, got.err, of.exit, s)
			}
		}
	}
}
