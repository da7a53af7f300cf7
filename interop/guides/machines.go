//go:build linux

package guides

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is the time limit of one command, including its repetitions.
const patience = 10 * time.Minute

// addresses are the machines of the guides with their addresses.
var addresses = []string{"admin=10.0.0.10", "rm1=10.0.0.11", "rm2=10.0.0.12", "rm3=10.0.0.13", "rm4=10.0.0.14"}

// Machines are the machines of one guide.
type Machines struct {
	t      testing.TB
	work   string
	first  *exec.Cmd // process 1 of their namespace
	shells map[string]*shell
}

// script returns the path of a file in the folder machines, which is in the package's folder.
func (m *Machines) script(name string) string {
	m.t.Helper()
	path, err := filepath.Abs(filepath.Join("machines", name))
	if err != nil {
		m.t.Fatal(err)
	}
	return path
}

// notAllowed is the exit code of machines/make if it cannot create namespaces.
const notAllowed = 77

// NewMachines creates empty machines. root's home directory has the files, and Hadoop is installed
// if jars names the folder of its jars. It skips the test if namespaces cannot be created.
func NewMachines(t testing.TB, jars string, files ...string) *Machines {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("machines of namespaces need root")
	}
	for _, tool := range []string{"ip", "nsenter", "setpriv", "dpkg"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("machines of namespaces need %s", tool)
		}
	}
	m := &Machines{t: t, work: t.TempDir(), shells: map[string]*shell{}}
	for _, d := range []string{"fs", "files"} {
		if err := os.Mkdir(filepath.Join(m.work, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		if err := os.Link(f, filepath.Join(m.work, "files", filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	m.start(jars)
	for _, a := range addresses {
		name, _, _ := strings.Cut(a, "=")
		m.shells[name] = m.enter(name)
	}
	return m
}

func (m *Machines) start(jars string) {
	m.t.Helper()
	m.first = exec.Command(m.script("make"), append([]string{m.work, jars}, addresses...)...)
	m.first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	said, w := io.Pipe()
	m.first.Stdout, m.first.Stderr = w, w
	if err := m.first.Start(); err != nil {
		m.t.Skipf("make namespaces: %v", err)
	}
	go func() { _ = w.CloseWithError(m.first.Wait()) }() // the reader gets the error
	m.t.Cleanup(func() { _ = m.first.Process.Kill() })   // the end of process 1 ends all its processes
	var all []string
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if lines.Text() == "ready" {
			go func() { _, _ = io.Copy(io.Discard, said) }() // keep the process from blocking
			return
		}
		all = append(all, lines.Text())
	}
	var exit *exec.ExitError
	if errors.As(lines.Err(), &exit) && exit.ExitCode() == notAllowed {
		m.t.Skipf("make namespaces: %s", strings.Join(all, "; "))
	}
	m.t.Fatalf("machines/make: %v\n%s", lines.Err(), strings.Join(all, "\n"))
}

// shell is a login session on a machine. A command sees the variables that earlier ones exported.
type shell struct {
	in  io.Writer
	out *bufio.Reader
}

func (m *Machines) enter(name string) *shell {
	m.t.Helper()
	cmd := exec.Command("nsenter", "--target", strconv.Itoa(m.first.Process.Pid), "--pid", "--mount",
		m.script("enter"), name, "bash", "--norc")
	cmd.Env = append(os.Environ(), "WORK="+m.work)
	in, err := cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	_ = w.Close() // the command has its own copy
	m.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return &shell{in: in, out: bufio.NewReader(out)}
}

// Run runs a command on a machine. It returns its output and its exit code.
func (m *Machines) Run(machine, command string) (printed string, code int) {
	m.t.Helper()
	const end = "\x02end of command "
	late, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	stop := context.AfterFunc(late, func() { _ = m.first.Process.Kill() })
	defer stop()
	s := m.shells[machine]
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null\nprintf '%s%%d\\n' $?\n", command, end); err != nil {
		m.t.Fatalf("%s: %s: %v", machine, command, err)
	}
	var all strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		before, exit, over := strings.Cut(line, end)
		all.WriteString(before)
		if over {
			code, _ = strconv.Atoi(strings.TrimSpace(exit)) // written by printf
			return all.String(), code
		}
		if err != nil {
			m.t.Fatalf("%s: %s: did not end within %s, or ended the shell:\n%s", machine, command, patience, all.String())
		}
	}
}

// Log returns the log of the replica on a machine.
func (m *Machines) Log(machine string) string {
	out, _ := m.Run(machine, "journalctl -u rmd -o cat -n 60")
	return out
}
