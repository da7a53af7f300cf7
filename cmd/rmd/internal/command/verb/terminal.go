package verb

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Size returns the current size of the terminal, or a default size if Out is not a terminal.
func (s Streams) Size() (width, height int) {
	if f, ok := s.Out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return max(s.Width, 20), 24
}

// RawKeys makes the terminal deliver each key at once. The caller calls undo once at the end to
// restore the terminal. Without a terminal, keys is nil.
func (s Streams) RawKeys() (keys <-chan byte, undo func()) {
	f, ok := s.In.(*os.File)
	if !ok || !s.InTerminal {
		return nil, func() {}
	}
	old, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, func() {}
	}
	c := make(chan byte, 16)
	go readKeys(f, c) // ends with the process: a read of a terminal cannot be interrupted
	return c, func() { _ = term.Restore(int(f.Fd()), old) }
}

func readKeys(r io.Reader, keys chan<- byte) {
	b := make([]byte, 1)
	for {
		if n, err := r.Read(b); err != nil || n == 0 {
			close(keys)
			return
		}
		keys <- b[0]
	}
}
