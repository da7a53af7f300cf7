package verb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
)

// Verb is one command.
type Verb struct {
	Name     string
	Aliases  []string
	Usage    string // one line
	Args     string // as in the help: "ID"
	Min, Max int    // number of arguments; Max < 0: any number
	Long     string
	Flags    []cli.Flag
	Changes  bool     // it changes something, and takes --yes even if it never asks
	Examples []string // for the help and the manual page
	Complete []Source // of each argument; the last one repeats if Max < 0
	Hidden   bool
	Surplus  func(*Call) error // why there are too many arguments; nil: not known
	Run      func(*Call) error
	subs     []Verb // of a noun, which has only a name and a usage otherwise
}

// Command converts a verb or a noun to a command of the library.
func (p *Program) Command(v Verb) *cli.Command {
	if v.subs != nil {
		return p.noun(v)
	}
	if v.Changes && flagNamed(v.Flags, "yes") == nil {
		v.Flags = append(slices.Clip(v.Flags), acceptedYes())
	}
	c := &cli.Command{
		Name: v.Name, Aliases: v.Aliases, Usage: v.Usage, ArgsUsage: v.Args, Description: v.Long,
		UsageText: exampleText(v.Examples), // the library has no field for examples
		Flags:     v.Flags, HideHelpCommand: true, Hidden: v.Hidden, CustomHelpTemplate: verbHelp,
	}
	c.Action = func(ctx *cli.Context) error {
		cl := &Call{Context: ctx, Program: p, Path: ctx.Command.HelpName}
		if err := cl.check(v); err != nil {
			return err
		}
		if err := v.Run(cl); !cl.stopped(err) {
			return err
		}
		return nil
	}
	if p.Verbs == nil {
		p.Verbs = map[*cli.Command]Verb{}
	}
	p.Verbs[c] = v
	return c
}

func exampleText(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "   " + strings.Join(lines, "\n   ")
}

// Noun groups the verbs of one noun.
func Noun(name, usage string, subs ...Verb) Verb { return Verb{Name: name, Usage: usage, subs: subs} }

// noun converts a noun to a command of the library.
func (p *Program) noun(v Verb) *cli.Command {
	c := &cli.Command{Name: v.Name, Usage: v.Usage, Hidden: v.Hidden, HideHelpCommand: true, CustomHelpTemplate: nounHelp}
	var names []string
	for _, s := range v.subs {
		c.Subcommands, names = append(c.Subcommands, p.Command(s)), append(names, s.Name)
	}
	c.Action = func(ctx *cli.Context) error {
		return clierr.Usagef("one of "+strings.Join(names, ", "), "\"rmd %s\" needs a command", v.Name)
	}
	return c
}

// Call is one execution of a command, with its flags and arguments.
type Call struct {
	*cli.Context
	Program *Program
	Path    string
	age     string // of the state that the last answer is from, with --stale
}

// check checks what is common to all commands.
func (c *Call) check(v Verb) error {
	if err := c.checkValues(); err != nil {
		return err
	}
	n := c.NArg()
	switch {
	case n < v.Min && v.Max == v.Min && v.Min == 1:
		return clierr.Usagef("usage: "+c.Usage(), "%s is missing", v.Args)
	case n < v.Min:
		return clierr.Usagef("usage: "+c.Usage(), "too few arguments")
	case v.Max >= 0 && n > v.Max:
		if v.Surplus != nil {
			if err := v.Surplus(c); err != nil {
				return err
			}
		}
		return clierr.Usagef("usage: "+c.Usage(), "too many arguments: %q", c.Args().Slice()[v.Max])
	}
	if bad := c.String(badTimeoutFlag); bad != "" {
		return clierr.Usagef("write RMD_TIMEOUT=30s", "RMD_TIMEOUT: %q is not a duration", bad)
	}
	return nil
}

// Usage returns the command with its arguments.
func (c *Call) Usage() string {
	return strings.TrimSpace(c.Path + " " + c.Command.ArgsUsage)
}

// Arg returns argument i, or "" if there are fewer arguments.
func (c *Call) Arg(i int) string { return c.Args().Get(i) }

// Ctx returns the context of the command. Ctrl-C cancels it.
func (c *Call) Ctx() context.Context { return c.Context.Context }

// stopped reports whether an error says only that the user has stopped a command with --follow,
// which nothing else ends.
func (c *Call) stopped(err error) bool {
	return c.Bool("follow") && c.Ctx().Err() != nil && errors.Is(err, c.Ctx().Err())
}

// Span returns the duration of a flag.
func (c *Call) Span(name string) time.Duration {
	if s, ok := c.Generic(name).(*span); ok {
		return s.Duration
	}
	return 0
}

// Format returns the output format, which checkValues has checked.
func (c *Call) Format() output.Format { return output.Format(c.String("output")) }

// Quiet reports whether only data must be printed.
func (c *Call) Quiet() bool { return c.Bool("quiet") }

// PrintMessage prints a message for the user to stderr.
func (c *Call) PrintMessage(format string, args ...any) {
	if !c.Quiet() {
		fmt.Fprint(c.Program.Err, output.Printable(fmt.Sprintf(format+"\n", args...)))
	}
}

// Client returns a client for the cluster that the global flags describe.
func (c *Call) Client() (*client.Client, error) { return c.ClientOf(SplitList(c.String("addr"))) }

// ClientOf returns a client for other addresses.
func (c *Call) ClientOf(addrs []string) (*client.Client, error) {
	cfg := client.DefaultConfig()
	cfg.Addrs = addrs
	cfg.CACert, cfg.Cert, cfg.Key = c.String("cacert"), c.String("cert"), c.String("key")
	cfg.Timeout, cfg.Stale, cfg.Version = c.Span("timeout"), c.Bool("stale"), c.Program.Version
	cfg.Read = c.tellAge
	cfg.Waits = func(all []client.Standing) {
		hint := ""
		if flagNamed(c.Command.Flags, "yes") == nil && !cfg.Stale { // it reads
			hint = "; --stale shows what a replica knew last"
		}
		lines := []string{fmt.Sprintf("no leader is known; waiting, at most %s%s:", cfg.Timeout, hint)}
		for _, s := range all {
			lines = append(lines, s.String())
		}
		c.PrintMessage("%s", strings.Join(lines, "\n     "))
	}
	if cfg.User = c.String("as"); cfg.User == "" {
		cfg.User = LoginName()
	}
	var err error
	if cfg.Token, err = c.AccessToken(); err != nil {
		return nil, err
	}
	cl, err := client.New(cfg)
	if err == nil {
		c.Program.Clients = append(c.Program.Clients, cl)
		if cfg.Token != "" {
			c.warnPlain(cl.Addrs())
		}
	}
	return cl, err
}

// tellAge says how old the state of an answer is: once, or with --watch below each answer.
func (c *Call) tellAge(a *client.Answer) {
	first := c.age == ""
	if c.age = a.Age(); first && !c.Bool("watch") {
		c.PrintMessage("%s", c.age)
	}
}

// SingleClient returns a client for exactly one address, for commands that act on one replica.
func (c *Call) SingleClient() (*client.Client, error) {
	cl, err := c.Client()
	if err == nil && len(cl.Addrs()) != 1 {
		return nil, clierr.Usagef("name only that replica with --addr", "%q acts on one replica, but --addr names %d", c.Path,
			len(cl.Addrs()))
	}
	return cl, err
}

const verbHelp = `{{.HelpName}}: {{.Usage}}

Usage: {{.HelpName}}{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}{{if .VisibleFlags}} [FLAGS]{{end}}{{if .Description}}

{{.Description}}{{end}}{{if .VisibleFlags}}

Flags:
   {{range .VisibleFlags}}{{.}}
   {{end}}{{end}}{{if .UsageText}}
Examples:
{{.UsageText}}
{{end}}
The flags of every command: rmd --help
`

const nounHelp = `{{.HelpName}}: {{.Usage}}

Usage: {{.HelpName}} COMMAND [ARGUMENTS] [FLAGS]

Commands:{{range .VisibleCommands}}
   {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}

"{{.HelpName}} COMMAND --help" shows details.
`
