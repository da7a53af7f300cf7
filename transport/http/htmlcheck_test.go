package httpserver

import (
	"fmt"
	"slices"
	"strings"
)

// checkHTML parses a page strictly and returns the faults that it finds: elements that are not
// closed in order, duplicate ids, references to missing ids, unquoted or repeated attributes, and
// content that the Content-Security-Policy blocks.
func checkHTML(page string) []string {
	c := &htmlChecker{rest: page, ids: map[string]bool{}}
	if !strings.HasPrefix(page, "<!DOCTYPE html>") {
		c.say("the page does not begin with its document type")
	}
	c.rest = strings.TrimPrefix(page, "<!DOCTYPE html>")
	for c.step() {
	}
	for _, open := range c.open {
		c.say("<%s> is not closed", open)
	}
	for _, id := range c.refs {
		if !c.ids[id] {
			c.say("something refers to #%s, which is not there", id)
		}
	}
	return c.found
}

type htmlChecker struct {
	rest  string
	open  []string
	ids   map[string]bool
	refs  []string
	found []string
}

func (c *htmlChecker) say(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

var (
	voidElements = []string{"meta", "link", "input", "br", "wbr", "hr", "img", "col"}
	// parents lists the parents that an element may have. Browsers silently repair a wrong parent.
	parents = map[string][]string{"li": {"ul", "ol"}, "tr": {"thead", "tbody"}, "td": {"tr"}, "th": {"tr"},
		"thead": {"table"}, "tbody": {"table"},
		"dt": {"dl", "div"}, "dd": {"dl", "div"}, "option": {"select"}, "summary": {"details"},
		"title": {"head", "svg", "g", "rect", "line", "path"}}
	blocks = []string{"p", "div", "ul", "ol", "dl", "table", "form", "section", "h1", "h2", "h3", "pre", "nav", "details"}
)

func (c *htmlChecker) step() bool {
	i := strings.IndexByte(c.rest, '<')
	if i < 0 {
		return false
	}
	if n := len(c.open); n > 0 && c.open[n-1] == "textarea" && !strings.HasPrefix(c.rest[i:], "</textarea") {
		c.rest = c.rest[i+1:]
		return true
	}
	c.rest = c.rest[i+1:]
	end := strings.IndexByte(c.rest, '>')
	if end < 0 {
		c.say("a tag has no end: %.40q", c.rest)
		return false
	}
	tag := c.rest[:end]
	c.rest = c.rest[end+1:]
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		c.close(name)
		return true
	}
	self := strings.HasSuffix(tag, "/")
	name, attrs, _ := strings.Cut(strings.TrimSuffix(tag, "/"), " ")
	c.place(name)
	c.attributes(name, attrs)
	if !self && !slices.Contains(voidElements, name) {
		c.open = append(c.open, name)
	}
	return true
}

func (c *htmlChecker) close(name string) {
	n := len(c.open)
	if n == 0 || c.open[n-1] != name {
		c.say("</%s> closes nothing: open are %v", name, c.open)
		return
	}
	c.open = c.open[:n-1]
}

func (c *htmlChecker) place(name string) {
	in := "nothing"
	if n := len(c.open); n > 0 {
		in = c.open[n-1]
	}
	if want, ok := parents[name]; ok && !slices.Contains(want, in) {
		c.say("<%s> stands in <%s>", name, in)
	}
	if slices.Contains(blocks, name) && slices.Contains(c.open, "p") {
		c.say("<%s> stands in <p>", name)
	}
	if (name == "a" || name == "form" || name == "button") && slices.Contains(c.open, name) {
		c.say("<%s> stands in another", name)
	}
	if name == "style" || in == "script" {
		c.say("<%s> is not from a file", name)
	}
}

func (c *htmlChecker) attributes(element, text string) {
	seen := map[string]bool{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		i := strings.IndexAny(text, "= \n")
		if i < 0 || text[i] != '=' {
			name, rest, _ := strings.Cut(text, " ")
			c.attribute(element, name, "", seen)
			text = rest
			continue
		}
		name, rest := text[:i], text[i+1:]
		if !strings.HasPrefix(rest, `"`) || strings.IndexByte(rest[1:], '"') < 0 {
			c.say("%s of <%s> is not quoted", name, element)
			return
		}
		end := strings.IndexByte(rest[1:], '"') + 1
		c.attribute(element, name, rest[1:end], seen)
		text = rest[end+1:]
	}
}

func (c *htmlChecker) attribute(element, name, value string, seen map[string]bool) {
	if seen[name] {
		c.say("<%s> has %s twice", element, name)
	}
	seen[name] = true
	switch {
	case name == "style", strings.HasPrefix(name, "on"):
		c.say("<%s> has %s, which the policy stops", element, name)
	case name == "id":
		if c.ids[value] || value == "" {
			c.say("the id %q is there twice or empty", value)
		}
		c.ids[value] = true
	case name == "aria-labelledby", name == "for":
		c.refs = append(c.refs, strings.Fields(value)...)
	case (name == "href" || name == "src" || name == "action") && strings.HasPrefix(strings.ToLower(value), "javascript:"):
		c.say("<%s> runs a script: %s", element, value)
	case name == "src" && !strings.HasPrefix(value, "/ui/static/"):
		c.say("<%s> loads %s", element, value)
	}
}
