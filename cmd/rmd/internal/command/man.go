package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

// docsVerbs returns the commands that write the manual pages. Packages and the repository use it, users do not.
func docsVerbs() verb.Verb {
	man := verb.Verb{Name: "man", Usage: "write the manual pages", Args: "DIR", Min: 1, Max: 1,
		Run: func(c *verb.Call) error {
			pages := manPages(newApp(&verb.Program{})) // without an environment, whose values would appear as defaults
			if err := os.MkdirAll(c.Arg(0), 0o755); err != nil {
				return err
			}
			for _, name := range verb.Sorted(pages) {
				if err := os.WriteFile(filepath.Join(c.Arg(0), name), []byte(pages[name]), 0o644); err != nil {
					return err
				}
			}
			c.PrintMessage("%d pages in %s", len(pages), c.Arg(0))
			return nil
		}}
	d := verb.Noun("docs", "what is made of the command tree", man)
	d.Hidden = true
	return d
}

// manPages returns rmd(1) and a page for each command or noun.
func manPages(app *cli.App) map[string]string {
	app.Setup() // sorts the commands into their categories
	pages := map[string]string{"rmd.1": manRoot(app)}
	for _, c := range app.Commands {
		if !c.Hidden {
			pages["rmd-"+c.Name+".1"] = manCommand(c)
		}
	}
	return pages
}

// roff builds a manual page.
type roff struct{ strings.Builder }

// newRoff begins a page. It has no date and no version, so it changes only when the commands
// change.
func newRoff(name, usage string) *roff {
	r := &roff{}
	r.linef(`.\" Made by "rmd docs man"; do not edit.`)
	r.linef(`.TH %s 1 "" "rmd" "rmd manual"`, strings.ToUpper(strings.ReplaceAll(name, "-", `\-`)))
	r.linef(".SH NAME")
	r.linef("%s %s %s", plain(name), `\-`, plain(usage))
	return r
}

func (r *roff) linef(format string, args ...any) { fmt.Fprintf(r, format+"\n", args...) }

// plain escapes a text. Otherwise a period or an apostrophe at the beginning of a line would start
// a roff request.
func plain(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "×", "x").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// text writes paragraphs. A paragraph with double spaces is a table, whose lines are kept.
func (r *roff) text(s string) {
	for i, par := range strings.Split(s, "\n\n") {
		if i > 0 {
			r.linef(".PP")
		}
		kept := strings.Contains(par, "  ") // a table
		if kept {
			r.linef(".nf")
		}
		for _, line := range strings.Split(par, "\n") {
			r.linef("%s", plain(line))
		}
		if kept {
			r.linef(".fi")
		}
	}
}

// flags writes the flags with their descriptions.
func (r *roff) flags(flags []cli.Flag) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() || f.Names()[0] == "help" {
			continue
		}
		names, about, _ := strings.Cut(f.String(), "\t")
		r.linef(".TP")
		r.linef(`\fB%s\fR`, valueWord.ReplaceAllString(plain(names), ` \fI$1\fR\fB`))
		r.linef("%s", strings.ReplaceAll(plain(strings.TrimSpace(about)), verb.LineOfHelp, "\n.br\n"))
	}
}

// valueWord matches the placeholder of a flag's value.
var valueWord = regexp.MustCompile(` (value[.,]*)`)

// command writes one command: its synopsis, description, flags and examples.
func (r *roff) command(c *cli.Command, path string) {
	r.linef(`.PP`)
	r.linef(`\fB%s\fR %s`, plain(path), synopsis(c))
	if c.Description != "" {
		r.linef(".PP")
		r.text(c.Description)
	}
	r.flags(c.Flags)
	r.examples(c)
}

func (r *roff) examples(c *cli.Command) {
	if c.UsageText == "" {
		return
	}
	r.linef(".PP")
	r.linef("Examples:")
	r.linef(".PP")
	r.linef(".nf")
	for _, line := range strings.Split(c.UsageText, "\n") {
		r.linef(".RS 4\n%s\n.RE", plain(strings.TrimSpace(line)))
	}
	r.linef(".fi")
}

func synopsis(c *cli.Command) string {
	s := ""
	if c.ArgsUsage != "" {
		s = `\fI` + plain(c.ArgsUsage) + `\fR `
	}
	return s + "[flags]"
}

// meanings describes the exit codes of the client commands.
var meanings = []struct {
	code  int
	means string
}{
	{exitcode.OK, "success"}, {exitcode.Failure, "another error"}, {exitcode.Usage, "wrong usage"},
	{exitcode.NotFound, "not found"},
	{exitcode.Ended, "wait: the application ended FAILED or KILLED"},
	{exitcode.NoLeader, "no leader, or no replica reachable"},
	{exitcode.TimedOut, "timeout; the outcome of a write is unknown"}, {exitcode.NotAllowed, "not allowed"},
	{exitcode.Refused, "the state forbids it: version conflict, invalid queues, loss of quorum"},
	{exitcode.CheckFailed, "a check failed: verify, health, check, validate, bench"},
}

func manRoot(app *cli.App) string {
	r := newRoff("rmd", app.Usage)
	r.linef(".SH SYNOPSIS")
	r.linef(`\fBrmd\fR \fIcommand\fR [\fIarguments\fR] [flags]`)
	r.linef(".PP\nFlags may appear anywhere on the line. Each command has its own page: \\fBman rmd\\-app\\fR.")
	r.linef(".SH COMMANDS")
	for _, cat := range app.VisibleCategories() {
		r.linef(".SS %s", plain(cat.Name()))
		for _, c := range cat.VisibleCommands() {
			r.linef(".TP\n\\fBrmd\\-%s\\fR(1)\n%s", plain(c.Name), plain(c.Usage))
		}
	}
	r.linef(".SH FLAGS OF EVERY COMMAND")
	r.flags(app.Flags)
	r.linef(".SH EXIT STATUS")
	for _, e := range meanings {
		r.linef(".TP\n\\fB%d\\fR\n%s", e.code, plain(e.means))
	}
	r.linef(".SH SEE ALSO\nThe operator's guide, docs/operations.")
	return r.String()
}

func manCommand(c *cli.Command) string {
	name := "rmd-" + c.Name
	r := newRoff(name, c.Usage)
	r.linef(".SH SYNOPSIS")
	if len(c.Subcommands) == 0 {
		r.linef(`\fBrmd %s\fR %s`, plain(c.Name), synopsis(c))
		if c.Description != "" {
			r.linef(".SH DESCRIPTION")
			r.text(c.Description)
		}
		if len(c.Flags) > 0 {
			r.linef(".SH FLAGS")
			r.flags(c.Flags)
		}
		if c.UsageText != "" {
			r.linef(".SH EXAMPLES")
			r.linef(".nf\n%s\n.fi", plainLines(c.UsageText))
		}
	} else {
		r.linef(`\fBrmd %s\fR \fIcommand\fR [\fIarguments\fR] [flags]`, plain(c.Name))
		r.linef(".SH COMMANDS")
		r.subcommands(c, "rmd "+c.Name)
	}
	r.linef(".SH SEE ALSO\n\\fBrmd\\fR(1), which lists the flags of every command and the exit codes.")
	return r.String()
}

// subcommands writes all commands of a noun.
func (r *roff) subcommands(c *cli.Command, path string) {
	for _, s := range c.Subcommands {
		here := path + " " + s.Name
		if len(s.Subcommands) > 0 {
			r.subcommands(s, here)
			continue
		}
		r.linef(".SS %s: %s", plain(strings.TrimPrefix(here, "rmd "+c.Name+" ")), plain(s.Usage))
		r.command(s, here)
	}
}

func plainLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = plain(strings.TrimSpace(l))
	}
	return strings.Join(lines, "\n")
}
