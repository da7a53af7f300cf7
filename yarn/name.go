package yarn

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName returns an error if a name could deceive where it is shown or stored: if it is not
// UTF-8, or has a control character or one that changes the direction of text. It accepts "".
func CheckName(name string) error {
	for i, r := range name {
		if r == utf8.RuneError && !strings.HasPrefix(name[i:], "\uFFFD") {
			return fmt.Errorf("%q is not UTF-8 at byte %d", name, i)
		}
		if hidden(r) {
			return fmt.Errorf("%q has the character %U at byte %d", name, r, i)
		}
	}
	return nil
}

// hidden reports whether a character changes a line instead of being a part of it.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// CheckUser is CheckName for a user. Nodes use the user's name as the name of a directory, so no
// part between slashes may be empty, "." or "..". A principal such as rm/host@REALM is valid. It
// accepts "".
func CheckUser(name string) error {
	if err := CheckName(name); err != nil || name == "" {
		return err
	}
	if strings.TrimSpace(name) != name {
		return fmt.Errorf("%q begins or ends with a blank", name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("%q is a path", name)
		}
	}
	return nil
}

// CheckHost is CheckName for a host. It may not begin with a hyphen, because it becomes an argument
// of the topology script.
func CheckHost(name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("%q begins with a hyphen", name)
	}
	return CheckName(name)
}

// CleanText returns a text for people, in which a blank replaces each control character except tabs
// and ends of lines, and U+FFFD what is not UTF-8.
func CleanText(text string) string {
	plain := func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || !hidden(r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
