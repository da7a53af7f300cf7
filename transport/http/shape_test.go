package httpserver

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// shape is the form of a document: names in their order, and types. A name that occurs twice in an
// object is a list. Hadoop writes maps in that way in JSON, and lists in XML.
type shape struct {
	kind  string // object, list, text, int, float, bool or null; empty in XML
	names []string
	inner map[string]*shape
	items []*shape
}

func (s *shape) put(name string, v *shape) {
	have := s.inner[name]
	switch {
	case have == nil:
		s.names = append(s.names, name)
		s.inner[name] = v
	case have.kind == "list" && have.names == nil:
		have.items = append(have.items, v)
	default:
		s.inner[name] = &shape{kind: "list", items: []*shape{have, v}}
	}
}

// jsonShape returns the form of a JSON document, with the order and repetitions of names.
func jsonShape(text []byte) (*shape, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	s, err := jsonValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more after the document")
	}
	return s, nil
}

func jsonValue(d *json.Decoder) (*shape, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		s := &shape{kind: "list", inner: map[string]*shape{}}
		if tok == '{' {
			s.kind = "object"
		}
		for d.More() {
			name := ""
			if s.kind == "object" {
				t, err := d.Token()
				if err != nil {
					return nil, err
				}
				name = t.(string)
			}
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			if s.kind == "object" {
				s.put(name, v)
			} else {
				s.items = append(s.items, v)
			}
		}
		_, err := d.Token()
		return s, err
	case json.Number:
		if strings.ContainsAny(tok.String(), ".eE") {
			return &shape{kind: "float"}, nil
		}
		return &shape{kind: "int"}, nil
	case string:
		return &shape{kind: "text"}, nil
	case bool:
		return &shape{kind: "bool"}, nil
	}
	return &shape{kind: "null"}, nil
}

// xmlShape returns the form of an XML document. An element without children is a text; an empty one
// may be anything.
func xmlShape(text []byte) (*shape, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	root := &shape{kind: "object", inner: map[string]*shape{}}
	stack := []*shape{root}
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			s := &shape{kind: "empty", inner: map[string]*shape{}}
			for _, a := range tok.Attr {
				if a.Name.Local == "type" {
					s.kind = "object"
					s.put("@type="+a.Value, &shape{kind: "text"})
				}
			}
			top := stack[len(stack)-1]
			top.kind = "object"
			top.put(tok.Name.Local, s)
			stack = append(stack, s)
		case xml.CharData:
			if top := stack[len(stack)-1]; top.kind == "empty" {
				top.kind = "text"
			}
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
}

// differences lists where got differs from want. An empty element of either matches any content.
func differences(path string, want, got *shape) []string {
	if want.kind == "list" != (got.kind == "list") && (want.kind == "object" || got.kind == "object") {
		return differences(path, one(want), one(got)) // XML writes a list of one item like the item
	}
	if want.kind == "empty" || got.kind == "empty" {
		return nil
	}
	if want.kind != got.kind {
		if empty(want) && empty(got) {
			return nil
		}
		return []string{fmt.Sprintf("%s: %s, want %s", path, got.kind, want.kind)}
	}
	if want.kind == "list" {
		return listDifferences(path, want, got)
	}
	if want.kind != "object" || len(want.names) == 0 || len(got.names) == 0 {
		return nil
	}
	var out []string
	if a, b := strings.Join(got.names, " "), strings.Join(want.names, " "); a != b {
		out = append(out, fmt.Sprintf("%s: has\n    %s\n  want\n    %s", path, a, b))
	}
	for _, name := range want.names {
		if v := got.inner[name]; v != nil {
			out = append(out, differences(path+"/"+name, want.inner[name], v)...)
		}
	}
	return out
}

func one(s *shape) *shape {
	if s.kind == "list" && len(s.items) > 0 {
		return s.items[0]
	}
	return s
}

func empty(s *shape) bool {
	return s.kind == "null" || s.kind == "text" ||
		len(s.names) == 0 && len(s.items) == 0 && (s.kind == "object" || s.kind == "list")
}

// listDifferences checks that every item is like one of the recorded items.
func listDifferences(path string, want, got *shape) []string {
	if len(want.items) == 0 {
		return nil
	}
	var out []string
	for _, g := range got.items {
		var nearest []string
		for i, w := range want.items {
			d := differences(path+"[]", w, g)
			if i == 0 || len(d) < len(nearest) {
				nearest = d
			}
		}
		out = append(out, nearest...)
	}
	return out
}
