package ipc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	protobuf "google.golang.org/protobuf/proto"
)

// floorConns is the number of connections to the server.
const floorConns = 1000

// asking is the task of the client process.
type asking struct {
	Addr         string
	Hello, Frame []byte
	Window       int // messages in flight
}

// askVariable makes a process of this test binary a client process.
const askVariable = "RMD_TEST_IPC_ASK"

// TestAsk is not a test. It runs in the client process of the benchmarks below, so that they can
// measure the server's process alone.
func TestAsk(t *testing.T) {
	if os.Getenv(askVariable) == "" {
		t.Skip("for the benchmarks")
	}
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	var a asking
	if err := json.Unmarshal(in.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	e, fds := a.dial(t)
	for in.Scan() {
		n, _ := strconv.Atoi(in.Text())
		a.ask(t, e, fds, n)
		fmt.Println("done")
	}
}

// dial opens the connections as plain descriptors in one epoll set.
func (a *asking) dial(t *testing.T) (epoll int, fds []int) {
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		t.Fatal(err)
	}
	for range floorConns {
		c, err := net.Dial("tcp", a.Addr)
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		fd := int(f.Fd())
		t.Cleanup(func() { _ = f.Close() })
		if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd,
			&syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}); err != nil {
			t.Fatal(err)
		}
		if len(a.Hello) > 0 {
			_, _ = syscall.Write(fd, a.Hello)
		}
		fds = append(fds, fd)
	}
	return epoll, fds
}

// ask sends n messages, each on the next connection, and reads the answers.
func (a *asking) ask(t *testing.T, epoll int, fds []int, n int) {
	buf, events := make([]byte, 1024), make([]syscall.EpollEvent, a.Window)
	for sent, got := 0, 0; got < n; {
		for ; sent < n && sent-got < a.Window; sent++ {
			if _, err := syscall.Write(fds[sent%len(fds)], a.Frame); err != nil {
				t.Fatal(err)
			}
		}
		k, err := syscall.EpollWait(epoll, events, -1)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events[:k] {
			if m, err := syscall.Read(int(e.Fd), buf); m <= 0 || err != nil {
				t.Fatalf("answer of %d bytes, %v", m, err)
			}
			got++
		}
	}
}

// asker is the benchmark's end of the pipes to the client process.
type asker struct {
	in  io.Writer
	out *bufio.Reader
}

// startAsker starts the client process and has it send one message on each connection.
func startAsker(b *testing.B, a asking) *asker {
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestAsk$")
	cmd.Env = append(os.Environ(), askVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	if err := json.NewEncoder(in).Encode(a); err != nil {
		b.Fatal(err)
	}
	k := &asker{in, bufio.NewReader(out)}
	k.ask(b, floorConns)
	return k
}

// ask has the client process send n messages and waits for their answers.
func (k *asker) ask(b *testing.B, n int) {
	fmt.Fprintln(k.in, n)
	if line, err := k.out.ReadString('\n'); strings.TrimSpace(line) != "done" {
		b.Fatalf("client process printed %q, %v, want done", line, err)
	}
}

// used returns the CPU time of this process or of the calling thread.
func used(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// windows are the numbers of messages in flight. With one, as from idle nodes, the server sleeps
// before each message.
var windows = []int{1, 32}

func heartbeatFrame(b *testing.B, method string) []byte {
	req, err := protobuf.Marshal(heartbeat())
	if err != nil {
		b.Fatal(err)
	}
	frame, err := appendRequest(nil, 0, testClientID, testProtocol, 1, method, func(b []byte) ([]byte, error) {
		return append(protobufLen(b, len(req)), req...), nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return frame
}

// BenchmarkFloor measures the kernel's share of a heartbeat: one epoll_wait, one read and one write
// per message over loopback, on 1,000 connections, by one thread that does nothing else. cpu-µs/msg
// is the CPU time of that thread. The difference to BenchmarkFloorServer is this package's share.
func BenchmarkFloor(b *testing.B) {
	for _, w := range windows {
		b.Run(fmt.Sprintf("inflight=%d", w), func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			cpu := make(chan func() time.Duration)
			go answerBare(l, cpu)
			k := startAsker(b, asking{Addr: l.Addr().String(), Frame: heartbeatFrame(b, "bytes"), Window: w})
			answerer := <-cpu
			before := answerer()
			b.ResetTimer()
			k.ask(b, b.N)
			b.ReportMetric(float64((answerer()-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/msg")
		})
	}
}

// answerBare answers every read with a write, on its own thread, until a connection ends.
func answerBare(l net.Listener, cpu chan<- func() time.Duration) {
	runtime.LockOSThread()
	epoll, err := syscall.EpollCreate1(0)
	if err != nil {
		panic(err) // without epoll there is nothing to measure
	}
	defer syscall.Close(epoll)
	for range floorConns {
		c, err := l.Accept()
		if err != nil {
			return
		}
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			panic(err)
		}
		_ = c.Close()
		defer f.Close()
		fd := int(f.Fd())
		if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd,
			&syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP, Fd: int32(fd)}); err != nil {
			panic(err)
		}
	}
	thread := syscall.Gettid()
	buf, reply := make([]byte, 4096), make([]byte, 48)
	events := make([]syscall.EpollEvent, 1)
	told := false
	for {
		n, err := syscall.EpollWait(epoll, events, -1)
		if err == syscall.EINTR {
			continue
		}
		if n != 1 {
			return
		}
		if m, err := syscall.Read(int(events[0].Fd), buf); m <= 0 || err != nil {
			return
		}
		_, _ = syscall.Write(int(events[0].Fd), reply)
		if !told {
			told = true
			go func() { cpu <- func() time.Duration { return threadTime(thread) } }()
		}
	}
}

// threadTime returns the CPU time of a thread of this process, from the kernel's schedstat.
func threadTime(id int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", id))
	ns, _ := strconv.ParseInt(strings.Fields(string(text) + " 0")[0], 10, 64)
	return time.Duration(ns)
}

// BenchmarkFloorServer measures the same with a Server, whose handler does nothing (bytes) or
// decodes and encodes the messages (nodeHeartbeat). cpu-µs/msg is the CPU time of this process,
// which does not contain the client.
func BenchmarkFloorServer(b *testing.B) {
	for _, method := range []string{"bytes", "nodeHeartbeat"} {
		for _, w := range windows {
			b.Run(fmt.Sprintf("%s/inflight=%d", method, w), func(b *testing.B) {
				s := benchServer(b, true)
				k := startAsker(b, asking{Addr: s.Addr().String(), Hello: hello("yarn"),
					Frame: heartbeatFrame(b, method), Window: w})
				runtime.GC() // collects the garbage of the setup and of earlier benchmarks
				before := used(syscall.RUSAGE_SELF)
				b.ReportAllocs()
				b.ResetTimer()
				k.ask(b, b.N)
				b.ReportMetric(float64((used(syscall.RUSAGE_SELF)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/msg")
			})
		}
	}
}
