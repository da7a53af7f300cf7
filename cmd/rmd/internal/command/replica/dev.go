package replica

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/replay"
	"rmd/internal/hadoopconf"
	"rmd/scheduler/capacity"
	"rmd/scheduler/capacity/preset"
	"rmd/workload"
	"rmd/workload/mixed"
	"rmd/workload/trace"
)

// Replica i of a dev cluster listens on YARN's ports + DevStep·(i − 1).
const (
	DevStep  = 100
	devStart = 2 * time.Minute // a start takes this long at most, on a machine that does much else too
	// devScale stretches the built-in workload, whose times are seconds, to the hours of a real
	// cluster. At the default speed it takes seconds again.
	devScale = 300
	// devLoad is the share of the cluster's GPU time that the built-in workload requests. Where
	// everything takes longer it is more, so devAppsPerNode limits the live applications too: without
	// a limit more and more would wait behind one that needs a whole node.
	devLoad        = 0.7
	devAppsPerNode = 4
	// devHeartbeat keeps the real time for heartbeats small compared with the run times of a
	// workload that is replayed fast.
	devHeartbeat = 200 * time.Millisecond
	devProgress  = 200 * time.Millisecond
	// devNodeExpiry is the silence after which a node is lost.
	devNodeExpiry = 10 * time.Second
)

// DevVerb returns the command that runs a cluster for trying rmd.
func DevVerb() verb.Verb {
	return verb.Verb{
		Name: "dev", Usage: "run a cluster on this machine, with simulated nodes and a workload",
		Long: "Each replica is a process, with Raft on disk, in --data DIR or in a directory that is removed at the end.\n" +
			"REST: replica 1 at port 8088, 2 at 8188, 3 at 8288.\n" +
			"Keys: k kills the leader with SIGKILL and shows what that costs (if nothing is reserved, it submits the job " +
			"of j first), b starts dead replicas again, n takes the power from a node and gives it back, j submits a job " +
			"that needs a whole node, w shows the addresses of the pages until w or Esc, q stops the cluster.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "replicas", Usage: "number of replicas", Value: 3},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "nodes", Usage: "file with a node list, or number of nodes",
				DefaultText: "4"}),
			verb.OneOf(&cli.StringFlag{Name: "workload", Value: "mixed"}, verb.PlainWords("mixed", "none")...),
			verb.Fill(verb.DemoOrFiles, &cli.StringFlag{Name: "trace",
				Usage: "trace to use instead of the built-in workload: demo or a file"}),
			&cli.Float64Flag{Name: "speed", Usage: "workload time over real time", Value: 300},
			&cli.Float64Flag{Name: "load", Usage: "share of the cluster's GPU time that the built-in workload requests",
				Value: devLoad},
			&cli.Int64Flag{Name: "seed", Usage: "seed of the workload", Value: 1},
			verb.Fill(verb.Files, &cli.StringFlag{Name: "data", Usage: "store the cluster in this directory and keep it"}),
			&cli.IntFlag{Name: "port", Usage: "REST port of replica 1", Value: HTTPPort},
			verb.SpanFlag("for", "stop after this time", 0),
			&cli.BoolFlag{Name: "open", Usage: "open the web page"},
		},
		Examples: []string{"rmd dev --open", "rmd dev --replicas 5 --nodes 20 --speed 1000",
			"rmd dev --data ./cluster --workload none"},
		Run: runDev,
	}
}

// devCluster is the cluster of `rmd dev` and its workload.
type devCluster struct {
	c        *verb.Call
	replicas devReplicas
	client   *client.Client // of all replicas
	work     workload.Config
	trace    *trace.Trace
	// The queues of applications that keys submit.
	largeQueue, smallQueue string
	dir                    string
	logFile                *os.File
	fail                   context.CancelCauseFunc // ends the command
}

func runDev(c *verb.Call) (err error) {
	d := &devCluster{c: c}
	if err := d.plan(); err != nil {
		return err
	}
	ctx := c.Ctx()
	if c.IsSet("for") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Span("for"))
		defer cancel()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d.fail = fail
	c.PrintMessage("starting %d replicas…", c.Int("replicas"))
	if err := d.start(ctx); err != nil {
		return errors.Join(err, d.close())
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if c.Bool("open") {
		d.open()
	}
	return d.run(ctx)
}

// plan reads flags and files before anything starts.
func (d *devCluster) plan() (err error) {
	c := d.c
	if n := c.Int("replicas"); n < 1 || n > 7 {
		return clierr.Usagef("write --replicas 3", "the number of replicas, %d, is not 1 to 7", n)
	}
	if p := c.Int("port"); p < 1 || p+DevStep*c.Int("replicas") > 65000 {
		return clierr.Usagef("write --port 8088", "port %d leaves not enough ports for all replicas", p)
	}
	w := c.String("workload")
	d.trace = &trace.Trace{}
	if file := c.String("trace"); file != "" {
		if c.IsSet("workload") {
			return clierr.Usagef("use one of them", "--trace and --workload contradict each other")
		}
		if d.trace, err = trace.Read(file, trace.Options{Seed: c.Int64("seed")}); err != nil {
			return err
		}
		w = "trace"
	}
	d.work = workload.DefaultConfig()
	d.work.Heartbeat, d.work.AMHeartbeat, d.work.ProgressEvery = devHeartbeat, devHeartbeat, devProgress
	d.work.Control, d.work.Token = workload.NewControl(), rand.Text()
	d.work.Speed, d.work.Seed = c.Float64("speed"), c.Int64("seed")
	if d.work.Nodes, _, err = replay.NodesFor(c.String("nodes"), c.String("trace"), d.trace); err != nil {
		return clierr.Usagef("write --nodes 4, or name a file", "%v", err)
	}
	switch w {
	case "trace":
		d.work.Jobs = workload.FromTrace(d.trace)
	case "mixed":
		if err := mixedWork(&d.work, c.Int64("seed"), c.Float64("load")); err != nil {
			return clierr.Usagef("see rmd dev --help", "%v", err)
		}
	}
	if err := d.work.Validate(); err != nil {
		return clierr.Usagef("see rmd dev --help", "%v", err)
	}
	return nil
}

// mixedWork gives a workload the jobs of the built-in one, for its nodes.
func mixedWork(w *workload.Config, seed int64, load float64) error {
	mc := mixed.DefaultConfig()
	mc.Seed, mc.Nodes, mc.Load, mc.TimeScale = seed, len(w.Nodes), load, devScale
	g, err := mixed.NewWith(mc)
	if err != nil {
		return err
	}
	w.Jobs, w.MaxApps = workload.FromGenerator(g), devAppsPerNode*len(w.Nodes)
	return nil
}

// queues returns the queues that the trace names, or those of the demonstration.
func (d *devCluster) queues() []capacity.Property {
	out := preset.Demo()
	if len(d.trace.Queues) > 0 {
		out = preset.QueuesFor(d.trace.Queues)
	}
	return append(out, capacity.Property{Name: "yarn.nm.liveness-monitor.expiry-interval-ms",
		Value: strconv.FormatInt(devNodeExpiry.Milliseconds(), 10)})
}

// start creates the directory and the cluster.
func (d *devCluster) start(ctx context.Context) (err error) {
	if err := d.openDir(); err != nil {
		return err
	}
	if err := d.writeQueues(); err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "rmd", Level: hclog.Info, Output: d.logFile})
	d.work.Logger = log.Named("workload")
	ctx, cancel := context.WithTimeout(ctx, devStart)
	defer cancel()
	// The replicas have the same ports at every start, so that the cluster can start again from --data.
	base := PeerPort + d.c.Int("port") - HTTPPort
	var peers []string
	for i := range d.c.Int("replicas") {
		peers = append(peers, "127.0.0.1:"+strconv.Itoa(base+DevStep*i))
	}
	for i := range peers {
		r, err := d.newDevReplica(i, peers)
		if err != nil {
			return err
		}
		r.died = func(r *devReplica, err error) { d.fail(r.replicaError(err, d.c.Int("port"), d.c.String("data") != "")) }
		if err := r.start(); err != nil {
			return err
		}
		d.replicas = append(d.replicas, r)
	}
	if d.client, err = d.replicas.clientOf(d.replicas...); err != nil {
		return err
	}
	d.work.Addrs = d.replicas.addrs()
	if err := d.replicas.awaitReady(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return d.findQueues(ctx)
}

// openDir creates the directory and the log file.
func (d *devCluster) openDir() (err error) {
	d.dir = d.c.String("data")
	if d.dir == "" {
		d.dir, err = os.MkdirTemp("", "rmd-dev-*")
	} else if err = os.MkdirAll(d.dir, 0o700); err == nil {
		d.dir, err = filepath.Abs(d.dir)
	}
	if err != nil {
		return err
	}
	d.logFile, err = os.OpenFile(filepath.Join(d.dir, "rmd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// writeQueues writes the queue configuration of a new cluster.
func (d *devCluster) writeQueues() error {
	var props []hadoopconf.Property
	for _, p := range d.queues() {
		props = append(props, hadoopconf.Property{Name: p.Name, Value: p.Value})
	}
	var b bytes.Buffer
	if err := hadoopconf.Write(&b, props); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, "queues.xml"), b.Bytes(), 0o600)
}

// findQueues chooses the queues of the applications that keys submit: of the built-in workload the one
// of large jobs, or else the first leaf, and the last leaf.
func (d *devCluster) findQueues(ctx context.Context) error {
	q, err := d.client.Queues(ctx)
	if err != nil {
		return err
	}
	for _, f := range verb.Flatten(q.Root, 0) {
		if !f.Leaf {
			continue
		}
		if d.largeQueue == "" || f.Path == "root.train" {
			d.largeQueue = f.Path
		}
		d.smallQueue = f.Path
	}
	return nil
}

// run runs the workload and the summary until both end.
func (d *devCluster) run(ctx context.Context) error {
	s := newSummary(d)
	d.work.OnProgress = s.progress
	ended := make(chan error, 1)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, err := workload.Run(work, d.work)
		ended <- err
	}()
	var err error
	over := d.work.Jobs == nil // without a trace, the workload does not end
	shown := s.loop(ctx, func() {
		if !over {
			select {
			case err = <-ended:
				over = true
				s.workEnded(err)
			default:
			}
		}
	})
	cancel()
	if !over || d.work.Jobs == nil {
		<-ended // the workload ends because its context ended
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) &&
		!errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return errors.Join(shown, err)
}

// close stops the cluster and removes temporary files.
func (d *devCluster) close() error {
	leader := ""
	if d.client != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		if doc, err := d.client.Cluster(ctx); err == nil { // without an answer the order does not matter
			leader = doc.Leader
		}
		cancel()
	}
	d.replicas.stop(leader)
	var errs []error
	if d.logFile != nil {
		errs = append(errs, d.logFile.Close())
	}
	if d.c.String("data") == "" && d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// open shows the web page in the desktop's browser. On a machine without a desktop it prints the
// address.
func (d *devCluster) open() {
	url := "http://" + d.replicas[0].addr + "/ui/"
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not reach the browser
	if err := cmd.Start(); err != nil {
		d.c.PrintMessage("cannot start a browser; open %s: %v", url, err)
		return
	}
	go func() { _ = cmd.Wait() }() // the result of the browser does not matter
}
