package command

import (
	_ "embed"
	"fmt"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/cmd/rmd/internal/command/verb"
)

// The scripts call the program itself, because it knows its commands and asks the cluster for
// names.
var (
	//go:embed shell/rmd.bash
	bashScript string
	//go:embed shell/rmd.zsh
	zshScript string
	//go:embed shell/rmd.fish
	fishScript string
	//go:embed shell/rmd.ps1
	powershellScript string
)

var (
	shells  = verb.PlainWords("bash", "zsh", "fish", "powershell")
	scripts = map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript, "powershell": powershellScript}
)

func completionVerb() verb.Verb {
	return verb.Verb{
		Name: "completion", Usage: "print the completion script for a shell", Args: verb.HelpOf(shells), Min: 1, Max: 1,
		Long: "The script completes commands, flags and their values, and the names that the cluster " +
			"at --addr or RMD_ADDR has: applications, queues, nodes, reservations, replicas, versions.\n" +
			"It waits at most one second for the cluster, and needs no leader.\n\n" +
			"bash:        rmd completion bash > /etc/bash_completion.d/rmd\n" +
			"zsh:         rmd completion zsh > \"${fpath[1]}/_rmd\"\n" +
			"fish:        rmd completion fish > ~/.config/fish/completions/rmd.fish\n" +
			"powershell:  rmd completion powershell >> $PROFILE",
		Examples: []string{"rmd completion bash > /etc/bash_completion.d/rmd"},
		Complete: []verb.Source{verb.Fixed(shells)},
		Run: func(c *verb.Call) error {
			s, ok := scripts[c.Arg(0)]
			if !ok {
				return clierr.Usagef("write "+verb.Alternatives(verb.WordsOf(shells)), "unknown shell %q", c.Arg(0))
			}
			_, err := fmt.Fprint(c.Program.Out, s)
			return err
		},
	}
}

// filesMark is the last line if file names are also allowed. The shell completes them.
const filesMark = ":files"

// complete prints the words that can replace the last word, one per line. The description of a word
// follows after a tab.
func complete(p *verb.Program) *cli.Command {
	return &cli.Command{Name: "__complete", Hidden: true, SkipFlagParsing: true, HideHelp: true, HideHelpCommand: true,
		Action: func(c *cli.Context) error {
			l := &verb.Lookup{Program: p, Ctx: c.Context, App: c.App}
			for _, w := range l.Candidates(c.Args().Slice()) {
				line := w.Word
				if w.About != "" {
					line += "\t" + w.About
				}
				fmt.Fprintln(p.Out, line) // not app.Writer, which folds lines
			}
			if l.Files {
				fmt.Fprintln(p.Out, filesMark)
			}
			return nil
		}}
}
