package logwriter

import (
	"bufio"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// within fails the test if f does not return.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s blocks", what)
	}
}

// lines returns lines of ten bytes.
func lines(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("line %4d\n", i))
	}
	return out
}

func write(t *testing.T, w io.Writer, all ...string) {
	t.Helper()
	within(t, "Write", func() {
		for _, line := range all {
			if n, err := io.WriteString(w, line); n != len(line) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
		}
	})
}

// TestNobodyReads writes to a pipe that nobody reads. What fits into the limit is kept in its order,
// the rest is counted, and told once somebody reads.
func TestNobodyReads(t *testing.T) {
	r, pipe := io.Pipe()
	var w *Writer
	w = New(pipe, 100, func(dropped uint64) { fmt.Fprintf(w, "dropped %d\n", dropped) })
	all := lines(1000)
	write(t, w, all...)
	if w.Dropped() != 990 {
		t.Errorf("dropped %d of 1000 lines of 10 bytes; the limit is 100 bytes", w.Dropped())
	}
	within(t, "Flush", func() { w.Flush(time.Millisecond) })
	in := bufio.NewReader(r)
	read := func() (line string) {
		within(t, "the read", func() { line, _ = in.ReadString('\n') })
		return line
	}
	for _, want := range all[:10] {
		if line := read(); line != want {
			t.Errorf("read %q, not %q", line, want)
		}
	}
	// The first report may have found no room, and then counts in the next one.
	if line, want := read(), fmt.Sprintf("dropped %d\n", w.Dropped()); line != want {
		t.Errorf("read %q, not %q", line, want)
	}
	write(t, w, "later\n")
	if line := read(); line != "later\n" {
		t.Errorf("read %q after the pipe was empty", line)
	}
	within(t, "Flush", func() { w.Flush(patience) })
}

// broken fails with EPIPE while it is set, as a pipe whose reader has ended.
type broken struct {
	atomic.Bool
	got chan string
}

func (b *broken) Write(p []byte) (int, error) {
	if b.Load() {
		return 0, syscall.EPIPE
	}
	b.got <- string(p)
	return len(p), nil
}

// TestReaderGone writes while every write fails. The lines are counted; later ones are written.
func TestReaderGone(t *testing.T) {
	out := &broken{got: make(chan string, 10)}
	out.Store(true)
	told := make(chan uint64, 1)
	w := New(out, 100, func(dropped uint64) { told <- dropped })
	for _, line := range lines(20) {
		write(t, w, line)
		within(t, "Flush", func() { w.Flush(patience) })
	}
	if w.Dropped() != 20 {
		t.Errorf("dropped %d of 20 lines", w.Dropped())
	}
	out.Store(false)
	write(t, w, "again\n")
	within(t, "the report", func() {
		if line, n := <-out.got, <-told; line != "again\n" || n != 20 {
			t.Errorf("got %q, told %d", line, n)
		}
	})
}

// half takes only a part of what is written, as a file on a full disk.
type half struct{}

func (half) Write([]byte) (int, error) { return 15, syscall.ENOSPC }

func TestPartWritten(t *testing.T) {
	w := New(half{}, 100, func(uint64) { t.Error("told while writes fail") })
	write(t, w, "line 0\nline 1\nline 2\nline 3\n")
	within(t, "Flush", func() { w.Flush(patience) })
	if w.Dropped() != 2 { // one ends in the middle
		t.Errorf("dropped %d lines", w.Dropped())
	}
}

// TestLargerThanLimit writes a line that never fits.
func TestLargerThanLimit(t *testing.T) {
	w := New(io.Discard, 10, func(uint64) {})
	write(t, w, "a line of more than ten bytes\n")
	if w.Dropped() != 1 {
		t.Errorf("dropped %d lines", w.Dropped())
	}
}
