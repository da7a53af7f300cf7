package nemesis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"rmd/jepsen-lite/harness"
)

const (
	crowdSize = 900 // connections to one port: fewer than the listener's limit, so that honest callers can connect
	memoryMax = 768 << 20
	// hostileFor limits the whole fault.
	hostileFor = 12 * time.Second
)

// hostile attacks every port of one replica while others use it. The replica must stay up with
// limited memory.
func hostile(ctx context.Context, e *Env) (Heal, error) {
	r, err := e.victim(ctx)
	if err != nil {
		return nil, err
	}
	e.recordVictims("%s", []*harness.Replica{r}, r.ID)
	before := memory(r)
	ctx, cancel := context.WithTimeout(ctx, hostileFor)
	defer cancel()
	var all sync.WaitGroup
	for _, address := range []string{r.Place.PeerListen, r.Place.HTTPListen} {
		all.Go(func() { noise(ctx, e, address) })
		all.Go(func() { crowd(ctx, address, crowdSize) })
		all.Go(func() { endless(ctx, address) })
	}
	all.Wait()
	e.judgeMemory(r, before)
	return func(ctx context.Context) error { return e.restart(ctx, r) }, nil
}

// memory returns the resident memory of a replica's process in bytes, or 0 if the system does not
// report it.
func memory(r *harness.Replica) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64) // else 0
			return kb << 10
		}
	}
	return 0
}

// dial opens a connection with a deadline of one second.
func dial(address string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(time.Second))
	}
	return c, err
}

// noise sends bytes that belong to no protocol, and incomplete messages of some.
func noise(ctx context.Context, e *Env, address string) {
	sentences := [][]byte{
		[]byte("GET / HTTP/1.1\r\n"),
		[]byte("POST /v1/inputs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n"),
		[]byte("RMDP"), []byte("RMDP\x01\xff\xff"), []byte("RMDP\x02\x00\x10"), []byte("RMDP\x01\x00\x00"),
		[]byte("\x16\x03\x01\x02\x00\x01"), []byte("hrpc\x09\x00\x00"), nil,
		append(hello(1), make([]byte, 4096)...), append(hello(2), 0xff, 0xff, 0xff, 0xff),
		append(hello(3), "\xff\xff\xff\xff\x01\x01\x00\x00"...), append(hello(9), 1, 2, 3),
	}
	for i := 0; i < 200 && ctx.Err() == nil; i++ {
		c, err := dial(address)
		if err != nil {
			continue // the port may be full because of crowd
		}
		b := sentences[i%len(sentences)]
		if b == nil {
			b = make([]byte, 8192)
			for j := range b {
				b[j] = byte(j * i)
			}
		}
		_, _ = c.Write(b) // the server may have closed the connection
		if i%3 == 0 {
			_, _ = io.CopyN(io.Discard, c, 64)
		}
		_ = c.Close()
	}
}

// crowd opens connections that send nothing.
func crowd(ctx context.Context, address string, size int) {
	var conns []net.Conn
	for i := 0; i < size && ctx.Err() == nil; i++ {
		if c, err := dial(address); err == nil {
			_ = c.SetDeadline(time.Time{})
			conns = append(conns, c)
		}
	}
	sleep(ctx, 2*time.Second)
	for _, c := range conns {
		_ = c.Close()
	}
}

// endless sends a request header without an end.
func endless(ctx context.Context, address string) {
	c, err := dial(address)
	if err != nil {
		return
	}
	defer c.Close()
	// the server may have closed the connection
	_, _ = c.Write([]byte("GET /v1/cluster HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: "))
	line := []byte(strings.Repeat("x", 1024))
	for i := 0; i < 4096 && ctx.Err() == nil; i++ {
		if _, err := c.Write(line); err != nil {
			return
		}
	}
}
