package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// printer starts a shell that prints into a pipe, as a replica. It returns the pipe, the log file,
// and a function that waits for the end of the shell and of the log, and returns both.
func printer(t *testing.T, script string) (s *stdio, ended func() (log string, err error)) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = openStdio(log); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout = s.in
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, func() (string, error) {
		_ = in.Close() // the script waits for it
		err := cmd.Wait()
		s.end()
		b, _ := os.ReadFile(name) // an empty log fails the test
		return string(b), err
	}
}

// TestStdio checks what a process that prints meets, and what its log contains in the end.
func TestStdio(t *testing.T) {
	const prints = "echo before; read x; echo after"
	for _, c := range []struct {
		name    string
		change  func(*stdio) error
		script  string
		log     string
		succeed bool
	}{
		{"healthy", func(*stdio) error { return nil }, prints, "before\nafter\n", true},
		{"closed", func(s *stdio) error {
			_ = s.stop()
			return s.out.Close()
		}, "trap '' PIPE; read x; echo after", "", false},
		{"full", (*stdio).fill, "read x; timeout 0.2 sh -c 'echo lost'", "", false},
		{"full and drained", func(s *stdio) error {
			err := s.fill()
			s.drain()
			return err
		}, prints, "before\nafter\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ended := printer(t, c.script)
			if err := c.change(s); err != nil {
				t.Fatal(err)
			}
			log, err := ended()
			if log != c.log || (err == nil) != c.succeed {
				t.Errorf("the log is %q, %v; want %q, success %v", strings.TrimSpace(log), err, c.log, c.succeed)
			}
		})
	}
}
