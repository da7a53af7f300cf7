package hadoopconf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// document reads one XML document: <configuration> with properties, includes and nested
// <configuration> elements, which included files have.
func (l *loader) document(r io.Reader, name string, depth int) {
	limited := &io.LimitedReader{R: r, N: l.opt.MaxFileBytes + 1}
	d := &document{loader: l, name: name, depth: depth, dec: xml.NewDecoder(limited)}
	d.dec.CharsetReader = charset
	err := d.root()
	switch {
	case limited.N <= 0:
		l.fault(name, 0, "the file is larger than %d bytes", l.opt.MaxFileBytes)
	case err != nil:
		l.fault(name, d.line(), "%v", plain(err))
	}
}

// plain removes the line number from an error of encoding/xml, because the fault has its own.
func plain(err error) error {
	var se *xml.SyntaxError
	if errors.As(err, &se) {
		return errors.New(se.Msg)
	}
	return err
}

type document struct {
	*loader
	name  string
	depth int
	dec   *xml.Decoder
}

func (d *document) line() int {
	line, _ := d.dec.InputPos()
	return line
}

// root reads the top element and what follows.
func (d *document) root() error {
	seen := false
	for {
		line := d.line()
		tok, err := d.dec.Token()
		if err == io.EOF {
			if !seen {
				return errors.New("there is no <configuration>")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := tok.(xml.CharData); ok && len(bytes.TrimSpace(text)) > 0 {
			blank := text[:len(text)-len(bytes.TrimLeftFunc(text, unicode.IsSpace))]
			d.fault(d.name, line+bytes.Count(blank, []byte("\n")), "there is text outside of <configuration>: %.20q",
				bytes.TrimSpace(text))
			return nil
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if seen || start.Name.Local != "configuration" {
			return fmt.Errorf("the top element is <%s>, not one <configuration>", start.Name.Local)
		}
		seen = true
		if err := d.configuration(1); err != nil {
			return err
		}
	}
}

// configuration reads up to the end of the current element.
func (d *document) configuration(level int) error {
	for {
		tok, err := d.dec.Token()
		if err != nil {
			return eof(err)
		}
		switch t := tok.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := d.element(t, level); err != nil {
				return err
			}
		}
	}
}

func (d *document) element(t xml.StartElement, level int) error {
	switch t.Name.Local {
	case "property":
		return d.property(t)
	case "include":
		return d.xinclude(t, level)
	case "configuration":
		if level >= d.opt.MaxIncludeDepth {
			return errors.New("<configuration> is nested too deep")
		}
		return d.configuration(level + 1)
	}
	d.warn(d.name, d.line(), "element <%s> is not known and is passed over", t.Name.Local)
	return eof(d.dec.Skip())
}

// property reads one property, with child elements or with Hadoop 3's attributes.
func (d *document) property(t xml.StartElement) error {
	p := Property{File: d.name, Line: d.line()}
	hasValue := false
	final := ""
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "name":
			p.Name = strings.TrimSpace(a.Value)
		case "value":
			p.Raw, hasValue = a.Value, true
		case "final":
			final = a.Value
		}
	}
	for {
		tok, err := d.dec.Token()
		if err != nil {
			return eof(err)
		}
		if _, ok := tok.(xml.EndElement); ok {
			break
		}
		child, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		text, err := d.text()
		if err != nil {
			return err
		}
		switch child.Name.Local {
		case "name":
			p.Name = strings.TrimSpace(text)
		case "value":
			p.Raw, hasValue = text, true
		case "final":
			final = text
		}
	}
	p.Final = strings.EqualFold(strings.TrimSpace(final), "true")
	switch {
	case p.Name == "":
		d.fault(p.File, p.Line, "a property has no name")
	case !hasValue:
		d.warn(p.File, p.Line, "%s has no value and is passed over", p.Name)
	default:
		d.add(p)
	}
	return nil
}

// text reads the character data up to the end of the current element. It ignores nested elements,
// which no Hadoop file has.
func (d *document) text() (string, error) {
	var b strings.Builder
	for {
		tok, err := d.dec.Token()
		if err != nil {
			return "", eof(err)
		}
		switch t := tok.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if err := d.dec.Skip(); err != nil {
				return "", eof(err)
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// xinclude reads an included file, or the fallback if the file does not exist.
func (d *document) xinclude(t xml.StartElement, level int) error {
	line, href := d.line(), ""
	for _, a := range t.Attr {
		if a.Name.Local == "href" {
			href = strings.TrimSpace(a.Value)
		}
	}
	found := d.include(href, d.name, line, d.depth)
	for {
		tok, err := d.dec.Token()
		if err != nil {
			return eof(err)
		}
		switch e := tok.(type) {
		case xml.EndElement:
			if !found {
				d.fault(d.name, line, "xi:include of %q: no such file, and no fallback", href)
			}
			return nil
		case xml.StartElement:
			if e.Name.Local != "fallback" || found {
				if err := d.dec.Skip(); err != nil {
					return eof(err)
				}
				continue
			}
			found = true
			if level >= d.opt.MaxIncludeDepth {
				return errors.New("<fallback> is nested too deep")
			}
			if err := d.configuration(level + 1); err != nil {
				return err
			}
		}
	}
}

// eof returns io.ErrUnexpectedEOF for io.EOF.
func eof(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// charset supports the encodings that need no table. ISO-8859-1 is the first 256 code points.
func charset(label string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf-8", "utf8", "us-ascii", "ascii":
		return r, nil
	case "iso-8859-1", "latin1":
		return &latin1{r: r}, nil
	}
	return nil, fmt.Errorf("encoding %q is not supported; save the file as UTF-8", label)
}

type latin1 struct {
	r       io.Reader
	pending []byte
}

func (l *latin1) Read(p []byte) (int, error) {
	if len(l.pending) == 0 {
		var in [512]byte
		n, err := l.r.Read(in[:])
		for _, c := range in[:n] {
			l.pending = append(l.pending, string(rune(c))...)
		}
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}
