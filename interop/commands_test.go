//go:build interop

package interop

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/interop/harness"
)

var rewrite = flag.Bool("rewrite", false, "write what the Java ResourceManager says to testdata/commands.txt")

// commandFile has the recorded output of the Java ResourceManager.
const commandFile = "testdata/commands.txt"

// commands are the command lines to compare. Words in braces stand for values of the scene. A sign at
// the beginning of a line changes the comparison:
//
//	~  the order of the output lines does not matter
//	#  only the exit code is compared
//
// A line that begins with "await" waits for the state of an application.
const commands = `
application -list
~ application -list -appStates ALL
application -list -appTypes NOSUCH
application -list -appStates NOSUCH
application -status {done}
application -status {running}
application -status {failed}
application -status {never}
application -status nonsense
applicationattempt -list {running}
applicationattempt -list {done}
applicationattempt -list {never}
applicationattempt -status {attempt}
applicationattempt -status {noattempt}
container -list {attempt}
container -status {master}
container -status {nocontainer}
~ node -list
~ node -list -all
~ node -list -states LOST
~ node -list -showDetails
node -status {node}
node -status localhost:1
queue -status default
queue -status batch
queue -status nosuch
~ queue -list all
~ cluster --list-node-labels
cluster --list-node-attributes
cluster --directly-access-node-label-store --list-node-labels
nodeattributes -list
application -movetoqueue {running} -queue batch
application -movetoqueue {running} -queue nosuch
application -movetoqueue {done} -queue batch
queue -status batch
application -updatePriority 5 -appId {running}
application -updatePriority 5 -appId {done}
application -updateLifetime 3600 -appId {running}
application -status {running}
container -signal {master} OUTPUT_THREAD_DUMP
container -signal {nocontainer} OUTPUT_THREAD_DUMP
applicationattempt -fail {attempt}
await {running} RUNNING 2
applicationattempt -list {running}
application -kill {running}
await {running} KILLED 2
application -kill {running}
application -kill {never}
application -status {running}
application -movetoqueue {running} -queue default
~ application -list -appStates KILLED
# logs -applicationId {done}
logs -applicationId {never}
rmadmin -refreshQueues
rmadmin -refreshNodes
rmadmin -refreshNodesResources
rmadmin -refreshSuperUserGroupsConfiguration
rmadmin -refreshUserToGroupsMappings
rmadmin -refreshAdminAcls
rmadmin -refreshServiceAcl
rmadmin -refreshClusterMaxPriority
rmadmin -getGroups root
rmadmin -addToClusterNodeLabels gpu
rmadmin -removeFromClusterNodeLabels gpu
rmadmin -replaceLabelsOnNode {node}=gpu
rmadmin -updateNodeResource {node} 2048 2
~ node -list
rmadmin -updateNodeResource localhost:1 2048 2
rmadmin -getServiceState {leader}
rmadmin -getServiceState {follower}
rmadmin -getServiceState nosuch
~ rmadmin -getAllServiceState
rmadmin -checkHealth {leader}
rmadmin -transitionToActive {follower}
rmadmin -transitionToStandby {leader}
rmadmin -failover
schedulerconf -getconf
mapred job -list
mapred job -list all
mapred job -status job_1_0001
rmadmin -refreshNodes -g 30 -server
rmadmin -refreshNodes -g -server
rmadmin -refreshNodes -g 1 -client
rmadmin -refreshNodes -g soon -server
rmadmin -refreshNodes -g 30
~ node -list -all
~ node -list -states DECOMMISSIONED
`

// TestCommands runs all commands of the yarn command line on rmd and on the Java ResourceManager,
// with the same applications and configuration, and compares their outputs and exit codes. With
// RMD_INTEROP_RECORDED=1 it reads the Java ResourceManager's outputs from testdata.
func TestCommands(t *testing.T) {
	var want map[string]string
	if os.Getenv("RMD_INTEROP_RECORDED") != "" && !*rewrite {
		want = recorded(t)
	} else {
		want = answers(t, harness.JavaHA)
	}
	if *rewrite {
		record(t, want)
		return
	}
	got := answers(t, harness.DefaultKind())
	same := 0
	for _, key := range keys() {
		if _, command, _ := strings.Cut(key, " "); better[command] != "" && !strings.Contains(want[key], "Unrecognized option") {
			if !strings.Contains(got[key], better[command]) {
				t.Errorf("%s does not say %q:\n%s", key, better[command], got[key])
				continue
			}
			same++
			continue
		}
		if saysLeafNames() {
			got[key] = leafNames.Replace(got[key])
		}
		if d := harness.Diff(want[key], got[key]); d != "" {
			t.Errorf("%s\n%s", key, d)
			continue
		}
		same++
	}
	t.Logf("%d of %d commands answer alike", same, len(keys()))
}

// better has the commands whose output differs on purpose, with the required text. rmd can change
// its queue configuration at run time, so it can also show it. YARN refuses this if the
// configuration comes from a file.
var better = map[string]string{"schedulerconf -getconf": "exit 0"}

// saysLeafNames reports whether Hadoop's own ResourceManager says the name of a leaf where rmd, and
// ResourceManagers since 3.4, say its path.
func saysLeafNames() bool {
	return slices.Contains([]string{"2.10.2", "3.1.4", "3.3.6"}, harness.DefaultVersion())
}

// leafNames replaces the paths of the queues of the scene by their names.
var leafNames = strings.NewReplacer("root.default", "default", "root.batch", "batch")

// keys returns the commands with numbers, because some appear twice.
func keys() []string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(commands)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "await") {
			out = append(out, fmt.Sprintf("%02d %s", len(out)+1, strings.TrimLeft(line, "~# ")))
		}
	}
	return out
}

// answers prepares the scene and runs the commands. It uses quick failover, because otherwise a
// command that first tries two Java standbys would wait half a minute.
func answers(t *testing.T, kind harness.Kind) map[string]string {
	t.Helper()
	all := map[string]string{}
	t.Run(string(kind), func(t *testing.T) {
		excluded := filepath.Join(t.TempDir(), "excluded") // a host that never registers
		if err := os.WriteFile(excluded, []byte("never.invalid\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		c := harness.Start(t, harness.Options{Kind: kind, Tuned: true, Site: map[string]string{
			"yarn.cluster.max-application-priority": "10", "yarn.resourcemanager.nodes.exclude-path": excluded}})
		words := scene(t, c)
		names := keys()
		var batch, marks []string
		flush := func() {
			if len(batch) == 0 {
				return
			}
			for i, r := range c.Batch(batch...) {
				all[names[0]] = shown(c, r, marks[i])
				names = names[1:]
			}
			batch, marks = nil, nil
		}
		for line := range strings.Lines(strings.TrimSpace(commands)) {
			line = words.Replace(strings.TrimSpace(line))
			if f := strings.Fields(line); f[0] == "await" {
				flush()
				awaitAttempt(t, c, f[1], f[2], f[3])
				continue
			}
			mark := ""
			if line[0] == '~' || line[0] == '#' {
				mark, line = line[:1], strings.TrimSpace(line[1:])
			}
			batch, marks = append(batch, line), append(marks, mark)
		}
		flush()
	})
	if len(all) != len(keys()) {
		t.FailNow() // the missing answers are already reported
	}
	return all
}

// awaitAttempt waits until an application is in a state and an attempt. If that does not happen, it
// reports an error and returns, so that the comparison continues.
func awaitAttempt(t *testing.T, c *harness.Cluster, app, state, attempt string) {
	t.Helper()
	seen := ""
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		a := c.App(app)
		seen = fmt.Sprintf("%s in attempt %d: %s", a.State, c.Attempt(app).Number, a.Diagnostics)
		if strings.HasPrefix(seen, fmt.Sprintf("%s in attempt %s:", state, attempt)) {
			return
		}
	}
	t.Errorf("%s is %s, not %s in attempt %s", app, seen, state, attempt)
}

// scene creates three applications: one that has finished, one that runs and one that failed. It
// returns the replacements of the words in braces.
func scene(t *testing.T, c *harness.Cluster) *strings.Replacer {
	t.Helper()
	done := c.StartMaster("done", "default", "idle", 256, 1, time.Second)
	failed := c.Submit("failed", "batch", 256, 1, "true")

	done.Await("registered", 1, time.Minute)
	done.Finish()
	c.AwaitState(done.App, "FINISHED", time.Minute)
	c.AwaitApp(failed, "over", time.Minute, func(a harness.App) bool { return a.Ended() })
	running := c.StartMaster("running", "default", "idle", 256, 1, time.Second)
	running.Await("registered", 1, time.Minute)
	c.AwaitState(running.App, "RUNNING", time.Minute)
	attempt := c.Attempt(running.App)
	leader, follower := c.Active().ID, ""
	for _, m := range c.Managers {
		if m.ID != leader {
			follower = m.ID
		}
	}
	number := regexp.MustCompile(`_(\d+)_\d+$`).FindStringSubmatch(attempt.Container)
	if number == nil {
		t.Fatalf("container id %q", attempt.Container)
	}
	attemptID := strings.Replace(running.App, "application", "appattempt", 1) + "_000001"
	return strings.NewReplacer("{done}", done.App, "{running}", running.App, "{failed}", failed,
		"{never}", running.App[:strings.LastIndexByte(running.App, '_')]+"_9999",
		"{attempt}", attemptID, "{noattempt}", attemptID[:len(attemptID)-1]+"9",
		"{master}", attempt.Container, "{nocontainer}", attempt.Container[:len(attempt.Container)-1]+"9",
		"{node}", attempt.Node, "{leader}", leader, "{follower}", follower)
}

// shown returns the result of a command in the form that is compared.
func shown(c *harness.Cluster, r harness.Result, mark string) string {
	text := ""
	if mark != "#" {
		text = c.Normal(r.Out)
		if mark == "~" {
			text = harness.Sorted(text)
		}
		if e := c.Normal(r.Err); e != "" {
			text += "\nerr: " + strings.ReplaceAll(e, "\n", "\nerr: ")
		}
	}
	return strings.TrimSpace(fmt.Sprintf("exit %d\n%s", r.Code, text))
}

const ruler = "==== "

// record writes the answers to commandFile.
func record(t *testing.T, all map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, key := range keys() {
		fmt.Fprintf(&b, "%s%s\n%s\n", ruler, key, all[key])
	}
	if err := os.WriteFile(commandFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recorded reads the answers from commandFile.
func recorded(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(commandFile)
	if err != nil {
		t.Fatalf("%v: record it with -rewrite", err)
	}
	out := map[string]string{}
	for _, part := range strings.Split(string(b), ruler)[1:] {
		key, text, _ := strings.Cut(part, "\n")
		out[key] = strings.TrimSpace(text)
	}
	return out
}
