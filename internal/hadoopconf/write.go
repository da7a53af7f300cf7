package hadoopconf

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Write writes properties as a Hadoop configuration file, in the given order, one per line. Reading
// the file returns the same names and raw values.
func Write(w io.Writer, props []Property) error {
	for _, p := range props {
		if p.Name == "" || strings.TrimSpace(p.Name) != p.Name || !writable(p.Name) || !writable(p.text()) {
			return fmt.Errorf("write hadoop configuration: %q cannot be written as XML text", p.Name)
		}
	}
	b := bufio.NewWriter(w)
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n")
	for _, p := range props {
		b.WriteString("  <property><name>")
		escape(b, p.Name)
		b.WriteString("</name><value>")
		escape(b, p.text())
		b.WriteString("</value>")
		if p.Final {
			b.WriteString("<final>true</final>")
		}
		b.WriteString("</property>\n")
	}
	b.WriteString("</configuration>\n")
	if err := b.Flush(); err != nil { // Flush returns the first error of all writes
		return fmt.Errorf("write hadoop configuration: %w", err)
	}
	return nil
}

// text returns the value to write: Raw if it is set, otherwise Value.
func (p Property) text() string {
	if p.Raw != "" {
		return p.Raw
	}
	return p.Value
}

func escape(b *bufio.Writer, s string) {
	_ = xml.EscapeText(b, []byte(s)) // Flush returns the error
}

// writable reports whether XML 1.0 allows every character.
func writable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return true
}
