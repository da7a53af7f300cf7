package ipc

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestLateReaderGetsAllReplies checks that a peer that does not read for a while delays only its
// own connection, and gets all replies when it reads again.
func TestLateReaderGetsAllReplies(t *testing.T) {
	for _, method := range []string{"echo", "echoInline"} {
		s := openServer(t, &testMethods{}, func(c *Config) { c.OutputMax = 100_000 })
		b := dialBare(t, s)
		name := strings.Repeat("z", 10_000)
		const calls = 2000
		sent := make(chan error, 1)
		go func() {
			_, err := b.Write(hello("alice"))
			for i := int32(0); i < calls && err == nil; i++ {
				_, err = b.Write(call(i, method, name))
			}
			sent <- err
		}()
		stuck := func() bool {
			c := s.open()[0]
			c.out.mu.Lock()
			defer c.out.mu.Unlock()
			return c.out.writing
		}
		// The kernel accepts some bytes before a write blocks. Wait until a write has been in
		// progress for a while, but not for long, because the test does not depend on it.
		end := time.Now().Add(2 * time.Second)
		for since := time.Now(); time.Since(since) < 20*time.Millisecond &&
			time.Now().Before(end); time.Sleep(time.Millisecond) {
			if len(s.open()) == 0 || !stuck() {
				since = time.Now()
			}
		}
		other := dialBare(t, s)
		other.send(hello("alice"))
		for i := range int32(100) {
			other.send(call(i, method, "x"))
			other.frame()
		}
		got := map[uint32]bool{}
		for range calls {
			h, body := b.frame()
			if !bytes.Contains(body, []byte(name)) {
				t.Fatalf("%s: reply to %d has %d bytes", method, h.GetCallId(), len(body))
			}
			got[h.GetCallId()] = true
		}
		if err := <-sent; err != nil || len(got) != calls {
			t.Fatalf("%s: %d calls answered, %v", method, len(got), err)
		}
	}
}
