package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotLine means that a line is not one of a history.
var ErrNotLine = errors.New("not a line of a history")

// made are the types of lines, each with the key that only this type has. A Writer writes this key
// first.
var made = []struct {
	key  string
	make func() Line
}{
	{"p", func() Line { return new(Op) }},
	{"r", func() Line { return new(Replica) }},
	{"node", func() Line { return new(Order) }},
	{"fault", func() Line { return new(Fault) }},
	{"mark", func() Line { return new(Mark) }},
	{"log", func() Line { return new(Entry) }},
	{"state", func() Line { return new(Dump) }},
}

// Decode reads one line.
func Decode(data []byte) (Line, error) {
	data = bytes.TrimSpace(data)
	l := byHead(data)
	if l == nil {
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(data, &keys); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotLine, err)
		}
		for _, m := range made {
			if _, ok := keys[m.key]; ok {
				l = m.make()
				break
			}
		}
	}
	if l == nil {
		return nil, fmt.Errorf("%w: %.60s", ErrNotLine, data)
	}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotLine, err)
	}
	return l, nil
}

func byHead(data []byte) Line {
	rest, ok := bytes.CutPrefix(data, []byte(`{"`))
	if !ok {
		return nil
	}
	head, _, ok := bytes.Cut(rest, []byte(`":`))
	if !ok {
		return nil
	}
	for _, m := range made {
		if string(head) == m.key {
			return m.make()
		}
	}
	return nil
}

// Read adds the lines of r to a sink and returns their number. It skips and counts torn lines: the
// last one, or one after which a writer has reopened the file. Any other unreadable line is an
// error.
func Read(r io.Reader, sink Sink) (lines, torn int, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		data, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return lines, torn, fmt.Errorf("read history, line %d: %w", n, err)
		}
		last := err != nil
		if len(bytes.TrimSpace(data)) > 0 {
			l, bad := Decode(data)
			switch {
			case bad == nil:
				sink.Add(l)
				lines++
			case last || !json.Valid(bytes.TrimSpace(data)):
				torn++
			default:
				return lines, torn, fmt.Errorf("read history, line %d: %w", n, bad)
			}
		}
		if last {
			return lines, torn, nil
		}
	}
}

// ReadFiles reads several files into one history, sorted by time.
func ReadFiles(paths ...string) (*History, error) {
	h := New()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		_, torn, err := Read(f, h)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		h.Torn += torn
	}
	h.Sort()
	return h, nil
}
