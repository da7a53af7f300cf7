package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ErrNotRunning means that a replica's process has ended or was never started.
var ErrNotRunning = errors.New("replica does not run")

// Exit describes the end of one run of a replica.
type Exit struct {
	Replica string
	Code    int    // −1 if a signal ended it
	Signal  string // the name of that signal
	At      time.Time
	Asked   bool   // the harness caused the end
	Said    string // the last 2,000 bytes that the run logged
}

// Replica is a data directory and the processes that run on it one after the other.
type Replica struct {
	ID     string
	Place  Place // where it listens and is reached
	Dir    string
	Config string // the path of its rmd.yaml
	Disk   Disk
	// Voter says that the replica is one of those that bootstrap the cluster.
	Voter bool

	cluster *Cluster
	logFile string

	mu      sync.Mutex
	binary  string // the program of the next run
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the present run ends
	asked   bool
	paused  bool
	runs    int
	began   int64 // the size of the log at the start of the present run
	setAt   int64 // the size of the log when a failpoint was set last
	exits   []Exit
	stdin   io.WriteCloser  // of the present run; it reads failpoints from it
	stdio   *stdio          // of the present run; it prints there
	atStart FailpointAction // the failpoint of the next run
	clock   *wallClock      // of the present run, if it was moved
}

// Start runs the replica's process.
func (r *Replica) Start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running() {
		return nil
	}
	log, err := os.OpenFile(r.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if info, err := log.Stat(); err == nil {
		r.began = info.Size()
	}
	out, err := openStdio(log)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	argv := []string{r.binary, "server", "--config", r.Config}
	if r.cluster.cfg.Failpoints {
		argv = append(argv, "--failpoints")
	}
	argv = r.cluster.network.Wrap(r.ID, argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = r.cluster.environment()
	cmd.Stdout, cmd.Stderr = out.in, out.in
	cmd.SysProcAttr = childAttributes()
	err = r.openStdin(cmd)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		out.end()
		return fmt.Errorf("start %s: %w", r.ID, err)
	}
	r.stdio = out
	if err := r.send(r.atStart); err != nil {
		r.cluster.cfg.note("set a failpoint of %s: %v", r.ID, err) // the process has ended at once, which watch records
	}
	r.runs++
	r.cmd, r.ended, r.asked, r.paused, r.clock, r.atStart = cmd, make(chan struct{}), r.atStart != FailpointAction{},
		false, nil, FailpointAction{}
	go r.watch(cmd, r.ended)
	return r.cluster.network.Absent(r.ID, false)
}

// watch waits for the end of a run and records it.
func (r *Replica) watch(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Wait() // ProcessState says how it ended
	at := time.Now()
	r.mu.Lock()
	r.stdio.end()
	r.mu.Unlock()
	e := Exit{Replica: r.ID, Code: cmd.ProcessState.ExitCode(), At: at, Said: r.Said(2000)}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		e.Signal = s.Signal().String()
	}
	if err := r.cluster.network.Absent(r.ID, true); err != nil {
		r.cluster.cfg.note("%s is gone, and its place still answers: %v", r.ID, err)
	}
	r.mu.Lock()
	e.Asked = r.asked
	r.exits = append(r.exits, e)
	if r.stdin != nil {
		_ = r.stdin.Close() // the process has ended
	}
	r.mu.Unlock()
	close(ended)
	if !e.Asked {
		r.cluster.cfg.note("%s ended by itself with %d%s", r.ID, e.Code, prefixed(" ", e.Signal))
	}
}

func prefixed(p, s string) string {
	if s == "" {
		return ""
	}
	return p + s
}

func (r *Replica) running() bool {
	if r.cmd == nil {
		return false
	}
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

// Running reports whether the process runs or is stopped by a signal.
func (r *Replica) Running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running()
}

// Awake reports whether the process runs and is not stopped by a signal.
func (r *Replica) Awake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running() && !r.paused
}

// PID returns the id of the process, or 0 if none runs.
func (r *Replica) PID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return 0
	}
	return r.cmd.Process.Pid
}

// Runs returns the number of runs so far.
func (r *Replica) Runs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs
}

// Exits returns the ends of the runs so far.
func (r *Replica) Exits() []Exit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Exit(nil), r.exits...)
}

// Kill sends SIGKILL and waits for the end. The process can finish nothing.
func (r *Replica) Kill() error { return r.end(syscall.SIGKILL, 10*time.Second) }

// Terminate sends SIGTERM. The process transfers its leadership and ends in order. If it has not
// ended after within, Terminate kills it and returns an error.
func (r *Replica) Terminate(within time.Duration) error { return r.end(syscall.SIGTERM, within) }

func (r *Replica) end(s syscall.Signal, within time.Duration) error {
	r.mu.Lock()
	if !r.running() {
		r.mu.Unlock()
		return nil
	}
	r.asked = true
	cmd, ended, paused := r.cmd, r.ended, r.paused
	if s == syscall.SIGKILL {
		_ = r.cluster.network.Absent(r.ID, true) // watch reports the error when the process has ended
	}
	err := cmd.Process.Signal(s)
	if paused && err == nil && s != syscall.SIGKILL {
		err = cmd.Process.Signal(syscall.SIGCONT) // a stopped process handles no signal except SIGCONT and SIGKILL
	}
	r.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s to %s: %w", s, r.ID, err)
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-ended:
		return nil
	case <-late.C:
	}
	// The process is late, which the error reports. SIGQUIT writes its goroutines to the log.
	_ = r.changeStdio(func(s *stdio) error { s.drain(); return nil }) // unless it ends just now
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	return fmt.Errorf("%s did not end within %s of %s; its log has its goroutines", r.ID, within, s)
}

// AwaitExit waits until the process ends by itself and returns its exit.
func (r *Replica) AwaitExit(ctx context.Context) (Exit, error) {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended == nil {
		return Exit{}, fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	select {
	case <-ended:
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("%s did not end by itself: %w", r.ID, ctx.Err())
	}
	all := r.Exits()
	return all[len(all)-1], nil
}

// Expect marks a later end of the present run as caused by the harness.
func (r *Replica) Expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
}

// Pause sends SIGSTOP.
func (r *Replica) Pause() error { return r.stop(syscall.SIGSTOP, true) }

// Resume sends SIGCONT.
func (r *Replica) Resume() error { return r.stop(syscall.SIGCONT, false) }

// Reload sends SIGHUP.
func (r *Replica) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.signal(syscall.SIGHUP)
}

func (r *Replica) stop(s syscall.Signal, paused bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.signal(s); err != nil {
		return err
	}
	r.paused = paused
	return nil
}

func (r *Replica) signal(s syscall.Signal) error {
	if !r.running() {
		return fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	if err := r.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s to %s: %w", s, r.ID, err)
	}
	return nil
}

// Run sets the program of the next run.
func (r *Replica) Run(binary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.binary = binary
}

// Said returns the end of what the present run has logged, at most `most` bytes.
func (r *Replica) Said(most int) string {
	r.mu.Lock()
	began := r.began
	r.mu.Unlock()
	return r.logged(began, most)
}

// logged returns the end of the log from an offset on, at most `most` bytes.
func (r *Replica) logged(since int64, most int) string {
	f, err := os.Open(r.logFile)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(since, info.Size()-int64(most))
	b := make([]byte, max(0, info.Size()-from))
	n, _ := f.ReadAt(b, from) // a short read gives less
	return string(b[:n])
}

// Wipe empties the data directory. The process must not run.
func (r *Replica) Wipe() error {
	if r.Running() {
		return fmt.Errorf("wipe %s: it runs", r.ID)
	}
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(filepath.Join(r.Dir, e.Name())))
	}
	return errors.Join(errs...)
}
