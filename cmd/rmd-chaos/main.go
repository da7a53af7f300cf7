// Command rmd-chaos injects faults into a test cluster of rmd processes and verifies the guarantees
// that the cluster gives. docs/operations/chaos.md says how to use it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"
)

const help = `rmd-chaos: inject faults into a test cluster and verify its guarantees

Usage: rmd-chaos COMMAND [ARGUMENTS] [FLAGS]     (flags may come anywhere)

Commands:
   run SCENARIO  inject the faults of a scenario under load and verify the history
   sum DIR...    add up the results of several runs
   list          list the scenarios, the faults and what this machine supports

For the flags of a command: rmd-chaos COMMAND --help. To try it: rmd-chaos run smoke
`

// commands are the commands with their help texts.
var commands = map[string]struct {
	help string
	run  func(context.Context, *call) error
}{
	"run":  {runHelp, runScenario},
	"sum":  {sumHelp, sumRuns},
	"list": {listHelp, list},
}

// main runs one command. After the first SIGINT or SIGTERM the command stops in order, after the
// second the process ends at once.
func main() {
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the next signal has its default effect
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs one command line and returns its exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	err := dispatch(ctx, args, out, errs)
	if err == nil {
		return exitOK
	}
	var f *failure
	if !errors.As(err, &f) {
		f = failed(exitFailure, "FAILED", "", "%v", err)
	}
	fmt.Fprintln(errs, "rmd-chaos: "+f.Error())
	return f.exit
}

func dispatch(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) == 0 {
		return usagef("use run, sum or list", "the command is missing")
	}
	if isHelp(args[0]) {
		_, err := io.WriteString(out, help)
		return err
	}
	cmd, ok := commands[args[0]]
	if !ok {
		return usagef("use run, sum or list", "unknown command %q", args[0])
	}
	c := newCall(args[0], out, errs)
	c.rest = args[1:]
	err := cmd.run(ctx, c)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(out, cmd.help)
	}
	return err
}

func isHelp(word string) bool { return word == "--help" || word == "-h" || word == "help" }

// call is one execution of a command: its flags, arguments and outputs.
type call struct {
	flags     *flag.FlagSet
	rest      []string // the command line after the command, for parse
	args      []string // arguments without flags, set by parse
	out, errs io.Writer
	format    string
	quiet     bool
}

func newCall(name string, out, errs io.Writer) *call {
	c := &call{flags: flag.NewFlagSet(name, flag.ContinueOnError), out: out, errs: errs}
	c.flags.SetOutput(io.Discard) // dispatch prints
	for _, name := range []string{"o", "output"} {
		c.flags.StringVar(&c.format, name, "table", "")
	}
	for _, name := range []string{"q", "quiet"} {
		c.flags.BoolVar(&c.quiet, name, false, "")
	}
	return c
}

// parse parses the command line. Flags may be before, between and after the arguments.
func (c *call) parse(most int) error {
	for args := c.rest; ; {
		switch err := c.flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			return err
		case err != nil:
			return usagef("run rmd-chaos "+c.flags.Name()+" --help", "%v", err)
		}
		if c.flags.NArg() == 0 {
			break
		}
		c.args, args = append(c.args, c.flags.Arg(0)), c.flags.Args()[1:]
	}
	switch {
	case most >= 0 && len(c.args) > most:
		return usagef("run rmd-chaos "+c.flags.Name()+" --help", "too many arguments: %q", c.args[most])
	case c.format != "table" && c.format != "json" && c.format != "yaml":
		return usagef("use -o table, json or yaml", "%q is not an output format", c.format)
	}
	return nil
}

// isSet reports whether the command line contains a flag.
func (c *call) isSet(name string) bool {
	set := false
	c.flags.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// printProgress prints a message about the progress to stderr.
func (c *call) printProgress(format string, args ...any) {
	if !c.quiet {
		fmt.Fprintf(c.errs, format+"\n", args...)
	}
}

// write prints a result: as text, or as a document in a machine format.
func (c *call) write(text func(io.Writer) error, document any) error {
	var b []byte
	var err error
	switch c.format {
	case "table":
		return text(c.out)
	case "json":
		b, err = json.MarshalIndent(document, "", "  ")
		b = append(b, '\n')
	case "yaml":
		if b, err = json.Marshal(document); err == nil {
			b, err = yaml.JSONToYAML(b)
		}
	}
	if err == nil {
		_, err = c.out.Write(b)
	}
	return err
}

// span is the duration of a flag. A number without a unit is in seconds.
type span time.Duration

// Set implements flag.Value.
func (s *span) Set(text string) error {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		*s = span(time.Duration(seconds) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	*s = span(d)
	return err
}

func (s *span) String() string { return time.Duration(*s).String() }
