package sim

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/logwriter"
)

// logRoom is how many bytes of log wait for the reader of the pipe. It is small, so that a stalled
// reader soon costs lines.
const logRoom = 4 << 10

// logpipe is the pipe to which a process writes its log, through the product's writer. Its reader
// reads everything at once, unless it stalls or is gone.
type logpipe struct {
	lines  *logwriter.Writer
	prints bool // RMD_TEST_LOG is set: the log is printed, too

	mu      sync.Mutex
	moved   sync.Cond // broadcast when a field below changes
	stalled bool
	gone    bool // the reader
	ended   bool // the process
}

func newLogpipe() *logpipe {
	p := &logpipe{prints: os.Getenv("RMD_TEST_LOG") != ""}
	p.moved.L = &p.mu
	p.lines = logwriter.New(p, logRoom, func(uint64) {})
	return p
}

// logger returns the root logger of the process.
func (p *logpipe) logger(id string) hclog.Logger {
	level := hclog.Info
	if p.prints {
		level = hclog.Debug
	}
	return hclog.New(&hclog.LoggerOptions{Name: id, Level: level, Output: p.lines, Mutex: make(channelLock, 1), TimeFormat: "05.000"})
}

// channelLock is a lock for which goroutines wait durably, as package synctest says: if one of them
// blocks while it logs, time goes on and the judges see it.
type channelLock chan struct{}

// Lock implements hclog.Locker.
func (l channelLock) Lock() { l <- struct{}{} }

// Unlock implements hclog.Locker.
func (l channelLock) Unlock() { <-l }

// Write is called by the goroutine of lines alone. It ends this goroutine after the process has
// ended.
func (p *logpipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stalled && !p.ended {
		p.moved.Wait()
	}
	switch {
	case p.ended:
		runtime.Goexit()
	case p.gone:
		return 0, syscall.EPIPE
	case p.prints:
		return os.Stderr.Write(b)
	}
	return len(b), nil
}

// set changes what the reader does.
func (p *logpipe) set(stalled, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled, p.gone = stalled, gone
	p.moved.Broadcast()
}

// fill logs more lines than the pipe holds.
func (p *logpipe) fill() {
	const line = "nobody reads this line\n"
	for range 2 * logRoom / len(line) {
		_, _ = p.lines.Write([]byte(line))
	}
}

// end ends the pipe with its process.
func (p *logpipe) end() {
	p.mu.Lock()
	p.ended = true
	p.moved.Broadcast()
	p.mu.Unlock()
	go p.lines.Write([]byte("the process has ended\n")) // wakes the goroutine of lines
}
