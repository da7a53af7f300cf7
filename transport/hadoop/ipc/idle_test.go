//go:build unix

package ipc

import (
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestIdleConnectionsAreCheap checks that an idle connection needs little more memory than a stack.
func TestIdleConnectionsAreCheap(t *testing.T) {
	n := 10000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(2*n+200) {
		n = int(limit.Cur-200) / 2
	}
	if testing.Short() {
		n = min(n, 1000)
	}
	s := openServer(t, &testMethods{}, func(c *Config) {
		c.ConnsPerAddressMax, c.IdleTimeout = c.ConnsMax, time.Hour // a busy machine needs long for so many
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	hi := append(hello("alice"), call(1, "echo", "x")...)
	conns := make([]net.Conn, n)
	reply := make([]byte, 100)
	for i := range conns {
		nc, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer nc.Close()
		conns[i] = nc
		if _, err := nc.Write(hi); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Read(reply); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Stats().Connections; got != n {
		t.Fatalf("%d connections of %d", got, n)
	}
	runtime.GC()
	runtime.GC() // the second collection empties the pools
	runtime.ReadMemStats(&after)
	used := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) / uint64(n)
	t.Logf("%d connections, %d bytes each, both ends", n, used)
	if used > 16<<10 {
		t.Errorf("%d bytes a connection", used)
	}
	if workers := runtime.NumGoroutine() - n; workers > idleWorkersMax+50 {
		t.Errorf("%d goroutines beyond the readers", workers)
	}
}
