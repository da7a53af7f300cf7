package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a daemon that can be killed and started again.
type Process struct {
	Name string
	Log  string // log file of all runs
	out  string // file with its other output

	t     testing.TB
	start func() *exec.Cmd
	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	began int64 // position in Log at which the current run begins
	held  bool  // stopped by Pause
}

// Start starts the process.
func (p *Process) Start() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		p.t.Fatalf("%s runs already", p.Name)
	}
	if st, err := os.Stat(p.Log); err == nil {
		p.began = st.Size()
	}
	out, err := os.OpenFile(p.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer out.Close()
	cmd := p.start()
	cmd.Stdout, cmd.Stderr = out, out
	// The process has its own group, so that it gets no signals from the test's terminal. It must
	// end if the test is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.Name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log shows how it ended
		close(ended)
	}()
	p.cmd, p.ended, p.held = cmd, ended, false
}

// Alive reports whether the process runs.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Pid returns the process id of the current run, or 0.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Kill kills the process with SIGKILL and waits for its end.
func (p *Process) Kill() { p.end(syscall.SIGKILL, 0) }

// Stop sends SIGTERM, and SIGKILL if the process does not end in time.
func (p *Process) Stop(within time.Duration) { p.end(syscall.SIGTERM, within) }

func (p *Process) end(s syscall.Signal, within time.Duration) {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.cmd = nil
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(s) // the process may have ended already
	if s != syscall.SIGKILL {
		select {
		case <-ended:
			return
		case <-time.After(within):
			_ = cmd.Process.Kill()
		}
	}
	<-ended
}

// Pause stops the process with SIGSTOP. It keeps its connections and does not answer.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP, true) }

// Resume continues the process after Pause.
func (p *Process) Resume() { p.signal(syscall.SIGCONT, false) }

func (p *Process) signal(s syscall.Signal, held bool) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		p.t.Fatalf("%v to %s, which does not run", s, p.Name)
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%v to %s: %v", s, p.Name, err)
	}
	p.held = held
}

// Held reports whether the process is paused.
func (p *Process) Held() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Logged returns the log of all runs.
func (p *Process) Logged() string { return p.logged(0) }

// LoggedNow returns the log of the current run.
func (p *Process) LoggedNow() string { return p.logged(p.began) }

func (p *Process) logged(from int64) string {
	f, err := os.Open(p.Log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return ""
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(b)
}

// AwaitLogged waits until the log of the current run matches expr.
func (p *Process) AwaitLogged(expr string, within time.Duration) {
	p.t.Helper()
	re := regexp.MustCompile(expr)
	Await(p.t, fmt.Sprintf("%s logs %q", p.Name, expr), within, func() bool {
		if !p.Alive() {
			p.t.Fatalf("%s ended:\n%s\n%s", p.Name, Tail(p.Log, 30), Tail(p.out, 30))
		}
		return re.MatchString(p.LoggedNow())
	})
}

// slack is the factor for time limits on a busy machine. It costs no time if the condition becomes
// true.
const slack = 4

// Await waits until a condition is true, and fails the test after within times slack.
func Await(t testing.TB, what string, within time.Duration, holds func() bool) {
	t.Helper()
	within *= slack
	for end := time.Now().Add(within); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

// sweep kills the processes with the cluster's folder in their command line or environment. These
// are containers of killed NodeManagers.
func sweep(dir string) {
	for range 3 { // a container's shell may just start another process
		found := false
		for _, pid := range processesOf(dir) {
			if pid != os.Getpid() && syscall.Kill(pid, syscall.SIGKILL) == nil {
				found = true
			}
		}
		if !found {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// processesOf returns the processes whose command line or environment contains dir.
func processesOf(dir string) []int {
	var out []int
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		cmdline, _ := os.ReadFile(d + "/cmdline") // the process may have ended
		environ, _ := os.ReadFile(d + "/environ")
		if strings.Contains(string(cmdline), dir+"/") || strings.Contains(string(environ), dir+"/") {
			pid := 0
			if _, err := fmt.Sscanf(filepath.Base(d), "%d", &pid); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// Containers returns the processes of a container or an application, by its id.
func (c *Cluster) Containers(id string) []int {
	var out []int
	for _, pid := range processesOf(c.Dir) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // the process may have ended
		if strings.Contains(string(b), id) {
			out = append(out, pid)
		}
	}
	return out
}
