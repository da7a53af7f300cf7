package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/nearest"
	"rmd/internal/point"
	"rmd/jepsen-lite/harness"
	"rmd/jepsen-lite/nemesis"
	"rmd/jepsen-lite/scenario"
)

func (p *program) chaos() *cli.Command {
	c := noun("chaos", "break a throw-away cluster on purpose, and hold what it did against what it must",
		p.command(p.chaosRun()), p.command(p.chaosSum()))
	c.Subcommands = append(c.Subcommands, p.command(p.chaosServer())) // hidden: nobody is told to use it
	return c
}

func (p *program) chaosSum() verb {
	return verb{
		name: "sum", usage: "add up what several runs came to", args: "DIR...", min: 1, max: -1,
		long: "Each DIR is the --out of a run. It tells how often every fault was done, how\n" +
			"long nobody was served when a leader was killed, and what was checked.\n" +
			"Exit 9 when one of the runs does not pass.",
		run: runChaosSum,
	}
}

func runChaosSum(c *call) error {
	sum, err := scenario.SumUp(c.Args().Slice())
	if err != nil {
		return &clierr.Error{Code: clierr.CodeFile, What: err.Error(), Do: "name directories that rmd chaos run has written", Err: err}
	}
	if c.format().Machine() {
		b, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		err = output.WriteDocument(c.p.Out, c.format(), b)
		if err != nil {
			return err
		}
	} else if err := sum.WriteText(c.p.Out); err != nil {
		return err
	}
	if len(sum.Failed) > 0 {
		return clierr.New(clierr.CodeCheck, "read the index.html of each", "%d of %d runs do not pass", len(sum.Failed), sum.Runs)
	}
	return nil
}

func (p *program) chaosRun() verb {
	return verb{
		name: "run", usage: "run a scenario of faults under load, and check the history", args: "[SCENARIO]", max: 1,
		long: "Real processes of this program, in a directory of their own, with simulated\n" +
			"nodes, masters, operators and readers. What this machine does not offer (network\n" +
			"namespaces, loop devices, strace) is replaced where it can be, and skipped by\n" +
			"name where not. Exit 9 when a check failed.",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "list", Usage: "list the scenarios and their faults, and what this machine offers"},
			&cli.Uint64Flag{Name: "seed", Usage: "decides which fault comes when, and who is hit", DefaultText: "drawn from the clock"},
			spanFlag("duration", "of the faults; 0 is the scenario's own", 0),
			&cli.StringFlag{Name: "only", Usage: "only these of its faults, as `NAME,NAME`"},
			&cli.StringFlag{Name: "out", Usage: "directory of history, logs and report", DefaultText: "a new one below the temporary directory"},
			&cli.StringFlag{Name: "network", Usage: "auto|loopback|namespaces", DefaultText: "the scenario's"},
			&cli.StringFlag{Name: "disk", Usage: "auto|directory|loop", DefaultText: "the scenario's"},
			&cli.IntFlag{Name: "replicas", Usage: "3 or 5", Value: 3},
			&cli.StringFlag{Name: "old", Usage: "a program of an earlier version, for the scenario upgrade"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the data directories, also when all is well"},
		},
		run: runChaos,
	}
}

func runChaos(c *call) error {
	if c.Bool("list") {
		if c.NArg() > 0 {
			return clierr.Usagef("leave one of them out", "--list and a scenario contradict each other")
		}
		return c.listChaos()
	}
	opt, err := c.chaosOptions()
	if err != nil {
		return err
	}
	began := time.Now()
	opt.Note = func(format string, args ...any) {
		c.say("%6.1fs  "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	c.say("seed %d, everything is in %s", opt.Seed, opt.Out)
	res, err := scenario.Run(c.ctx(), opt)
	if err != nil {
		return clierr.New(clierr.CodeFailed, "see "+c.path+" --list for what this machine offers", "%v", err)
	}
	return c.showChaos(res)
}

// showChaos prints the result; a run that does not pass is a failed check.
func (c *call) showChaos(res *scenario.Result) error {
	if err := errors.Join(res.WritePage(), res.WriteResult()); err != nil {
		return err
	}
	var err error
	if c.format().Machine() {
		err = output.WriteDocument(c.p.Out, c.format(), res.JSON())
	} else {
		err = res.WriteText(c.p.Out)
	}
	if err != nil {
		return err
	}
	if !res.OK() {
		return clierr.New(clierr.CodeCheck, "read "+filepath.Join(res.Out, "index.html")+" and the logs beside it", "scenario %s with seed %d does not pass", res.Scenario, res.Seed)
	}
	return nil
}

// chaosOptions reads the flags.
func (c *call) chaosOptions() (scenario.Options, error) {
	opt := scenario.DefaultOptions()
	var known []string
	for _, s := range scenario.All() {
		known = append(known, s.Name)
	}
	name := c.arg(0)
	if name == "" {
		return opt, clierr.Usagef("write "+c.path+" smoke, or --list", "no scenario is named")
	}
	s, ok := scenario.Find(name)
	if !ok {
		do := "see " + c.path + " --list"
		if near := nearest.Name(name, known); near != "" {
			do = fmt.Sprintf("did you mean %q?", near)
		}
		return opt, &clierr.Error{Code: clierr.CodeUsage, What: fmt.Sprintf("there is no scenario %q", name), Do: do, Exit: clierr.NotFound}
	}
	if only := c.String("only"); only != "" {
		var err error
		if s, err = s.Only(strings.Split(only, ",")); err != nil {
			return opt, clierr.Usagef("see "+c.path+" --list", "%v", err)
		}
	}
	opt.Scenario, opt.Seed, opt.Replicas, opt.Keep = s, c.Uint64("seed"), c.Int("replicas"), c.Bool("keep")
	if !c.IsSet("seed") {
		opt.Seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	opt.Duration, opt.Network, opt.Disk, opt.Commit = c.span("duration").Duration, c.String("network"), c.String("disk"), Version()
	for _, name := range point.All() {
		opt.Points = append(opt.Points, string(name))
	}
	var err error
	if opt.Binary, err = os.Executable(); err != nil {
		return opt, err
	}
	if opt.Old, err = c.oldProgram(s); err != nil {
		return opt, err
	}
	if opt.Out, err = c.chaosDir(); err != nil {
		return opt, err
	}
	if err := opt.Validate(); err != nil {
		_ = os.Remove(opt.Out) // it is empty, and may have been made just now
		return opt, clierr.Usagef("see "+c.path+" --help", "%v", err)
	}
	return opt, nil
}

// oldProgram is the one that --old names, which a rolling upgrade begins with.
func (c *call) oldProgram(s scenario.Scenario) (string, error) {
	old := c.String("old")
	if old == "" {
		if slices.Contains(s.Faults, "upgrade") {
			return "", clierr.Usagef("name a program of an earlier version with --old; make chaos-upgrade builds one", "scenario %s needs two programs", s.Name)
		}
		return "", nil
	}
	path, err := filepath.Abs(old)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		err = fmt.Errorf("%s is no program", path)
	}
	if err != nil {
		return "", &clierr.Error{Code: clierr.CodeFile, What: err.Error(), Do: "name a program with --old", Err: err}
	}
	return path, nil
}

// chaosDir is the directory of a run: a new one, or an empty one that was named.
func (c *call) chaosDir() (string, error) {
	dir := c.String("out")
	if dir == "" {
		return os.MkdirTemp("", "rmd-chaos-*")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(abs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return "", &clierr.Error{Code: clierr.CodeFile, What: err.Error(), Do: "name another directory with --out", Err: err}
	}
	if len(entries) > 0 {
		return "", clierr.New(clierr.CodeExists, "name another, or empty it", "%s is not empty", abs)
	}
	return abs, nil
}

// listChaos prints the scenarios, the faults, and what this machine offers.
func (c *call) listChaos() error {
	dir, err := os.MkdirTemp("", "rmd-chaos-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg := harness.DefaultConfig()
	cfg.Dir = dir
	offer, err := harness.Probe(cfg, true)
	if err != nil {
		return err
	}
	var b strings.Builder
	table := func(head string, rows func(t io.Writer)) error {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, head)
		rows(t)
		return t.Flush()
	}
	err = errors.Join(
		table("SCENARIO\tLASTS\tWHAT", func(t io.Writer) {
			for _, s := range scenario.All() {
				fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, (&span{s.Duration}).String(), s.Text)
			}
		}),
		table("\nFAULT\tNEEDS\tWHAT", func(t io.Writer) {
			for _, f := range nemesis.All() {
				fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, f.Kind, f.Text)
			}
		}),
		table("\nNEEDS\tHERE\tHOW", func(t io.Writer) {
			for _, o := range offer.All {
				fmt.Fprintf(t, "%s\t%s\t%s\n", o.Fault, o.Answer, strings.ReplaceAll(o.Why, "\n", "; "))
			}
		}))
	if err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(c.p.Out, fold(strings.TrimRight(line, " \n"), helpWidth)); err != nil {
			return err
		}
	}
	return nil
}
