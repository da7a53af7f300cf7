package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"rmd/api"
	"rmd/cmd/internal/argparse"
	"rmd/cmd/rmd/internal/command/verb"
	"rmd/config"
	"rmd/contrib"
	"rmd/internal/exitcode"
)

// result is the result of a command line.
type result struct {
	exit     int
	out, err string
}

// alone lets one command at a time run in this process: the command line's library has flags of its
// own, which all commands set.
var alone sync.Mutex

func runAlone(t *testing.T, s verb.Streams, line ...string) int {
	alone.Lock()
	defer alone.Unlock()
	return Run(t.Context(), append([]string{"rmd"}, line...), s)
}

// rmd runs a command line without a terminal.
func rmd(t *testing.T, env map[string]string, line ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	s := verb.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Width: 80, Env: func(n string) (string, bool) {
		v, ok := env[n]
		return v, ok
	}}
	code := runAlone(t, s, line...)
	return result{code, out.String(), errs.String()}
}

// leaf is one command of the tree, with the words that name it.
type leaf struct {
	path []string
	cmd  *cli.Command
}

func leaves(commands []*cli.Command, path []string) []leaf {
	var out []leaf
	for _, c := range commands {
		here := append(slices.Clone(path), c.Name)
		if len(c.Subcommands) == 0 {
			out = append(out, leaf{here, c})
			continue
		}
		out = append(out, leaves(c.Subcommands, here)...)
	}
	return out
}

// TestFlagsAfterArguments checks for every command and flag that it has the same meaning after the
// arguments as before them.
func TestFlagsAfterArguments(t *testing.T) {
	p := &verb.Program{}
	app := newApp(p)
	all := leaves(app.Commands, nil)
	if len(all) < 60 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, l := range all {
		if l.cmd.SkipFlagParsing {
			continue
		}
		for _, f := range append(slices.Clone(app.Flags), l.cmd.Flags...) {
			name := f.Names()[0]
			given := []string{"--" + name}
			if d, ok := f.(cli.DocGenerationFlag); ok && d.TakesValue() {
				given = append(given, "VALUE")
			}
			before := slices.Concat([]string{"rmd"}, l.path, given, []string{"ARG", "-7", "OTHER"})
			after := slices.Concat([]string{"rmd"}, l.path, []string{"ARG", "-7", "OTHER"}, given)
			a, errA := argparse.Arrange(app, before)
			b, errB := argparse.Arrange(app, after)
			if errA != nil || errB != nil || !slices.Equal(a, b) {
				t.Fatalf("Arrange(%q) = %q, %v; Arrange(%q) = %q, %v; want the same line from both",
					before, a, errA, after, b, errB)
			}
			if !slices.Equal(a[len(a)-4:], []string{"--", "ARG", "-7", "OTHER"}) {
				t.Fatalf("%s --%s: arguments are not last: %q", l.path, name, a)
			}
		}
	}
}

// TestEveryCommandHasHelp checks that the help of every command is complete and needs no cluster.
func TestEveryCommandHasHelp(t *testing.T) {
	p := &verb.Program{}
	for _, l := range leaves(newApp(p).Commands, nil) {
		if l.cmd.Hidden {
			continue
		}
		r := rmd(t, nil, append(l.path, "--help")...)
		if r.exit != exitcode.OK || !strings.Contains(r.out, "Usage: rmd "+strings.Join(l.path, " ")) || r.err != "" {
			t.Errorf("rmd %s --help: exit %d, stdout %q, stderr %q; want exit %d, the usage on stdout and an empty stderr",
				strings.Join(l.path, " "), r.exit, r.out, r.err, exitcode.OK)
		}
		if l.cmd.Usage == "" {
			t.Errorf("%s has no usage", l.path)
		}
		for line := range strings.Lines(r.out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > verb.HelpWidth {
				t.Errorf("%s: %d columns: %s", l.path, n, line)
			}
		}
	}
}

// TestHelpBesideArguments checks for every command with arguments that --help prints the help of the
// command, before or after the arguments.
func TestHelpBesideArguments(t *testing.T) {
	p := &verb.Program{}
	n := 0
	for _, l := range leaves(newApp(p).Commands, nil) {
		v := p.Verbs[l.cmd]
		if v.Max == 0 || l.cmd.SkipFlagParsing {
			continue
		}
		n++
		want := rmd(t, nil, append(slices.Clone(l.path), "--help")...)
		for _, args := range [][]string{{"sim-01:45454", "--help"}, {"--help", "a=b"}, {"5", "root.a", "-h"}} {
			line := append(slices.Clone(l.path), args...)
			if r := rmd(t, nil, line...); r != want || r.exit != exitcode.OK {
				t.Errorf("rmd %s: exit %d, stdout %q, stderr %q; want the command's help", strings.Join(line, " "), r.exit,
					r.out, r.err)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d commands with arguments", n)
	}
}

// TestVersionFlags checks that --version and -v print what rmd version prints.
func TestVersionFlags(t *testing.T) {
	for _, more := range [][]string{nil, {"-o", "json"}} {
		want := rmd(t, nil, append([]string{"version"}, more...)...)
		if !strings.Contains(want.out, "commit") {
			t.Errorf("rmd version %v does not say whether the commit is known: %s", more, want.out)
		}
		for _, flag := range []string{"--version", "-v"} {
			for _, line := range [][]string{append([]string{flag}, more...), append(slices.Clone(more), flag)} {
				if r := rmd(t, nil, line...); r != want || r.exit != exitcode.OK {
					t.Errorf("rmd %s: %+v, want %+v", strings.Join(line, " "), r, want)
				}
			}
		}
	}
}

// TestNumberFlags checks that a command that shows or takes a number of things takes this number as
// --count and as --limit, and that its help shows one of them.
func TestNumberFlags(t *testing.T) {
	app := newApp(&verb.Program{})
	found := map[string]bool{}
	for _, l := range leaves(app.Commands, nil) {
		for _, f := range l.cmd.Flags {
			name := f.Names()[0]
			if name != "count" && name != "limit" || l.cmd.Name == "top" { // of screens
				continue
			}
			path := strings.Join(l.path, " ")
			found[path] = true
			want, err := argparse.Arrange(app, slices.Concat([]string{"rmd"}, l.path, []string{"--" + name, "7"}))
			if err != nil {
				t.Fatal(err)
			}
			other := map[string]string{"count": "limit", "limit": "count"}[name]
			for _, given := range [][]string{{"--" + other, "7"}, {"--" + other + "=7"}} {
				if got, err := argparse.Arrange(app, slices.Concat([]string{"rmd"}, l.path, given)); err != nil ||
					!slices.Equal(got, want) {
					t.Errorf("rmd %s %s: %q, %v; want %q", path, given, got, err, want)
				}
			}
			if help := f.String(); !strings.HasPrefix(help, "--"+name+" value") || strings.Contains(help, "--"+other) {
				t.Errorf("rmd %s: the help has %q", path, help)
			}
		}
	}
	for _, path := range []string{"events", "audit tail", "log show", "app list", "node list", "conf history"} {
		if !found[path] {
			t.Errorf("rmd %s has neither flag", path)
		}
	}
	if r := rmd(t, nil, "audit", "tail", "--limit", "0"); r.exit != exitcode.Usage ||
		!strings.Contains(r.err, "must be at least 1") {
		t.Errorf("rmd audit tail --limit 0: %+v", r)
	}
}

// TestHelpBeginsWithDailyCommands checks the order of the groups in the help.
func TestHelpBeginsWithDailyCommands(t *testing.T) {
	var groups []string
	for line := range strings.Lines(rmd(t, nil, "--help").out) {
		if name := strings.TrimSpace(line); strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") {
			groups = append(groups, name)
		}
	}
	if want := []string{"Scheduling", "Run", "Cluster", "Offline", "Other"}; !slices.Equal(groups, want) {
		t.Errorf("rmd --help has the groups %q, want %q", groups, want)
	}
}

const anApp = "application_1780000000000_0107"

// calls are command lines that call a cluster, each as short as possible.
var calls = []string{
	"app submit --queue root.a", "app list", "app status " + anApp, "app explain " + anApp, "app forecast " + anApp,
	"app history " + anApp, "app wait " + anApp, "app kill " + anApp,
	"app move " + anApp + " root.b", "app priority " + anApp + " 3", "app gang " + anApp + " priority=1,count=4",
	"app attempts " + anApp, "app containers " + anApp,
	"node list", "node status n1:1", "node status never:-1", "node drain n1:1", "node drain n1:1 --undo",
	"node forget n1:1 --yes", "node resource n1:1 memory-mb=1,vcores=1",
	"label list", "label status gpu", "label nodes", "label add gpu", "label remove gpu --yes", "label map n1=gpu",
	"label map n1 --label gpu",
	"queue list", "queue tree", "queue status root.a", "queue place --user ann", "queue stop root.a", "queue start root.a",
	"reservation list", "reservation status", "reservation status r1", "reservation cancel r1 --yes", "token list",
	"preempt --dry-run", "preempt --over 1h", "forecast report",
	"conf get", "conf get --ignored", "conf get --xml", "conf set root.a.capacity=5", "conf diff 1", "conf diff 1 2",
	"conf history", "conf rollback 1 --yes",
	"shadow start QUEUES", "shadow start root.a.capacity=5", "shadow status", "shadow report", "shadow stop",
	"cluster status", "cluster init", "cluster token create", "cluster members", "cluster promote rm2",
	"cluster demote rm2",
	"cluster remove rm2 --yes", "cluster transfer", "cluster health", "cluster verify",
	"autopilot get", "autopilot set min_quorum=3", "autopilot state",
	"access token create --role operator --name ci", "access token list", "access token revoke ci", "access whoami",
	"snapshot save FILE", "snapshot list", "upgrade status", "upgrade finalize --yes",
	"log show", "audit tail", "events", "events --follow", "metrics", "top --count 1", "conf diff --whatif QUEUES",
}

// TestChangesNameApplication checks that a change of one application, which is named by its number,
// says the whole id.
func TestChangesNameApplication(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/apps/"):
			_ = json.NewEncoder(w).Encode(api.App{ID: anApp, State: "RUNNING"})
		case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/apps/"+anApp+":"):
			_ = json.NewEncoder(w).Encode(api.Priority{Priority: 3, Index: 7})
		case r.Method == http.MethodPost:
			t.Errorf("POST %s", r.URL.Path)
			w.WriteHeader(http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	for line, want := range map[string]string{
		"app kill 107": "killed " + anApp, "app kill 107 -o name": anApp, "app kill 0107 --reason x": "killed " + anApp,
		"app move 107 root.b": "moved " + anApp + " to root.b", "app priority 107 3": anApp + " has priority 3",
		"app priority 107 3 -o name": anApp, "app gang 107 none": anApp + " has the gang none",
	} {
		if r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...); r.exit != exitcode.OK ||
			r.out != want+"\n" {
			t.Errorf("rmd %s: %+v, want %q", line, r, want)
		}
	}
}

// TestEveryRefusalIsTold answers every command with a refusal. It checks the error line, the exit
// code, and that stdout is empty.
func TestEveryRefusalIsTold(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.Error{Code: "WOULD_LOSE_QUORUM", Message: "what is wrong", Remedy: "what to do",
			Details: []string{"a detail"}})
	}))
	defer s.Close()
	for _, line := range calls {
		line = strings.ReplaceAll(line, "FILE", filepath.Join(t.TempDir(), "f"))
		line = strings.ReplaceAll(line, "QUEUES", queueFile(t))
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...)
		if r.exit != exitcode.Refused || r.out != "" ||
			r.err != "rmd: WOULD_LOSE_QUORUM: what is wrong; what to do\n     a detail\n" {
			t.Errorf("rmd %s, refused by the server: exit %d, stdout %q, stderr %q; "+
				"want exit %d and only the refusal with its remedy and detail on stderr",
				line, r.exit, r.out, r.err, exitcode.Refused)
		}
	}
}

// TestEveryChangeTakesYes finds the commands that change something by the requests that they send, and
// checks that all of them take --yes, so that a script can add it to each.
func TestEveryChangeTakesYes(t *testing.T) {
	changed := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asks := r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, ":place") ||
			strings.HasSuffix(r.URL.Path, ":preview") || r.URL.Path == "/v1/whatif"
		if !asks {
			changed++
		}
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.Error{Code: "REFUSED", Message: r.Method})
	}))
	defer s.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	changes := []string{"access certificate create", "access certificate revoke", "autopilot set", "conf set", "import zk",
		"init", "queue adopt"} // these read first, or call no cluster
	for _, line := range calls {
		line = strings.ReplaceAll(line, "FILE", filepath.Join(t.TempDir(), "f"))
		line = strings.ReplaceAll(line, "QUEUES", queueFile(t))
		changed = 0
		if rmd(t, env, strings.Fields(line)...); changed > 0 {
			changes = append(changes, line)
		}
	}
	if len(changes) < 30 {
		t.Errorf("only %d commands that change something: %q", len(changes), changes)
	}
	app := newApp(&verb.Program{})
	for _, line := range changes {
		for _, flag := range []string{"--yes", "-y"} {
			if _, err := argparse.Arrange(app, append(strings.Fields("rmd "+line), flag)); err != nil {
				t.Errorf("rmd %s %s: %v", line, flag, err)
			}
		}
	}
	for line, says := range map[string]string{"conf set": "accepted, as in the commands that ask",
		"queue start": "accepted, as in the commands that ask", "queue stop": "do not ask for confirmation"} {
		if r := rmd(t, nil, append(strings.Fields(line), "--help")...); !strings.Contains(r.out, says) {
			t.Errorf("the help of rmd %s does not say %q: %s", line, says, r.out)
		}
	}
}

// TestTerminalEscapesRemoved checks that control characters in names, diagnostics and errors of
// other users do not reach the terminal.
func TestTerminalEscapesRemoved(t *testing.T) {
	hostile := "\x1b]0;title\x07\u009b31m\u202e"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/apps/" + anApp:
			_ = json.NewEncoder(w).Encode(api.App{ID: anApp, State: "KILLED", Name: hostile, Diagnostics: hostile})
		case "/v1/log":
			_ = json.NewEncoder(w).Encode(api.Log{First: 1, Last: 1,
				Entries: []api.LogEntry{{Index: 1, Type: "events", AtMillis: time.Now().UnixMilli(),
					Events: []api.Event{{Kind: "ApplicationSubmitted", App: anApp, Queue: hostile,
						Data: map[string]any{"name": hostile}}}}}})
		default:
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(api.Error{Code: "WOULD_LOSE_QUORUM", Message: hostile, Remedy: hostile,
				Details: []string{hostile}})
		}
	}))
	defer s.Close()
	for _, c := range []struct{ line, says string }{
		{"app wait " + anApp, "ENDED_KILLED"}, {"app status " + anApp, "KILLED"},
		{"events --since 1h", "ApplicationSubmitted"}, {"log show --events", "ApplicationSubmitted"},
		{"queue list", "WOULD_LOSE_QUORUM"}, {"app wait nosuch" + hostile, "rmd: "},
	} {
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(c.line)...)
		if all := r.out + r.err; !strings.Contains(all, c.says) || strings.ContainsAny(all, "\x1b\x07\u009b\u202e") {
			t.Errorf("rmd %q printed %q, want %q in it and no control characters", c.line, all, c.says)
		}
	}
}

// TestWrongUsage checks that wrong command lines send no request.
func TestWrongUsage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL)
	}))
	defer s.Close()
	for line, want := range map[string]string{
		"ap list":                                `UNKNOWN_COMMAND: "ap" is not a command of "rmd"; did you mean app?`,
		"cluster statsu":                         "did you mean status?",
		"federation list":                        `"federation" is not a command`,
		"app list --stat RUNNING":                "did you mean --state?",
		"app list -o tabel":                      `unknown value "tabel" of --output; write table, wide, `,
		"app list --timeout soon":                "not a duration",
		"app list --all --state RUNNING":         "contradict each other",
		"app list --limit 0":                     "--limit must be at least 1",
		"app list -o json --sort id":             "do not go with -o json",
		"app list extra":                         "too many arguments",
		"check try/rm1/data":                     `too many arguments: "try/rm1/data"; write --data try/rm1/data`,
		"app status":                             "ID is missing; usage: rmd app status ID",
		"app status seven":                       `"seven" is not an application id`,
		"app move " + anApp:                      "too few arguments",
		"app priority " + anApp + " high":        `"high" is not a priority`,
		"app wait " + anApp + " --for ever":      `unknown value "ever" of --for; write running or finished`,
		"app submit --am lots":                   `"lots" is not a resource amount`,
		"app":                                    `"rmd app" needs a command`,
		"node status n1:x":                       "is not a node id",
		"node drain n1:1 --undo --deadline 5m":   "contradict each other",
		"label map":                              "NODE is missing",
		"label map n1":                           `"n1" names no label`,
		"label remove gpu":                       "NEEDS_YES",
		"label add":                              "too few arguments",
		"reservation cancel 41 --yes":            "not a reservation id",
		"reservation cancel r41":                 "NEEDS_YES",
		"preempt":                                "no command preempts",
		"forecast report now":                    "too many arguments",
		"app forecast job_1":                     "job_1",
		"preempt --dry-run now":                  "too many arguments",
		"preempt --over 1h --dry-run":            "--over is about the past",
		"preempt --until 1h":                     "--until is the end of what --over begins",
		"preempt --over 1h --until 2h":           "--until is not after the beginning",
		"preempt --over later":                   "is neither a duration nor a time",
		"cluster join 127.0.0.1:1":               "a join needs a token",
		"cluster token create --role boss":       `unknown value "boss" of --role; write voter or nonvoter`,
		"access token create --role boss":        `unknown value "boss" of --role; write read, submit, operator or admin`,
		"access token create --name ci":          "--role is missing",
		"access token create --role read":        "--name is missing",
		"access certificate create --role read":  "is not 1 to 64 letters",
		"cluster init --addr a:1,b:1":            "acts on one replica, but --addr names 2",
		"cluster remove rm1":                     "NEEDS_YES: not done, no terminal to confirm on: remove replica rm1 permanently",
		"conf rollback x":                        "is not a version",
		"completion tcsh":                        "unknown shell",
		"check":                                  "the data directory is not named",
		"recover --data .":                       "write --peers FILE",
		"events --follow -o yaml":                "use -o jsonl",
		"metrics -o json":                        "metrics have only the Prometheus format",
		"replay x --speed fast":                  `"fast" is not a speed`,
		"replay x --compare nothing":             `unknown value "nothing" of --compare; write no-reservations, `,
		"dev --replicas 9":                       "the number of replicas, 9, is not 1 to 7",
		"dev --workload heavy":                   `unknown value "heavy" of --workload; write mixed or none`,
		"dev --nodes few":                        "write --nodes 4",
		"server --set heartbeat":                 "is not KEY=VALUE",
		"server --id rm1 --set raft.heartbeet=1": `did you mean "raft.heartbeat"?`,
		"server":                                 "name its file with --config, or write one with \"rmd init\"",
		"init --advertise 10.0.0.1:8034 --dir X": "add --tls",
	} {
		line = strings.Replace(line, " X", " "+t.TempDir(), 1)
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...)
		if r.exit != exitcode.Usage || r.out != "" || !strings.Contains(r.err, want) || !strings.Contains(r.err, "rmd: ") {
			t.Errorf("%s: %+v, want %q", line, r, want)
		}
	}
}

func TestListsAndDocuments(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "" {
			fmt.Fprintf(w, `{"apps":[{"id":"%s","state":"RUNNING","queue":"root.a","user":"u","later":1}],"next":"%s"}`, anApp,
				anApp)
			return
		}
		fmt.Fprint(w,
			`{"apps":[{"id":"application_1780000000000_0108","state":"ACCEPTED","queue":"root.b","user":"v","name":"n","waiting_ms":242000,"why_text":"its AM waits"}]}`)
	}))
	defer s.Close()
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"apps":[]}`) }))
	defer empty.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	for line, want := range map[string]string{
		"app list":                      "ID                              STATE     QUEUE   USER  LIVE  ASKS   WAIT  NAME  WHY\n" + anApp + "  RUNNING   root.a  u        0     0      -  -     -\napplication_1780000000000_0108  ACCEPTED  root.b  v        0     0  4m02s  n     its AM waits\n",
		"app list -o name --sort -wait": "application_1780000000000_0108\n" + anApp + "\n",
		"app list --filter state=accepted -q --columns queue,wait": "root.b  4m02s\n",
		"app list --limit 1 -o name":                               anApp + "\n",
	} {
		if r := rmd(t, env, strings.Fields(line)...); r.exit != 0 || r.out != want {
			t.Errorf("%s: %d\n%s%s\nwant\n%s", line, r.exit, r.out, r.err, want)
		}
	}
	for line, says := range map[string]string{
		"app list":                      "no application is unfinished; --all shows those that have ended\n",
		"app list --newest --sort user": "no application is unfinished; --all shows those that have ended\n",
		"app list --user ann":           "no applications match\n", "app list --filter user=ann": "no applications match\n",
		"app list --all": "no applications match\n", "app list --state RUNNING": "no applications match\n",
	} {
		if r := rmd(t, map[string]string{"RMD_ADDR": empty.URL}, strings.Fields(line)...); r.exit != 0 || r.err != says {
			t.Errorf("%s without applications: exit %d, %q on stderr, want 0 and %q", line, r.exit, r.err, says)
		}
	}
	var d struct {
		Apps []map[string]any `json:"apps"`
		Next string           `json:"next"`
	}
	r := rmd(t, env, "app", "list", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &d); err != nil || len(d.Apps) != 2 || d.Apps[0]["later"] != 1.0 ||
		d.Next != "" {
		t.Errorf("json: %v\n%s", err, r.out)
	}
}

// TestAppHistory checks the table of an application's samples, and what stands above it.
func TestAppHistory(t *testing.T) {
	doc := `{"id":"rm2","app":"` + anApp +
		`","submitted_ms":1780000000000,"step_ms":10000,"gaps":[{"from_ms":1,"to_ms":2}],"samples":[` +
		`{"at_ms":1780000010000,"used":{"memory-mb":0,"vcores":0},"reserved":{"memory-mb":0,"vcores":0},"pending":{"memory-mb":4096,"vcores":2}},` +
		`{"at_ms":1780000020000,"used":{"memory-mb":4096,"vcores":2},"reserved":{"memory-mb":0,"vcores":0},"pending":{"memory-mb":0,"vcores":0}}]}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/apps/"+anApp+"/history" {
			fmt.Fprint(w, doc)
		}
	}))
	defer s.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	r := rmd(t, env, "app", "history", anApp)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], anApp+", submitted ") ||
		!strings.HasSuffix(lines[0], "samples of replica rm2 every 10s, with 1 gap") ||
		!strings.HasPrefix(lines[1], "AT ") || !strings.Contains(lines[3], "4 GiB · 2 vc  0 GiB · 0 vc  0 GiB · 0 vc") {
		t.Errorf("app history: exit %d\n%s%s", r.exit, r.out, r.err)
	}
	var d api.AppHistory
	if r := rmd(t, env, "app", "history", anApp, "-o", "json"); json.Unmarshal([]byte(r.out), &d) != nil ||
		len(d.Samples) != 2 {
		t.Errorf("app history -o json: exit %d\n%s%s", r.exit, r.out, r.err)
	}
}

// TestStaleReadsSayHowOld checks that --stale says, besides the data, whose state it is and how old.
func TestStaleReadsSayHowOld(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderIndex, "1234")
		w.Header().Set(api.HeaderStaleness, "2500")
		fmt.Fprint(w, `{"apps":[]}`)
	}))
	defer s.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	want := s.URL + " shows its own state, of log entry 1234; it heard from the leader 2.5s ago\n"
	if r := rmd(t, env, "app", "list", "--stale", "-o", "json"); r.exit != 0 || !strings.Contains(r.err, want) ||
		strings.Contains(r.out, "1234") {
		t.Errorf("app list --stale -o json: exit %d, stdout %q, stderr %q, want %q in stderr", r.exit, r.out, r.err, want)
	}
	if r := rmd(t, env, "app", "list"); strings.Contains(r.err, "1234") {
		t.Errorf("app list: stderr %q, want nothing of an age", r.err)
	}
}

// TestLabelFlag checks that "-" alone means no label, and that a label may end with "-".
func TestLabelFlag(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Query().Encode()+string(body))
		fmt.Fprint(w, `{"nodes":[]}`)
	}))
	defer s.Close()
	for line, want := range map[string]string{
		"label nodes --label x-":  "label=x-&",
		"node list --label x-":    "label=x-&",
		"node list --label -":     "label=&",
		"label map n1 --label x-": `{"nodes":[{"node":"n1","label":"x-"}]}`,
		"label map n1 --label -":  `{"nodes":[{"node":"n1","label":""}]}`,
	} {
		asked = nil
		if r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...); r.exit != exitcode.OK ||
			len(asked) != 1 || !strings.Contains(asked[0], want) {
			t.Errorf("%s asked for %q: %+v", line, asked, r)
		}
	}
}

// TestDrainChosen checks that one call drains the chosen nodes.
func TestDrainChosen(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"nodes":[{"id":"n1:1","reason":"nothing runs there"},{"id":"n2:1","reason":"1 container"}]}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Path+" "+string(body))
		fmt.Fprint(w, `{"index":7}`)
	}))
	defer s.Close()
	const told = "n1:1: nothing runs there\nn2:1: 1 container\n"
	for line, want := range map[string]string{
		"node drain --choose 2":                  "draining n1:1\ndraining n2:1\n",
		"node drain --choose 2 --deadline 10m":   "draining n1:1, for 10m0s at most\ndraining n2:1, for 10m0s at most\n",
		"node drain --choose 2 --deadline 1s -y": "draining n1:1, for 1s at most\ndraining n2:1, for 1s at most\n",
		"node drain --choose 2 -o name":          "n1:1\nn2:1\n",
		"node drain --choose 2 -o jsonl":         `{"index":7}` + "\n",
	} {
		asked = nil
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...)
		if r.exit != exitcode.OK || r.out != want || r.err != told {
			t.Errorf("rmd %s: exit %d, stdout %q, stderr %q; want exit %d, stdout %q, stderr %q",
				line, r.exit, r.out, r.err, exitcode.OK, want, told)
		}
		if len(asked) != 1 || !strings.HasPrefix(asked[0], `/v1/nodes:drain {"nodes":["n1:1","n2:1"]`) {
			t.Errorf("%s asked for %q", line, asked)
		}
	}
	asked = nil
	if r := rmd(t, map[string]string{"RMD_ADDR": s.URL},
		strings.Fields("node drain --choose 2 --deadline 1s")...); r.exit == exitcode.OK || asked != nil {
		t.Errorf("a short drain is not confirmed: %+v, asked for %q", r, asked)
	}
}

func TestWaitAndHealthExitCodes(t *testing.T) {
	state, final := "KILLED", ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/apps") {
			_ = json.NewEncoder(w).Encode(api.App{ID: anApp, State: state, FinalStatus: final})
			return
		}
		_ = json.NewEncoder(w).Encode(api.Cluster{Leader: "rm1",
			Verdict: api.Verdict{Status: "degraded", Voters: 3, HealthyVoters: 2, Quorum: 2}})
	}))
	defer s.Close()
	env := map[string]string{"RMD_ADDR": s.URL}
	for _, c := range []struct {
		state, final, goal string
		exit               int
	}{
		{"KILLED", "", "finished", exitcode.Ended}, {"FAILED", "", "running", exitcode.Ended},
		{"FINISHED", "FAILED", "finished", exitcode.Ended},
		{"FINISHED", "SUCCEEDED", "running", exitcode.OK}, {"RUNNING", "", "running", exitcode.OK},
		{"ACCEPTED", "", "running", exitcode.TimedOut},
	} {
		state, final = c.state, c.final
		if r := rmd(t, env, "app", "wait", anApp, "--for", c.goal, "--timeout", "0.2"); r.exit != c.exit {
			t.Errorf("app wait --for %s, application in state %s with final status %q: exit %d, want %d; stderr %q",
				c.goal, c.state, c.final, r.exit, c.exit, r.err)
		}
	}
	if r := rmd(t, env, "cluster", "health"); r.exit != exitcode.CheckFailed ||
		!strings.Contains(r.err, "the cluster cannot lose a replica") || !strings.Contains(r.out, "degraded") {
		t.Errorf("health: %+v", r)
	}
	if r := rmd(t, env, "cluster", "status"); r.exit != exitcode.OK {
		t.Errorf("status is no check: %+v", r)
	}
}

func TestValidateOffline(t *testing.T) {
	dir := t.TempDir()
	write := func(name, capacity string) string {
		path := filepath.Join(dir, name)
		text := "<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>" +
			"<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>" + capacity + "</value></property>" +
			"<property><name>yarn.scheduler.capacity.root.b.capacity</name><value>40</value></property></configuration>"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if r := rmd(t, nil, "conf", "validate", write("good.xml", "60")); r.exit != exitcode.OK ||
		!strings.Contains(r.out, ": valid, 0 faults") {
		t.Errorf("good: %+v", r)
	}
	if r := rmd(t, nil, "conf", "validate", write("bad.xml", "70")); r.exit != exitcode.CheckFailed ||
		!strings.Contains(r.out, "NOT VALID") {
		t.Errorf("bad: %+v", r)
	}
}

func TestInitConfigLoads(t *testing.T) {
	dir := t.TempDir()
	r := rmd(t, nil, "init", "--dir", dir, "--id", "rm1", "--cluster", "prod", "--tls", "--advertise", "10.0.0.11:8034",
		"--data", dir)
	if r.exit != 0 {
		t.Fatalf("rmd init --id rm1 --tls: exit %d, want 0; stderr %q", r.exit, r.err)
	}
	for _, name := range []string{"ca-key.pem", "rm1-key.pem"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("after rmd init, Stat(%s) = %+v, %v; want a file with mode 0600", name, info, err)
		}
	}
	file := strings.TrimSpace(r.out)
	if r := rmd(t, nil, "server", "--config", file, "--print-config", "--set", "raft.heartbeat=300ms", "--set",
		"raft.lease=200ms"); r.exit != 0 ||
		!strings.Contains(r.out, "heartbeat: 300ms   # flag --set raft.heartbeat") ||
		!strings.Contains(r.out, "id: rm1   # "+file+":") {
		t.Errorf("rmd server --print-config: exit %d, want 0, raft.heartbeat 300ms from --set and id rm1 from %s; "+
			"stderr %q, stdout %q", r.exit, file, r.err, r.out)
	}
	if r := rmd(t, nil, "server", "--config", file, "--id", "rm2", "--print-config"); r.exit != exitcode.Usage ||
		!strings.Contains(r.err, "certificate id differs from the replica id") {
		t.Errorf("a foreign certificate: %+v", r)
	}
	if r := rmd(t, nil, "init", "--dir", dir, "--id", "rm1", "--tls"); r.exit == 0 {
		t.Errorf("it made a certificate again: %+v", r)
	}
}

// TestInitReplicasRefuses checks that a refused command leaves no files behind.
func TestInitReplicasRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("taken", 0o700); err != nil {
		t.Fatal(err)
	}
	const three = "rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13"
	for _, c := range []struct {
		says string
		exit int
		args []string
	}{
		{`"rm1" is not ID=HOST`, exitcode.Usage, []string{"--replicas", "rm1"}},
		{`"" is not ID=HOST`, exitcode.Usage, []string{"--replicas", ""}},
		{`separate the replicas by commas: --replicas rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11", "rm2=10.0.0.12", "rm3=10.0.0.13"}},
		{`separate the replicas by commas: --replicas rm1=10.0.0.11,rm2=10.0.0.12,rm3=10.0.0.13`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11,", "rm2=10.0.0.12", ",rm3=10.0.0.13", "--tls"}},
		{`"" is not ID=HOST`, exitcode.Usage, []string{"--replicas", three + ","}},
		{`"rm 1" cannot be the id`, exitcode.Usage, []string{"--replicas", "rm 1=10.0.0.11"}},
		{`"ca.pem" cannot be the id`, exitcode.Usage, []string{"--replicas", "ca.pem=10.0.0.11"}},
		{`"admin" cannot be the id`, exitcode.Usage, []string{"--replicas", "admin=10.0.0.11"}},
		{`"10.0.0.300" is neither an address nor a host name`, exitcode.Usage, []string{"--replicas", "rm1=10.0.0.300"}},
		{`rm1: "127.73.0.x" is neither an address nor a host name`, exitcode.Usage,
			[]string{"--replicas", "rm1=127.73.0.x,rm2=127.73.0.2,rm3=127.73.0.3"}},
		{`name 3 or 5`, exitcode.Usage, []string{"--replicas", three + ",rm4=10.0.0.14.nip.io"}},
		{`8034 is another port of a replica, and :PORT is that of REST`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11:8034"}},
		{`"80" cannot be the port of REST; write a port from 1082 to 65533`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11:80"}},
		{`"http" cannot be the port`, exitcode.Usage, []string{"--replicas", "rm1=10.0.0.11:http"}},
		{`rm1 and rm2 both have the address 10.0.0.11`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11:9088,rm2=10.0.0.11:9188"}},
		{`rm1 and rm2 would open the same ports of 127.0.0.1; give each replica an address or ports of its own: rm2=127.0.0.1:9188`,
			exitcode.Usage, []string{"--replicas", "rm1=127.0.0.1:9088,rm2=127.0.0.1:9090"}},
		{`cannot dial 0.0.0.0`, exitcode.Usage, []string{"--replicas", "rm1=0.0.0.0"}},
		{`rm1 is named twice`, exitcode.Usage, []string{"--replicas", "rm1=10.0.0.11,rm1=10.0.0.12"}},
		{`rm1 and RM1 differ only in case`, exitcode.Usage, []string{"--replicas", "rm1=10.0.0.11,RM1=10.0.0.12"}},
		{`rm1 and rm3 both have the address 10.0.0.11`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11,rm2=10.0.0.12,rm3=::ffff:10.0.0.11"}},
		{`rm1 and rm2 both have the address node.example`, exitcode.Usage,
			[]string{"--replicas", "rm1=node.example,rm2=Node.Example"}},
		{`only one is a loopback address`, exitcode.Usage, []string{"--replicas", "rm1=10.0.0.11,rm2=127.0.0.1"}},
		{`2 replicas tolerate no more failures than 1; name 1 or 3`, exitcode.Usage,
			[]string{"--replicas", "rm1=10.0.0.11,rm2=10.0.0.12"}},
		{`more than 7 replicas`, exitcode.Usage,
			[]string{"--replicas",
				three + ",rm4=10.0.0.14,rm5=10.0.0.15,rm6=10.0.0.16,rm7=10.0.0.17,rm8=10.0.0.18,rm9=10.0.0.19"}},
		{`add --tls`, exitcode.Usage, []string{"--replicas", three}},
		{`--id and --replicas contradict`, exitcode.Usage, []string{"--replicas", three, "--id", "rm1"}},
		{`--advertise and --replicas contradict`, exitcode.Usage,
			[]string{"--replicas", three, "--advertise", "10.0.0.11:8034"}},
		{`"a b" is not 1 to 64 letters`, exitcode.Usage, []string{"--replicas", three, "--cluster", "a b"}},
		{`EXISTS: taken already exists`, exitcode.Refused, []string{"--replicas", three, "--dir", "taken", "--tls"}},
		{`EXISTS: taken already exists`, exitcode.Refused, []string{"--replicas", three, "--cluster", "taken", "--tls"}},
		{`FILE: stat nowhere: no such file`, exitcode.Usage, []string{"--replicas", three, "--dir", "nowhere/prod", "--tls"}},
		{`FILE: mkdir /proc/`, exitcode.Usage, []string{"--replicas", three, "--dir", "/proc/prod", "--tls"}},
		{`--host: "a b" is neither`, exitcode.Usage, []string{"--replicas", three, "--tls", "--host", "a b"}},
	} {
		r := rmd(t, nil, append([]string{"init"}, c.args...)...)
		if r.exit != c.exit || !strings.Contains(r.err, c.says) {
			t.Errorf("%q: it does not exit with %d and %q: %+v", c.args, c.exit, c.says, r)
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("something is left: %v %v", entries, err)
	}
}

// TestInitReplicasOfSeveralMachines checks the differences from a trial on one machine.
func TestInitReplicasOfSeveralMachines(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rmd(t, nil, "init", "--cluster", "prod", "--replicas", "rm1=a.example,rm2=2001:db8::2,rm3=10.0.0.13", "--tls",
		"--host", "rmd.example")
	if r.exit != 0 || r.out != "prod/rm1\nprod/rm2\nprod/rm3\n" {
		t.Fatalf("rmd init --replicas: exit %d, stdout %q, want exit 0 and the directories of rm1, rm2 and rm3; stderr %q",
			r.exit, r.out, r.err)
	}
	if !strings.Contains(r.err, "RMD_ADDR=https://a.example:8090,https://[2001:db8::2]:8090,https://10.0.0.13:8090\n") {
		t.Errorf("the addresses: %s", r.err)
	}
	l, err := config.Load(config.Source{File: "prod/rm2/rmd.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Raft.Listen != "[::]:8034" || l.Raft.Advertise != "[2001:db8::2]:8034" || l.HTTP.ListenTLS != "[::]:8090" ||
		l.Data != "/var/lib/rmd" ||
		l.TLS.Key != filepath.Join("prod", "rm2", "rm2-key.pem") ||
		!slices.Equal(l.HTTP.Hosts, []string{"a.example", "rmd.example"}) {
		t.Errorf("rm2's file: raft listen %s, advertise %s, listen_tls %s, data %s, key %s, hosts %q; "+
			"want [::]:8034, [2001:db8::2]:8034, [::]:8090, /var/lib/rmd, prod/rm2/rm2-key.pem, [a.example rmd.example]",
			l.Raft.Listen, l.Raft.Advertise, l.HTTP.ListenTLS, l.Data, l.TLS.Key, l.HTTP.Hosts)
	}
	for name, mode := range map[string]os.FileMode{"ca-key.pem": 0o600, "admin-key.pem": 0o600, "rm3/rm3-key.pem": 0o600,
		"rm3": os.ModeDir | 0o700} {
		if info, err := os.Stat(filepath.Join("prod", name)); err != nil || info.Mode()&^0o055 != mode {
			t.Errorf("after rmd init, Stat(%s) = %+v, %v; want mode %s apart from the bits 055", name, info, err, mode)
		}
	}
	if want := "every user of a replica's machine can change everything:\n" +
		"(umask 077; rmd access token create -q --role admin --name admin > admin.token)\n"; !strings.HasSuffix(r.err, want) {
		t.Errorf("the next steps do not end with the first token: %s", r.err)
	}
	if unit, err := os.ReadFile("prod/rm3/rmd.service"); err != nil || !bytes.Equal(unit, contrib.Unit) {
		t.Errorf("the unit file: %v", err)
	}
	if _, err := os.Stat("prod/rm1/ca-key.pem"); err == nil {
		t.Error("a replica gets the key of the CA")
	}
}

// TestMissingFile names a file that is not there to every command that reads one.
func TestMissingFile(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL)
	}))
	defer s.Close()
	t.Chdir(t.TempDir())
	for _, line := range []string{
		"app list --cacert nowhere", "app list --cert nowhere --key nowhere", "--token-file nowhere app list",
		"cluster init --queues nowhere",
		"cluster join 127.0.0.1:1 --token-file nowhere", "conf apply nowhere", "conf refresh --conf-dir nowhere",
		"conf validate nowhere", "conf diff nowhere", "conf diff nowhere --whatif",
		"queue place --file nowhere", "shadow start nowhere", "snapshot inspect nowhere", "snapshot restore nowhere",
		"replay nowhere", "replay demo --nodes nowhere",
		"server --config nowhere", "server --id rm1 --data d --queues nowhere", "check --data nowhere",
		"recover --data nowhere --peers nowhere", "bench latency --conf-dir nowhere",
		"access certificate create --dir nowhere --name x --role read",
	} {
		r := rmd(t, map[string]string{"RMD_ADDR": s.URL}, strings.Fields(line)...)
		if r.exit != exitcode.Usage || !strings.Contains(r.err, "nowhere") || !strings.Contains(r.err, "rmd: ") {
			t.Errorf("rmd %s: exit %d, %q; want exit %d and the file's name", line, r.exit, r.err, exitcode.Usage)
		}
	}
}
