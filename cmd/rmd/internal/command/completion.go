package command

import (
	_ "embed"
	"fmt"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
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
	shells  = plainWords("bash", "zsh", "fish", "powershell")
	scripts = map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript, "powershell": powershellScript}
)

func completionVerb() verb {
	return verb{
		name: "completion", usage: "print the completion script for a shell", args: helpOf(shells), min: 1, max: 1,
		long: "The script completes commands, flags and their values, and the names that the cluster " +
			"at --addr or RMD_ADDR has: applications, queues, nodes, reservations, replicas, versions.\n" +
			"It waits at most one second for the cluster, and needs no leader.\n\n" +
			"bash:        rmd completion bash > /etc/bash_completion.d/rmd\n" +
			"zsh:         rmd completion zsh > \"${fpath[1]}/_rmd\"\n" +
			"fish:        rmd completion fish > ~/.config/fish/completions/rmd.fish\n" +
			"powershell:  rmd completion powershell >> $PROFILE",
		examples: []string{"rmd completion bash > /etc/bash_completion.d/rmd"},
		complete: []source{fixed(shells)},
		run: func(c *call) error {
			s, ok := scripts[c.arg(0)]
			if !ok {
				return clierr.Usagef("write "+alternatives(wordsOf(shells)), "unknown shell %q", c.arg(0))
			}
			_, err := fmt.Fprint(c.p.Out, s)
			return err
		},
	}
}

// filesMark is the last line if file names are also allowed. The shell completes them.
const filesMark = ":files"

// complete prints the words that can replace the last word, one per line. The description of a word
// follows after a tab.
func (p *program) complete() *cli.Command {
	return &cli.Command{Name: "__complete", Hidden: true, SkipFlagParsing: true, HideHelp: true, HideHelpCommand: true, Action: func(c *cli.Context) error {
		l := &lookup{p: p, ctx: c.Context, app: c.App}
		for _, w := range l.candidates(c.Args().Slice()) {
			line := w.word
			if w.about != "" {
				line += "\t" + w.about
			}
			fmt.Fprintln(p.Out, line) // not app.Writer, which folds lines
		}
		if l.files {
			fmt.Fprintln(p.Out, filesMark)
		}
		return nil
	}}
}
