package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// Writer appends lines to a file. After the first error it writes nothing; Flush and Close return
// that error.
type Writer struct {
	mu   sync.Mutex
	file *os.File // nil if it does not write to a file of its own
	buf  *bufio.Writer
	err  error
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{buf: bufio.NewWriterSize(w, 1<<16)} }

// Open returns a Writer that appends to a file, which Open creates if necessary. If the file ends
// in the middle of a line, the Writer continues in a new line.
func Open(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	w := NewWriter(f)
	w.file = f
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, st.Size()-1); err == nil && last[0] != '\n' {
			err = w.buf.WriteByte('\n')
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open history %s: %w", path, err)
	}
	return w, nil
}

// Add implements Sink.
func (w *Writer) Add(l Line) {
	data, err := json.Marshal(l)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	if w.err == nil {
		_, w.err = w.buf.Write(append(data, '\n'))
	}
}

// Flush writes the buffered lines.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	return w.err
}

// Close flushes and closes the file.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.file != nil {
		if e := w.file.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}
