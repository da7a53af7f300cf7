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
	"golang.org/x/term"

	"rmd/cmd/internal/argparse"
	"rmd/cmd/internal/clierr"
	"rmd/cmd/internal/output"
	"rmd/internal/exitcode"
)

// Streams are where a program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) (string, bool)
	// Whether these are terminals, and how wide stdout is.
	InTerminal, OutTerminal, ErrTerminal bool
	Width                                int
}

// Standard are the streams of this process.
func Standard() Streams {
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Width: 80}
	s.InTerminal = term.IsTerminal(int(os.Stdin.Fd()))
	s.OutTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	s.ErrTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		s.Width = w
	}
	return s
}

// Main runs the command line of this process and returns its exit code. The
// first SIGINT or SIGTERM ends the command in order, the second one at once.
func Main() int {
	syscall.Umask(0o077)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its usual effect
	return Run(ctx, os.Args, Standard())
}

// Run runs one command line, the program's name first.
func Run(ctx context.Context, args []string, s Streams) int {
	p := &program{Streams: s}
	app := p.app()
	arranged, err := argparse.Arrange(app, args)
	if err == nil {
		help := &helpWriter{}
		app.Writer = help
		err = errors.Join(app.RunContext(ctx, arranged), help.flush(s.Out))
	}
	if errors.Is(err, errQuietExit) {
		return codeOf(err)
	}
	return writeError(s, err)
}

// writeError renders an error; on a terminal its lines are folded.
func writeError(s Streams, err error) int {
	var b strings.Builder
	code := clierr.Write(&b, err)
	said := output.Printable(b.String()) // the text may be another user's, such as an AM's diagnostics
	if !s.ErrTerminal {
		_, _ = io.WriteString(s.Err, said) // nobody is left to be told
		return code
	}
	const head = "rmd: "
	for line := range strings.Lines(said) {
		rest, first := strings.CutPrefix(strings.TrimSuffix(line, "\n"), head)
		if first {
			rest = strings.Repeat(" ", len(head)) + rest
		}
		text := fold(rest, max(s.Width, 2*len(head)))
		if first {
			text = head + text[len(head):]
		}
		_, _ = io.WriteString(s.Err, text+"\n") // nobody is left to be told
	}
	return code
}

// program is one run of the command line.
type program struct {
	Streams
	tokenFile string          // of the access token
	warned    map[string]bool // files that others can read
}

// app is the whole command tree.
func (p *program) app() *cli.App {
	app := cli.NewApp()
	app.Name, app.HelpName = "rmd", "rmd"
	app.Usage = "a YARN ResourceManager replicated by Raft"
	app.HideVersion, app.HideHelpCommand = true, true
	app.Writer, app.ErrWriter, app.Reader = p.Out, p.Err, p.In
	app.Flags = append(globalFlags(p.Env), p.tokenFileFlag())
	app.Commands = p.tree()
	app.Suggest = true
	app.UseShortOptionHandling = false
	app.ExitErrHandler = func(*cli.Context, error) {} // exit codes are ours
	app.OnUsageError = usageError
	app.Action = func(c *cli.Context) error { return cli.ShowAppHelp(c) }
	app.CustomAppHelpTemplate = appHelp
	tidyFlags(app.Flags)
	setUsageErrors(app.Commands)
	return app
}

// usageError replaces the library's, which prints the whole help.
func usageError(c *cli.Context, err error, _ bool) error {
	name := "rmd"
	if c.Command != nil && c.Command.HelpName != "" {
		name = c.Command.HelpName
	}
	what := strings.Replace(err.Error(), "for flag -", "for flag --", 1) // the library's spelling
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

// errQuietExit marks an exit code that needs no line on stderr: what there is
// to say was printed as data.
var errQuietExit = errors.New("exit")

type quietExit int

func (e quietExit) Error() string        { return errQuietExit.Error() }
func (e quietExit) Is(target error) bool { return target == errQuietExit }

func codeOf(err error) int {
	var q quietExit
	if errors.As(err, &q) {
		return int(q)
	}
	return exitcode.Failure
}

const appHelp = `{{.Name}}: {{.Usage}}

Usage: rmd COMMAND [ARGUMENTS] [FLAGS]     (flags may come anywhere)

Commands:{{range .VisibleCategories}}{{if .Name}}
  {{.Name}}{{end}}{{range .VisibleCommands}}
    {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}{{end}}

Flags of every command:
   {{range .VisibleFlags}}{{.}}
   {{end}}
"rmd COMMAND --help" shows details. To try rmd: rmd dev
`
