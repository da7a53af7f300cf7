// Package logpipe simulates the pipe to which a process writes its log. It knows only rmd's writer of
// logs (internal/logwriter), which must never wait for the reader.
package logpipe

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"rmd/internal/logwriter"
)

// room is how many bytes of log wait for the reader of the pipe. It is small, so that a stalled
// reader soon costs lines.
const room = 4 << 10

// Pipe is the pipe to which a process writes its log, through the product's writer. Its reader
// reads everything at once, unless it stalls or is gone.
type Pipe struct {
	lines  *logwriter.Writer
	prints bool // RMD_TEST_LOG is set: the log is printed, too

	mu      sync.Mutex
	moved   sync.Cond // broadcast when a field below changes
	stalled bool
	gone    bool // the reader
	ended   bool // the process
}

// New returns the pipe of a process, with a reader.
func New() *Pipe {
	p := &Pipe{prints: os.Getenv("RMD_TEST_LOG") != ""}
	p.moved.L = &p.mu
	p.lines = logwriter.New(p, room, func(uint64) {})
	return p
}

// Logger returns the root logger of the process.
func (p *Pipe) Logger(id string) hclog.Logger {
	level := hclog.Info
	if p.prints {
		level = hclog.Debug
	}
	return hclog.New(&hclog.LoggerOptions{Name: id, Level: level, Output: p.lines, Mutex: make(channelLock, 1),
		TimeFormat: "05.000"})
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
func (p *Pipe) Write(b []byte) (int, error) {
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

// Set changes what the reader does.
func (p *Pipe) Set(stalled, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled, p.gone = stalled, gone
	p.moved.Broadcast()
}

// Fill logs more lines than the pipe holds.
func (p *Pipe) Fill() {
	const line = "nobody reads this line\n"
	for range 2 * room / len(line) {
		_, _ = p.lines.Write([]byte(line))
	}
}

// End ends the pipe with its process.
func (p *Pipe) End() {
	p.mu.Lock()
	p.ended = true
	p.moved.Broadcast()
	p.mu.Unlock()
	go p.lines.Write([]byte("the process has ended\n")) // wakes the goroutine of lines
}
