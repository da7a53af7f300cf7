package command

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// helpWidth is the maximum width of help texts.
const helpWidth = 80

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

// helpWriter collects a help text. flush folds the lines to helpWidth.
type helpWriter struct{ bytes.Buffer }

// flush writes the collected text.
func (h *helpWriter) flush(w io.Writer) error {
	if h.Len() == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimRight(h.String(), "\n"), "\n")
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(fold(strings.TrimRight(line, " "), helpWidth) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fold breaks a line at spaces. The continuation lines are indented to the line's last column of
// text.
func fold(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if i := strings.LastIndex(line, "  "); i >= 0 && i+2 > indent && i+2 < most/2 {
		indent = utf8.RuneCountInString(line[:i+2])
	}
	pad := strings.Repeat(" ", indent)
	var out []string
	for utf8.RuneCountInString(line) > most {
		r := []rune(line)
		cut := most
		for cut > indent && r[cut] != ' ' {
			cut--
		}
		if cut <= indent {
			break // one long word
		}
		out = append(out, strings.TrimRight(string(r[:cut]), " "))
		line = pad + strings.TrimLeft(string(r[cut:]), " ")
	}
	return strings.Join(append(out, line), "\n")
}
