package yarnweb

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"rmd/transport/http/route"
	"rmd/transport/http/view"
)

// Setting is a property of Hadoop's configuration. File is the file that it comes from.
type Setting struct {
	Name, Value, File string
	Final             bool
}

// defaults are values of Hadoop's own files that Hadoop's web applications ask for. Source: Hadoop
// 3.5.0.
var defaults = []Setting{
	{Name: "hadoop.http.authentication.type", Value: "simple", File: "core-default.xml"},
	{Name: "yarn.webapp.scheduler-ui.read-only.enable", Value: "false", File: "yarn-default.xml"},
}

// settings returns the properties that /conf shows, sorted by name. They come from Hadoop's files
// that this replica has read; properties of the replicated configuration override them. Secrets are
// masked.
func (s *API) settings(c *route.Call, v *docs) []Setting {
	byName := map[string]Setting{}
	for _, p := range defaults {
		byName[p.Name] = p
	}
	if s.cfg.Settings != nil {
		for _, p := range s.cfg.Settings() {
			byName[p.Name] = p
		}
	}
	if ver := v.State.Versions.Current(); ver != nil {
		from := "replicated configuration, version " + strconv.FormatUint(ver.Version, 10)
		for _, p := range ver.Properties {
			byName[p.Name] = Setting{Name: p.Name, Value: p.Value, File: from}
		}
	}
	out := make([]Setting, 0, len(byName))
	for _, p := range byName { // sorted below
		p.Value = view.MaskProperty(p.Name, p.Value)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// showSettings answers /conf as Hadoop's daemons do: as XML unless the client asks for JSON. ?name=
// selects one property.
func (s *API) showSettings(c *route.Call) error {
	v, err := docsOf(c)
	if err != nil {
		return err
	}
	list := s.settings(c, v)
	inJSON := strings.Contains(c.R.Header.Get("Accept"), "application/json")
	contentType := "text/xml;charset=utf-8"
	if inJSON {
		contentType = jsonType
	}
	c.W.Header().Set("Content-Type", contentType)
	name := c.Query.Get("name")
	if name != "" {
		list = slices.DeleteFunc(list, func(p Setting) bool { return p.Name != name })
		if len(list) == 0 {
			c.W.WriteHeader(http.StatusNotFound)
			return nil
		}
	}
	var b bytes.Buffer
	if inJSON {
		settingsJSON(&b, list, name != "")
	} else {
		settingsXML(&b, list)
	}
	_, _ = c.W.Write(b.Bytes()) // the client may be gone
	return nil
}

func settingsJSON(b *bytes.Buffer, list []Setting, single bool) {
	docs := make([]obj, 0, len(list))
	for _, p := range list {
		docs = append(docs, obj{{"key", p.Name}, {"value", p.Value}, {"isFinal", p.Final}, {"resource", p.File}})
	}
	if single {
		writeJSON(b, obj{{"property", docs[0]}})
	} else {
		writeJSON(b, obj{{"properties", docs}})
	}
}

func settingsXML(b *bytes.Buffer, list []Setting) {
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>` + "\n")
	for _, p := range list {
		b.WriteString("<property>")
		for _, f := range []struct{ name, value string }{{"name", p.Name}, {"value", p.Value},
			{"final", strconv.FormatBool(p.Final)}, {"source", p.File}} {
			b.WriteString("<" + f.name + ">")
			_ = xml.EscapeText(b, []byte(f.value)) // a buffer accepts everything
			b.WriteString("</" + f.name + ">")
		}
		b.WriteString("</property>\n")
	}
	b.WriteString("</configuration>\n")
}
