package argparse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/clierr"
)

// level is one command of the command line, with the flags found for it.
type level struct {
	name  string
	flags []cli.Flag
	found []string
	seen  map[string]string // canonical flag name → value given
}

// arranger makes one pass over the words.
type arranger struct {
	app    *cli.App
	levels []*level // the app itself, then each command
	subs   []*cli.Command
	leaf   bool
	args   []string
	dashed bool // the command line has "--"
	raw    bool // the command parses its flags itself: every word is an argument
}

// Arrange returns args in the order that the parser needs. The first of args is the program's name.
// Wrong usage is reported as a *clierr.Error.
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
		case len(a.levels) == 1 && (w == "--version" || w == "-v"):
			if err := a.word("version"); err != nil {
				return nil, err
			}
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

// isFlag reports whether a word is a flag. "-" and negative numbers are not flags.
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

// path returns the commands recognized so far, such as "rmd app".
func (a *arranger) path() string {
	names := make([]string, len(a.levels))
	for i, l := range a.levels {
		names[i] = l.name
	}
	return strings.Join(names, " ")
}

// word handles a word that is not a flag. After a command without subcommands it is an argument,
// before that it is the name of a command.
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
	if nouns := nounsWith(a.subs, w); len(a.levels) == 1 && nouns != "" {
		return clierr.New(clierr.CodeUnknownWord, "did you mean rmd "+nouns+" "+w+"? see rmd --help",
			"%q is not a command of %q", w, a.path())
	}
	return clierr.New(clierr.CodeUnknownWord, didYouMean(w, names, commandWords, "", a.path()+" --help"),
		"%q is not a command of %q", w, a.path())
}

// flag finds the innermost command that has the flag w and records the flag there with its value.
// rest is the words after w. It returns how many of them were the flag's value.
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
	if slices.Contains(also(f), name) {
		name = f.Names()[0]
	}
	l.found = append(l.found, dashes(name)+"="+value)
	return used, l.once(f, w, value)
}

// known reports whether a word is a flag of the commands found so far. With it, flag sees that the
// value is missing in "--reason --yes".
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
			if slices.Contains(f.Names(), name) || slices.Contains(also(f), name) {
				return a.levels[i], f
			}
		}
	}
	return nil, nil
}

// Synonymous is a flag with more names than the help shows.
type Synonymous interface{ Synonyms() []string }

func also(f cli.Flag) []string {
	if s, ok := f.(Synonymous); ok {
		return s.Synonyms()
	}
	return nil
}

// unknown returns the error for an unknown flag and suggests the command of that name, or the most
// similar flag. It knows only the flags of the commands found so far.
func (a *arranger) unknown(w, name string) error {
	for _, c := range a.subs {
		if !c.Hidden && c.HasName(name) {
			return clierr.New(clierr.CodeUnknownFlag, "did you mean "+a.path()+" "+c.Name+"? see "+a.path()+" --help",
				"%q has no flag %s", a.path(), w)
		}
	}
	var names []string
	for _, l := range a.levels {
		for _, f := range l.flags {
			names = append(names, f.Names()...)
		}
	}
	return clierr.New(clierr.CodeUnknownFlag, didYouMean(name, names, flagWords, "-", a.path()+" --help"),
		"%q has no flag %s", a.path(), w)
}

// once refuses a flag that is given twice with different values, unless the flag takes a list.
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

// TakesValue reports whether a flag takes a value. A switch takes none.
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

// helps reports whether the command line asks for help.
func (a *arranger) helps() bool {
	for _, l := range a.levels {
		if l.seen[cli.HelpFlag.Names()[0]] == "true" {
			return true
		}
	}
	return false
}

// join returns the command line: each command followed by its flags, then the arguments. With --help
// it leaves the arguments out: the library would take the first one for the topic of the help.
func (a *arranger) join(program string) []string {
	out := []string{program}
	if a.helps() && !a.raw {
		a.args, a.dashed = nil, false
	}
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
