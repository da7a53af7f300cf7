package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"rmd/client"
	"rmd/cmd/internal/argparse"
)

// candidate is a word that may stand somewhere, and what is told about it.
type candidate struct{ word, about string }

// source lists what may stand in one place.
type source func(l *lookup) []candidate

// lookup is one question of a shell: the words before the one being typed, and
// what was understood of them.
type lookup struct {
	p     *program
	ctx   context.Context
	app   *cli.App
	path  []string          // commands: app, list
	args  []string          // arguments before
	flags map[string]string // flags with values, by their first name
	last  string            // what is being typed
	files bool              // files may stand here
}

// lookupMax bounds how long a shell waits for the cluster.
const lookupMax = time.Second

// candidates understands the words and lists what may stand at the end.
func (l *lookup) candidates(typed []string) []candidate {
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
	if len(commands) > 0 || len(l.path) == 0 {
		return l.matching(commandWords(commands), "")
	}
	return l.matching(l.arguments(), "")
}

// walk follows the words down the tree. It returns the commands and the flags
// that may come next.
func (l *lookup) walk(typed []string) ([]*cli.Command, []cli.Flag) {
	commands, flags := l.app.Commands, slices.Clone(l.app.Flags)
	flags = append(flags, cli.HelpFlag)
	l.flags = map[string]string{}
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
			l.flags[f.Names()[0]] = value
			continue
		}
		next := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(w) })
		if next < 0 {
			l.args = append(l.args, w)
			continue
		}
		c := commands[next]
		l.path = append(l.path, c.Name)
		commands, flags = c.Subcommands, append(flags, c.Flags...)
	}
	return commands, flags
}

// flagWord takes a word apart when it is a flag.
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

// valueOf says whose value is being typed: that of the flag before, or of the
// flag in the word itself. Prefix is what of the word comes before the value.
func (l *lookup) valueOf(typed []string, flags []cli.Flag) (flag, prefix string, ok bool) {
	if name, _, joined, is := flagWord(l.last); is && joined {
		if f := flagNamed(flags, name); f != nil && argparse.TakesValue(f) {
			return f.Names()[0], l.last[:strings.IndexByte(l.last, '=')+1], true
		}
	}
	if n := len(typed); n > 0 {
		if name, _, joined, is := flagWord(typed[n-1]); is && !joined {
			if f := flagNamed(flags, name); f != nil && argparse.TakesValue(f) {
				return f.Names()[0], "", true
			}
		}
	}
	return "", "", false
}

// values lists what may be the value of a flag; of a list, its last part counts.
func (l *lookup) values(flag, prefix string) []candidate {
	from, ok := flagValues[strings.Join(l.path, " ")+" --"+flag]
	if !ok {
		from, ok = flagValues["--"+flag]
	}
	if !ok {
		return nil
	}
	if listed[flag] {
		if i := strings.LastIndexByte(l.last, ','); i >= len(prefix) {
			prefix = l.last[:i+1]
		}
	}
	return l.matching(from(l), prefix)
}

// listed are flags whose value is a comma list.
var listed = map[string]bool{"state": true, "kind": true, "columns": true, "addr": true}

// arguments lists what may be the next argument of the command.
func (l *lookup) arguments() []candidate {
	places := argumentValues[strings.Join(l.path, " ")]
	if len(places) == 0 {
		return nil
	}
	i := len(l.args)
	if i >= len(places) {
		if !slices.Contains(repeated, strings.Join(l.path, " ")) {
			return nil
		}
		i = len(places) - 1
	}
	return slices.DeleteFunc(places[i](l), func(c candidate) bool { return slices.Contains(l.args, c.word) })
}

// matching keeps the words that begin as typed. Prefix goes before each.
func (l *lookup) matching(all []candidate, prefix string) []candidate {
	var out []candidate
	for _, c := range all {
		c.word = prefix + c.word
		if strings.HasPrefix(c.word, l.last) {
			out = append(out, candidate{c.word, strings.Join(strings.Fields(c.about), " ")})
		}
	}
	return out
}

func flagWords(flags []cli.Flag) []candidate {
	var out []candidate
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
				out = append(out, candidate{"--" + n, about})
			}
		}
	}
	return out
}

func commandWords(commands []*cli.Command) []candidate {
	var out []candidate
	for _, c := range commands {
		if !c.Hidden {
			out = append(out, candidate{c.Name, c.Usage})
		}
	}
	return out
}

// client asks the cluster that the command line names so far, as it stands.
func (l *lookup) client() (*client.Client, error) {
	env := func(name string) string {
		if l.p.Env == nil {
			return ""
		}
		v, _ := l.p.Env(name)
		return v
	}
	given := func(flag, name string) string {
		if v, ok := l.flags[flag]; ok {
			return v
		}
		return env(name)
	}
	cfg := client.DefaultConfig()
	if addrs := splitList(given("addr", "RMD_ADDR")); len(addrs) > 0 {
		cfg.Addrs = addrs
	}
	cfg.CACert, cfg.Cert, cfg.Key = given("cacert", "RMD_CACERT"), given("cert", "RMD_CERT"), given("key", "RMD_KEY")
	cfg.Timeout, cfg.Stale, cfg.Version = lookupMax, true, Version()
	if cfg.User = given("as", "RMD_USER"); cfg.User == "" {
		cfg.User = loginName()
	}
	if file, ok := l.flags["token-file"]; ok {
		l.p.tokenFile = file
	}
	var err error
	if cfg.Token, err = l.p.accessToken(); err != nil {
		return nil, err
	}
	return client.New(cfg)
}
