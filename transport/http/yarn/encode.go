package yarnweb

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"rmd/transport/http/route"
)

// wsRoot is the root of Hadoop's REST API.
const wsRoot = "/ws/v1/cluster"

// obj is a document of Hadoop. Its fields are in the order in which Hadoop writes them, because
// some clients rely on it. writeJSON and writeXML write the same tree. Values are obj, *shared,
// []obj, []string, string, integers, float64, bool or typed.
type obj []field

type field struct {
	name  string
	value any
}

// typed is the value of an xsi:type. XML has it as an attribute, JSON as a field.
type typed string

// writeWS answers a read. In JSON, as in XML, the document is wrapped in the name of its root.
func (s *API) writeWS(c *route.Call, name string, doc obj) error {
	return s.writeWSAs(c, name, doc, obj{{name, doc}})
}

// writeBare answers a read whose JSON, unlike its XML, does not have the name of the root. Hadoop's
// oldest and newest documents are like that.
func (s *API) writeBare(c *route.Call, xmlName string, doc obj) error {
	return s.writeWSAs(c, xmlName, doc, doc)
}

func (s *API) writeWSAs(c *route.Call, xmlName string, xmlDoc, jsonDoc obj) error {
	var b bytes.Buffer
	h := c.W.Header()
	if wantsXML(c.R) {
		h.Set("Content-Type", xmlType)
		b.WriteString(xmlHead)
		writeXML(&b, xmlName, xmlDoc)
	} else {
		h.Set("Content-Type", jsonType)
		writeJSON(&b, jsonDoc)
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	c.W.WriteHeader(http.StatusOK)
	_, _ = c.W.Write(b.Bytes()) // the client may be gone
	return nil
}

// streamWS answers with {"outer":{"inner":[items]}}, or with {"outer":{}} if there are no items. It
// has only one item in memory at a time.
func (s *API) streamWS(c *route.Call, outer, inner string, items iter.Seq[obj]) error {
	inXML := wantsXML(c.R)
	var b bytes.Buffer
	if inXML {
		c.W.Header().Set("Content-Type", xmlType)
		b.WriteString(xmlHead + "<" + outer + ">")
	} else {
		c.W.Header().Set("Content-Type", jsonType)
		b.WriteString(`{"` + outer + `":{`)
	}
	c.W.WriteHeader(http.StatusOK)
	n := 0
	for item := range items {
		switch {
		case inXML:
			writeXML(&b, inner, item)
		case n == 0:
			b.WriteString(`"` + inner + `":[`)
			writeJSON(&b, item)
		default:
			b.WriteByte(',')
			writeJSON(&b, item)
		}
		n++
		if b.Len() > 30<<10 {
			if _, err := c.W.Write(b.Bytes()); err != nil {
				return nil
			}
			b.Reset()
		}
	}
	switch {
	case inXML:
		b.WriteString("</" + outer + ">")
	case n > 0:
		b.WriteString("]}}")
	default:
		b.WriteString("}}")
	}
	_, _ = c.W.Write(b.Bytes()) // the client may be gone
	return nil
}

// Content types as Hadoop writes them.
const (
	jsonType = "application/json;charset=utf-8"
	xmlType  = "application/xml; charset=utf-8"
)

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`

// wantsXML reports whether the client prefers XML to JSON.
func wantsXML(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept"), ",") {
		media, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		switch media {
		case "application/xml", "text/xml":
			return true
		case "application/json", "*/*":
			return false
		}
	}
	return false
}

func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case obj:
		b.WriteByte('{')
		for i, f := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, f.name)
			b.WriteByte(':')
			writeJSON(b, f.value)
		}
		b.WriteByte('}')
	case []obj:
		writeArray(b, v)
	case []string:
		writeArray(b, v)
	case *shared:
		b.Write(v.json)
	case typed:
		writeText(b, string(v))
	case string:
		writeText(b, v)
	case int64:
		b.Write(strconv.AppendInt(b.AvailableBuffer(), v, 10))
	case int:
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(v), 10))
	case int32:
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(v), 10))
	case float64:
		b.WriteString(javaFloat(v))
	default:
		writeOther(b, v)
	}
}

// writeText writes a string. It is fast for strings without escapes, which most are.
func writeText(b *bytes.Buffer, s string) {
	if !plain(s) {
		writeOther(b, s)
		return
	}
	b.WriteByte('"')
	b.WriteString(s)
	b.WriteByte('"')
}

// plain reports whether a string needs no escapes in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// quoteJSON returns a string as JSON, with escapes.
func quoteJSON(s string) []byte {
	var b bytes.Buffer
	writeOther(&b, s)
	return b.Bytes()
}

func writeOther(b *bytes.Buffer, v any) {
	start := b.Len()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // as Java does
	if err := e.Encode(v); err != nil {
		b.Truncate(start)
		b.WriteString("null")
		return
	}
	b.Truncate(b.Len() - 1) // without the encoder's newline
}

// shared is a document that occurs in many others. Its JSON is encoded once.
type shared struct {
	doc  obj
	json []byte
}

func share(doc obj) *shared {
	var b bytes.Buffer
	writeJSON(&b, doc)
	return &shared{doc, b.Bytes()}
}

func writeArray[T any](b *bytes.Buffer, items []T) {
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSON(b, item)
	}
	b.WriteByte(']')
}

// javaFloat formats a number as Java does: always with a decimal point.
func javaFloat(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 32)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func writeXML(b *bytes.Buffer, name string, v any) {
	if s, ok := v.(*shared); ok {
		v = s.doc
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("<" + name + "/>")
		return
	case obj:
		if len(v) == 0 {
			b.WriteString("<" + name + "/>")
			return
		}
	case []obj:
		for _, item := range v {
			writeXML(b, name, item)
		}
		return
	case []string:
		for _, item := range v {
			writeXML(b, name, item)
		}
		return
	}
	b.WriteString("<" + name)
	inner, isObj := v.(obj)
	for _, f := range inner {
		if t, ok := f.value.(typed); ok {
			fmt.Fprintf(b, ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="%s"`, string(t))
		}
	}
	b.WriteByte('>')
	if isObj {
		for _, f := range inner {
			if _, ok := f.value.(typed); !ok {
				writeXML(b, f.name, f.value)
			}
		}
	} else {
		writeXMLText(b, v)
	}
	b.WriteString("</" + name + ">")
}

// unquoted undoes escapes that Java does not make in texts.
var unquoted = strings.NewReplacer("&#39;", "'", "&#34;", `"`)

func writeXMLText(b *bytes.Buffer, v any) {
	text := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		text = javaFloat(f)
	}
	var out bytes.Buffer
	_ = xml.EscapeText(&out, []byte(text)) // a buffer accepts everything
	_, _ = unquoted.WriteString(b, out.String())
}
