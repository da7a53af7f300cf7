//go:build interop

package hadooptests

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// suite is one of Hadoop's test classes.
type suite struct {
	class      string
	heap       string
	timeout    time.Duration // without kills; three times as long with kills
	quiet      string        // why the suite does not run with kills, or ""
	scheduling string        // eager; heartbeat for tests that drop the answer to an ask
}

const (
	client = "org.apache.hadoop.yarn.client."
	shell  = "org.apache.hadoop.yarn.applications.distributedshell."
	jobs   = "org.apache.hadoop.mapreduce.v2."
	web    = "org.apache.hadoop.yarn.server.resourcemanager.webapp."
	own    = "rmd.hadooptests."
)

// suites are the suites that start a MiniYARNCluster, or a MockRM that they ask over the wire, and use
// features of rmd. They do not include tests of features that rmd does not have (timeline service 2,
// reservations of the ReservationSystem, placement constraints, node labels, opportunistic containers
// and federation), and tests that replace services inside of the ResourceManager (ProtocolHATestBase).
var suites = []suite{
	{client + "api.impl.TestYarnClient", "700m", 10 * time.Minute, "", "eager"},
	{client + "api.impl.TestNMClient", "500m", 6 * time.Minute, "", "eager"},
	{client + "api.impl.TestAMRMClient", "700m", 20 * time.Minute, "", "heartbeat"},
	{client + "api.impl.TestAMRMProxy", "500m", 8 * time.Minute, "", "eager"},
	{client + "cli.TestYarnCLI", "500m", 5 * time.Minute, "", "eager"},
	{client + "TestRMFailover", "500m", 8 * time.Minute, killsItself, "eager"},
	{client + "TestNoHaRMFailoverProxyProvider", "500m", 5 * time.Minute, "", "eager"},
	{shell + "TestDSTimelineV10", "1000m", 20 * time.Minute, "", "eager"},
	{jobs + "TestMRJobs", "1000m", 20 * time.Minute, "", "eager"},
	{web + "TestRMWebServicesDelegationTokenAuthentication", "500m", 8 * time.Minute, withMock, "eager"},
	{web + "TestRMWebappAuthentication", "500m", 5 * time.Minute, withMock, "eager"},
	{own + "TokenClientRMService", "500m", 5 * time.Minute, withMock, "eager"},
}

const (
	killsItself = "it kills ResourceManagers itself"
	withMock    = "its ResourceManager is a MockRM, which it asks at one address, each request once"
)

// mockRM is the address at which tests ask a MockRM over HTTP.
const mockRM = "127.0.0.1:8088"

// small are the suites of a short run.
var small = []string{"TestNMClient", "TestNoHaRMFailoverProxyProvider",
	"TestRMWebServicesDelegationTokenAuthentication", "TestRMWebappAuthentication", "TokenClientRMService"}

// published reports whether fetch has found a suite. Those that come as sources may be missing.
func (s suite) published(cache string) bool {
	if !strings.HasPrefix(s.class, shell) {
		return true
	}
	_, err := os.Stat(filepath.Join(cache, "sources", strings.ReplaceAll(s.class, ".", "/")+".java"))
	return err == nil
}

func (s suite) name() string { return s.class[strings.LastIndexByte(s.class, '.')+1:] }

// known is a test that is expected to fail, with the reason.
type known struct {
	test   string // Class#method; * matches anything
	when   string // always, or the condition of the failure: kills of the leader, timing on a busy machine, or a version
	reason string
	failed bool
}

//go:embed known.txt
var knownText string

// readKnown reads known.txt, whose columns are test, when and reason.
func readKnown(t *testing.T) []*known {
	t.Helper()
	var out []*known
	s := bufio.NewScanner(strings.NewReader(knownText))
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 || !slices.Contains([]string{"always", "kills", "timing", "version"}, f[1]) {
			t.Fatalf("known.txt:%d: want a test, \"always\", \"kills\", \"timing\" or \"version\", and a reason", n)
		}
		out = append(out, &known{test: f[0], when: f[1], reason: strings.Join(f[2:], " ")})
	}
	return out
}

func (k *known) is(test string) bool {
	parts := strings.Split(regexp.QuoteMeta(k.test), `\*`)
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(test)
}

// result is the result of one test.
type result struct{ status, test, millis, what string }

// outcome is the result of a suite.
type outcome struct {
	results []result
	killed  string // number of killed leaders
	began   string // the last test that began
	done    bool   // the JVM ended normally
	took    time.Duration
}

// readOutcome reads the output of rmd.hadooptests.Run.
func readOutcome(t *testing.T, path string) (o outcome) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v: the JVM did not start its tests", err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		switch {
		case f[0] == "DONE":
			o.done = true
		case f[0] == "KILLS" && len(f) == 2:
			o.killed = f[1]
		case f[0] == "BEGIN" && len(f) == 2:
			o.began = f[1]
		case len(f) == 4:
			o.results = append(o.results, result{f[0], f[1], f[2], f[3]})
		}
	}
	return o
}

// judge returns a row with the numbers of a suite's tests. It fails t for failed tests that are not
// known.
func judge(t *testing.T, s suite, o outcome, all []*known, kills bool) (row string) {
	t.Helper()
	if !o.done {
		o.results = append(o.results, result{"FAIL", o.began, "", "it was under way when the time was up, or ended the JVM"})
	}
	var run, passed, failed, expected, skipped int
	for _, r := range o.results {
		if r.status == "SKIP" {
			skipped++
			continue
		}
		run++
		if r.status == "PASS" {
			passed++
			continue
		}
		i := slices.IndexFunc(all, func(k *known) bool { return k.is(r.test) && (kills || k.when != "kills") })
		if i < 0 {
			failed++
			t.Errorf("%s failed: %s", r.test, r.what)
			continue
		}
		expected++
		all[i].failed = true
		t.Logf("%s failed as known (%s): %s", r.test, all[i].reason, r.what)
	}
	for _, k := range all {
		if strings.HasPrefix(k.test, s.name()+"#") && !k.failed && k.when == "always" && o.done && !kills {
			t.Errorf("%s is listed in known.txt and passed", k.test)
		}
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %s | %s |", s.name(), run, passed, failed, expected, skipped,
		o.killed, o.took.Round(time.Second))
}
