package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/conf"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/cmd/rmd/internal/replay"
	"rmd/scheduler/capacity"
	"rmd/workload"
	"rmd/workload/report"
	"rmd/workload/trace"
	"rmd/yarn"
)

// comparison is one value of --compare.
type comparison struct {
	name, about string
	copies      bool // with --copies
	run         func(*verb.Call, replay.Options) error
}

// The values of --compare that other flags depend on.
const (
	noReservations = "no-reservations"
	compareNodes   = "nodes"
)

// comparisons are the values of --compare. Without run it is a replay that runs a second time.
func comparisons() []comparison {
	return []comparison{
		{name: noReservations, about: "also run without reservations"},
		{name: "preemption", about: "run without preemption and with each selector of containers",
			run: compareWith(replay.ComparePreemption, report.WritePreemptionText, report.WritePreemptionJSON)},
		{name: "forecasts", about: "forecast when what waits will start, and compare that with when it starts",
			run: compareWith(replay.MeasureForecasts, report.WriteForecastText, report.WriteForecastJSON)},
		{name: "shadow", about: "run --shadow beside the queues, and compare what it says with what happens with these keys",
			run: compareShadow},
		{name: "backfill", about: "run with and without lending the idle room of reserved nodes", copies: true,
			run: compareWith(replay.CompareBackfill, report.WriteBackfillText, report.WriteBackfillJSON)},
		{name: compareNodes, about: "run with each rule that chooses the node of a container", copies: true,
			run: compareWith(replay.CompareNodes, report.WriteNodesText, report.WriteNodesJSON)},
	}
}

// comparedWith returns the values of --compare, and the names of those with copies.
func comparedWith() (all []verb.Candidate, copied []string) {
	for _, k := range comparisons() {
		all = append(all, verb.Candidate{Word: k.name, About: k.about})
		if k.copies {
			copied = append(copied, k.name)
		}
	}
	return all, copied
}

// chosen returns the value of --compare; without a name if there is none.
func chosen(c *verb.Call) comparison {
	for _, k := range comparisons() {
		if k.name == c.String("compare") {
			return k
		}
	}
	return comparison{}
}

// maxCopies is the maximum of --copies, which is how often a trace is replayed with each setting.
const maxCopies = 1000

// ReplayVerb returns the command that replays a trace.
func ReplayVerb() verb.Verb {
	compared, copied := comparedWith()
	return verb.Verb{
		Name: "replay", Usage: "replay a recorded workload and report its waiting times",
		Args: strings.Join(verb.WordsOf(verb.BuiltinTraces), "|") + "|FILE", Min: 1, Max: 1,
		Long: "\"demo\" is a trace that this program contains: 1,192 applications of one day of a GPU cluster, on four nodes.\n" +
			"\"google-like\" and \"philly-like\" are generated from --seed: lines in them are deep.\n" +
			"It uses a private cluster of three replicas. With --addr it uses a running cluster, in real time and after " +
			"confirmation: it registers simulated nodes, submits the applications, and removes its nodes at the end.\n" +
			"It refuses to use a node that the cluster already has. $RMD_ADDR alone does not select a running cluster.\n" +
			"Formats: " + strings.Join(trace.Formats(), ", ") + ".",
		Flags: []cli.Flag{
			verb.OneOf(&cli.StringFlag{Name: "format", Usage: ": format of the file", Value: trace.FormatAuto},
				verb.PlainWords(trace.Formats()...)...),
			verb.Fill(verb.Files, &cli.StringFlag{Name: "nodes", Usage: "file with a node list, or number of nodes",
				DefaultText: "the nodes of the trace"}),
			verb.Fill(verb.Files, &cli.StringFlag{Name: "queues", Usage: "Hadoop file or directory with the queues",
				DefaultText: "derived from the trace"}),
			verb.Fill(verb.Fixed(verb.PlainWords("max")),
				&cli.StringFlag{Name: "speed", Usage: "trace time over real time, or max for as fast as the cluster answers",
					Value: "max"}),
			&cli.Float64Flag{Name: "load", Usage: "factor by which arrivals are faster", Value: 1},
			&cli.Int64Flag{Name: "seed", Usage: "seed of generated values", Value: 1},
			verb.Number{IntFlag: &cli.IntFlag{Name: "limit", Usage: "maximum number of applications", DefaultText: "all"}},
			&cli.IntFlag{Name: "replicas", Usage: "replicas of the private cluster", Value: 3},
			verb.OneOf(&cli.StringFlag{Name: "compare"}, compared...),
			&cli.IntFlag{Name: "copies", Usage: "with --compare " + strings.Join(copied, " and ") +
				": copies of the trace, in which applications arrive a few seconds later, 1 to 1000", Value: 1},
			&cli.StringSliceFlag{Name: "shadow", Usage: "with --compare shadow: KEY=VALUE of the shadow",
				DefaultText: "the same queues"},
			verb.OneOf(&cli.StringFlag{Name: "scheduling", Value: "eager"}, verb.PlainWords("eager", "heartbeat")...),
			reportFlag(), verb.YesFlag(),
		},
		Examples: []string{"rmd replay demo --compare no-reservations --report page.html",
			"rmd replay trace.csv --addr rm1:8088 --speed 60 --yes"},
		Complete: []verb.Source{verb.DemoOrFiles},
		Run:      runReplay,
	}
}

func runReplay(c *verb.Call) error {
	o, err := replayOptions(c)
	if err != nil {
		return err
	}
	if len(o.Addrs) > 0 {
		if err := mayReplay(c, &o); err != nil {
			return err
		}
	}
	if run := chosen(c).run; run != nil {
		return run(c, o)
	}
	page, err := openReport(c)
	if err != nil {
		return err
	}
	defer page.abandon()
	bar := progressBar(c, &o)
	with, without, err := replay.Run(c.Ctx(), o)
	bar.end()
	if err != nil {
		return err
	}
	if err := page.write(func(w io.Writer, h report.Head) error {
		h.Source = filepath.Base(c.Arg(0))
		return report.WriteHTML(w, h, with, without)
	}); err != nil {
		return err
	}
	return writeRuns(c,
		func(w io.Writer) error { return report.WriteText(w, with, without) },
		func(w io.Writer) error { return report.WriteJSON(w, with, without) })
}

// compareWith returns a comparison that measures in virtual time and writes what it measured.
func compareWith[T any](measure func(context.Context, replay.Options) (T, error), text,
	document func(io.Writer, T) error) func(*verb.Call, replay.Options) error {
	return func(c *verb.Call, o replay.Options) error {
		bar := progressBar(c, &o)
		out, err := measure(c.Ctx(), o)
		bar.end()
		if err != nil {
			return err
		}
		return writeRuns(c, func(w io.Writer) error { return text(w, out) },
			func(w io.Writer) error { return document(w, out) })
	}
}

// compareShadow replays in virtual time with a shadow, then again with the shadow's configuration.
func compareShadow(c *verb.Call, o replay.Options) error {
	keys := map[string]string{}
	if err := conf.Assign(keys, c.StringSlice("shadow")); err != nil {
		return err
	}
	var list []capacity.Property
	for _, name := range verb.Sorted(keys) {
		list = append(list, capacity.Property{Name: name, Value: keys[name]})
	}
	measure := func(ctx context.Context, o replay.Options) (*replay.ShadowRun, error) {
		return replay.MeasureShadow(ctx, o, list)
	}
	return compareWith(measure, func(w io.Writer, run *replay.ShadowRun) error { return writeShadowRun(c, w, run) },
		func(w io.Writer, run *replay.ShadowRun) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(run)
		})(c, o)
}

// writeShadowRun prints the cluster and the shadow. If the configurations differ, it also prints
// the run with the shadow's configuration.
func writeShadowRun(c *verb.Call, w io.Writer, run *replay.ShadowRun) error {
	if run.Actual == nil {
		return writeShadowReport(c, w, *run.Beside)
	}
	if err := writeShadowStatus(c, w, *run.Beside); err != nil {
		return err
	}
	fmt.Fprintln(w)
	var rows []shadowRow
	for i, q := range run.Beside.Queues {
		rows = append(rows, shadowRow{q.Path, "cluster", q.Cluster}, shadowRow{q.Path, "shadow", q.Shadow},
			shadowRow{q.Path, "actual", run.Actual.Queues[i].Cluster})
	}
	return writeShadowRows(c, w, rows)
}

// writeRuns prints the runs as text, or as a document in another format.
func writeRuns(c *verb.Call, text, document func(io.Writer) error) error {
	switch f := c.Format(); f {
	case output.Table, output.Wide:
		return text(c.Program.Out)
	case output.JSON:
		return document(c.Program.Out)
	default:
		var b strings.Builder
		if err := document(&b); err != nil {
			return err
		}
		if f == output.JSONL {
			return verb.WriteCompact(c.Program.Out, []byte(b.String()))
		}
		return output.WriteDocument(c.Program.Out, output.YAML, []byte(b.String()))
	}
}

// replayOptions reads the flags, the trace and the nodes.
func replayOptions(c *verb.Call) (replay.Options, error) {
	o := replay.Options{Seed: c.Int64("seed"), Limit: c.Int("limit"), Replicas: c.Int("replicas"), Copies: c.Int("copies"),
		Scheduling: c.String("scheduling"), AM: true, Version: c.Program.Version}
	if o.Replicas < 1 || o.Replicas > 7 {
		return o, clierr.Usagef("write --replicas 3", "the number of replicas, %d, is not 1 to 7", o.Replicas)
	}
	k := chosen(c)
	_, copied := comparedWith()
	if o.Copies < 1 || o.Copies > maxCopies || o.Copies > 1 && !k.copies {
		return o, clierr.Usagef("write --compare backfill --copies 20",
			"--copies is a number of 1 to %d, and only for --compare %s", maxCopies, verb.Alternatives(copied))
	}
	o.Without = k.name == noReservations
	if k.name == compareNodes && c.IsSet("scheduling") {
		return o, clierr.Usagef("omit --scheduling", "--compare %s has rows of both modes", compareNodes)
	}
	for _, flag := range []string{"addr", "speed", "replicas", "report"} {
		if k.run != nil && c.IsSet(flag) {
			return o, clierr.Usagef("omit --"+flag, "--compare %s runs in virtual time, without replicas and page", k.name)
		}
	}
	var err error
	if s := c.String("speed"); s != "max" {
		if o.Speed, err = strconv.ParseFloat(strings.TrimSuffix(s, "x"), 64); err != nil || !(o.Speed > 0) {
			return o, clierr.Usagef("write --speed 300, or --speed max", "%q is not a speed", s)
		}
	}
	if !c.IsSet("addr") && envSet(c, "RMD_ADDR") {
		c.PrintMessage("note: using a private cluster; write --addr to use the running cluster at RMD_ADDR")
	}
	if c.IsSet("addr") {
		o.Addrs = verb.SplitList(c.String("addr"))
		if o.Token, err = c.AccessToken(); err != nil {
			return o, err
		}
		if o.Speed == 0 && !c.IsSet("speed") {
			o.Speed = 1
		}
		if c.IsSet("queues") || c.IsSet("replicas") || c.IsSet("scheduling") {
			return o, clierr.Usagef("omit --addr to use a private cluster",
				"--queues, --replicas and --scheduling need a private cluster")
		}
		if o.Without {
			return o, clierr.Usagef("omit --addr to use a private cluster", "--compare needs a private cluster")
		}
	}
	path := c.Arg(0)
	opt := trace.Options{Format: c.String("format"), Seed: o.Seed, Load: c.Float64("load"), Limit: o.Limit}
	if err := opt.Validate(); err != nil {
		return o, clierr.Usagef("see rmd replay --help", "%v", err)
	}
	if o.Trace, err = trace.Read(path, opt); err != nil {
		return o, traceError(err)
	}
	for _, n := range o.Trace.Notes {
		c.PrintMessage("note: %s", n)
	}
	var from string
	if n, aerr := strconv.Atoi(c.String("nodes")); aerr == nil && n < 1 {
		return o, clierr.Usagef("write --nodes 4, or --nodes FILE", "%d is not a number of nodes", n)
	}
	if o.Nodes, from, err = replay.NodesFor(c.String("nodes"), path, o.Trace); err != nil {
		return o, traceError(err)
	}
	c.PrintMessage("%d applications of %s (%s), %d nodes of %s", len(o.Trace.Jobs), path, o.Trace.Format,
		len(o.Nodes), from)
	if q := c.String("queues"); q != "" {
		if o.Queues, err = conf.ReadProperties(q); err != nil {
			return o, err
		}
	}
	o.Logger = logger(c, "off")
	return o, nil
}

// traceError adds an error code to the error of a trace or of a node list.
func traceError(err error) error {
	if errors.Is(err, trace.ErrBadTrace) || errors.Is(err, trace.ErrUnknownFormat) {
		return &clierr.Error{Code: clierr.CodeTrace, What: err.Error(),
			Do: "correct the file; nothing was replayed", Err: err}
	}
	return err
}

// mayReplay tells the user what a replay does to a running cluster, and asks for confirmation. It
// returns an error if the cluster lacks a queue of the trace, or already has a node that the replay
// would register, because a new registration would end the node's containers.
func mayReplay(c *verb.Call, o *replay.Options) error {
	cl, err := c.Client()
	if err != nil {
		return err
	}
	o.Addrs, o.TLS = cl.Addrs(), cl.TLS()
	if _, err := cl.Plain(c.Ctx(), "/v1/health"); err != nil { // checks that a replica listens there
		return err
	}
	var d api.Cluster
	if _, err := c.ClusterDoc(c.Ctx(), &d); err != nil {
		return err
	}
	name := cmp.Or(d.Name, d.ClusterID) // a replica of 1.0 says only the id
	var queues api.Queues
	if _, err := c.Get(c.Ctx(), "/v1/queues", nil, &queues); err != nil {
		return err
	}
	if lacks := lackingQueues(o.Trace.Queues, queues.Root); len(lacks) > 0 {
		return clierr.New("NO_SUCH_QUEUE",
			"add it with \"rmd conf apply\", or omit --addr: a private cluster gets the queues of the trace",
			"the trace submits to %s; cluster %s has no such leaf queue; nothing was done",
			strings.Join(lacks, ", "), name)
	}
	var known api.Nodes
	if _, err := c.Get(c.Ctx(), "/v1/nodes", nil, &known); err != nil {
		return err
	}
	if taken := takenNodes(*o, known.Nodes); len(taken) > 0 {
		return clierr.New("NODE_EXISTS",
			"if an earlier replay left it, \"rmd node forget "+taken[0]+
				"\"; else give the replay's nodes other names with --nodes FILE, or omit --addr to use a private cluster",
			"cluster %s already has %d of the replay's %d nodes, for instance %s; nothing was done", name, len(taken),
			len(o.Nodes), taken[0])
	}
	return c.Confirm(name,
		"register %d simulated nodes with cluster %s at %s (any application can get containers on them), and submit %d applications that compete with its own",
		len(o.Nodes), name, strings.Join(o.Addrs, ","), len(o.Trace.Jobs))
}

// lackingQueues returns the paths that are no leaves of a tree of queues and would not be created by
// a submission.
func lackingQueues(paths []string, root *api.Queue) (lacks []string) {
	known := map[string]bool{}
	var walk func(q *api.Queue)
	walk = func(q *api.Queue) {
		known[q.Path] = q.Leaf
		if q.AutoCreate != "off" && q.AutoCreate != "" {
			known[q.Path+".*"] = true
		}
		for i := range q.Children {
			walk(&q.Children[i])
		}
	}
	if root != nil {
		walk(root)
	}
	for _, p := range paths {
		if p != "" && !known[p] && !known[yarn.ParentQueue(p)+".*"] {
			lacks = append(lacks, p)
		}
	}
	return lacks
}

// takenNodes returns the nodes of a replay that the cluster already has, except those that an
// earlier replay has removed.
func takenNodes(o replay.Options, known []api.Node) []string {
	names := map[string]bool{}
	for _, n := range o.Nodes {
		names[n.Name] = true
	}
	var taken []string
	for _, n := range known {
		over := n.Version == workload.NodeVersion && n.State == yarn.NodeShutdown.String()
		if names[n.Host] && !over {
			taken = append(taken, n.ID)
		}
	}
	return taken
}

// logger logs to stderr at --log-level, or by default at the given level.
func logger(c *verb.Call, level string) hclog.Logger {
	if l := c.String("log-level"); l != "" {
		level = l
	}
	return hclog.New(&hclog.LoggerOptions{Name: "rmd", Level: hclog.LevelFromString(level), Output: c.Program.Err})
}

func envSet(c *verb.Call, name string) bool {
	if c.Program.Env == nil {
		return false
	}
	v, ok := c.Program.Env(name)
	return ok && v != ""
}

// replayBar shows the progress of the runs: on a terminal as a bar, elsewhere as a line now and then.
type replayBar struct {
	out      io.Writer
	terminal bool
	total    int
	run      string
	bar      *progressbar.ProgressBar
	said     time.Time // of the newest line
}

// lineEvery is the time between two lines of progress.
const lineEvery = 10 * time.Second

// progressBar lets the runs report to a new bar, unless the command is quiet.
func progressBar(c *verb.Call, o *replay.Options) *replayBar {
	b := &replayBar{out: c.Program.Err, terminal: c.Program.ErrTerminal, total: max(len(o.Trace.Jobs), 1),
		said: time.Now()}
	if !c.Quiet() {
		o.Progress = b.show
	}
	return b
}

func (b *replayBar) show(run string, p workload.Progress) {
	name, done := cmp.Or(run, "replaying"), min(int(p.Finished+p.Failed+p.Refused), b.total)
	if !b.terminal {
		if time.Since(b.said) >= lineEvery {
			b.said = time.Now()
			fmt.Fprintf(b.out, "%s: %d of %d applications\n", name, done, b.total)
		}
		return
	}
	if b.bar == nil || run != b.run {
		b.end()
		b.run = run
		b.bar = progressbar.NewOptions(b.total,
			progressbar.OptionSetWriter(b.out), progressbar.OptionSetWidth(20),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetDescription(fmt.Sprintf("%-20s", name)), progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionEnableColorCodes(false))
	}
	_ = b.bar.Set(done) // a failure to draw the bar does not matter
}

func (b *replayBar) end() {
	if b.bar != nil {
		_ = b.bar.Finish()
		b.bar = nil
	}
}
