package command

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/rmd/internal/command/verb"
)

// tidyFlags removes "(default: false)" from the help.
func tidyFlags(flags []cli.Flag) {
	for _, f := range flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
}

// listWord matches the text with which the library says that a flag may be repeated.
var listWord = regexp.MustCompile(` \[ --[^]]* \]`)

// The library formats flags with one variable for the whole program.
func init() {
	written := cli.FlagStringer
	cli.FlagStringer = func(f cli.Flag) string { return listWord.ReplaceAllString(written(f), "...") }
}

// helpWriter collects a help text. flush folds the lines to verb.HelpWidth.
type helpWriter struct{ bytes.Buffer }

// flush writes the collected text.
func (h *helpWriter) flush(w io.Writer) error {
	if h.Len() == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(h.String(), "\n"), "\n")
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(verb.Fold(strings.TrimRight(line, " "), verb.HelpWidth) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
