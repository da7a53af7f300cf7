package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"rmd/cmd/internal/argparse"
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
		if _, err := argparse.Arrange((&program{}).app(), append([]string{"rmd"}, s.Command...)); err != nil || len(s.Command) != 3 {
			t.Fatalf("the command of %s is %q: %v, want 3 words that are a valid command line", id, s.Command, err)
		}
		l, err := config.Load(config.Source{File: strings.Replace(s.Command[2], etc, here, 1), Files: 1 << 20})
		if err != nil || l.ID != id || l.Raft.Advertise != s.Hostname+":8034" || l.Data != "/var/lib/rmd" {
			t.Errorf("Load of %s's file: %v, want id %s, advertised address %s:8034 and data /var/lib/rmd; got %+v",
				id, err, id, s.Hostname, l)
		}
	}
}
