package rest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"rmd/transport/rest/api"
)

// wsRoot is where Hadoop's API lies.
const wsRoot = "/ws/v1/cluster"

// obj is a document of Hadoop's: fields in the order Hadoop writes them, which
// some of its readers rely on. One tree is written as JSON or as XML. Values
// are obj, *shared, []obj, []string, string, integers, float64, bool.
type obj []field

type field struct {
	name  string
	value any
}

// typed is the value of an xsi:type: an attribute in XML, a field in JSON.
type typed string

// writeWS answers a read in the format the caller accepts.
func (c *call) writeWS(root obj) error {
	var b bytes.Buffer
	h := c.w.Header()
	if wantsXML(c.r) {
		h.Set("Content-Type", "application/xml;charset=utf-8")
		b.WriteString(xmlHead)
		for _, f := range root {
			writeXML(&b, f.name, f.value)
		}
	} else {
		h.Set("Content-Type", "application/json;charset=utf-8")
		writeJSON(&b, root)
	}
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write(b.Bytes()) // a client that is gone is no error of ours
	return nil
}

// streamWS answers with {"outer":{"inner":[items]}}, one item in memory at a
// time; {"outer":{}} when there are none.
func (c *call) streamWS(outer, inner string, items iter.Seq[obj]) error {
	inXML := wantsXML(c.r)
	var b bytes.Buffer
	if inXML {
		c.w.Header().Set("Content-Type", "application/xml;charset=utf-8")
		b.WriteString(xmlHead + "<" + outer + ">")
	} else {
		c.w.Header().Set("Content-Type", "application/json;charset=utf-8")
		b.WriteString(`{"` + outer + `":{`)
	}
	c.w.WriteHeader(http.StatusOK)
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
			if _, err := c.w.Write(b.Bytes()); err != nil {
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
	_, _ = c.w.Write(b.Bytes()) // a client that is gone is no error of ours
	return nil
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`

// wantsXML says whether XML is asked for before JSON.
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

// writeText writes a string; most need no escaping.
func writeText(b *bytes.Buffer, s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			writeOther(b, s)
			return
		}
	}
	b.WriteByte('"')
	b.WriteString(s)
	b.WriteByte('"')
}

func writeOther(b *bytes.Buffer, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null")
	}
	b.Write(text)
}

// shared is a document that stands in many others: its JSON is written once.
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

// javaFloat writes a number as Java does: always with a decimal point.
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
		return
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

func writeXMLText(b *bytes.Buffer, v any) {
	text := fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		text = javaFloat(f)
	}
	if err := xml.EscapeText(b, []byte(text)); err != nil {
		b.WriteString("")
	}
}

// exceptions are the classes that Hadoop's API answers with, by HTTP status.
var exceptions = map[int][2]string{
	http.StatusNotFound:            {"NotFoundException", "org.apache.hadoop.yarn.webapp.NotFoundException"},
	http.StatusBadRequest:          {"BadRequestException", "org.apache.hadoop.yarn.webapp.BadRequestException"},
	http.StatusForbidden:           {"ForbiddenException", "org.apache.hadoop.yarn.webapp.ForbiddenException"},
	http.StatusConflict:            {"ConflictException", "org.apache.hadoop.yarn.webapp.ConflictException"},
	http.StatusServiceUnavailable:  {"StandbyException", "org.apache.hadoop.ipc.StandbyException"},
	http.StatusMethodNotAllowed:    {"WebApplicationException", "javax.ws.rs.WebApplicationException"},
	http.StatusInternalServerError: {"WebApplicationException", "javax.ws.rs.WebApplicationException"},
}

// writeRemoteException answers with an error in Hadoop's shape.
func writeRemoteException(c *call, e *api.Error) {
	class, ok := exceptions[e.Status]
	if !ok {
		class = exceptions[http.StatusInternalServerError]
	}
	message := e.Message
	if e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest {
		message = "java.lang.Exception: " + message
	}
	doc := obj{{"RemoteException", obj{{"exception", class[0]}, {"message", message}, {"javaClassName", class[1]}}}}
	var b bytes.Buffer
	if wantsXML(c.r) {
		c.w.Header().Set("Content-Type", "application/xml;charset=utf-8")
		writeXML(&b, doc[0].name, doc[0].value)
	} else {
		c.w.Header().Set("Content-Type", "application/json;charset=utf-8")
		writeJSON(&b, doc)
	}
	c.w.WriteHeader(e.Status)
	_, _ = c.w.Write(b.Bytes()) // a client that is gone is no error of ours
}
