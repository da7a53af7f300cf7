package httpserver

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var metricName = regexp.MustCompile(`\brmd_[a-z0-9_]+`)

// metricNames returns the names of metrics in the sources of package metrics.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("metrics/*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`"(rmd_[a-z0-9_]+)"`).FindAllStringSubmatch(string(text), -1) {
			out[name[1]] = true
		}
	}
	return out
}

// TestRulesAndBoardNameMetricsThatExist checks that replicas export every metric that the alert
// rules and the dashboard use.
func TestRulesAndBoardNameMetricsThatExist(t *testing.T) {
	have := metricNames(t)
	if len(have) < 35 {
		t.Fatalf("%d metrics", len(have))
	}
	for _, file := range []string{"prometheus/rules.yml", "prometheus/rules_test.yml", "grafana/board.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "contrib", file))
		if err != nil {
			t.Fatal(err)
		}
		found := metricName.FindAllString(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s names nothing", file)
		}
		for _, name := range found {
			base := name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !have[name] && !have[base] {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
}

// TestDashboard checks that the dashboard is one that Grafana can read, and that it shows every
// metric about scheduling and replicas.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "contrib", "grafana", "board.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID           string `json:"uid"`
		SchemaVersion int    `json:"schemaVersion"`
		Panels        []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Type    string `json:"type"`
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	ids := []int{}
	for _, p := range board.Panels {
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H == 0 || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %+v", p)
		}
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if board.UID == "" || board.SchemaVersion == 0 || len(ids) < 20 || len(slices.Compact(ids)) != len(board.Panels) {
		t.Errorf("uid %q, %d panels, ids %v", board.UID, len(board.Panels), ids)
	}
}

// TestEveryAlertHasARunbook checks that each alert leads to the page for the person on call, and that
// the page has the alerts that there are.
func TestEveryAlertHasARunbook(t *testing.T) {
	read := func(name ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, name...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const page = "docs/operations/on-call.md"
	rules, runbook := read("contrib", "prometheus", "rules.yml"), read(page)
	alerts := map[string]bool{}
	for _, rule := range strings.Split(rules, "- alert: ")[1:] {
		name, _, _ := strings.Cut(rule, "\n")
		alerts[name] = true
		if !strings.Contains(rule, "\n          runbook: "+page+"\n") {
			t.Errorf("%s has no runbook %s", name, page)
		}
		if !strings.Contains(runbook, "`"+name+"`") {
			t.Errorf("%s does not say what to do about %s", page, name)
		}
	}
	for _, name := range regexp.MustCompile("`(Rmd[A-Za-z]+)`").FindAllStringSubmatch(runbook, -1) {
		if !alerts[name[1]] {
			t.Errorf("%s has the alert %s, which does not exist", page, name[1])
		}
	}
	if len(alerts) < 10 {
		t.Errorf("only %d alerts found", len(alerts))
	}
}

// TestAlertRules runs the tests of the alert rules.
func TestAlertRules(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool (Debian: apt-get install prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join("..", "..", "contrib", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
