package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
)

// verb is one command.
type verb struct {
	name     string
	aliases  []string
	usage    string // one line
	args     string // as in the help: "ID"
	min, max int    // number of arguments; max < 0: any number
	long     string
	flags    []cli.Flag
	examples []string // for the help and the manual page
	complete []source // of each argument; the last one repeats if max < 0
	hidden   bool
	run      func(*call) error
	subs     []verb // of a noun, which has only a name and a usage otherwise
}

// command converts a verb or a noun to a command of the library.
func (p *program) command(v verb) *cli.Command {
	if v.subs != nil {
		return p.noun(v)
	}
	c := &cli.Command{
		Name: v.name, Aliases: v.aliases, Usage: v.usage, ArgsUsage: v.args, Description: v.long,
		UsageText: exampleText(v.examples), // the library has no field for examples
		Flags:     v.flags, HideHelpCommand: true, Hidden: v.hidden, CustomHelpTemplate: verbHelp,
	}
	c.Action = func(ctx *cli.Context) error {
		cl := &call{Context: ctx, p: p, path: ctx.Command.HelpName}
		if err := cl.check(v); err != nil {
			return err
		}
		if err := v.run(cl); !cl.stopped(err) {
			return err
		}
		return nil
	}
	if p.verbs == nil {
		p.verbs = map[*cli.Command]verb{}
	}
	p.verbs[c] = v
	return c
}

func exampleText(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "   " + strings.Join(lines, "\n   ")
}

// noun groups the verbs of one noun.
func noun(name, usage string, subs ...verb) verb { return verb{name: name, usage: usage, subs: subs} }

// noun converts a noun to a command of the library.
func (p *program) noun(v verb) *cli.Command {
	c := &cli.Command{Name: v.name, Usage: v.usage, Hidden: v.hidden, HideHelpCommand: true, CustomHelpTemplate: nounHelp}
	var names []string
	for _, s := range v.subs {
		c.Subcommands, names = append(c.Subcommands, p.command(s)), append(names, s.name)
	}
	c.Action = func(ctx *cli.Context) error {
		return clierr.Usagef("one of "+strings.Join(names, ", "), "\"rmd %s\" needs a command", v.name)
	}
	return c
}

// call is one execution of a command, with its flags and arguments.
type call struct {
	*cli.Context
	p    *program
	path string
}

// check checks what is common to all commands.
func (c *call) check(v verb) error {
	if err := c.checkValues(); err != nil {
		return err
	}
	n := c.NArg()
	switch {
	case n < v.min && v.max == v.min && v.min == 1:
		return clierr.Usagef("usage: "+c.usage(), "%s is missing", v.args)
	case n < v.min:
		return clierr.Usagef("usage: "+c.usage(), "too few arguments")
	case v.max >= 0 && n > v.max:
		return clierr.Usagef("usage: "+c.usage(), "too many arguments: %q", c.Args().Slice()[v.max])
	}
	if bad := c.String(badTimeoutFlag); bad != "" {
		return clierr.Usagef("write RMD_TIMEOUT=30s", "RMD_TIMEOUT: %q is not a duration", bad)
	}
	return nil
}

func (c *call) usage() string {
	return strings.TrimSpace(c.path + " " + c.Command.ArgsUsage)
}

// arg returns argument i, or "" if there are fewer arguments.
func (c *call) arg(i int) string { return c.Args().Get(i) }

// ctx returns the context of the command. Ctrl-C cancels it.
func (c *call) ctx() context.Context { return c.Context.Context }

// stopped reports whether an error says only that the user has stopped a command with --follow,
// which nothing else ends.
func (c *call) stopped(err error) bool {
	return c.Bool("follow") && c.ctx().Err() != nil && errors.Is(err, c.ctx().Err())
}

// span returns the duration of a flag.
func (c *call) span(name string) span {
	if s, ok := c.Generic(name).(*span); ok {
		return *s
	}
	return span{}
}

// format returns the output format, which checkValues has checked.
func (c *call) format() output.Format { return output.Format(c.String("output")) }

// quiet reports whether only data must be printed.
func (c *call) quiet() bool { return c.Bool("quiet") }

// printMessage prints a message for the user to stderr.
func (c *call) printMessage(format string, args ...any) {
	if !c.quiet() {
		fmt.Fprint(c.p.Err, output.Printable(fmt.Sprintf(format+"\n", args...)))
	}
}

// client returns a client for the cluster that the global flags describe.
func (c *call) client() (*client.Client, error) { return c.clientOf(splitList(c.String("addr"))) }

// clientOf returns a client for other addresses.
func (c *call) clientOf(addrs []string) (*client.Client, error) {
	cfg := client.DefaultConfig()
	cfg.Addrs = addrs
	cfg.CACert, cfg.Cert, cfg.Key = c.String("cacert"), c.String("cert"), c.String("key")
	cfg.Timeout, cfg.Stale, cfg.Version = c.span("timeout").Duration, c.Bool("stale"), c.p.version
	cfg.Waits = func(all []client.Standing) {
		lines := []string{fmt.Sprintf("no replica leads now; waiting, at most %s:", cfg.Timeout)}
		for _, s := range all {
			lines = append(lines, s.String())
		}
		c.printMessage("%s", strings.Join(lines, "\n     "))
	}
	if cfg.User = c.String("as"); cfg.User == "" {
		cfg.User = loginName()
	}
	var err error
	if cfg.Token, err = c.accessToken(); err != nil {
		return nil, err
	}
	cl, err := client.New(cfg)
	if err == nil {
		c.p.clients = append(c.p.clients, cl)
	}
	return cl, err
}

// singleClient returns a client for exactly one address, for commands that act on one replica.
func (c *call) singleClient() (*client.Client, error) {
	cl, err := c.client()
	if err == nil && len(cl.Addrs()) != 1 {
		return nil, clierr.Usagef("name only that replica with --addr", "%q acts on one replica, but --addr names %d", c.path, len(cl.Addrs()))
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
