package harness

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Trace is a running strace that changes the results of system calls of a process.
type Trace struct {
	cmd *exec.Cmd
}

// Inject attaches strace to a replica's process. inject has strace's syntax, for instance
// "fsync,fdatasync:error=EIO:when=3+".
func (r *Replica) Inject(inject string) (*Trace, error) {
	pid := r.PID()
	if pid == 0 {
		return nil, fmt.Errorf("inject into %s: %w", r.ID, ErrNotRunning)
	}
	return traceProcess(pid, inject)
}

// attachWait limits how long strace may take to attach.
const attachWait = 10 * time.Second

func traceProcess(pid int, inject string) (*Trace, error) {
	calls, _, _ := strings.Cut(inject, ":")
	cmd := exec.Command("strace", "-f", "-p", fmt.Sprint(pid), "-o", "/dev/null", "-e", "trace="+calls, "-e",
		"signal=none", "-e", "inject="+inject)
	cmd.SysProcAttr = childAttributes()
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start strace: %w", err)
	}
	attached := make(chan string, 1)
	go func() { // it ends with strace
		lines, text := bufio.NewScanner(said), ""
		for lines.Scan() {
			text += lines.Text() + "; "
			if strings.Contains(lines.Text(), "attached") {
				select {
				case attached <- "":
				default:
				}
			}
		}
		select {
		case attached <- "strace: " + text:
		default:
		}
	}()
	t := &Trace{cmd: cmd}
	select {
	case bad := <-attached:
		if bad == "" {
			return t, nil
		}
		_ = cmd.Wait() // its output says more
		return nil, fmt.Errorf("attach to process %d: %s", pid, bad)
	case <-time.After(attachWait):
		_ = t.Stop() // the returned error says that it is late
		return nil, fmt.Errorf("strace did not attach to process %d within %s", pid, attachWait)
	}
}

// Stop detaches strace. The process continues.
func (t *Trace) Stop() error {
	_ = t.cmd.Process.Signal(syscall.SIGINT) // strace may have ended with the process
	ended := make(chan struct{})
	go func() {
		_ = t.cmd.Wait() // ended by the signal
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(5 * time.Second):
	}
	_ = t.cmd.Process.Kill()
	<-ended
	return fmt.Errorf("strace %d had to be killed", t.cmd.Process.Pid)
}
