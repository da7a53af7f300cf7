package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
)

// yesFlag belongs to commands that lose something.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask for confirmation"}
}

// confirm asks before something is lost. On a terminal the word has to be typed
// (an id, for what is hard to undo); elsewhere --yes is needed.
func (c *call) confirm(word, format string, args ...any) error {
	if c.Bool("yes") {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	if !c.p.InTerminal || !c.p.ErrTerminal {
		return clierr.New(clierr.CodeNeedsYes, "add --yes", "not done, no terminal to confirm on: %s", what)
	}
	fmt.Fprintf(c.p.Err, "%s? Type %q to confirm: ", strings.ToUpper(what[:1])+what[1:], word)
	line, err := bufio.NewReader(c.p.In).ReadString('\n')
	if strings.TrimSpace(line) == word {
		return nil
	}
	if err != nil && line == "" {
		fmt.Fprintln(c.p.Err)
	}
	return clierr.New(clierr.CodeStopped, "", "not confirmed; nothing was done")
}

func compact(b *bytes.Buffer, doc []byte) error { return json.Compact(b, doc) }
