package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// cable forwards connections to an address until it is cut. After that it carries no byte, and the
// two ends learn nothing, as when a machine vanishes.
type cable struct {
	at  string
	cut chan struct{}
}

// newCable listens on a port of its own.
func newCable(t testing.TB, to string) *cable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &cable{at: l.Addr().String(), cut: make(chan struct{})}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	keep := func(c net.Conn) { mu.Lock(); defer mu.Unlock(); conns = append(conns, c) }
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			keep(c)
			d, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			keep(d)
			wg.Go(func() { w.carry(d, c) })
			wg.Go(func() { w.carry(c, d) })
		}
	})
	return w
}

// carry copies until one end closes its connection or it is cut.
func (w *cable) carry(dst, src net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := src.Read(b)
		select {
		case <-w.cut:
			_, _ = io.Copy(io.Discard, src) // until the cleanup closes it
			return
		default:
		}
		if _, werr := dst.Write(b[:n]); err != nil || werr != nil {
			_, _ = src.Close(), dst.Close()
			return
		}
	}
}

// TestFollowVanishedReplica cuts the cable to the replica that "events --follow" reads from. The
// command must go on at another replica long before the kernel gives the connection up.
func TestFollowVanishedReplica(t *testing.T) {
	t.Parallel()
	c := startProcesses(t, 3, calm, "")
	near := newCable(t, c.all[0].http)
	cmd := exec.Command(os.Args[0], "events", "--follow", "-o", "name", "--addr",
		strings.Join([]string{near.at, c.all[1].http, c.all[2].http}, ","))
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	defer func() {
		_ = cmd.Process.Kill()
		for range lines { // until the pipe is closed
		}
		_ = cmd.Wait()
	}()
	heard := func() string {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatal("events --follow ended")
			}
			return line
		case <-time.After(patience): // the kernel takes a quarter of an hour
			t.Fatal("events --follow shows nothing new")
			return ""
		}
	}
	work := c.work(newCaller(t, c.addrs()), 1)
	heard()
	close(near.cut)
	began := time.Now()
	for end := time.Now().Add(time.Second); time.Now().Before(end); { // what was on its way
		select {
		case <-lines:
		case <-time.After(100 * time.Millisecond):
		}
	}
	heard()
	t.Logf("the next event came %s after the cut", time.Since(began).Round(time.Millisecond))
	work.end()
}
