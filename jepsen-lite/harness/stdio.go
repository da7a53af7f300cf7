package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// stdio is the pipe into which one run of a replica prints. Its reader copies it into the log file.
type stdio struct {
	in, out *os.File // the process has in, too
	log     *os.File
	read    chan struct{} // closed when the reader has ended
}

// openStdio opens a pipe and starts its reader, which appends to a log file.
func openStdio(log *os.File) (*stdio, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &stdio{in: in, out: out, log: log}
	s.readWith(readAtOnce, 0)
	return s, nil
}

// readAtOnce is how many bytes a healthy reader reads at once.
const readAtOnce = 32 << 10

// pad is what fills a pipe. A log does not contain it, and the reader leaves it out.
var pad = make([]byte, 4096)

// copy reads at most `most` bytes and then pauses, again and again, until the pipe ends or stop.
func (s *stdio) copy(most int, pause time.Duration) {
	defer close(s.read)
	b := make([]byte, most)
	for {
		n, err := s.out.Read(b)
		_, _ = s.log.Write(bytes.ReplaceAll(b[:n], pad[:1], nil)) // a gap in the log harms nobody
		if err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// stop ends the reader.
func (s *stdio) stop() error {
	err := s.out.SetReadDeadline(time.Unix(1, 0))
	<-s.read
	return errors.Join(err, s.out.SetReadDeadline(time.Time{}))
}

// fill ends the reader and fills the pipe. It opens the pipe again, so that only its own writes do
// not wait.
func (s *stdio) fill() error {
	if err := s.stop(); err != nil {
		return err
	}
	fd, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", s.in.Fd()),
		syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	for _, n := range []int{len(pad), 1} {
		for err = nil; err == nil; {
			_, err = syscall.Write(fd, pad[:n])
		}
		if !errors.Is(err, syscall.EAGAIN) {
			return fmt.Errorf("fill the pipe of a log: %w", err)
		}
	}
	return nil
}

// readWith lets a new reader read.
func (s *stdio) readWith(most int, pause time.Duration) {
	s.read = make(chan struct{})
	go s.copy(most, pause)
}

// drain lets a reader read all that comes, whatever a fault has done, except if it closed the pipe.
func (s *stdio) drain() {
	_ = s.stop() // a closed pipe
	s.readWith(readAtOnce, 0)
}

// drainWithin limits the wait for the last lines of a process that has ended. Processes that it has
// started may hold the pipe for longer.
const drainWithin = 2 * time.Second

// end reads what is left after the process has ended.
func (s *stdio) end() {
	_ = s.in.Close()
	s.drain()
	select {
	case <-s.read:
	case <-time.After(drainWithin):
		_ = s.stop()
	}
	_ = errors.Join(s.out.Close(), s.log.Close()) // a fault may have closed the pipe; a gap in the log harms nobody
}

// FillStdio ends the reader of what the present run prints, and fills the pipe: nobody drains it.
func (r *Replica) FillStdio() error { return r.changeStdio((*stdio).fill) }

// SlowStdio fills the pipe and reads a few bytes a second from it.
func (r *Replica) SlowStdio() error {
	return r.changeStdio(func(s *stdio) error {
		err := s.fill()
		s.readWith(16, 100*time.Millisecond)
		return err
	})
}

// CloseStdio ends the reader and closes its end of the pipe, as if the log collector had died.
func (r *Replica) CloseStdio() error {
	return r.changeStdio(func(s *stdio) error { return errors.Join(s.stop(), s.out.Close()) })
}

func (r *Replica) changeStdio(f func(*stdio) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running() {
		return fmt.Errorf("%s: %w", r.ID, ErrNotRunning)
	}
	return f(r.stdio)
}
