package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/argparse"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

// Main runs the command line of this process and returns its exit code. After the first SIGINT or
// SIGTERM the command stops in order, after the second the process ends at once.
func Main() int {
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its default effect
	return Run(ctx, os.Args, verb.Standard())
}

// Run runs one command line and returns its exit code. The first of args is the program's name.
func Run(ctx context.Context, args []string, s verb.Streams) int {
	p := &verb.Program{Streams: s, Version: Version()}
	defer func() {
		for _, cl := range p.Clients {
			cl.Close()
		}
	}()
	app := newApp(p)
	arranged, err := argparse.Arrange(app, args)
	if err == nil {
		help := &helpWriter{}
		app.Writer = help
		err = errors.Join(app.RunContext(ctx, arranged), help.flush(s.Out))
	}
	if errors.Is(err, verb.ErrQuietExit) {
		return codeOf(err)
	}
	code := writeError(p.Streams, err)
	if p.Lines != nil {
		p.Lines.Flush(verb.LastLines)
	}
	return code
}

// writeError prints an error and returns its exit code. On a terminal it folds the lines.
func writeError(s verb.Streams, err error) int {
	var b strings.Builder
	code := clierr.Write(&b, err)
	said := output.Printable(b.String()) // may contain text of other users, such as an AM's diagnostics
	if !s.ErrTerminal {
		_, _ = io.WriteString(s.Err, said) // there is nowhere to report this error
		return code
	}
	const head = "rmd: "
	for line := range strings.Lines(said) {
		rest, first := strings.CutPrefix(strings.TrimSuffix(line, "\n"), head)
		if first {
			rest = strings.Repeat(" ", len(head)) + rest
		}
		text := verb.Fold(rest, max(s.Width, 2*len(head)))
		if first {
			text = head + text[len(head):]
		}
		_, _ = io.WriteString(s.Err, text+"\n") // there is nowhere to report this error
	}
	return code
}

// newApp returns the command tree.
func newApp(p *verb.Program) *cli.App {
	app := cli.NewApp()
	app.Name, app.HelpName = "rmd", "rmd"
	app.Usage = "a YARN ResourceManager replicated by Raft"
	app.HideVersion, app.HideHelpCommand = true, true
	app.Writer, app.ErrWriter, app.Reader = p.Out, p.Err, p.In
	app.Flags = append(verb.GlobalFlags(p.Env), p.TokenFileFlag())
	app.Commands = tree(p)
	app.Suggest = true
	app.UseShortOptionHandling = false
	app.ExitErrHandler = func(*cli.Context, error) {} // Run determines the exit code
	app.OnUsageError = usageError
	app.Action = func(c *cli.Context) error { return cli.ShowAppHelp(c) }
	app.CustomAppHelpTemplate = appHelp
	tidyFlags(app.Flags)
	setUsageErrors(app.Commands)
	return app
}

// usageError replaces the library's function, which prints the whole help.
func usageError(c *cli.Context, err error, _ bool) error {
	name := "rmd"
	if c.Command != nil && c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	what := strings.Replace(err.Error(), "for flag -", "for flag --", 1) // the library writes one dash
	what = strings.Replace(what, ": parse error", ": not a number", 1)
	return clierr.Usagef("see "+name+" --help", "%s", what)
}

func setUsageErrors(commands []*cli.Command) {
	for _, c := range commands {
		c.OnUsageError = usageError
		tidyFlags(c.Flags)
		setUsageErrors(c.Subcommands)
	}
}

func codeOf(err error) int {
	var q verb.QuietExit
	if errors.As(err, &q) {
		return int(q)
	}
	return exitcode.Failure
}

// appHelp lists the groups in the order of the alphabet, but the commands of every day first, and then
// those that run something.
const appHelp = `{{define "group"}}{{if .Name}}
  {{.Name}}{{end}}{{range .VisibleCommands}}
    {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}{{end}}{{.Name}}: {{.Usage}}

Usage: rmd COMMAND [ARGUMENTS] [FLAGS]     (flags may come anywhere)

Commands:{{range .VisibleCategories}}{{if eq .Name "Scheduling"}}{{template "group" .}}{{end}}{{end -}}
{{range .VisibleCategories}}{{if eq .Name "Run"}}{{template "group" .}}{{end}}{{end -}}
{{range .VisibleCategories}}{{if and (ne .Name "Run") (ne .Name "Scheduling")}}{{template "group" .}}{{end}}{{end}}

Flags of every command:
   {{range .VisibleFlags}}{{.}}
   {{end}}
"rmd COMMAND --help" shows details, "rmd --version" the version. To try rmd: rmd dev
`
