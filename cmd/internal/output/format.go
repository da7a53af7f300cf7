package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// Format is how a document is printed.
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	JSONL Format = "jsonl"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats returns the names of all formats.
func Formats() []string { return []string{"table", "wide", "json", "jsonl", "yaml", "name"} }

// Machine reports whether the format prints the unchanged document.
func (f Format) Machine() bool { return f == JSON || f == YAML }

// WriteDocument prints a JSON document as indented JSON or as YAML.
func WriteDocument(w io.Writer, f Format, doc []byte) error {
	if f == YAML {
		b, err := yaml.JSONToYAML(doc)
		if err != nil {
			return fmt.Errorf("document to yaml: %w", err)
		}
		_, err = w.Write(b)
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(doc), "", "  "); err != nil {
		return fmt.Errorf("document: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// WriteLine prints one value as a line of JSON.
func WriteLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
