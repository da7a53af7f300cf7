// Package logwriter writes a log without making its callers wait.
//
// A write to a pipe blocks while nobody reads it, and fails when its reader is gone. A process that
// logs under a lock, or in the goroutine that must answer, would then stop with its log reader.
// Writer takes lines at once, and one goroutine writes them. Lines that find no room are dropped,
// counted, and reported as soon as the log is read again.
package logwriter

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Writer is an io.Writer that never blocks and never fails. Each call of Write must pass whole
// lines. Any goroutine may call any method.
type Writer struct {
	out   io.Writer
	limit int
	told  func(dropped uint64)

	mu      sync.Mutex
	moved   sync.Cond // broadcast when waiting or writing changes
	waiting []byte    // lines that nobody writes yet
	writing int       // bytes that are being written
	dropped uint64    // lines
}

// New returns a Writer to out. It holds at most limit bytes that are not written yet. After lines
// were dropped, it calls told with the number of lines dropped since the start, from its own
// goroutine, once out takes lines again. told may write to the Writer. The goroutine ends with the
// process.
func New(out io.Writer, limit int, told func(dropped uint64)) *Writer {
	w := &Writer{out: out, limit: limit, told: told}
	w.moved.L = &w.mu
	go w.run()
	return w
}

// Write takes lines to be written soon, or drops them if there is no room. It always returns
// len(lines) and nil: a caller can do nothing about a log that nobody reads.
func (w *Writer) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting)+w.writing+len(lines) > w.limit {
		w.dropped += count(lines)
	} else {
		w.waiting = append(w.waiting, lines...)
		w.moved.Broadcast()
	}
	return len(lines), nil
}

// Dropped returns the number of lines dropped since the start.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Flush waits until all lines are written or dropped, at most for a duration.
func (w *Writer) Flush(atMost time.Duration) {
	late := false
	timer := time.AfterFunc(atMost, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.moved.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting)+w.writing > 0 && !late {
		w.moved.Wait()
	}
}

// run writes what waits.
func (w *Writer) run() {
	var told uint64
	var lines []byte
	for {
		lines = w.next(lines)
		n, err := w.out.Write(lines)
		if dropped := w.wrote(lines[n:]); err == nil && dropped != told {
			told = dropped
			w.told(dropped)
		}
	}
}

// next waits for lines and takes them. It gives its argument as room for the lines after them.
func (w *Writer) next(room []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) == 0 {
		w.moved.Wait()
	}
	lines := w.waiting
	w.waiting, w.writing = room[:0], len(lines)
	return lines
}

// wrote drops the rest that could not be written, and returns the number of lines dropped so far.
func (w *Writer) wrote(rest []byte) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = 0
	w.dropped += count(rest)
	w.moved.Broadcast()
	return w.dropped
}

// count returns the number of lines. A line that is not whole counts as one.
func count(lines []byte) uint64 {
	n := bytes.Count(lines, []byte{'\n'})
	if len(lines) > 0 && lines[len(lines)-1] != '\n' {
		n++
	}
	return uint64(n)
}
