package argparse

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/internal/nearest"
)

// Each row has words that other programs use for the same thing. A person who guesses one of them
// is told which of them there is.
var (
	commandWords = [][]string{
		{"show", "get", "status", "info", "describe", "explain", "inspect", "view", "state"},
		{"list", "ls", "members", "all"},
		{"remove", "rm", "delete", "del", "cancel", "kill", "forget", "stop"},
		{"create", "add", "new", "submit", "start", "run", "save", "init", "dev", "server"},
		{"set", "edit", "update", "change", "put", "apply", "replace"},
		{"undo", "revert", "rollback", "restore"},
		{"check", "validate", "test", "lint", "verify"},
		{"log", "logs", "tail", "history"},
		{"decommission", "drain", "cordon"},
	}
	flagWords = [][]string{
		{"count", "limit", "max", "number", "lines", "tail", "last", "head"},
		{"follow", "watch", "tail"},
		{"output", "format"},
		{"since", "from", "after", "start"},
		{"yes", "force", "assume-yes"},
		{"dry-run", "check", "preview", "simulate"},
		{"comment", "message", "reason"},
		{"addr", "address", "host", "server", "url", "endpoint"},
		{"as", "user", "username"},
		{"every", "interval"},
		{"quiet", "silent", "no-headers"},
	}
)

// nounsWith returns the commands that have a subcommand named word, as a|b.
func nounsWith(commands []*cli.Command, word string) string {
	var nouns []string
	for _, c := range commands {
		if !c.Hidden && slices.ContainsFunc(c.Subcommands, func(s *cli.Command) bool { return s.HasName(word) }) {
			nouns = append(nouns, c.Name)
		}
	}
	return strings.Join(nouns, "|")
}

// didYouMean returns what to do about an unknown name: the names that mean the same, else the most
// similar name, else a reference to help.
func didYouMean(word string, names []string, rows [][]string, dash, help string) string {
	var near []string
	for _, row := range rows {
		if !slices.Contains(row, strings.ToLower(word)) {
			continue
		}
		for _, n := range names {
			if n != "ls" && n != "rm" && slices.Contains(row, n) && !slices.Contains(near, n) { // short for other names
				near = append(near, n)
			}
		}
	}
	if n := nearest.Name(word, names); n != "" && len(near) == 0 {
		near = append(near, n)
	}
	if len(near) == 0 {
		return "see " + help
	}
	if dash != "" {
		for i, n := range near {
			near[i] = dashes(n)
		}
	}
	return "did you mean " + strings.Join(near, " or ") + "? see " + help
}
