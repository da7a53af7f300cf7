package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pipe is where a process prints: a real pipe, as under a container runtime or before "| logger".
type pipe struct {
	in, out *os.File
	to      io.Writer
	copied  chan struct{} // closed when nobody reads any more
}

// toPipe makes a process print into a pipe from its next start on. It is read into p.
func (p *process) toPipe(t testing.TB) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	p.out = &pipe{in: in, out: out, to: p}
	p.out.read()
}

// read reads all that comes.
func (o *pipe) read() { o.readWith(func() (int64, error) { return io.Copy(o.to, o.out) }) }

func (o *pipe) readWith(f func() (int64, error)) {
	copied := make(chan struct{})
	o.copied = copied
	go func() {
		_, _ = f() // ends by stop, or when the pipe is closed
		close(copied)
	}()
}

// stop stops reading.
func (o *pipe) stop(t testing.TB) {
	t.Helper()
	if err := o.out.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	<-o.copied
	if err := o.out.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// full stops reading and fills the pipe to its last byte.
func (o *pipe) full(t testing.TB) {
	t.Helper()
	o.stop(t)
	fd, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", o.in.Fd()), syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("pipes cannot be filled here: %v", err)
	}
	defer syscall.Close(fd)
	line := []byte(strings.Repeat("\n", 4096))
	for _, n := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = syscall.Write(fd, line[:n])
		}
		if err != syscall.EAGAIN {
			t.Fatal(err)
		}
	}
}

// closed ends the reader.
func (o *pipe) closed(t testing.TB) {
	t.Helper()
	o.stop(t)
	if err := o.out.Close(); err != nil {
		t.Fatal(err)
	}
}

// slow reads some bytes a second from a full pipe.
func (o *pipe) slow(t testing.TB) {
	t.Helper()
	o.full(t)
	o.readWith(func() (all int64, err error) {
		for b := make([]byte, 16); err == nil; time.Sleep(100 * time.Millisecond) {
			_, err = o.out.Read(b)
		}
		return all, err
	})
}

// TestLogPipe breaks the pipes into which all replicas print everything that can be logged. The
// replicas must go on, take back a follower, and end when they are told to.
func TestLogPipe(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name      string
		breakPipe func(*pipe, testing.TB)
	}{{"full", (*pipe).full}, {"closed", (*pipe).closed}, {"slow", (*pipe).slow}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := newProcesses(t, 3, calm, "  bootstrap_expect: 3\n", "log:\n  level: trace\n")
			for _, p := range c.all {
				p.toPipe(t)
				c.start(p)
			}
			c.awaitReady(c.all...)
			work := c.work(newCaller(t, c.addrs()), 2)
			work.goesOn()
			leader := c.leader()
			for _, p := range c.all {
				kind.breakPipe(p.out, t)
			}
			follower := c.others(leader)[0]
			c.kill(follower)
			work.goesOn()
			c.start(follower)
			c.awaitReady(follower)
			work.goesOn()
			if kind.name == "closed" {
				c.await("the leader counts dropped lines", patience, func() bool {
					return !contain(c.done("metrics", "log_lines_dropped", "--addr", leader.http), "_total 0\n")
				})
			}
			leader.endsInOrder(c)
			work.goesOn()
			if kind.name == "full" { // somebody reads again
				follower.out.read()
				follower.signal(t, syscall.SIGHUP)
				c.await("the log goes on", patience, func() bool { return contain(follower.logged(), "reloaded the log level") })
			}
			work.end()
			for _, p := range c.others(leader) {
				p.endsInOrder(c)
			}
		})
	}
}

// endsInOrder stops a process with SIGTERM.
func (p *process) endsInOrder(c *processes) {
	c.t.Helper()
	p.signal(c.t, syscall.SIGTERM)
	if code := c.exited(p); code != 0 {
		c.t.Errorf("%s ended with %d after SIGTERM:\n%s", p.id, code, p.log())
	}
}

// TestLastWordsUnread ends replicas that print their last words into a full pipe: an error at the
// start, and their goroutines on SIGQUIT. Each must end, and with its own exit code.
func TestLastWordsUnread(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 2, calm, "", "")
	one, second := c.all[0], c.all[1]
	for _, p := range c.all {
		p.toPipe(t)
	}
	c.start(one)
	c.awaitUp(one)
	c.reconfigure(second, "data: "+second.dir, "data: "+one.dir)
	for range 2 {
		c.start(second)
		if code := c.exited(second); code != 8 {
			t.Errorf("a replica whose data is in use ended with %d", code)
		}
		second.out.full(t) // the replica has made it larger
	}
	c.reconfigure(second, "cluster: test", "cluster: ''")
	c.start(second)
	if code := c.exited(second); code != 2 {
		t.Errorf("a replica with a wrong configuration ended with %d", code)
	}
	one.out.full(t)
	one.signal(t, syscall.SIGQUIT)
	if code := c.exited(one); code != 2 {
		t.Errorf("a replica ended with %d after SIGQUIT", code)
	}
}

// TestNoReaderFromTheStart starts a replica that prints into a named pipe without a reader. Such a
// pipe cannot be opened again.
func TestNoReaderFromTheStart(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 1, calm, "", "")
	p := c.all[0]
	path := p.config + ".fifo"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	p.worksWith(c, in)
}

// TestLogDiskFull starts a replica whose log takes no byte.
func TestLogDiskFull(t *testing.T) {
	t.Parallel()
	c := newProcesses(t, 1, calm, "", "")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("a full disk cannot be had: %v", err)
	}
	c.all[0].worksWith(c, full)
}

// worksWith checks that a process that prints into a file starts and ends.
func (p *process) worksWith(c *processes, file *os.File) {
	c.t.Helper()
	c.t.Cleanup(func() { _ = file.Close() })
	p.out = &pipe{in: file}
	c.start(p)
	c.awaitUp(p)
	p.endsInOrder(c)
}
