package command

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/rmd/internal/exit"
)

// scripts ask the program itself: it knows its commands best.
var scripts = map[string]string{
	"bash": `_rmd() {
  local IFS=$'\n'
  COMPREPLY=($(rmd __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _rmd rmd
`,
	"zsh": `#compdef rmd
_rmd() {
  local -a found
  found=("${(@f)$(rmd __complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  compadd -- $found || _files
}
compdef _rmd rmd
`,
	"fish": `complete -c rmd -f -a '(rmd __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName rmd -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq "") { $words += "" }
  rmd __complete @words 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`,
}

func (p *program) completion() verb {
	return verb{
		name: "completion", usage: "print the script that lets a shell complete rmd's words", args: "bash|zsh|fish|powershell", min: 1, max: 1,
		long: "For instance: rmd completion bash > /etc/bash_completion.d/rmd",
		run: func(c *call) error {
			s, ok := scripts[c.arg(0)]
			if !ok {
				return exit.Usagef("one of "+strings.Join(sorted(scripts), ", "), "%q is not a shell that is known", c.arg(0))
			}
			_, err := fmt.Fprint(c.p.Out, s)
			return err
		},
	}
}

// complete lists what may stand in the place of the last word.
func (p *program) complete() *cli.Command {
	return &cli.Command{Name: "__complete", Hidden: true, SkipFlagParsing: true, HideHelp: true, HideHelpCommand: true, Action: func(c *cli.Context) error {
		for _, w := range candidates(c.App, c.Args().Slice()) {
			fmt.Fprintln(c.App.Writer, w)
		}
		return nil
	}}
}

func candidates(app *cli.App, typed []string) []string {
	last := ""
	if len(typed) > 0 {
		last, typed = typed[len(typed)-1], typed[:len(typed)-1]
	}
	commands, flags := app.Commands, append([]cli.Flag{}, app.Flags...)
	for _, w := range typed {
		for _, c := range commands {
			if c.HasName(w) {
				commands, flags = c.Subcommands, append(flags, c.Flags...)
				break
			}
		}
	}
	var out []string
	add := func(w string) {
		if strings.HasPrefix(w, last) {
			out = append(out, w)
		}
	}
	if strings.HasPrefix(last, "-") {
		for _, f := range flags {
			if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
				continue
			}
			for _, n := range f.Names() {
				if len(n) > 1 {
					add("--" + n)
				}
			}
		}
		return out
	}
	for _, c := range commands {
		if !c.Hidden {
			add(c.Name)
		}
	}
	return out
}
