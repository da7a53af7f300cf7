// Package bar draws bars of shares.
package bar

import (
	"html/template"
	"strconv"
	"strings"

	"rmd/api"
	"rmd/transport/http/ui/format"
)

// barWidth is the width of a bar in its own units.
const barWidth = 1000

// Bar is a drawn bar of shares. It is SVG with attributes only, because the Content-Security-Policy
// of the pages allows no inline styles. Text has the same content in words.
type Bar struct {
	Parts []part
	Marks []mark
	Text  string
}

// part is a section of a bar.
type part struct {
	X, W        string
	Class, Text string
	Link        string // empty for none
}

// mark is a limit on a bar.
type mark struct{ X, Class, Text string }

// builder builds a bar from left to right.
type builder struct {
	Bar
	total, at float64
}

func New(total int64) *builder { return &builder{total: float64(max(total, 1))} }

func units(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// Add appends a section. It cuts off what exceeds the bar.
func (b *builder) Add(v int64, class, text string) *builder {
	w := min(float64(max(v, 0))/b.total*barWidth, barWidth-b.at)
	if w <= 0 {
		return b
	}
	b.Parts = append(b.Parts, part{X: units(b.at), W: units(w), Class: class, Text: text})
	b.at += w
	return b
}

// Link makes the last section a link.
func (b *builder) Link(to string) *builder {
	if n := len(b.Parts); n > 0 {
		b.Parts[n-1].Link = to
	}
	return b
}

// Limit adds a mark at a value.
func (b *builder) Limit(v int64, class, text string) *builder {
	x := min(max(float64(v)/b.total*barWidth, 0), barWidth)
	b.Marks = append(b.Marks, mark{X: units(x), Class: class, Text: text})
	return b
}

func (b *builder) Done(text string) Bar {
	b.Text = text
	return b.Bar
}

// SVG returns the bar as HTML. It uses no template, because a page of queues has hundreds of bars
// and a template would take ten times as long. It escapes all texts.
func (b Bar) SVG() template.HTML {
	var w strings.Builder
	w.Grow(256 + 160*(len(b.Parts)+len(b.Marks)))
	text := template.HTMLEscapeString(b.Text)
	put(&w, `<svg class="bar" viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label="`, text, `"><title>`,
		text, `</title><rect class="track" width="1000" height="24"/>`)
	for _, p := range b.Parts {
		if p.Link != "" {
			put(&w, `<a href="`, template.HTMLEscapeString(p.Link), `">`)
		}
		put(&w, `<rect class="`, p.Class, `" x="`, p.X, `" width="`, p.W, `" height="24"`)
		switch p.Class {
		case "reserved":
			w.WriteString(` fill="url(#hatch)"`)
		case "pending":
			w.WriteString(` fill="url(#dots)"`)
		}
		put(&w, `><title>`, template.HTMLEscapeString(p.Text), `</title></rect>`)
		if p.Link != "" {
			w.WriteString(`</a>`)
		}
	}
	for _, m := range b.Marks {
		put(&w, `<line class="mark `, m.Class, `" x1="`, m.X, `" x2="`, m.X, `" y1="0" y2="24"><title>`,
			template.HTMLEscapeString(m.Text), `</title></line>`)
	}
	w.WriteString(`</svg>`)
	return template.HTML(w.String())
}

func put(w *strings.Builder, parts ...string) {
	for _, p := range parts {
		w.WriteString(p)
	}
}

// Usage is a bar for one resource kind, with its numbers.
type Usage struct {
	Kind                                              string
	Used, Reserved, Pending, Free, Held, Usable, Most int64
	Bar                                               Bar
}

// Usages returns a bar for each kind of resources, with the used part and the free part that is kept
// for reservations.
func Usages(f api.Figures) []Usage {
	var out []Usage
	for _, name := range format.KindsThere(f.Total) {
		u := Usage{Kind: name, Used: f.Used[name], Reserved: f.Reserved[name], Pending: f.Pending[name], Free: f.Free[name],
			Held: f.HeldFree[name], Usable: f.Usable[name], Most: f.Total[name]}
		text := format.KindName(name) + ": " + format.KindValue(name, u.Used) + " used"
		b := New(u.Most).Add(u.Used, "used", format.KindValue(name, u.Used)+" used")
		if u.Held > 0 {
			kept := format.KindValue(name, u.Held) + " free, kept for reservations"
			b.Add(u.Held, "reserved", kept)
			text += ", " + kept
		}
		u.Bar = b.Done(text + " of " + format.KindValue(name, u.Most))
		out = append(out, u)
	}
	return out
}

// Share returns the largest share of a whole that a resource has in any kind, and that kind.
func Share(r, total api.Resource) (float64, string) {
	var most float64
	var kind string
	for _, name := range format.KindsOf(total) {
		if total[name] <= 0 {
			continue
		}
		if f := float64(r[name]) / float64(total[name]); kind == "" || f > most {
			most, kind = f, name
		}
	}
	return most, kind
}
