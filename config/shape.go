package config

import (
	"bytes"
	"errors"
	"fmt"
)

// Limits of a file. The parser needs time and memory that grow with the square of some of these:
// 200 KB of "[" needed 20 GB. The file that `rmd init` writes uses a tenth of the limits.
const (
	fileMax   = 64 << 10
	linesMax  = 1000 // that are neither empty nor comments
	lineMax   = 4 << 10
	marksMax  = 100 // characters that begin lists, sections, anchors, tags and keys
	indentMax = 64
	dashesMax = 4 // nested lists that begin on one line
)

const marks = "[{&!*?"

// checkShape returns an error, before the file is parsed, if the file exceeds a limit. line is
// where.
func checkShape(b []byte) (line int, err error) {
	if len(b) > fileMax {
		return 1, fmt.Errorf("the file has %d bytes, but a configuration may have only %d", len(b), fileMax)
	}
	lines, marked := 0, 0
	for text := range bytes.Lines(b) {
		line++
		said := bytes.TrimLeft(text, " ")
		indent := len(text) - len(said)
		said = bytes.TrimSpace(said)
		if len(said) == 0 || said[0] == '#' {
			continue
		}
		lines++
		for _, mark := range []byte(marks) {
			marked += bytes.Count(said, []byte{mark})
		}
		dashes := 0
		for bytes.HasPrefix(said, []byte("- ")) {
			said = bytes.TrimLeft(said[2:], " ")
			dashes++
		}
		switch {
		case lines > linesMax:
			return line, fmt.Errorf("more than %d lines without comments", linesMax)
		case marked > marksMax:
			return line, fmt.Errorf("more than %d of the characters %s", marksMax, marks)
		case len(text) > lineMax:
			return line, fmt.Errorf("a line has %d bytes, but it may have only %d", len(text), lineMax)
		case indent > indentMax || dashes > dashesMax:
			return line, errors.New("too deep")
		}
	}
	return 0, nil
}
