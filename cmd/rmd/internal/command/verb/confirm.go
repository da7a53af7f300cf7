package verb

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
)

// YesFlag is the flag of destructive commands.
func YesFlag() cli.Flag { return yesFlag("do not ask for confirmation") }

// acceptedYes is the same flag of a command that changes something and never asks, so that a script
// can add it to every change.
func acceptedYes() cli.Flag { return yesFlag("accepted, as in the commands that ask") }

func yesFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: usage}
}

// Confirm asks the user before a destructive change. On a terminal the user has to type the word,
// which is an id if the change is hard to undo. Without a terminal, --yes is required.
func (c *Call) Confirm(word, format string, args ...any) error {
	return c.ConfirmIf(func() error { return nil }, word, format, args...)
}

// ConfirmIf is like Confirm. Before it asks on a terminal, it calls check, so that nobody confirms a change
// that will be refused.
func (c *Call) ConfirmIf(check func() error, word, format string, args ...any) error {
	if c.Bool("yes") {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if !c.Program.InTerminal || !c.Program.ErrTerminal {
		return clierr.New(clierr.CodeNeedsYes, "add --yes", "not done, no terminal to confirm on: %s", what)
	}
	if err := check(); err != nil {
		return err
	}
	fmt.Fprintf(c.Program.Err, "%s? Type %q to confirm: ", strings.ToUpper(what[:1])+what[1:], word)
	line, err := bufio.NewReader(c.Program.In).ReadString('\n')
	if strings.TrimSpace(line) == word {
		return nil
	}
	if err != nil && line == "" {
		fmt.Fprintln(c.Program.Err)
	}
	return clierr.New(clierr.CodeStopped, "", "not confirmed; nothing was done")
}

func compact(b *bytes.Buffer, doc []byte) error { return json.Compact(b, doc) }

// Exists returns a check for ConfirmIf: what has this path must be there.
func (c *Call) Exists(path string) func() error {
	return func() error {
		_, err := c.Get(c.Ctx(), path, nil, &struct{}{})
		return err
	}
}

// Accepted returns a check for ConfirmIf: the cluster must accept the dry run that body asks for.
func (c *Call) Accepted(path string, body any) func() error {
	return func() error {
		cl, err := c.Client()
		if err == nil {
			_, err = cl.Post(c.Ctx(), path, body)
		}
		return err
	}
}
