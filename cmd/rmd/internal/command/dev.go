package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/local"
	"rmd/cmd/rmd/internal/replay"
	"rmd/config"
	"rmd/scheduler/capacity"
	"rmd/workload"
	"rmd/workload/mixed"
	"rmd/workload/trace"
)

// Replica i of a dev cluster listens on YARN's ports + devStep·(i − 1). devLoad is the share of the
// cluster's GPU time that the built-in workload requests.
const (
	devStep  = 100
	devStart = 30 * time.Second
	// devScale stretches the built-in workload, whose times are seconds, to the hours of a real
	// cluster. At the default speed it takes seconds again.
	devScale = 300
	// devHeartbeat keeps the real time for heartbeats small compared with the run times of a
	// workload that is replayed fast.
	devLoad      = 0.9
	devHeartbeat = 200 * time.Millisecond
)

func (p *program) dev() verb {
	return verb{
		name: "dev", usage: "run a cluster in one process, with simulated nodes and a workload",
		long: "The replicas use Raft on disk, in --data DIR or in a directory that is removed at the end.\nREST: replica 1 at port 8088, 2 at 8188, 3 at 8288. Ctrl-C stops the cluster.",
		flags: []cli.Flag{
			&cli.IntFlag{Name: "replicas", Usage: "number of replicas", Value: 3},
			fill(files, &cli.StringFlag{Name: "nodes", Usage: "file with a node list, or number of nodes", DefaultText: "4"}),
			oneOf(&cli.StringFlag{Name: "workload", Value: "mixed"}, plainWords("mixed", "none")...),
			fill(demoOrFiles, &cli.StringFlag{Name: "trace", Usage: "trace to use instead of the built-in workload: demo or a file"}),
			&cli.Float64Flag{Name: "speed", Usage: "workload time over real time", Value: 300},
			&cli.Float64Flag{Name: "load", Usage: "share of the cluster's GPU time that the built-in workload requests", Value: devLoad},
			&cli.Int64Flag{Name: "seed", Usage: "seed of the workload", Value: 1},
			fill(files, &cli.StringFlag{Name: "data", Usage: "store the cluster in this directory and keep it"}),
			&cli.IntFlag{Name: "port", Usage: "REST port of replica 1", Value: httpPort},
			spanFlag("for", "stop after this time", 0),
			&cli.BoolFlag{Name: "open", Usage: "open the web page"},
		},
		examples: []string{"rmd dev --open", "rmd dev --replicas 5 --nodes 20 --speed 1000", "rmd dev --data ./cluster --workload none"},
		run:      runDev,
	}
}

// devCluster is the cluster of `rmd dev` and its workload.
type devCluster struct {
	c       *call
	cluster *local.Cluster
	work    workload.Config
	trace   *trace.Trace
	dir     string
	logFile *os.File
}

func runDev(c *call) (err error) {
	d := &devCluster{c: c}
	if err := d.plan(); err != nil {
		return err
	}
	ctx := c.ctx()
	if c.IsSet("for") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.span("for").Duration)
		defer cancel()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if err := d.start(ctx, fail); err != nil {
		return openError(err)
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
	if p := c.Int("port"); p < 1 || p+devStep*c.Int("replicas") > 65000 {
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
	d.work.Heartbeat, d.work.AMHeartbeat = devHeartbeat, devHeartbeat
	d.work.Speed, d.work.Seed = c.Float64("speed"), c.Int64("seed")
	if d.work.Nodes, _, err = replay.NodesFor(c.String("nodes"), c.String("trace"), d.trace); err != nil {
		return clierr.Usagef("write --nodes 4, or name a file", "%v", err)
	}
	switch w {
	case "trace":
		d.work.Jobs = workload.FromTrace(d.trace)
	case "mixed":
		mc := mixed.DefaultConfig()
		mc.Seed, mc.Nodes, mc.Load, mc.TimeScale = c.Int64("seed"), len(d.work.Nodes), c.Float64("load"), devScale
		g, err := mixed.NewWith(mc)
		if err != nil {
			return clierr.Usagef("see rmd dev --help", "%v", err)
		}
		d.work.Jobs = workload.FromGenerator(g)
	}
	if err := d.work.Validate(); err != nil {
		return clierr.Usagef("see rmd dev --help", "%v", err)
	}
	return nil
}

// queues returns the queues that the trace names, or those of the demonstration.
func (d *devCluster) queues() []capacity.Property {
	if len(d.trace.Queues) > 0 {
		return capacity.QueuesFor(d.trace.Queues)
	}
	return capacity.DemoProperties()
}

// start creates the directory and the cluster.
func (d *devCluster) start(ctx context.Context, fail context.CancelCauseFunc) (err error) {
	d.dir = d.c.String("data")
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "rmd-dev-*"); err != nil {
			return err
		}
	} else if err = os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	if d.logFile, err = os.OpenFile(filepath.Join(d.dir, "rmd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return errors.Join(err, d.close())
	}
	level := d.c.String("log-level")
	if level == "" {
		level = "info"
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "rmd", Level: hclog.LevelFromString(level), Output: d.logFile})
	d.work.Logger = log.Named("workload")
	ctx, cancel := context.WithTimeout(ctx, devStart)
	defer cancel()
	d.cluster, err = local.Start(ctx, local.Options{
		Replicas: d.c.Int("replicas"), Dir: d.dir, HTTPPort: d.c.Int("port"), Queues: d.queues(), Scheduling: "eager",
		Adjust: d.fixPorts, Version: Version(), Logger: log, OnFatal: func(id string, code int, err error) {
			fail(&clierr.Error{Code: "REPLICA_STOPPED", What: fmt.Sprintf("replica %s had to stop: %v", id, err), Do: "see " + d.logFile.Name(), Exit: code, Err: err})
		},
	})
	if err != nil {
		return errors.Join(err, d.close())
	}
	d.work.Addrs, d.work.Token = d.cluster.Addrs(), d.cluster.Token()
	return nil
}

// fixPorts gives the replicas the same ports at every start, so that the cluster can start again
// from --data.
func (d *devCluster) fixPorts(i int, k *config.Config) {
	base := peerPort + d.c.Int("port") - httpPort
	k.Raft.Join = nil
	for j := range d.c.Int("replicas") {
		k.Raft.Join = append(k.Raft.Join, "127.0.0.1:"+strconv.Itoa(base+devStep*j))
	}
	k.Raft.Listen = k.Raft.Join[i]
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
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return errors.Join(shown, err)
}

// close stops the cluster and removes temporary files.
func (d *devCluster) close() error {
	var errs []error
	if d.cluster != nil {
		errs = append(errs, d.cluster.Close())
	}
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
	url := "http://" + d.cluster.Addrs()[0] + "/ui/"
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not reach the browser
	if err := cmd.Start(); err != nil {
		d.c.printMessage("cannot start a browser; open %s: %v", url, err)
		return
	}
	go func() { _ = cmd.Wait() }() // the result of the browser does not matter
}
