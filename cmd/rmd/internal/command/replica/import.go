package replica

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cluster/offline"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/realm"
	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/internal/hadoopconf"
	"rmd/internal/thousands"
	"rmd/scheduler/input"
	"rmd/server"
	hadoopserver "rmd/server/hadoop"
	"rmd/server/migration"
	"rmd/snapshot"
	"rmd/transport/hadoop"
	"rmd/transport/hadoop/statestore"
)

// ImportVerbs returns the commands that take over a running cluster.
func ImportVerbs() verb.Verb {
	return verb.Noun("import", "take over a running cluster", importZK())
}

func importZK() verb.Verb {
	return verb.Verb{
		Name: "zk", Usage: "create the first replica of a cluster from a Java ResourceManager's state in ZooKeeper",
		Long: "Stop all Java ResourceManagers first, and start no replica. NodeManagers and ApplicationMasters may go on.\n" +
			"It reads rmd.yaml and Hadoop's files for everything that the flags do not say. It only reads ZooKeeper, and makes the data directory whole or not at all. " +
			"Start this replica then, and join the others.",
		Flags: []cli.Flag{
			verb.Fill(verb.Files, &cli.StringFlag{Name: "config", Usage: "rmd.yaml of the replica",
				EnvVars: []string{"RMD_CONFIG"}}),
			&cli.StringSliceFlag{Name: "zk", Usage: "HOST:PORT of ZooKeeper", DefaultText: "hadoop.zk.address of core-site.xml"},
			&cli.StringFlag{Name: "root", Usage: "parent path of the state store",
				DefaultText: "yarn.resourcemanager.zk-state-store.parent-path, or /rmstore"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "auth-file",
				Usage: "file with credentials for ZooKeeper, as digest:USER:PASSWORD, or sasl:USER:PASSWORD for DIGEST-MD5"}),
			&cli.BoolFlag{Name: "kerberos", Usage: "log in to ZooKeeper with the key of yarn.resourcemanager.principal"},
			&cli.StringSliceFlag{Name: "skip",
				Usage: "leave out what cannot be taken, by the name that the refusal gives; repeatable"},
			verb.DryRunFlag(),
		},
		Changes:  true,
		Examples: []string{"rmd import zk --config /etc/rmd/rmd.yaml --dry-run"},
		Run:      runImportZK,
	}
}

func runImportZK(c *verb.Call) error {
	src := config.Source{File: c.String("config"), Env: c.Program.Env}
	loaded, err := config.Load(src)
	if err != nil {
		return configError(err)
	}
	if loaded.Hadoop == nil {
		return clierr.New(clierr.CodeConfig, "set hadoop.conf_dir in rmd.yaml", "Hadoop's files are not named")
	}
	from, err := stateStore(c, loaded)
	if err != nil {
		return err
	}
	if err := managersStopped(loaded.Hadoop); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Ctx(), readTime)
	defer cancel()
	store, err := statestore.Take(ctx, from)
	var active *statestore.ActiveError
	if errors.As(err, &active) {
		return managerRuns("%s", active.What)
	}
	if err != nil {
		return &clierr.Error{Code: "STATE_STORE", What: err.Error(),
			Do: "check --zk, --root, --auth-file and --kerberos; nothing was changed", Exit: exitcode.Failure, Err: err}
	}
	result, err := takeOver(c, loaded, store)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return showImport(c, result, "nothing was written")
	}
	if err := createReplica(loaded, result); err != nil {
		return err
	}
	return showImport(c, result, "created "+loaded.Data+"; start this replica, then join the others")
}

// managerRuns returns the error for an import while a ResourceManager still runs.
func managerRuns(format string, args ...any) error {
	return &clierr.Error{Code: "RM_ACTIVE", What: fmt.Sprintf(format, args...),
		Do: "stop all ResourceManagers first; nothing was changed", Exit: exitcode.Refused}
}

// stateStore returns where the state store is, from the flags or from Hadoop's files.
func stateStore(c *verb.Call, loaded *config.Loaded) (statestore.Config, error) {
	conf := loaded.Hadoop
	out := statestore.Config{Servers: c.StringSlice("zk"), Parent: c.String("root")}
	if len(out.Servers) == 0 {
		out.Servers = fieldsOf(conf.Value("hadoop.zk.address", conf.Value("yarn.resourcemanager.zk-address", "")))
	}
	if len(out.Servers) == 0 {
		return out, clierr.Usagef("write --zk HOST:PORT", "Hadoop's files do not name ZooKeeper")
	}
	for _, s := range out.Servers {
		if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
			return out, clierr.Usagef("write --zk HOST:PORT", "%q is not HOST:PORT", s)
		}
	}
	if out.Parent == "" {
		out.Parent = conf.Value("yarn.resourcemanager.zk-state-store.parent-path", "/rmstore")
	}
	if conf.Value("yarn.resourcemanager.ha.enabled", "false") == "true" {
		out.Election = conf.Value("yarn.resourcemanager.ha.automatic-failover.zk-base-path", "/yarn-leader-election") + "/" +
			conf.Value("yarn.resourcemanager.cluster-id", "")
	}
	if file := c.String("auth-file"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return out, err
		}
		for _, line := range strings.Fields(string(b)) {
			scheme, credentials, ok := strings.Cut(line, ":")
			if !ok {
				return out, clierr.New(clierr.CodeFile, "write digest:USER:PASSWORD",
					"a line of %s is not SCHEME:CREDENTIALS", file)
			}
			if user, password, ok := strings.Cut(credentials, ":"); ok && scheme == "sasl" {
				out.Login = statestore.DigestMD5(user, password)
				continue
			}
			out.Auths = append(out.Auths, statestore.Auth{Scheme: scheme, Credentials: credentials})
		}
	}
	if !c.Bool("kerberos") {
		return out, nil
	}
	if out.Login != nil {
		return out, clierr.Usagef("remove one of them", "--kerberos and the line sasl: of --auth-file are two logins")
	}
	var err error
	out.Login, err = realm.ZooKeeperLogin(conf, loaded.ID, out.Servers)
	return out, err
}

// fieldsOf splits a list at commas and spaces.
func fieldsOf(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// readTime limits the time for reading ZooKeeper.
const readTime = 5 * time.Minute

// dialTime limits the check of one address for a running ResourceManager.
const dialTime = time.Second

// managersStopped returns an error if a program listens where clients expect a ResourceManager.
// That may be a Java ResourceManager, or a replica that would accept nodes before the import is
// done.
func managersStopped(conf *hadoopconf.Config) error {
	ids := fieldsOf(conf.Value("yarn.resourcemanager.ha.rm-ids", ""))
	if len(ids) == 0 {
		ids = []string{""}
	}
	for _, id := range ids {
		at, err := hadoop.AddressesOf(conf, id)
		if err != nil {
			return err
		}
		conn, err := net.DialTimeout("tcp", at.Client.Public, dialTime)
		if err == nil {
			_ = conn.Close()
			return managerRuns("%s answers at %s", strings.TrimSpace("ResourceManager "+id), at.Client.Public)
		}
	}
	return nil
}

// takeOver creates the first state, or returns an error with everything that cannot be imported.
func takeOver(c *verb.Call, loaded *config.Loaded, store *statestore.Store) (*migration.Result, error) {
	var random [48]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails
	o := migration.Options{ClusterID: hex.EncodeToString(random[:16]), Entropy: random[16:],
		NowMillis: time.Now().UnixMilli(), Skip: c.StringSlice("skip"), By: verb.LoginName()}
	for _, p := range hadoopserver.Properties(loaded.Hadoop) {
		o.Properties = append(o.Properties, input.Property(p))
	}
	hosts, err := hadoopserver.HostsOf(loaded.HadoopConfDir)
	if err != nil {
		return nil, clierr.New(clierr.CodeConfig, "correct the file; nothing was changed", "%v", err)
	}
	o.Include, o.Exclude = hosts.Include, hosts.Exclude
	result, err := migration.New(store, o)
	var refused *input.Refusal
	if errors.As(err, &refused) {
		return nil, clierr.New(clierr.CodeConfig, "correct the queues; see \"rmd conf validate\"",
			"the queue configuration is refused: %v", refused)
	}
	if err != nil {
		return nil, err
	}
	if n := len(result.Problems); n > 0 {
		e := &clierr.Error{Code: "NOT_TAKEN", What: thousands.Count(n, "thing") + " cannot be taken",
			Do: "follow the remedies; nothing was changed", Exit: exitcode.Refused}
		for _, p := range result.Problems {
			e.Details = append(e.Details, fmt.Sprintf("%s: %s; %s", p.Name, p.What, p.Do))
		}
		return nil, e
	}
	return result, nil
}

// createReplica writes the data directory.
func createReplica(loaded *config.Loaded, r *migration.Result) error {
	address := loaded.Raft.Advertise
	if address == "" {
		address = loaded.Raft.Listen
	}
	return offline.Create(loaded.Data, offline.CreateOptions{
		ID: loaded.ID, ClusterName: loaded.Cluster, ClusterID: r.State.Meta.ClusterID, Address: address,
		Verify: server.VerifySnapshot,
		Write: func(out io.Writer) error {
			w := bufio.NewWriterSize(out, 256<<10)
			if err := snapshot.Write(w, snapshot.HeaderOf(r.State, offline.FirstIndex, offline.FirstTerm, 0),
				r.State); err != nil {
				return err
			}
			return w.Flush()
		},
	})
}

// importListed is the maximum number of names in one line.
const importListed = 20

func showImport(c *verb.Call, r *migration.Result, done string) error {
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	names := func(n int, name func(int) string) string {
		var out []string
		for i := range min(n, importListed) {
			out = append(out, name(i))
		}
		if n > importListed {
			out = append(out, fmt.Sprintf("and %d more", n-importListed))
		}
		return strings.Join(append([]string{output.Count(uint64(n))}, out...), "\n")
	}
	err = verb.ShowFacts(c, func() string { return "import" }, func(context.Context) ([]byte, []output.Fact, error) {
		return doc, []output.Fact{
			{Name: "state store", Value: "version " + r.Version},
			{Name: "epoch", Value: output.Number(r.Epoch)},
			{Name: "running", Value: names(len(r.Running), func(i int) string { return r.Running[i].String() })},
			{Name: "waiting", Value: names(len(r.Waiting), func(i int) string { return r.Waiting[i].String() })},
			{Name: "ended", Value: output.Count(uint64(r.Ended))},
			{Name: "delegation tokens", Value: output.Count(uint64(r.Tokens))},
			{Name: "left out", Value: names(len(r.LeftOut),
				func(i int) string { return r.LeftOut[i].Name + ": " + r.LeftOut[i].What })},
		}, nil
	})
	c.PrintMessage("%s", done)
	return err
}
