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

// ErrNotRunning says that a replica's process has ended, or was never started.
var ErrNotRunning = errors.New("replica does not run")

// Exit is how one run of a replica ended.
type Exit struct {
	Replica string
	Code    int    // −1 when a signal ended it
	Signal  string // which
	At      time.Time
	Asked   bool   // the harness ended it
	Said    string // the end of what that run logged
}

// Replica is one rmd process after the other, on one data directory.
type Replica struct {
	ID     string
	Place  Place // where it listens and is reached
	Dir    string
	Config string // its rmd.yaml
	Disk   Disk
	// Voter says that it was meant to take part from the beginning.
	Voter bool

	cluster *Cluster
	logFile string

	mu      sync.Mutex
	binary  string // that the next start runs
	cmd     *exec.Cmd
	ended   chan struct{} // of the present run
	asked   bool
	paused  bool
	runs    int
	began   int64 // where the present run's log begins
	setAt   int64 // where the log ended when a failpoint was set last
	exits   []Exit
	stdin   io.WriteCloser  // where the present run reads which place to crash at
	atStart FailpointAction // that the next run has from its beginning
	clock   *wallClock      // of the present run, when it was moved
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
	defer log.Close() // the process has its own
	if info, err := log.Stat(); err == nil {
		r.began = info.Size()
	}
	argv := []string{r.binary, "server", "--config", r.Config}
	if r.cluster.cfg.Failpoints {
		argv = append(argv, "--failpoints")
	}
	argv = r.cluster.network.Wrap(r.ID, argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = r.cluster.environment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	if err := r.openStdin(cmd); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", r.ID, err)
	}
	if err := r.send(r.atStart); err != nil {
		r.cluster.cfg.note("set a failpoint of %s: %v", r.ID, err) // it ended at once, which is noted
	}
	r.runs++
	r.cmd, r.ended, r.asked, r.paused, r.clock, r.atStart = cmd, make(chan struct{}), r.atStart != FailpointAction{}, false, nil, FailpointAction{}
	go r.watch(cmd, r.ended)
	return r.cluster.network.Absent(r.ID, false)
}

// watch notes how a run ends.
func (r *Replica) watch(cmd *exec.Cmd, ended chan struct{}) {
	_ = cmd.Wait() // the state says how it ended
	e := Exit{Replica: r.ID, Code: cmd.ProcessState.ExitCode(), At: time.Now(), Said: r.Said(2000)}
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
		_ = r.stdin.Close() // nobody reads it any more
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

// Running says whether its process runs, stopped ones too.
func (r *Replica) Running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running()
}

// Awake says whether its process runs and is not stopped by a signal.
func (r *Replica) Awake() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running() && !r.paused
}

// PID is that of its process; 0 when none runs.
func (r *Replica) PID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return 0
	}
	return r.cmd.Process.Pid
}

// Runs counts its processes.
func (r *Replica) Runs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs
}

// Exits are the ends of its runs so far.
func (r *Replica) Exits() []Exit {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Exit(nil), r.exits...)
}

// Kill is SIGKILL: nothing is flushed, handed over or said.
func (r *Replica) Kill() error { return r.end(syscall.SIGKILL, 10*time.Second) }

// Terminate is SIGTERM; the process hands over and ends in order. It is killed
// when it has not ended in time, which is an error.
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
		_ = r.cluster.network.Absent(r.ID, true) // it is said again when the process is gone
	}
	err := cmd.Process.Signal(s)
	if paused && err == nil && s != syscall.SIGKILL {
		err = cmd.Process.Signal(syscall.SIGCONT) // a stopped process takes no other signal
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
	// It is late already, which is told; its log is to say where it stands.
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	return fmt.Errorf("%s did not end within %s of %s; its log has its goroutines", r.ID, within, s)
}

// AwaitExit waits until the process has ended by itself, and returns how.
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

// Expect says that the present run may end by itself from now on: the harness
// has given it reason to.
func (r *Replica) Expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
}

// Pause is SIGSTOP, Resume SIGCONT.
func (r *Replica) Pause() error { return r.stop(syscall.SIGSTOP, true) }

// Resume undoes Pause.
func (r *Replica) Resume() error { return r.stop(syscall.SIGCONT, false) }

func (r *Replica) stop(s syscall.Signal, paused bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	if err := r.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s to %s: %w", s, r.ID, err)
	}
	r.paused = paused
	return nil
}

// Run sets the program that the next start runs.
func (r *Replica) Run(binary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.binary = binary
}

// Said is the end of what the present run has logged, at most so many bytes.
func (r *Replica) Said(most int) string {
	r.mu.Lock()
	began := r.began
	r.mu.Unlock()
	return r.logged(began, most)
}

// logged is the end of the log from a place on, at most so many bytes.
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
	n, _ := f.ReadAt(b, from) // what there is
	return string(b[:n])
}

// Wipe empties its disk. The process must not run.
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
