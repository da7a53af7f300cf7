package command

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/argparse"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/internal/exitcode"
)

// manDir is the directory of the manual pages in the repository.
var manDir = filepath.Join("..", "..", "..", "..", "docs", "man")

// TestManPagesAreCurrent checks that the manual pages in the repository match the command tree.
// With -rewrite it writes them.
func TestManPagesAreCurrent(t *testing.T) {
	pages := manPages(newApp(&verb.Program{}))
	if *rewrite {
		if r := rmd(t, nil, "docs", "man", manDir); r.exit != 0 {
			t.Fatalf("rmd docs man %s: exit %d, want 0; stderr %q", manDir, r.exit, r.err)
		}
	}
	for name, want := range pages {
		if have, err := os.ReadFile(filepath.Join(manDir, name)); err != nil || string(have) != want {
			t.Errorf("%s is not that of the command tree (%v): go test ./cmd/rmd/internal/command -run TestManPages -rewrite",
				name, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(manDir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, ok := pages[filepath.Base(f)]; !ok {
			t.Errorf("%s is of no command: remove it", f)
		}
	}
}

// TestManPagesDoNotDependOnTheReader checks that a page contains no value from the environment.
func TestManPagesDoNotDependOnTheReader(t *testing.T) {
	dir := t.TempDir()
	if r := rmd(t, map[string]string{"RMD_ADDR": "secret-host:1"}, "docs", "man", dir); r.exit != 0 {
		t.Fatalf("rmd docs man DIR: exit %d, want 0; stderr %q", r.exit, r.err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "rmd.1"))
	if err != nil || strings.Contains(string(page), "secret") || !strings.Contains(string(page), `127.0.0.1:8088`) {
		t.Errorf("%v\n%s", err, page)
	}
}

func TestPlainEscapes(t *testing.T) {
	for in, want := range map[string]string{".x": `\&.x`, "a-b": `a\-b`, `c:\d`: `c:\ed`, "'q": `\&'q`,
		"1 × …": "1 x ..."} {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestExamples checks that every command has examples of itself with correct usage.
func TestExamples(t *testing.T) {
	p := &verb.Program{}
	app := newApp(p)
	for _, l := range leaves(app.Commands, nil) {
		path, examples := strings.Join(l.path, " "), p.Verbs[l.cmd].Examples
		if len(examples) == 0 && !hidden(app.Commands, l.path) {
			t.Errorf("%s has no example", path)
		}
		for _, line := range examples {
			line, _, _ = strings.Cut(strings.TrimPrefix(line, "(umask 077; "), " > ") // the example writes a secret to a file
			line, _, _ = strings.Cut(line, " || ")
			given, err := split(line)
			if err != nil || !strings.HasPrefix(line, "rmd "+path) {
				t.Errorf("%s: %q is of another command: %v", path, line, err)
				continue
			}
			if _, err := argparse.Arrange(app, given); err != nil {
				t.Errorf("%q would not be understood: %v", line, err)
			}
		}
	}
}

// TestOnCallCommands checks that a person who is called at night can run each command of the page for
// the person on call.
func TestOnCallCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(manDir, "..", "operations", "on-call.md"))
	if err != nil {
		t.Fatal(err)
	}
	app := newApp(&verb.Program{})
	lines := regexp.MustCompile("(?m)`(rmd [^`]+)`|^(rmd .+)$").FindAllStringSubmatch(string(text), -1)
	for _, m := range lines {
		given := strings.Fields(m[1] + m[2])
		if _, err := argparse.Arrange(app, given); err != nil {
			t.Errorf("%q would not be understood: %v", given, err)
		}
		if path := strings.Join(given[:min(len(given), 3)], " "); !slices.ContainsFunc(leaves(app.Commands, nil),
			func(l leaf) bool {
				return strings.HasPrefix(path+" ", "rmd "+strings.Join(l.path, " ")+" ")
			}) {
			t.Errorf("%q is no command", path)
		}
	}
	if len(lines) < 10 {
		t.Errorf("only %d commands found", len(lines))
	}
}

func hidden(commands []*cli.Command, path []string) bool {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == path[0] })
	return commands[i].Hidden || len(path) > 1 && hidden(commands[i].Subcommands, path[1:])
}

// split splits a line as a shell would, as far as the examples need it.
func split(line string) ([]string, error) {
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out, nil
}

// TestEveryID checks that every command completes its IDs.
func TestEveryID(t *testing.T) {
	p := &verb.Program{}
	for _, l := range leaves(newApp(p).Commands, nil) {
		path := strings.Join(l.path, " ")
		if args := l.cmd.ArgsUsage; strings.Contains(args, "ID") && !strings.HasPrefix(path, "access") &&
			len(p.Verbs[l.cmd].Complete) == 0 {
			t.Errorf("%s %s is not completed", path, args)
		}
	}
}

// TestValuesOfFlags checks for every flag with a fixed set of values that the help, the completion,
// the check and its error have the same values. A flag whose help lists values must be one of them.
func TestValuesOfFlags(t *testing.T) {
	app := newApp(&verb.Program{})
	listed := regexp.MustCompile(`^[a-z]+(\|[a-z]+)+`)
	tried := 0
	for _, l := range leaves(app.Commands, nil) {
		if l.cmd.SkipFlagParsing {
			continue
		}
		path := strings.Join(l.path, " ")
		for _, flag := range slices.Concat(l.cmd.Flags, app.Flags) {
			f, ok := flag.(verb.Filled)
			name := "--" + flag.Names()[0]
			if !ok || len(f.Only) == 0 {
				if d, ok := flag.(cli.DocGenerationFlag); ok && listed.MatchString(d.GetUsage()) {
					t.Errorf("%s %s: its help lists values, but it takes any: %s", path, name, d.GetUsage())
				}
				continue
			}
			tried++
			var offered []string
			out := rmd(t, nil, slices.Concat([]string{"__complete"}, l.path, []string{name, ""})...).out
			for line := range strings.Lines(out) {
				word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				offered = append(offered, word)
			}
			if !slices.Equal(offered, verb.WordsOf(f.Only)) {
				t.Errorf("%s %s completes %q, want %q", path, name, offered, verb.WordsOf(f.Only))
			}
			r := rmd(t, nil, append(slices.Clone(l.path), name+"=@")...)
			if r.exit != exitcode.Usage || !strings.Contains(r.err, `unknown value "@" of `+name) {
				t.Errorf("rmd %s %s=@: exit %d, stderr %q; want exit %d and the flag in the error", path, name, r.exit, r.err,
					exitcode.Usage)
			}
			for _, v := range f.Only {
				if len(f.Only) <= verb.MostInHelp && (!strings.Contains(f.GetUsage(), v.Word) || !strings.Contains(r.err, v.Word)) {
					t.Errorf("%s %s: %s is not in the help %q or not in the error %q", path, name, v.Word, f.GetUsage(), r.err)
				}
				if word, err := f.Find(strings.ToUpper(v.Word)); err != nil || word != v.Word {
					t.Errorf("%s %s=%s is read as %q, %v", path, name, strings.ToUpper(v.Word), word, err)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d flags have values", tried)
	}
}

func TestCompletionOfWords(t *testing.T) {
	for line, want := range map[string]string{
		"cl":                   "cluster\tcreate a cluster, change its members, check its health\n",
		"cluster tr":           "transfer\ttransfer leadership to a replica, by default to the best one\n",
		"app list --state=run": "", "app list --state=RUN": "--state=RUNNING\n", "app list --columns id,quEUE": "",
		"app list --columns id,que": "id,queue\n",
		"--output ya":               "yaml\n", "app wait --for": "--for\trunning|finished\n",
		"top --by node --sort -us": "-used\n", "replay x --speed m": "max\n",
		"check --data ": ":files\n", "replay de": "demo\tone day of a GPU cluster\n:files\n", "version ": "",
		"replay --compare ba": "backfill\trun with and without lending the idle room of reserved nodes\n",
		"autopilot set min":   "min_quorum=\n", "access token list --sort na": "name\n", "bench heartbeat --nodes ": "",
		"app list --state run": "", "app list -- --st": "", "server --set raft.heart": "raft.heartbeat=\n",
	} {
		typed := strings.Split(line, " ")
		if r := rmd(t, nil, append([]string{"__complete"}, typed...)...); r.out != want {
			t.Errorf("%s: %q, want %q", line, r.out, want)
		}
	}
}
