package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/hadoopconf"
	"rmd/transport/hadoop"
	load "rmd/workload/hadoop"
	"rmd/workload/report"
)

// BenchVerbs returns the commands that load a cluster and measure it.
func BenchVerbs() verb.Verb {
	return verb.Noun("bench", "load a running cluster with simulated nodes and AMs, and measure it",
		benchOf(load.Heartbeats, "measure heartbeats of idle nodes", "", "--nodes 1000 --addr rm1,rm2,rm3"),
		benchOf(load.Allocations, "measure the full life of containers",
			"Unmanaged AMs keep asks outstanding, and the simulated nodes run the granted containers. A container counts after its ask, grant, run and completion, when its AM has received the completion and the node has the acknowledgement.",
			"--conf-dir /etc/hadoop/conf --nodes 500 --masters 50 --duration 1m -o json --yes"),
		benchOf(load.Latency, "measure the latency from ask to container, one at a time, on an idle cluster", "",
			"--conf-dir /etc/hadoop/conf"))
}

func benchOf(kind load.Kind, usage, long, example string) verb.Verb {
	long = strings.TrimLeft(long+"\nIt can load any ResourceManager with YARN's ports. Name the ports with --conf-dir, "+
		"or with --addr HOST,... for YARN's default ports, or one by one.\n"+
		"The nodes have addresses from 198.18.0.0 on and connect to all replicas in turn.\nEach node has its own connection, as NodeManagers have. With --connections they "+
		"share connections, so one machine can simulate a larger cluster. The command asks for confirmation, refuses to use a node that the cluster already has, and unregisters its own nodes at the end. Do not load a production cluster.", "\n")
	return verb.Verb{Name: string(kind), Usage: usage, Long: long, Flags: benchFlags(kind),
		Examples: []string{"rmd bench " + string(kind) + " " + example},
		Run:      func(c *verb.Call) error { return runBench(c, kind) }}
}

func benchFlags(kind load.Kind) []cli.Flag {
	d := load.DefaultConfig(kind)
	flags := []cli.Flag{
		verb.OneOf(&cli.StringFlag{Name: "wire", Usage: ": the protocol", Value: "hadoop"}, verb.PlainWords("hadoop")...),
		verb.Fill(verb.Files, &cli.StringFlag{Name: "conf-dir", Usage: "directory of Hadoop's files that name the ports"}),
		&cli.StringFlag{Name: "tracker", Usage: "ResourceTracker ports, HOST:PORT,..."},
		&cli.IntFlag{Name: "nodes", Usage: "number of simulated nodes", Value: d.Nodes},
		&cli.IntFlag{Name: "connections", Usage: "number of connections that the nodes share",
			DefaultText: "one for each node"},
		&cli.IntFlag{Name: "node-port", Usage: "port in the nodes' ids; concurrent runs need different ports",
			Value: d.NodePort},
		verb.SpanFlag("interval", "pause between two heartbeats of a node; 0: no pause", d.Interval),
		&cli.IntFlag{Name: "parallel", Usage: "concurrent calls if the interval is 0", DefaultText: "one for each caller"},
		verb.SpanFlag("warmup", "time before the measurement", d.Warmup),
		verb.SpanFlag("duration", "duration of the measurement", d.Duration),
		&cli.StringFlag{Name: "pids", Usage: "processes whose CPU and memory to measure, comma list"},
		reportFlag(), verb.YesFlag(),
	}
	if kind == load.Heartbeats {
		return flags
	}
	flags = append(flags,
		&cli.StringFlag{Name: "scheduler", Usage: "scheduler ports, HOST:PORT,..."},
		&cli.StringFlag{Name: "client", Usage: "client ports, HOST:PORT,..."},
		verb.Fill(verb.Queues, &cli.StringFlag{Name: "queue", Usage: "queue of the applications", Value: d.Queue}),
		verb.SpanFlag("am-interval", "pause between two calls of an AM; 0: no pause", d.MasterInterval),
		&cli.IntFlag{Name: "node-containers", Usage: "number of containers that fit on a node", Value: d.NodeContainers},
		&cli.Int64Flag{Name: "mb", Usage: "memory of a container, MiB", Value: d.MemoryMB},
		&cli.Int64Flag{Name: "vcores", Usage: "vcores of a container", Value: d.VCores},
		verb.SpanFlag("run", "run time of a container, at least until its node's next heartbeat", 0),
		verb.SpanFlag("drain", "maximum wait for the last containers", d.Drain))
	if kind == load.Latency {
		return flags
	}
	return append(flags,
		&cli.IntFlag{Name: "masters", Usage: "number of unmanaged AMs", Value: d.Masters},
		&cli.IntFlag{Name: "batch", Usage: "number of containers in an ask", Value: d.Batch},
		&cli.IntFlag{Name: "outstanding", Usage: "outstanding asks of an AM", Value: d.Outstanding})
}

func runBench(c *verb.Call, kind load.Kind) error {
	cfg, err := benchConfig(c, kind)
	if err != nil {
		return err
	}
	cfg.Logger, cfg.User = logger(c, "warn"), c.String("as")
	if cfg.User == "" {
		cfg.User = verb.LoginName()
	}
	cfg.OnPhase = func(what string) { c.PrintMessage("%s", what) }
	if err := cfg.Validate(); err != nil {
		return clierr.Usagef("see "+c.Path+" --help", "%v", err)
	}
	if err := mayBench(c, cfg); err != nil {
		return err
	}
	page, err := openReport(c)
	if err != nil {
		return err
	}
	defer page.abandon()
	out, err := load.Run(c.Ctx(), cfg)
	switch {
	case errors.Is(err, load.ErrUnreachable):
		return &clierr.Error{Code: clierr.CodeNoReplica, What: strings.ReplaceAll(err.Error(), "\n", "; "),
			Do: "check that these are the ResourceManagers' ports", Err: err}
	case errors.Is(err, load.ErrTaken):
		return &clierr.Error{Code: "NODE_EXISTS", What: err.Error(),
			Do: "use another --node-port, or wait until the other run ends; nothing was done", Err: err}
	case errors.Is(err, load.ErrProcess):
		return clierr.Usagef("write --pids with the ids of running processes", "%v", err)
	case err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded):
		return clierr.New(clierr.CodeFailed, "see the ResourceManager's log", "%v", err)
	case err != nil:
		return err
	}
	if err := showBench(c, out); err != nil {
		return err
	}
	if err := page.write(func(w io.Writer, h report.Head) error {
		return report.WriteBenchHTML(w, h, benchPage(c, out))
	}); err != nil {
		return err
	}
	if out.Faults.Total() > 0 {
		return clierr.New(clierr.CodeCheck, "this is a bug of the ResourceManager or of this program",
			"containers %s", out.Faults)
	}
	return nil
}

// mayBench tells the user what the load does to the cluster, and asks for confirmation.
func mayBench(c *verb.Call, cfg load.Config) error {
	what := fmt.Sprintf(
		"register %d nodes of 198.18.0.0/15 with the ResourceManager at %s (any application can get containers on them)",
		cfg.Nodes, strings.Join(cfg.Addresses.Tracker, ","))
	if cfg.Kind != load.Heartbeats {
		what += fmt.Sprintf(", submit %d applications to queue %s", cfg.Masters, cfg.Queue)
	}
	return c.Confirm("load", "%s, and load it for %s", what, cfg.Warmup+cfg.Duration)
}

// benchConfig reads the flags.
func benchConfig(c *verb.Call, kind load.Kind) (load.Config, error) {
	cfg := load.DefaultConfig(kind)
	var err error
	if cfg.Addresses, err = benchAddresses(c, kind); err != nil {
		return cfg, err
	}
	cfg.Nodes, cfg.Connections, cfg.NodePort, cfg.Parallel = c.Int("nodes"), c.Int("connections"), c.Int("node-port"),
		c.Int("parallel")
	cfg.Interval, cfg.Warmup, cfg.Duration = c.Span("interval"), c.Span("warmup"),
		c.Span("duration")
	for _, text := range verb.SplitList(c.String("pids")) {
		pid, err := strconv.Atoi(text)
		if err != nil || pid < 1 {
			return cfg, clierr.Usagef("write --pids 1234,1235", "%q is not a process id", text)
		}
		cfg.PIDs = append(cfg.PIDs, pid)
	}
	if kind == load.Heartbeats {
		return cfg, nil
	}
	cfg.Queue, cfg.MasterInterval, cfg.NodeContainers = c.String("queue"), c.Span("am-interval"),
		c.Int("node-containers")
	cfg.MemoryMB, cfg.VCores, cfg.Run, cfg.Drain = c.Int64("mb"), c.Int64("vcores"), c.Span("run"),
		c.Span("drain")
	if kind == load.Allocations {
		cfg.Masters, cfg.Batch, cfg.Outstanding = c.Int("masters"), c.Int("batch"), c.Int("outstanding")
	}
	return cfg, nil
}

// benchAddresses returns the addresses of all replicas.
func benchAddresses(c *verb.Call, kind load.Kind) (load.Addresses, error) {
	d := load.Addresses{Tracker: verb.SplitList(c.String("tracker"))}
	if kind != load.Heartbeats {
		d.Scheduler, d.Client = verb.SplitList(c.String("scheduler")), verb.SplitList(c.String("client"))
	}
	named := len(d.Tracker)+len(d.Scheduler)+len(d.Client) > 0
	ways := 0
	for _, given := range []bool{named, c.String("conf-dir") != "", c.IsSet("addr")} {
		if given {
			ways++
		}
	}
	const how = "write --conf-dir DIR, or --addr HOST,..., or --tracker HOST:PORT,... (and --scheduler and --client)"
	switch {
	case ways == 0:
		return d, clierr.Usagef(how, "no ResourceManager is named")
	case ways > 1:
		return d, clierr.Usagef(how, "the ports are named in more than one way")
	case named && (len(d.Tracker) == 0 || kind != load.Heartbeats && (len(d.Scheduler) == 0 || len(d.Client) == 0)):
		return d, clierr.Usagef("name --tracker, --scheduler and --client", "%s needs the ports of all three", kind)
	case named:
		return d, nil
	case c.IsSet("addr"):
		return addressesOf(verb.SplitList(c.String("addr")))
	}
	return AddressesIn(c.String("conf-dir"))
}

// addressesOf returns YARN's default ports on the hosts.
func addressesOf(hosts []string) (load.Addresses, error) {
	var d load.Addresses
	for _, h := range hosts {
		if _, _, err := net.SplitHostPort(h); err == nil {
			return d, clierr.Usagef("write --addr HOST for YARN's ports, else --tracker, --scheduler and --client",
				"%q has one port; three are needed", h)
		}
		at := func(port string) string { return net.JoinHostPort(strings.Trim(h, "[]"), port) }
		d.Tracker, d.Scheduler, d.Client = append(d.Tracker, at("8031")), append(d.Scheduler, at("8030")),
			append(d.Client, at("8032"))
	}
	return d, nil
}

// AddressesIn reads the addresses from Hadoop's files, in the order of
// yarn.resourcemanager.ha.rm-ids.
func AddressesIn(dir string) (load.Addresses, error) {
	var d load.Addresses
	conf, err := hadoopconf.ReadDir(dir)
	if err != nil {
		return d, &clierr.Error{Code: clierr.CodeFile, What: err.Error(), Do: "name a directory with yarn-site.xml", Err: err}
	}
	ids := verb.SplitList(conf.Value("yarn.resourcemanager.ha.rm-ids", ""))
	if len(ids) == 0 {
		ids = []string{""} // without high availability, the keys have no suffix
	}
	for _, id := range ids {
		a, err := hadoop.AddressesOf(conf, id)
		if err != nil {
			return d, clierr.New(clierr.CodeFile, "correct the file", "%s: %v", dir, err)
		}
		d.Tracker, d.Scheduler, d.Client = append(d.Tracker, a.Tracker.Public), append(d.Scheduler, a.Scheduler.Public),
			append(d.Client, a.Client.Public)
	}
	return d, nil
}
