package argparse

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
	"rmd/internal/nearest"
)

// level is one command on the way down the tree, with the flags found for it.
type level struct {
	name  string
	flags []cli.Flag
	found []string
	seen  map[string]string // canonical flag name → value given
}

// arranger walks the words once.
type arranger struct {
	app    *cli.App
	levels []*level // the app itself, then each command
	subs   []*cli.Command
	leaf   bool
	args   []string
	dashed bool // an argument stood behind "--"
	raw    bool // the command takes every word as it is
}

// Arrange returns args (the program's name first) in the parser's order. A
// fault of usage is an *clierr.Error.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	a := &arranger{app: app, subs: app.Commands}
	a.push(app.Name, append([]cli.Flag{cli.HelpFlag}, app.Flags...))
	words := helpFirst(args[1:])
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case a.raw:
			a.args = append(a.args, w)
		case w == "--":
			a.args, a.dashed = append(a.args, words[i+1:]...), true
			i = len(words)
		case !isFlag(w):
			if err := a.word(w); err != nil {
				return nil, err
			}
		default:
			used, err := a.flag(w, words[i+1:])
			if err != nil {
				return nil, err
			}
			i += used
		}
	}
	return a.join(args[0]), nil
}

// helpFirst turns "help WORDS…" into "WORDS… --help".
func helpFirst(words []string) []string {
	if len(words) > 0 && (words[0] == "help" || words[0] == "h") {
		return append(append([]string{}, words[1:]...), "--help")
	}
	return words
}

// isFlag says whether a word is a flag; "-" and negative numbers are not.
func isFlag(w string) bool {
	if len(w) < 2 || w[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(w, 64)
	return err != nil
}

func (a *arranger) push(name string, flags []cli.Flag) {
	a.levels = append(a.levels, &level{name: name, flags: flags, seen: map[string]string{}})
}

// path is what was understood so far: "rmd app".
func (a *arranger) path() string {
	names := make([]string, len(a.levels))
	for i, l := range a.levels {
		names[i] = l.name
	}
	return strings.Join(names, " ")
}

// word takes a command's name, or an argument once a leaf is reached.
func (a *arranger) word(w string) error {
	if a.leaf {
		a.args = append(a.args, w)
		return nil
	}
	for _, c := range a.subs {
		if !c.HasName(w) {
			continue
		}
		a.push(c.Name, append([]cli.Flag{cli.HelpFlag}, c.Flags...))
		a.subs, a.leaf, a.raw = c.Subcommands, len(c.Subcommands) == 0, c.SkipFlagParsing
		return nil
	}
	var names []string
	for _, c := range a.subs {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	return clierr.New(clierr.CodeUnknownWord, didYouMean(w, names, "", a.path()+" --help"), "%q is not a command of %q", w, a.path())
}

// flag finds the level that knows the flag, innermost first, and takes its
// value. It returns how many of the words behind it were used up.
func (a *arranger) flag(w string, rest []string) (int, error) {
	name, value, joined := strings.Cut(strings.TrimLeft(w, "-"), "=")
	l, f := a.lookup(name)
	if f == nil {
		return 0, a.unknown(w, name)
	}
	if !TakesValue(f) {
		l.found = append(l.found, w)
		return 0, l.once(f, w, strconv.FormatBool(!joined || value == "true"))
	}
	used := 0
	if !joined {
		if len(rest) == 0 || a.known(rest[0]) {
			return 0, clierr.Usagef("write "+dashes(name)+"=VALUE", "%s needs a value", w)
		}
		value, used = rest[0], 1
	}
	l.found = append(l.found, dashes(name)+"="+value)
	return used, l.once(f, w, value)
}

// known says whether a word is a flag that could stand here, so that
// "--reason --yes" is seen as a value forgotten.
func (a *arranger) known(w string) bool {
	if !isFlag(w) {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
	_, f := a.lookup(name)
	return f != nil
}

func (a *arranger) lookup(name string) (*level, cli.Flag) {
	for i := len(a.levels) - 1; i >= 0; i-- {
		for _, f := range a.levels[i].flags {
			for _, n := range f.Names() {
				if n == name {
					return a.levels[i], f
				}
			}
		}
	}
	return nil, nil
}

// unknown suggests the nearest flag; flags of commands further down are not
// known yet, so the whole way down counts only when it was walked.
func (a *arranger) unknown(w, name string) error {
	var names []string
	for _, l := range a.levels {
		for _, f := range l.flags {
			names = append(names, f.Names()...)
		}
	}
	return clierr.New(clierr.CodeUnknownFlag, didYouMean(name, names, "-", a.path()+" --help"), "%q has no flag %s", a.path(), w)
}

// once refuses a flag that is given twice with different values, unless it is
// made for that.
func (l *level) once(f cli.Flag, w, value string) error {
	if s, ok := f.(cli.DocGenerationSliceFlag); ok && s.IsSliceFlag() {
		return nil
	}
	key := f.Names()[0]
	if old, ok := l.seen[key]; ok && old != value {
		return clierr.Usagef("give it once", "%s is given twice, as %q and as %q", w, old, value)
	}
	l.seen[key] = value
	return nil
}

// TakesValue says whether the flag wants a value; a switch does not.
func TakesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return !ok || d.TakesValue()
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// join writes each level's flags behind its name, and the arguments last.
func (a *arranger) join(program string) []string {
	out := []string{program}
	for i, l := range a.levels {
		if i > 0 {
			out = append(out, l.name)
		}
		out = append(out, l.found...)
	}
	if !a.raw && (len(a.args) > 0 || a.dashed) {
		out = append(out, "--")
	}
	return append(out, a.args...)
}

// didYouMean is the "what to do" of an unknown name.
func didYouMean(word string, names []string, dash, help string) string {
	n := nearest.Name(word, names)
	if n == "" {
		return "see " + help
	}
	if dash != "" {
		n = dashes(n)
	}
	return "did you mean " + n + "? see " + help
}
