package verb

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are the input and outputs of a program, and its environment.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) (string, bool)
	// These say whether the streams are terminals, and the width of stdout.
	InTerminal, OutTerminal, ErrTerminal bool
	Width                                int
}

// Standard returns the streams of this process.
func Standard() Streams {
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Width: 80}
	s.InTerminal = term.IsTerminal(int(os.Stdin.Fd()))
	s.OutTerminal = term.IsTerminal(int(os.Stdout.Fd()))
	s.ErrTerminal = term.IsTerminal(int(os.Stderr.Fd()))
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
		s.Width = w
	}
	return s
}
