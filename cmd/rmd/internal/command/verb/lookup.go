package verb

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/argparse"
)

// Candidate is a possible word and its description.
type Candidate struct{ Word, About string }

// Source returns the candidates for one place.
type Source func(l *Lookup) []Candidate

// Lookup is one request of a shell for candidates: the words before the current one, parsed.
type Lookup struct {
	Program *Program
	Ctx     context.Context
	App     *cli.App
	cmd     *cli.Command      // the command so far; nil: none
	args    []string          // arguments before the current word
	Flags   map[string]string // flags with values, by their first name
	last    string            // the current word
	Files   bool              // file names are also possible
}

// lookupMax limits how long a shell waits for the cluster.
const lookupMax = time.Second

// Candidates parses the words and returns the candidates for the last one.
func (l *Lookup) Candidates(typed []string) []Candidate {
	if len(typed) > 0 {
		l.last, typed = typed[len(typed)-1], typed[:len(typed)-1]
	}
	commands, flags := l.walk(typed)
	if flag, prefix, ok := l.valueOf(typed, flags); ok {
		return l.values(flag, prefix)
	}
	if strings.HasPrefix(l.last, "-") && !slices.Contains(typed, "--") {
		return l.matching(flagWords(flags), "")
	}
	if len(commands) > 0 || l.cmd == nil {
		return l.matching(commandWords(commands), "")
	}
	return l.matching(l.arguments(), "")
}

// walk follows the words down the command tree. It returns the subcommands and flags that are
// possible next.
func (l *Lookup) walk(typed []string) ([]*cli.Command, []cli.Flag) {
	commands, flags := l.App.Commands, slices.Clone(l.App.Flags)
	flags = append(flags, cli.HelpFlag)
	l.Flags = map[string]string{}
	for i := 0; i < len(typed); i++ {
		w := typed[i]
		if name, value, joined, ok := flagWord(w); ok {
			f := flagNamed(flags, name)
			if f == nil || !argparse.TakesValue(f) {
				continue
			}
			if !joined && i+1 < len(typed) {
				i++
				value = typed[i]
			}
			l.Flags[f.Names()[0]] = value
			continue
		}
		next := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(w) })
		if next < 0 {
			l.args = append(l.args, w)
			continue
		}
		l.cmd = commands[next]
		commands, flags = l.cmd.Subcommands, append(flags, l.cmd.Flags...)
	}
	return commands, flags
}

// flagWord splits a word at "=" if it is a flag.
func flagWord(w string) (name, value string, joined, ok bool) {
	if len(w) < 2 || w[0] != '-' || w == "--" {
		return "", "", false, false
	}
	name, value, joined = strings.Cut(strings.TrimLeft(w, "-"), "=")
	return name, value, joined, true
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range slices.Backward(flags) { // the innermost first
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// valueOf returns the flag whose value is the current word: the flag in the word before, or in the
// current word itself. prefix is the part of the current word before the value.
func (l *Lookup) valueOf(typed []string, flags []cli.Flag) (flag cli.Flag, prefix string, ok bool) {
	if name, _, joined, is := flagWord(l.last); is && joined {
		if f := flagNamed(flags, name); f != nil && argparse.TakesValue(f) {
			return f, l.last[:strings.IndexByte(l.last, '=')+1], true
		}
	}
	if n := len(typed); n > 0 {
		if name, _, joined, is := flagWord(typed[n-1]); is && !joined {
			if f := flagNamed(flags, name); f != nil && argparse.TakesValue(f) {
				return f, "", true
			}
		}
	}
	return nil, "", false
}

// values returns the candidates for a flag's value. In a comma list, they are for the last part.
func (l *Lookup) values(flag cli.Flag, prefix string) []Candidate {
	f, ok := flag.(Filled)
	if !ok {
		return nil
	}
	if f.IsSliceFlag() {
		if i := strings.LastIndexByte(l.last, ','); i >= len(prefix) {
			prefix = l.last[:i+1]
		}
	}
	return l.matching(f.from(l), prefix)
}

// arguments returns the candidates for the next argument of the command.
func (l *Lookup) arguments() []Candidate {
	v := l.Program.Verbs[l.cmd]
	places := v.Complete
	i := len(l.args)
	if v.Max < 0 && len(places) > 0 { // the last argument may be repeated
		i = min(i, len(places)-1)
	}
	if i >= len(places) {
		return nil
	}
	return slices.DeleteFunc(places[i](l), func(c Candidate) bool { return slices.Contains(l.args, c.Word) })
}

// matching returns the candidates that begin with the current word. It prepends prefix to each.
func (l *Lookup) matching(all []Candidate, prefix string) []Candidate {
	var out []Candidate
	for _, c := range all {
		c.Word = prefix + c.Word
		if strings.HasPrefix(c.Word, l.last) {
			out = append(out, Candidate{c.Word, strings.Join(strings.Fields(c.About), " ")})
		}
	}
	return out
}

func flagWords(flags []cli.Flag) []Candidate {
	var out []Candidate
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		about := ""
		if d, ok := f.(cli.DocGenerationFlag); ok {
			about = d.GetUsage()
		}
		for _, n := range f.Names() {
			if len(n) > 1 {
				out = append(out, Candidate{"--" + n, about})
			}
		}
	}
	return out
}

func commandWords(commands []*cli.Command) []Candidate {
	var out []Candidate
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, Candidate{c.Name, c.Usage})
		}
	}
	return out
}

// client returns a client for the cluster that the flags so far name.
func (l *Lookup) client() (*client.Client, error) {
	env := func(name string) string {
		if l.Program.Env == nil {
			return ""
		}
		v, _ := l.Program.Env(name)
		return v
	}
	given := func(flag, name string) string {
		if v, ok := l.Flags[flag]; ok {
			return v
		}
		return env(name)
	}
	cfg := client.DefaultConfig()
	if addrs := SplitList(given("addr", "RMD_ADDR")); len(addrs) > 0 {
		cfg.Addrs = addrs
	}
	cfg.CACert, cfg.Cert, cfg.Key = given("cacert", "RMD_CACERT"), given("cert", "RMD_CERT"), given("key", "RMD_KEY")
	cfg.Timeout, cfg.Stale, cfg.Version = lookupMax, true, l.Program.Version
	if cfg.User = given("as", "RMD_USER"); cfg.User == "" {
		cfg.User = LoginName()
	}
	if file, ok := l.Flags["token-file"]; ok {
		l.Program.tokenFile = file
	}
	var err error
	if cfg.Token, err = l.Program.accessToken(); err != nil {
		return nil, err
	}
	return client.New(cfg)
}
