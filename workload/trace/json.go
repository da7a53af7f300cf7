package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxDepth is the maximum depth of a JSON value. It is more than any trace needs.
const maxDepth = 64

// value is one JSON value with its position, so that an error can name the line and column.
type value struct {
	off    int
	kind   byte   // 'o' object, 'a' array, 's' string, 'n' number, 'b' true or false, '0' null
	text   string // of a scalar
	list   []*value
	fields map[string]*value
}

func (v *value) String() string {
	switch v.kind {
	case 'o':
		return "an object"
	case 'a':
		return "an array"
	case 's':
		return quote(v.text)
	case '0':
		return "null"
	}
	return v.text
}

// document is a file with a sequence of JSON values.
type document struct {
	file string
	data []byte
	dec  *json.Decoder
}

func newDocument(file string, data []byte) *document {
	d := &document{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	d.dec.UseNumber()
	return d
}

// objects calls each for every object of the file. The objects may also be in one array.
func (d *document) objects(each func(o object) error) error {
	for {
		v, err := d.value(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		list := []*value{v}
		if v.kind == 'a' {
			list = v.list
		}
		for _, v := range list {
			if v.kind != 'o' {
				return d.at(v.off, "", v.String()+" stands alone", "an object")
			}
			if err := each(object{d, v, "", new(error)}); err != nil {
				return err
			}
		}
	}
}

// value reads the next value. At the end of the file it returns io.EOF.
func (d *document) value(depth int) (*value, error) {
	off := d.start()
	tok, err := d.dec.Token()
	if err != nil {
		return nil, d.syntax(err, depth)
	}
	if depth > maxDepth {
		return nil, d.at(off, "", "nested too deeply", fmt.Sprintf("at most %d levels", maxDepth))
	}
	v := &value{off: off}
	switch tok := tok.(type) {
	case json.Delim:
		return v, d.readContent(v, tok, depth)
	case string:
		v.kind, v.text = 's', tok
	case json.Number:
		v.kind, v.text = 'n', tok.String()
	case bool:
		v.kind, v.text = 'b', strconv.FormatBool(tok)
	case nil:
		v.kind = '0'
	}
	return v, nil
}

// readContent reads the content and the end of an object or array.
func (d *document) readContent(v *value, open json.Delim, depth int) error {
	v.kind = 'a'
	if open == '{' {
		v.kind, v.fields = 'o', map[string]*value{}
	}
	for d.dec.More() {
		key := ""
		if v.kind == 'o' {
			tok, err := d.dec.Token()
			if err != nil {
				return d.syntax(err, depth+1)
			}
			key, _ = tok.(string)
		}
		child, err := d.value(depth + 1)
		if err != nil {
			return err
		}
		if v.kind == 'o' {
			v.fields[key] = child // the last of two equal keys wins, as in Hadoop
		} else {
			v.list = append(v.list, child)
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return d.syntax(err, depth+1)
	}
	return nil
}

// start returns the position of the next token. The decoder's offset is the end of the previous
// token.
func (d *document) start() int {
	off := int(d.dec.InputOffset())
	for off < len(d.data) && strings.IndexByte(" \t\r\n,:", d.data[off]) >= 0 {
		off++
	}
	return off
}

func (d *document) syntax(err error, depth int) error {
	if errors.Is(err, io.EOF) && depth == 0 {
		return io.EOF
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return d.at(len(d.data), "", "the file ends inside a value", "its closing bracket")
	}
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return d.at(d.start(), "", s.Error(), "JSON")
	}
	return d.at(d.start(), "", err.Error(), "JSON")
}

// at returns an error for a position in the file.
func (d *document) at(off int, field, what, expected string) error {
	off = min(max(off, 0), len(d.data))
	before := d.data[:off]
	return &Error{File: d.file, Line: bytes.Count(before, []byte("\n")) + 1,
		Column: off - bytes.LastIndexByte(before, '\n'), Field: field, What: what, Expected: expected}
}

// object reads the fields of one JSON object. The first error is kept for the object and all
// objects that are read from it.
type object struct {
	doc  *document
	v    *value
	path string
	err  *error
}

func (o object) has(key string) bool {
	f, ok := o.v.fields[key]
	return ok && f.kind != '0'
}

func (o object) join(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// fail reports a field as wrong. For a missing field, the position is the beginning of the object.
func (o object) fail(key, what, expected string) {
	if *o.err != nil {
		return
	}
	off := o.v.off
	if f, ok := o.v.fields[key]; ok {
		off = f.off
	}
	*o.err = o.doc.at(off, o.join(key), what, expected)
}

// text reads a string, or returns other if the field is missing. Numbers are accepted as text, as
// in Hadoop.
func (o object) text(key, other string) string {
	if !o.has(key) {
		return other
	}
	f := o.v.fields[key]
	if f.kind == 'o' || f.kind == 'a' {
		o.fail(key, f.String(), "a string")
		return other
	}
	return f.text
}

// name reads the name of something.
func (o object) name(key, other string) string {
	s := o.text(key, other)
	if why := badName(s); why != "" && *o.err == nil {
		o.fail(key, why, fmt.Sprintf("a name of 1 to %d printable characters", maxNameLen))
	}
	return s
}

// queue reads a queue's name and returns its path.
func (o object) queue(key string) string {
	s := queuePath(o.text(key, "default"))
	if why := badQueue(s); why != "" {
		o.fail(key, why, "the name of a queue")
	}
	return s
}

// hostPath reads the path of a preferred host, such as /rack/host. The field may be missing.
func (o object) hostPath(key string) string {
	if o.text(key, "") == "" {
		return ""
	}
	return o.name(key, "")
}

// number reads a number, which may be written as a string.
func (o object) number(key string, other, least, most float64) float64 {
	if !o.has(key) {
		return other
	}
	f := o.v.fields[key]
	expected := fmt.Sprintf("a number from %g to %g", least, most)
	n, err := strconv.ParseFloat(f.text, 64)
	if (f.kind != 'n' && f.kind != 's') || err != nil || math.IsNaN(n) {
		o.fail(key, f.String()+" is not a number", expected)
		return other
	}
	if n < least || n > most {
		o.fail(key, f.text+" is out of range", expected)
		return other
	}
	return n
}

// whole reads an integer, which may be written as a string.
func (o object) whole(key string, other, least, most int64) int64 {
	if !o.has(key) {
		return other
	}
	f := o.v.fields[key]
	expected := fmt.Sprintf("a whole number from %d to %d", least, most)
	n, err := strconv.ParseInt(f.text, 10, 64)
	if (f.kind != 'n' && f.kind != 's') || err != nil {
		o.fail(key, f.String()+" is not a whole number", expected)
		return other
	}
	if n < least || n > most {
		o.fail(key, f.text+" is out of range", expected)
		return other
	}
	return n
}

// list reads an array of objects.
func (o object) list(key string) []object {
	if !o.has(key) {
		return nil
	}
	f := o.v.fields[key]
	if f.kind != 'a' {
		o.fail(key, f.String(), "an array of objects")
		return nil
	}
	out := make([]object, 0, len(f.list))
	for i, v := range f.list {
		path := fmt.Sprintf("%s[%d]", o.join(key), i)
		if v.kind != 'o' {
			if *o.err == nil {
				*o.err = o.doc.at(v.off, path, v.String(), "an object")
			}
			return nil
		}
		out = append(out, object{o.doc, v, path, o.err})
	}
	return out
}
