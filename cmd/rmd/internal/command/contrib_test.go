package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"rmd/cmd/internal/argparse"
	"rmd/cmd/rmd/internal/command/replica"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
	"rmd/contrib"
)

// TestUnitFileDescriptorLimit checks that a replica of several machines starts without a warning
// with the limit of open files in the unit file.
func TestUnitFileDescriptorLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	if r := rmd(t, nil, "init", "--cluster", "prod", "--replicas", "rm1=10.0.0.11", "--tls"); r.exit != 0 {
		t.Fatalf("rmd init --replicas rm1=10.0.0.11 --tls: exit %d, want 0; stderr %q", r.exit, r.err)
	}
	limit, err := strconv.Atoi(string(regexp.MustCompile(`(?m)^LimitNOFILE=(\d+)$`).FindSubmatch(contrib.Unit)[1]))
	if err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Source{File: "prod/rm1/rmd.yaml", Files: limit})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range l.Warnings {
		if strings.Contains(w, "open files") {
			t.Errorf("with LimitNOFILE=%d, Load warns %q, want no warning about open files", limit, w)
		}
	}
}

// TestComposeFile runs the command that creates the configurations for compose.yaml, and checks
// that each replica in the file finds its own.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "contrib", "container", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Command  []string
			Hostname string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	const etc = "/etc/rmd"
	here := t.TempDir()
	_, line, _ := strings.Cut(file.Services["init"].Command[0], "|| rmd ")
	if r := rmd(t, nil, strings.Fields(strings.ReplaceAll(line, etc, here))...); r.exit != 0 {
		t.Fatalf("rmd %s: exit %d, want 0; stderr %q", line, r.exit, r.err)
	}
	for _, id := range []string{"rm1", "rm2", "rm3"} {
		s := file.Services[id]
		if _, err := argparse.Arrange(newApp(&verb.Program{}), append([]string{"rmd"}, s.Command...)); err != nil ||
			len(s.Command) != 3 {
			t.Fatalf("the command of %s is %q: %v, want 3 words that are a valid command line", id, s.Command, err)
		}
		l, err := config.Load(config.Source{File: strings.Replace(s.Command[2], etc, here, 1), Files: 1 << 20})
		if err != nil || l.ID != id || l.Raft.Advertise != s.Hostname+":8034" || l.Data != "/var/lib/rmd" {
			t.Errorf("Load of %s's file: %v, want id %s, advertised address %s:8034 and data /var/lib/rmd; got %+v",
				id, err, id, s.Hostname, l)
		}
	}
}

// TestDockerfile checks the syntax of the Dockerfile, and that what it names exists: the files that
// it copies, the variables that it sets, the command line that it runs and the ports of rmd.yaml.
func TestDockerfile(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "contrib", "container", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string][]string{}
	stages := map[string]bool{}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		known := []string{"FROM", "ARG", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL",
			"ENTRYPOINT", "CMD"}
		if !slices.Contains(known, word) || strings.TrimSpace(rest) == "" {
			t.Errorf("%q is not an instruction with a value, one of %v", line, known)
		}
		if len(steps) == 0 && word != "FROM" {
			t.Errorf("%s before the first FROM", word)
		}
		steps[word] = append(steps[word], rest)
		if _, name, ok := strings.Cut(rest, " AS "); ok && word == "FROM" {
			stages[name] = true
		}
	}
	for _, c := range steps["COPY"] {
		from, rest, isStage := strings.Cut(strings.TrimPrefix(c, "--from="), " ")
		if isStage = isStage && strings.HasPrefix(c, "--from="); isStage && !stages[from] {
			t.Errorf("COPY %s: no stage %s", c, from)
		}
		if files := strings.Fields(c); !isStage {
			for _, f := range files[:len(files)-1] {
				if _, err := os.Stat(filepath.Join(root, f)); err != nil {
					t.Errorf("COPY %s: %v", c, err)
				}
			}
		} else if len(strings.Fields(rest)) != 2 {
			t.Errorf("COPY %s: want a source and a target", c)
		}
	}
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`-X \$command\.(\w+)=\$(\w+)`).FindAllStringSubmatch(
		strings.Join(steps["RUN"], " "), -1) {
		if !regexp.MustCompile(`(?m)^var .*\b`+m[1]+`\b`).Match(source) || !slices.Contains(steps["ARG"], m[2]) {
			t.Errorf("-X sets %s to $%s: no such variable or no ARG", m[1], m[2])
		}
	}
	var line []string
	for _, word := range []string{"ENTRYPOINT", "CMD"} {
		var part []string
		if err := json.Unmarshal([]byte(strings.Join(steps[word], "")), &part); err != nil {
			t.Fatalf("%s %q: %v", word, steps[word], err)
		}
		line = append(line, part...)
	}
	if _, err := argparse.Arrange(newApp(&verb.Program{}), line); err != nil || len(line) < 3 {
		t.Errorf("the image runs %q: %v, want a valid command line", line, err)
	}
	ports := strings.Fields(strings.Join(steps["EXPOSE"], " "))
	for _, p := range []string{strconv.Itoa(replica.PeerPort), strconv.Itoa(replica.HTTPPort), "8030", "8031",
		"8032", "8033"} {
		if !slices.Contains(ports, p) {
			t.Errorf("EXPOSE %v, want also %s", ports, p)
		}
	}
}
