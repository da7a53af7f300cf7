package statestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// aServer answers like ZooKeeper from znodes. change may replace an answer before it is sent, with
// its length in front; n counts the answers of all connections, from 0 for the first greeting.
func aServer(t testing.TB, z znodes, change func(n int, answer []byte) []byte) string {
	t.Helper()
	return aServerOf(t, func(q []byte, first bool) []byte {
		if first {
			return answerGreeting()
		}
		return answerRequest(z, q)
	}, change)
}

// aServerOf answers with answer, one connection after another.
func aServerOf(t testing.TB, answer func(q []byte, first bool) []byte,
	change func(n int, answer []byte) []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for n := 0; ; {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			n = serve(c, n, answer, change)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// serve serves one connection, and returns the number of answers sent until then.
func serve(c net.Conn, n int, answer func([]byte, bool) []byte, change func(int, []byte) []byte) int {
	for first := true; ; first = false {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		var length [4]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return n
		}
		q := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(c, q); err != nil {
			return n
		}
		a := answer(q, first)
		a = append(binary.BigEndian.AppendUint32(nil, uint32(len(a))), a...)
		if change != nil {
			a = change(n, a)
		}
		n++
		if _, err := c.Write(a); err != nil {
			return n
		}
	}
}

func answerGreeting() []byte {
	b := make([]byte, 8, 36)
	binary.BigEndian.PutUint32(b[4:], 10_000)
	b = binary.BigEndian.AppendUint64(b, 7) // the session
	b = binary.BigEndian.AppendUint32(b, 16)
	return append(b, make([]byte, 16)...)
}

func answerRequest(z znodes, q []byte) []byte {
	number, kind := q[:4], binary.BigEndian.Uint32(q[4:])
	a := append(append([]byte{}, number...), make([]byte, 12)...)
	stat := make([]byte, 68)
	if int32(binary.BigEndian.Uint32(number)) < 0 || len(q) < 12 {
		return a
	}
	size := binary.BigEndian.Uint32(q[8:])
	at := string(q[12 : 12+size])
	data, ok := z[at]
	names, _ := z.Children(at)
	if !ok && len(names) == 0 {
		binary.BigEndian.PutUint32(a[12:], 0xffffff9b) // -101, no such znode
		return a
	}
	switch kind {
	case opGetData:
		a = append(binary.BigEndian.AppendUint32(a, uint32(len(data))), data...)
	case opGetChildren:
		a = binary.BigEndian.AppendUint32(a, uint32(len(names)))
		for _, name := range names {
			a = append(binary.BigEndian.AppendUint32(a, uint32(len(name))), name...)
		}
	}
	return append(a, stat...)
}

// TestTake reads a whole store through the client library.
func TestTake(t *testing.T) {
	at := aServer(t, recorded(t), nil)
	s, err := Take(t.Context(), Config{Servers: []string{at}, Parent: "/rmstore"})
	if err != nil || len(s.Problems) > 0 || s.Version != "1.5" || len(s.Applications) == 0 {
		t.Fatalf("Take: %+v, error %v; want the whole store", s, err)
	}
}

// TestTakeHostileServer sends answers that would end the process or take gigabytes.
func TestTakeHostileServer(t *testing.T) {
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return b }
	}
	// The first answers are: the greeting, Exists, the version, the epoch, children.
	const greeting, version, children = 0, 2, 4
	for name, c := range map[string]struct {
		n      int
		change func([]byte) []byte
		want   string
	}{
		"count of children":     {children, put(20, 0xffffffff), "it announces 4294967295 names"},
		"gigabytes of children": {children, put(20, 1<<28), "it announces 268435456 names"},
		"length of a name":      {children, put(24, 1<<30), "it announces 1073741824 bytes"},
		"length of a znode":     {version, put(20, 0x7fffffff), "it announces 2147483647 bytes"},
		"no header": {version, func(b []byte) []byte { return put(0, 5)(b[:9]) },
			"it has 5 bytes, not 16 to"},
		"gigabytes":                  {version, put(0, 0xffffffff), "it has 4294967295 bytes"},
		"gigabytes of a greeting":    {greeting, put(0, 0xfffffff0), "it has 4294967280 bytes"},
		"short greeting":             {greeting, func(b []byte) []byte { return put(0, 3)(b[:7]) }, "it has 3 bytes"},
		"session without timeout":    {greeting, put(8, 0), "the timeout of the session is 0 ms"},
		"session of negative time":   {greeting, put(8, 0xffffffff), "the timeout of the session is -1 ms"},
		"password of the session":    {greeting, put(20, 0x7ffffff0), "it announces 2147483632 bytes"},
		"children without any count": {children, func(b []byte) []byte { return put(0, 18)(b[:22]) }, "it ends too early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := aServer(t, recorded(t), func(n int, b []byte) []byte {
				if n == c.n {
					return c.change(b)
				}
				return b
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := Take(ctx, Config{Servers: []string{at}, Parent: "/rmstore"})
			if err == nil || !strings.Contains(err.Error(), "sent a wrong answer: "+c.want) {
				t.Errorf("Take: %v, want %q", err, c.want)
			}
		})
	}
}

// TestTakeEnds checks that an import ends when all answers together have too many bytes, and in time
// when ZooKeeper answers everything but one request.
func TestTakeEnds(t *testing.T) {
	at := aServer(t, recorded(t), nil)
	g := &guards{left: 2_000}
	if _, err := take(t.Context(), Config{Servers: []string{at}, Parent: "/rmstore"}, g); err == nil ||
		!strings.Contains(g.because(err).Error(), "all answers have more than") {
		t.Errorf("take: %v, want a limit of all bytes", g.because(err))
	}
	for silent, auths := range map[int][]Auth{1: {{"digest", "a:b"}}, 4: nil} { // to credentials; within the store
		at := aServer(t, recorded(t), func(n int, b []byte) []byte {
			if n == silent {
				return nil
			}
			return b
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := Take(ctx, Config{Servers: []string{at}, Parent: "/rmstore", Auths: auths})
			done <- err
		}()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(),
				"not sent the whole state store in time: context deadline exceeded") {
				t.Errorf("without answer %d: %v", silent, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("without answer %d Take does not return", silent)
		}
	}
}

// TestTakeDamagedAnswers damages answers at random. Take may fail, but must return: a panic in the
// library's goroutine would end the test.
func TestTakeDamagedAnswers(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			at := aServer(t, recorded(t), func(_ int, b []byte) []byte {
				if rng.IntN(6) > 0 {
					return b
				}
				i := rng.IntN(len(b))
				switch rng.IntN(3) {
				case 0:
					b[i] = byte(rng.Uint32())
				case 1:
					b = b[:i]
				default:
					b = append(b[:i], 0xff, 0xff, 0xff, 0xff)
				}
				return b
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = Take(ctx, Config{Servers: []string{at}, Parent: "/rmstore"}) // a damaged text is no error
		})
	}
}
