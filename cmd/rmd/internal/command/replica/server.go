package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"rmd/cluster"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
	"rmd/internal/exitcode"
	"rmd/internal/hadoopconf"
	"rmd/internal/logwriter"
	"rmd/internal/thousands"
	"rmd/scheduler/capacity"
	"rmd/server"
	hadoopserver "rmd/server/hadoop"
	"rmd/transport/hadoop"
)

// handOverMax limits how long a stopping leader waits for a successor.
const handOverMax = 5 * time.Second

// logBuffer is how many bytes of the log may wait for a reader.
const logBuffer = 1 << 20

// short are the keys that have their own flags. --set sets all others.
var short = map[string]string{"id": "id", "cluster": "cluster", "data": "data", "raft.listen": "listen",
	"raft.advertise": "advertise", "http.listen": "http"}

// ServerVerb returns the command that runs a replica.
func ServerVerb() verb.Verb {
	return verb.Verb{
		Name: "server", Usage: "run one replica in the foreground",
		Long: "On SIGTERM it transfers leadership and stops. On SIGHUP it reads log.level and certificates again, and from Hadoop's " +
			"files administrators, proxy users, groups and racks.\n" +
			"Exit codes for supervisors: 70 disk or data fault, 71 disk full at start, 72 disk hung, 73 removed from the " +
			"cluster, 74 state differs, 75 log entry or snapshot of a newer version. Do not restart it after 73, 74 or 75.",
		Flags: []cli.Flag{
			verb.Fill(verb.Files, &cli.StringFlag{Name: "config", Usage: "rmd.yaml", EnvVars: []string{"RMD_CONFIG"}}),
			&cli.StringFlag{Name: "id", Usage: "key id"}, &cli.StringFlag{Name: "cluster", Usage: "key cluster"},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "data", Usage: "key data"}),
			&cli.StringFlag{Name: "listen", Usage: "key raft.listen"},
			&cli.StringFlag{Name: "advertise", Usage: "key raft.advertise"},
			&cli.StringFlag{Name: "http", Usage: "key http.listen"},
			verb.Fill(verb.SettingsAssigned, &cli.StringSliceFlag{Name: "set",
				Usage: "any other key, for instance raft.heartbeat=1s; repeatable"}),
			verb.Fill(verb.Files, &cli.StringFlag{Name: "queues",
				Usage:       "Hadoop file or directory with the queue configuration of a new cluster",
				DefaultText: "the files of hadoop.conf_dir, else root.default"}),
			&cli.BoolFlag{Name: "print-config", Usage: "print the configuration and the origin of each value, and exit"},
			&cli.BoolFlag{Name: "failpoints", Usage: "read on standard input where to crash or wait; for rmd-chaos",
				Hidden: true},
			&cli.BoolFlag{Name: "part-of-dev",
				Usage: "read on standard input an access token, and stop when the input ends; for rmd dev", Hidden: true},
		},
		Examples: []string{"rmd server --config /etc/rmd/rmd.yaml",
			"rmd server --config rmd.yaml --set raft.heartbeat=500ms --print-config"},
		Run: runServer,
	}
}

// source returns the sources of the configuration of this command line.
func source(c *verb.Call) (config.Source, error) {
	s := config.Source{File: c.String("config"), Env: c.Program.Env, Flags: map[string]string{},
		Spelling: map[string]string{}}
	give := func(key, value, spelling string) error {
		if _, twice := s.Flags[key]; twice {
			return clierr.Usagef("set it once", "%s is set twice", key)
		}
		s.Flags[key], s.Spelling[key] = value, spelling
		return nil
	}
	for key, name := range short {
		if c.IsSet(name) {
			if err := give(key, c.String(name), "--"+name); err != nil {
				return s, err
			}
		}
	}
	if c.IsSet("log-level") {
		if err := give("log.level", c.String("log-level"), "--log-level"); err != nil {
			return s, err
		}
	}
	for _, pair := range wholePairs(c.StringSlice("set")) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return s, clierr.Usagef("write --set raft.heartbeat=1s", "%q is not KEY=VALUE", pair)
		}
		if err := give(key, value, "--set "+key); err != nil {
			return s, err
		}
	}
	return s, nil
}

// wholePairs joins lists that the flag has split at commas: --set raft.join=a:1,b:2.
func wholePairs(parts []string) []string {
	var out []string
	for _, part := range parts {
		if n := len(out); n > 0 && !strings.Contains(part, "=") {
			out[n-1] += "," + part
			continue
		}
		out = append(out, part)
	}
	return out
}

// configError returns an error with all faults of a configuration.
func configError(err error) error {
	var bad *config.Invalid
	if !errors.As(err, &bad) {
		return err
	}
	e := clierr.New(clierr.CodeConfig, "correct them; nothing was started", "the configuration has %d faults",
		len(bad.Faults))
	if len(bad.Faults) == 1 {
		e = clierr.New(clierr.CodeConfig, "correct it; nothing was started", "the configuration has a fault")
	}
	e.Details = bad.Lines()
	return e
}

func runServer(c *verb.Call) error {
	if c.Bool("print-config") {
		return printConfig(c)
	}
	if c.Bool("failpoints") {
		if err := (&failpointListener{err: c.Program.Err}).listen(c.Program.In); err != nil {
			return err
		}
	}
	var log hclog.Logger
	neverWait(c.Program, func(dropped uint64) {
		log.Warn("lines of this log were dropped because they were not read in time", "since_start", dropped)
	})
	src, loaded, err := load(c)
	if err != nil {
		return err
	}
	if err := checkFatalKeys(loaded.Hadoop); err != nil {
		return err
	}
	log = newLogger(loaded.Log, c.Program.Err)
	tellConfig(log, loaded)
	opt := server.Options{Config: loaded.Config, Origins: loaded.Origins, Version: c.Program.Version, Logger: log,
		LinesDropped: c.Program.Lines.Dropped, OnFatal: func(code int, err error) {
			log.Error("this replica must stop", "exit", code, "error", err)
			c.Program.Lines.Flush(verb.LastLines)
			os.Exit(code)
		}}
	if loaded.Hadoop != nil {
		opt.Queues = hadoopserver.Properties(loaded.Hadoop)
	}
	if file := c.String("queues"); file != "" {
		if opt.Queues, err = firstQueues(file); err != nil {
			return err
		}
	}
	if c.Bool("part-of-dev") {
		if opt.OwnToken, err = followParent(c.Program.In); err != nil {
			return err
		}
	}
	r, err := server.Open(opt)
	if err != nil {
		return openError(err)
	}
	log.Info("replica is up", "id", r.ID(), "version", c.Program.Version, "peers", r.PeerAddr(), "rest", r.HTTPAddr(),
		"data", loaded.Data)
	untilStopped(c, src, log, r)
	return stop(r, log)
}

// printConfig prints the configuration of this command line.
func printConfig(c *verb.Call) error {
	_, loaded, err := load(c)
	if err != nil {
		return err
	}
	return config.Print(c.Program.Out, loaded)
}

// load reads the configuration of this command line.
func load(c *verb.Call) (config.Source, *config.Loaded, error) {
	src, err := source(c)
	if err != nil {
		return src, nil, err
	}
	loaded, err := config.Load(src)
	if err != nil {
		err = configError(err)
		var bad *clierr.Error
		if errors.As(err, &bad) && src.File == "" {
			bad.Do = "name its file with --config, or write one with \"rmd init\"; nothing was started"
		}
		return src, nil, err
	}
	return src, loaded, nil
}

// neverWait makes that nothing this process prints from here on waits for a reader of stdout or
// stderr, or ends the process because there is none. told is called as logwriter.New describes.
func neverWait(p *verb.Program, told func(dropped uint64)) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // unlike signal.Ignore, scripts for racks do not inherit this
	if p.Err == os.Stderr {                                 // a test has its own
		p.Err = logwriter.Detach()
	}
	p.Lines = logwriter.New(p.Err, logBuffer, told)
	p.Err = p.Lines
}

// firstQueues reads and checks the queue configuration of a new cluster.
func firstQueues(file string) ([]capacity.Property, error) {
	props, err := conf.ReadProperties(file)
	if err != nil {
		return nil, err
	}
	var bad *capacity.Invalid
	if _, err = capacity.Parse(props); errors.As(err, &bad) {
		e := clierr.New(clierr.CodeConfig, "correct it; nothing was started",
			"the queue configuration of %s is invalid", file)
		for _, f := range bad.Faults {
			e.Details = append(e.Details, f.String())
		}
		return nil, e
	}
	return props, err
}

// openError adds what to do to the common reasons why a replica does not start.
func openError(err error) error {
	var fatal *exitcode.Error
	var file *fs.PathError // such as a missing directory, but not a port
	var port *net.OpError
	switch {
	case errors.As(err, &fatal):
		do := healing(err)
		if fatal.Code == exitcode.DiskFull {
			do = "free space there, or lower disk.stop"
		}
		return &clierr.Error{Code: "CANNOT_START", What: err.Error(), Do: do, Exit: fatal.Code, Err: err}
	case cluster.IsNoSpace(err):
		return &clierr.Error{Code: "CANNOT_START", What: err.Error(),
			Do: "free space there, or raise the quota; keep the data", Exit: exitcode.DiskFull, Err: err}
	case errors.Is(err, syscall.EIO):
		return &clierr.Error{Code: "CANNOT_START", What: err.Error(),
			Do: "check the disk and the log of the kernel; keep the data", Exit: exitcode.WriteFailed, Err: err}
	case errors.Is(err, cluster.ErrModes):
		return &clierr.Error{Code: "DATA_MODE", What: err.Error(), Do: "correct mode and owner",
			Exit: exitcode.Refused, Err: err}
	case errors.As(err, &file) && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)):
		return &clierr.Error{Code: "NOT_WRITABLE", What: err.Error(),
			Do: "mount it writable, and make the user of rmd its owner", Exit: exitcode.Refused, Err: err}
	case errors.Is(err, syscall.EADDRINUSE):
		return &clierr.Error{Code: "ADDRESS_IN_USE", What: err.Error(),
			Do: "stop the process that listens there, or choose another port" + withKey(err), Exit: exitcode.Refused, Err: err}
	case errors.As(err, &port) && port.Op == "listen" && errors.Is(err, fs.ErrPermission):
		return &clierr.Error{Code: "ADDRESS_NOT_ALLOWED", What: err.Error(),
			Do:   "choose a port from 1024 on, or give rmd the capability CAP_NET_BIND_SERVICE",
			Exit: exitcode.NotAllowed, Err: err}
	case errors.As(err, &port) && port.Op == "listen":
		return &clierr.Error{Code: clierr.CodeConfig, What: err.Error(),
			Do: "write an address of this machine, or 0.0.0.0 for all of them; nothing was started", Err: err}
	case errors.As(err, &file) && errors.Is(err, syscall.ENOTDIR):
		return &clierr.Error{Code: clierr.CodeConfig, What: err.Error(),
			Do: "name a directory with the key data; nothing was started", Err: err}
	case errors.Is(err, cluster.ErrForeign):
		return &clierr.Error{Code: "FOREIGN_DATA", What: err.Error(), Do: "correct data, id or cluster",
			Exit: exitcode.Refused, Err: err}
	}
	return err
}

// portKey finds the key of a port in the error of the port.
var portKey = regexp.MustCompile(`((?:raft|http)\.listen(?:_tls)?|yarn\.resourcemanager\.[a-z.-]+): `)

// withKey returns which key names the port that cannot be opened.
func withKey(err error) string {
	m := portKey.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return ""
	case strings.HasPrefix(m[1], "yarn."):
		return " with " + m[1] + " in yarn-site.xml"
	}
	return " with " + m[1]
}

// healing returns how to recover a replica that must not start with its disk.
func healing(err error) string {
	switch {
	case errors.Is(err, cluster.ErrRemoved):
		return "leave it stopped; to use the machine again, " + cluster.Rejoin
	case errors.Is(err, cluster.ErrNewer):
		return "start it with the newer version of rmd; its disk is good"
	case errors.Is(err, cluster.ErrDamaged):
		return "see \"rmd check --data DIR\"; use its own good disk, or " + cluster.Replace("ID")
	}
	return "see \"rmd check --data DIR\""
}

// newLogger makes the root logger.
func newLogger(l config.Log, w io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "rmd", Level: hclog.LevelFromString(l.Level),
		JSONFormat: l.Format == "json", Output: w})
}

// tellConfig logs warnings about the configuration.
func tellConfig(log hclog.Logger, l *config.Loaded) {
	for _, w := range l.Warnings {
		log.Warn(w)
	}
	if l.Hadoop == nil {
		return
	}
	ignored, err := ignoredKeys(l.Hadoop)
	if err != nil {
		log.Warn("the queue configuration of the Hadoop files is not valid; only a new cluster would use it", "error", err)
	}
	if len(ignored) == 0 {
		return
	}
	names := make([]string, len(ignored))
	for i, k := range ignored {
		names[i] = k.Name
		log.Debug("a key is not honored", "key", k.Name, "origin", k.Origin, "why", k.What)
	}
	log.Warn("keys of the Hadoop files are not honored; \"rmd conf get --ignored\" shows why", "count", len(names), "keys",
		strings.Join(names, " "))
}

// checkFatalKeys refuses Hadoop's files with keys without which clients or nodes would be refused,
// or rules of access would not apply.
func checkFatalKeys(files *hadoopconf.Config) error {
	if files == nil {
		return nil
	}
	fatal := hadoop.FatalKeys(files, capacity.Relevant)
	if len(fatal) == 0 {
		return nil
	}
	e := clierr.New(clierr.CodeConfig, "correct them, or see \"rmd conf validate DIR\"",
		"the Hadoop files have %s with which this replica must not start", thousands.Count(len(fatal), "key"))
	for _, k := range fatal {
		e.Details = append(e.Details, conf.FaultLine(conf.IgnoredDoc(k)))
	}
	return e
}

// ignoredKeys returns the keys of Hadoop's files that are meant for a ResourceManager and that rmd
// does not honor. If the queue configuration is invalid, it returns the error, and the keys of the
// queue configuration are missing.
func ignoredKeys(conf *hadoopconf.Config) ([]capacity.Fault, error) {
	var out []capacity.Fault
	queues, err := capacity.Parse(hadoopserver.Properties(conf))
	if err == nil {
		out = slices.Clone(queues.Ignored)
	}
	for _, k := range hadoop.IgnoredKeys(conf, capacity.Relevant) {
		out = append(out, capacity.Fault{Name: k.Name, Value: k.Value, Origin: k.Origin, What: k.Why})
	}
	slices.SortStableFunc(out, func(a, b capacity.Fault) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// untilStopped waits for the signal to stop. On SIGHUP it reloads the log level, and the parts of
// Hadoop's files that may change.
func untilStopped(c *verb.Call, src config.Source, log hclog.Logger, r *server.Replica) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-c.Ctx().Done():
			return
		case <-hup:
			r.Reloaded(reload(src, log, r))
		}
	}
}

// reload does what SIGHUP asks for. It logs what fails, and returns it.
func reload(src config.Source, log hclog.Logger, r *server.Replica) error {
	loaded, err := config.Load(src)
	if err != nil {
		log.Error("configuration not reloaded", "error", err)
		return err
	}
	log.SetLevel(hclog.LevelFromString(loaded.Log.Level))
	log.Info("reloaded the log level; other keys need a restart", "level", loaded.Log.Level)
	err = r.ReloadCertificates()
	if err != nil {
		log.Error("certificates not reloaded; the previous ones stay in force", "error", err)
	}
	if loaded.Hadoop == nil {
		return err
	}
	if failed := r.ReloadHadoop(); failed != nil {
		log.Error("Hadoop's files not reloaded", "error", failed)
		return errors.Join(err, failed)
	}
	log.Info("reloaded administrators, proxy users, groups and racks from Hadoop's files; queues unchanged", "dir",
		loaded.Config.HadoopConfDir)
	return err
}

// stop transfers leadership and closes the replica.
func stop(r *server.Replica, log hclog.Logger) error {
	log.Info("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), handOverMax)
	defer cancel()
	if err := r.HandOver(ctx); err != nil {
		log.Warn("leadership was not transferred", "error", err)
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
