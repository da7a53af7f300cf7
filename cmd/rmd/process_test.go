package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rmd/api"
	"rmd/cluster/timers"
	"rmd/cmd/rmd/internal/command"
	"rmd/internal/orphan"
	"rmd/internal/portblock"
	"rmd/scheduler/capacity/preset"
)

// asProgram is the environment variable that makes this test binary run as rmd. So the tests run
// real processes of the code under test.
const asProgram = "RMD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		orphan.ExitWithParent()
		os.Exit(command.Main())
	}
	os.Exit(m.Run())
}

// TestProcessesStartSmall checks how much memory a process of this program allocates before it does
// anything. Tests start hundreds of processes, and each would pay for a table of hostile inputs in a
// variable of this package.
func TestProcessesStartSmall(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "version")
	cmd.Env = append(os.Environ(), asProgram+"=1", "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	total := 0
	for _, m := range regexp.MustCompile(`(?m)^init .*, (\d+) bytes,`).FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if total == 0 || total > 16<<20 {
		t.Errorf("a process allocates %d bytes before it begins:\n%s", total, out)
	}
}

// TestProcessesEndWithTheTest ends the parent of a replica, as go test does at its time limit.
func TestProcessesEndWithTheTest(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 1, calm, "", "")
	p := c.all[0]
	parent := exec.Command("sh", "-c", `"$0" server --config "$1" & read line`, os.Args[0], p.config)
	parent.Env = append(os.Environ(), asProgram+"=1")
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	c.awaitUp(p)
	_ = stdin.Close()
	_ = parent.Wait() // the read has failed
	c.await("the replica has ended", patience, func() bool { return !c.get(p, "/v1/health", nil) })
}

// process is one replica in a separate process.
type process struct {
	id, dir, peer, http string
	config              string
	queues              string // file with the first queue configuration; "" with Hadoop's files
	files               int    // limit of open files; 0: the test's
	out                 *pipe  // where it prints; nil: into err

	cmd   *exec.Cmd
	mu    sync.Mutex
	err   bytes.Buffer
	began int // position in err at which the output of the current run begins
}

// Write collects the output of the process.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.Write(b)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(p.err.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// logged returns what the current run of the process has logged.
func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.String()[p.began:]
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s to %s: %v", s, p.id, err)
	}
}

// processes is a cluster of real processes.
type processes struct {
	t   testing.TB
	all []*process
}

// With calm timers a leader does not lose leadership on a busy machine. Tests that kill it need not
// wait for the timers, because the other replicas notice the end of its process at once.
var (
	lowest   = timers.Lowest()
	defaults = timers.Default()
	calm     = timers.Timers{Heartbeat: 3 * time.Second, Election: 3 * time.Second, Lease: 2 * time.Second}
	// no replica waits for these timers, and no leader may be lost
	patient = timers.Timers{Heartbeat: 20 * time.Second, Election: 20 * time.Second, Lease: 15 * time.Second}
)

// patience is the maximum wait for an expected condition.
const patience = 3 * time.Minute

// startProcesses starts n replicas with bootstrap_expect and waits until each is ready. more is
// appended to every rmd.yaml.
func startProcesses(t testing.TB, n int, tm timers.Timers, more string) *processes {
	t.Helper()
	c := newProcesses(t, n, tm, fmt.Sprintf("  bootstrap_expect: %d\n", n), more)
	for _, p := range c.all {
		c.start(p)
	}
	c.awaitReady(c.all...)
	return c
}

// newProcesses writes the configurations. It starts nothing.
func newProcesses(t testing.TB, n int, tm timers.Timers, raft, more string) *processes {
	t.Helper()
	ports := portblock.Open(t).TakeAll(2 * n)
	c := &processes{t: t}
	var peers []string
	for i := range n {
		peers = append(peers, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	dir := t.TempDir()
	queues := ""
	if !strings.Contains(more, "conf_dir") { // Hadoop's files contain the queues
		queues = demoQueues(t, dir)
	}
	for i := range n {
		p := &process{queues: queues, id: fmt.Sprintf("rm%d", i+1), peer: peers[i],
			http: fmt.Sprintf("127.0.0.1:%d", ports[n+i])}
		p.dir = filepath.Join(dir, p.id)
		p.config = filepath.Join(dir, p.id+".yaml")
		text := fmt.Sprintf("id: %s\ncluster: test\ndata: %s\nhttp:\n  listen: %s\nraft:\n  listen: %s\n  join: [%s]\n  heartbeat: %s\n  election: %s\n  lease: %s\n%s%s",
			p.id, p.dir, p.http, p.peer, strings.Join(peers, ", "), tm.Heartbeat, tm.Election, tm.Lease, raft, more)
		if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(p.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c.all = append(c.all, p)
	}
	t.Cleanup(c.stop)
	return c
}

// demoQueues writes the queues of rmd dev into a file, for clusters with several queues. The nodes of
// these tests send heartbeats when the test lets them, so none counts as silent between them.
func demoQueues(t testing.TB, dir string) string {
	t.Helper()
	doc := api.PutConf{Properties: map[string]string{}}
	for _, p := range preset.Demo() {
		doc.Properties[p.Name] = p.Value
	}
	doc.Properties["yarn.scheduler.skip.node.multiplier"] = "1000"
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "queues.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *processes) start(p *process) {
	c.t.Helper()
	p.mu.Lock()
	p.began = p.err.Len()
	p.mu.Unlock()
	args := []string{os.Args[0], "server", "--config", p.config}
	if p.queues != "" {
		args = append(args, "--queues", p.queues)
	}
	if p.files > 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf("ulimit -n %d && exec \"$0\" \"$@\"", p.files)}, args...)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if p.out != nil {
		p.cmd.Stdout, p.cmd.Stderr = p.out.in, p.out.in
	}
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// exited waits until a process has ended by itself, and returns its exit code.
func (c *processes) exited(p *process) int {
	c.t.Helper()
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait() // the exit code shows how it ended
	if !late.Stop() {
		c.t.Fatalf("%s did not end by itself within %s", p.id, patience)
	}
	return p.cmd.ProcessState.ExitCode()
}

// refuses starts a replica that must not start, and checks its exit code and its output.
func (c *processes) refuses(p *process, code int, says ...string) {
	c.t.Helper()
	c.start(p)
	if got := c.exited(p); got != code {
		c.t.Fatalf("%s ended with %d, not %d:\n%s", p.id, got, code, p.logged())
	}
	contains(c.t, p.id, p.logged(), says...)
}

func contains(t testing.TB, what, text string, says ...string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Fatalf("%s does not say %q:\n%s", what, s, text)
		}
	}
}

// reconfigure replaces text in a replica's rmd.yaml.
func (c *processes) reconfigure(p *process, old, now string) {
	c.t.Helper()
	b, err := os.ReadFile(p.config)
	if err != nil || !strings.Contains(string(b), old) {
		c.t.Fatalf("%s has no %q (%v)", p.config, old, err)
	}
	if err := os.WriteFile(p.config, []byte(strings.Replace(string(b), old, now, 1)), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// wipe removes the contents of a replica's disk.
func (c *processes) wipe(p *process) {
	c.t.Helper()
	if err := os.RemoveAll(p.dir); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
}

// kill kills a process with SIGKILL: without a flush, a transfer of leadership, or a message.
func (c *processes) kill(p *process) {
	c.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		c.t.Fatalf("kill %s: %v", p.id, err)
	}
	_ = p.cmd.Wait() // the error says that it was killed
}

// terminate stops a process with SIGTERM and returns its exit code.
func (c *processes) terminate(p *process) int {
	c.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatalf("terminate %s: %v", p.id, err)
	}
	_ = p.cmd.Wait() // the exit code shows how it ended
	return p.cmd.ProcessState.ExitCode()
}

func (c *processes) stop() {
	for _, p := range c.all {
		if p.cmd != nil && p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", p.id, p.log())
		}
	}
}

func (c *processes) addrs() []string {
	var out []string
	for _, p := range c.all {
		out = append(out, p.http)
	}
	return out
}

func (c *processes) others(not *process) []*process {
	var out []*process
	for _, p := range c.all {
		if p != not {
			out = append(out, p)
		}
	}
	return out
}

// get reads a document. It returns false if the replica did not answer with 200.
func (c *processes) get(p *process, path string, doc any) bool {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + p.http + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK && (doc == nil || json.Unmarshal(b, doc) == nil)
}

// await waits until a condition is true. It asks less often while it waits, because a replica
// computes each answer.
func (c *processes) await(what string, within time.Duration, holds func() bool) {
	c.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(min(5*time.Millisecond+time.Since(began)/20, 200*time.Millisecond)) {
		if time.Since(began) > within {
			c.t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func (c *processes) awaitReady(of ...*process) {
	c.t.Helper()
	for _, p := range of {
		c.await(p.id+" is ready", patience, func() bool { return c.get(p, "/v1/ready", nil) })
	}
}

// awaitHealthy waits until the cluster is healthy. The replicas test new connections to each other
// only from time to time.
func (c *processes) awaitHealthy() {
	c.t.Helper()
	c.await("the cluster is healthy", patience, func() bool { _, _, code := c.rmd("cluster", "health"); return code == 0 })
}

// leader returns the replica that says that it is the leader.
func (c *processes) leader() *process {
	var found *process
	c.await("a leader is known", patience, func() bool {
		for _, p := range c.all {
			if p.cmd.ProcessState == nil && c.get(p, "/v1/leader?role=leader", nil) {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// done runs a command that must succeed, and returns its output.
func (c *processes) done(args ...string) string {
	c.t.Helper()
	out, errs, code := c.rmd(args...)
	if code != 0 {
		c.t.Fatalf("rmd %s ended with %d:\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// refused runs a command that must be refused with this exit code, and with an error line that
// contains says.
func (c *processes) refused(code int, says string, args ...string) {
	c.t.Helper()
	out, errs, got := c.rmd(args...)
	what := "rmd " + strings.Join(args, " ")
	if got != code {
		c.t.Errorf("%s ended with %d, not %d:\n%s%s", what, got, code, out, errs)
		return
	}
	if !contain("\n"+errs, "\nrmd: ") || !strings.Contains(errs, says) {
		c.t.Errorf("%s does not say %q:\n%s", what, says, errs)
	}
}

// members returns the members of the cluster as replica p knows them, by id.
func (c *processes) members(p *process) map[string]api.Member {
	c.t.Helper()
	var doc api.Members
	c.await(p.id+" lists the members", patience, func() bool { return c.get(p, "/v1/cluster/members", &doc) })
	out := map[string]api.Member{}
	for _, m := range doc.Members {
		out[m.ID] = m
	}
	return out
}

// awaitVoters waits until exactly these replicas are voters.
func (c *processes) awaitVoters(of ...*process) {
	c.t.Helper()
	c.await("the right replicas vote", patience, func() bool {
		voters, known := 0, c.members(of[0])
		for _, m := range known {
			if m.Voter {
				voters++
			}
		}
		for _, p := range of {
			if !known[p.id].Voter {
				return false
			}
		}
		return voters == len(of)
	})
}

// token creates a join token and returns the file that contains it.
func (c *processes) token(args ...string) string {
	c.t.Helper()
	file := filepath.Join(c.t.(*testing.T).TempDir(), "token")
	if err := os.WriteFile(file, []byte(c.done(append([]string{"cluster", "token", "create"}, args...)...)),
		0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// join makes a running replica without a cluster join.
func (c *processes) join(p, by *process) {
	c.t.Helper()
	c.awaitUp(p)
	c.done("cluster", "join", by.peer, "--addr", p.http, "--token-file", c.token("--addr", by.http))
}

// awaitUp waits until the replicas answer.
func (c *processes) awaitUp(of ...*process) {
	c.t.Helper()
	for _, p := range of {
		c.await(p.id+" answers", patience, func() bool { return c.get(p, "/v1/health", nil) })
	}
}

// rmd runs a command against the cluster and returns its outputs and its exit code.
func (c *processes) rmd(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "RMD_ADDR="+strings.Join(c.addrs(), ","))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		c.t.Fatalf("rmd %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func contain(text, part string) bool { return strings.Contains(text, part) }

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }
