package rest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"rmd/transport/rest/api"
)

// wsRoot is where Hadoop's API lies.
const wsRoot = "/ws/v1/cluster"

// obj is a document of Hadoop's: fields in the order Hadoop writes them, which
// some of its readers rely on. One tree is written as JSON or as XML. Values
// are obj, []obj, []string, string, int64 and other integers, float64, bool.
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
		b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`)
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
			writeJSON(b, f.name)
			b.WriteByte(':')
			writeJSON(b, f.value)
		}
		b.WriteByte('}')
	case []obj:
		writeArray(b, v)
	case []string:
		writeArray(b, v)
	case typed:
		writeJSON(b, string(v))
	case float64:
		b.WriteString(javaFloat(v))
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("null")
		}
		b.Write(text)
	}
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
