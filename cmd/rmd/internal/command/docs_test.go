package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"rmd/cmd/internal/argparse"
)

// manDir is the directory of the manual pages in the repository.
var manDir = filepath.Join("..", "..", "..", "..", "docs", "man")

// TestManPagesAreCurrent checks that the manual pages in the repository match the command tree.
// With -rewrite it writes them.
func TestManPagesAreCurrent(t *testing.T) {
	pages := manPages((&program{}).app())
	if *rewrite {
		if r := rmd(t, nil, "docs", "man", manDir); r.exit != 0 {
			t.Fatalf("rmd docs man %s: exit %d, want 0; stderr %q", manDir, r.exit, r.err)
		}
	}
	for name, want := range pages {
		if have, err := os.ReadFile(filepath.Join(manDir, name)); err != nil || string(have) != want {
			t.Errorf("%s is not that of the command tree (%v): go test ./cmd/rmd/internal/command -run TestManPages -rewrite", name, err)
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
	for in, want := range map[string]string{".x": `\&.x`, "a-b": `a\-b`, `c:\d`: `c:\ed`, "'q": `\&'q`, "1 × …": "1 x ..."} {
		if got := plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestExamples checks that every command has examples with correct usage, and that every example
// belongs to an existing command.
func TestExamples(t *testing.T) {
	app := (&program{}).app()
	known := map[string]bool{}
	for _, l := range leaves(app.Commands, nil) {
		path := strings.Join(l.path, " ")
		known[path] = true
		if len(examples[path]) == 0 && !hidden(app.Commands, l.path) {
			t.Errorf("%s has no example", path)
		}
		for _, line := range examples[path] {
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
	for path := range examples {
		if !known[path] {
			t.Errorf("there is no command %q", path)
		}
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

// TestCompletionTablesMatchCommands checks that the tables of completion name only existing
// commands and flags.
func TestCompletionTablesMatchCommands(t *testing.T) {
	app := (&program{}).app()
	flags, commands := map[string]bool{}, map[string]*cli.Command{}
	add := func(path string, all []cli.Flag) {
		for _, f := range all {
			flags["--"+f.Names()[0]] = true
			flags[strings.TrimSpace(path+" --"+f.Names()[0])] = true
		}
	}
	add("", app.Flags)
	for _, l := range leaves(app.Commands, nil) {
		path := strings.Join(l.path, " ")
		commands[path] = l.cmd
		add(path, l.cmd.Flags)
		if args := l.cmd.ArgsUsage; strings.Contains(args, "ID") && !strings.HasPrefix(path, "access") && len(argumentValues[path]) == 0 {
			t.Errorf("%s %s is not completed", path, args)
		}
	}
	for f := range flagValues {
		if !flags[f] {
			t.Errorf("there is no flag %q", f)
		}
	}
	for path := range argumentValues {
		if c := commands[path]; c == nil || c.ArgsUsage == "" {
			t.Errorf("%q takes no arguments", path)
		}
	}
	for path, heads := range listHeads {
		if c := commands[path]; c == nil || len(heads) == 0 {
			t.Errorf("%q is no list", path)
		}
	}
}

func TestCompletionOfWords(t *testing.T) {
	for line, want := range map[string]string{
		"cl": "cluster\tcreate a cluster, change its members, check its health\n", "cluster tr": "transfer\ttransfer leadership to a replica, by default to the best one\n",
		"app list --state=run": "", "app list --state=RUN": "--state=RUNNING\n", "app list --columns id,quEUE": "", "app list --columns id,que": "id,queue\n",
		"--output ya": "yaml\n", "app wait --for": "--for\trunning|finished\n", "top --by node --sort -us": "-used\n", "replay x --speed m": "max\n",
		"check --data ": ":files\n", "replay de": "demo\tone day of a GPU cluster\n:files\n", "version ": "", "app list -- --st": "", "server --set raft.heart": "raft.heartbeat=\n",
	} {
		typed := strings.Split(line, " ")
		if r := rmd(t, nil, append([]string{"__complete"}, typed...)...); r.out != want {
			t.Errorf("%s: %q, want %q", line, r.out, want)
		}
	}
}
