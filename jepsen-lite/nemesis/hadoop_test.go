package nemesis

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"rmd/jepsen-lite/harness/hadoop"
	"rmd/jepsen-lite/history"
)

// credulous starts a port that answers every call and accepts every token, and returns its address.
func credulous(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go believe(c)
		}
	}()
	return l.Addr().String()
}

func believe(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	preamble := make([]byte, 7)
	if _, err := io.ReadFull(in, preamble); err != nil {
		return
	}
	challenge := hadoop.Text(nil, 5, `realm="default",nonce="abc",qop="auth"`)
	for i := 0; ; i++ {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, in, int64(binary.BigEndian.Uint32(size[:]))); err != nil {
			return
		}
		if preamble[6] == hadoop.AuthNone && i == 0 {
			continue // the connection context
		}
		head := hadoop.Number(hadoop.Number(nil, 1, 1), 2, 0)
		b := slices.Concat([]byte{byte(len(head))}, head)
		body := hadoop.Bytes(nil, 4, challenge)
		b = slices.Concat(b, []byte{byte(len(body))}, body)
		// the caller may have closed the connection
		_, _ = c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	}
}

// TestPortViolations checks that a port leads to a violation if it accepts a forged token, or
// answers a call that it does not serve.
func TestPortViolations(t *testing.T) {
	at := credulous(t)
	var told []string
	e := testEnv(history.New())
	e.Violate = func(invariant, format string, _ ...any) { told = append(told, invariant+" "+format) }
	e.forged(at, []byte("somebody"))
	if len(told) != 1 || !strings.Contains(told[0], "forged token") {
		t.Errorf("a forged token is believed: %v", told)
	}
	told = nil
	e.wrongCalls(t.Context(), at)
	if len(told) == 0 || !strings.Contains(told[0], "is answered") {
		t.Errorf("what is not served is answered: %v", told)
	}
}

// TestJudgeBeats checks that a node that waited too long leads to a violation, and that a shorter
// wait does not.
func TestJudgeBeats(t *testing.T) {
	for _, gap := range []time.Duration{beatsWithin / 2, 2 * beatsWithin} {
		told := 0
		e := testEnv(history.New())
		e.moment = &Moment{}
		e.Violate = func(string, string, ...any) { told++ }
		e.BeatGap = func(time.Time, time.Time) time.Duration { return gap }
		e.judgeBeats(t.Context(), time.Now())
		if want := gap > beatsWithin; (told > 0) != want {
			t.Errorf("a wait of %s is told %d times", gap, told)
		}
	}
}

// TestSlowCallerBytes checks that every byte sequence for slow callers begins like a connection of
// Hadoop.
func TestSlowCallerBytes(t *testing.T) {
	said := hadoopSentences()
	if len(said) < 6 {
		t.Errorf("%d sentences", len(said))
	}
	for i, s := range said {
		if !strings.HasPrefix(string(s), "hrpc\x09") {
			t.Errorf("sentence %d begins with %q", i, s[:min(len(s), 5)])
		}
	}
	if between(`realm="x",nonce="a+/b",qop`, `nonce="`, `"`) != "a+/b" || between("nonce=", `nonce="`, `"`) != "" {
		t.Error("between")
	}
}
